use super::*;
use crate::conversation::{Mode, Tier};
use crate::prompt::Facts;
use crate::prompt::facts::{ActiveDocument, Detail, Folder, Git, LazyText, SkillFacts};
use crate::prompt::types::Trust;

/// Texts with one more layout, as a user's override folder adds it.
pub(in crate::prompt) fn texts_with(files: &[(&str, &str)]) -> Texts {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    Texts::load(Some(dir.path()))
}

fn error(layout: &str) -> String {
    Layout::load(&texts_with(&[("layouts/x.toml", layout)]), "x").unwrap_err()
}

#[test]
fn every_built_in_layout_loads() {
    let texts = Texts::load(None);
    let names = Layout::names(&texts);
    assert!(names.contains(&"default".to_owned()));
    for name in names {
        let layout = Layout::load(&texts, &name).unwrap();
        assert_eq!(layout.name, name);
    }
}

/// K6, K16, ET-46: the layout's values are the code's defaults.
#[test]
fn the_default_layout_searches_what_gather_searches_by_default() {
    let layout = Layout::load(&Texts::load(None), "default").unwrap();
    assert_eq!(layout.head.instructions, Search::default());
}

#[test]
fn errors_name_the_place_and_list_what_is_known() {
    for (layout, parts) in [
        (
            "colour = 1",
            &["layouts/x.toml", "unknown field `colour`", "`joiner`"][..],
        ),
        (
            "[[segment]]\nid = \"date\"\nslot = \"tail\"\nwhne = 1",
            &["segment[0]", "unknown field `whne`", "`when`", "`budget`"],
        ),
        (
            "[[segment]]\nid = \"date\"\nslot = \"tail\"\nwhen = { moon = \"full\" }",
            &["unknown variant `moon`", "`nonEmpty`", "`file`"],
        ),
        (
            "[[segment]]\nid = \"date\"\nslot = \"tail\"\nwhen = { fact = \"moon\" }",
            &["unknown fact \"moon\"", "git, trusted"],
        ),
        (
            "[[segment]]\nid = \"date\"\nslot = \"side\"",
            &["unknown variant `side`", "`tail`"],
        ),
        (
            "[[segment]]\nid = \"nothing\"\nslot = \"tail\"",
            &["\"nothing\"", "environment"],
        ),
        (
            "[[segment]]\nid = \"a\"\nslot = \"tail\"\nparams = { builder = \"dat\" }",
            &["unknown builder \"dat\"", "date"],
        ),
        (
            "[[segment]]\nid = \"documents\"\nslot = \"tail\"\nparams = { item = 3 }",
            &["unknown parameter \"item\"", "items"],
        ),
        (
            "[[segment]]\nid = \"date\"\nslot = \"tail\"\nwhen = { not = { nonEmpty = \"gti\" } }",
            &["unknown segment \"gti\"", "date"],
        ),
        (
            "[[segment]]\nid = \"date\"\nslot = \"tail\"\n[[segment]]\nid = \"date\"\nslot = \"tail\"",
            &["\"date\" occurs twice"],
        ),
        (
            "[[segment]]\nid = \"date\"\nslot = \"tail\"\nboundary = true\n\
             [[segment]]\nid = \"git\"\nslot = \"tail\"\nboundary = true",
            &["2 segments have boundary"],
        ),
        (
            "[[segment]]\nid = \"da te\"\nslot = \"tail\"",
            &["letters, digits"],
        ),
        ("[[segment", &["layouts/x.toml"]),
    ] {
        let error = error(layout);
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in: {error}");
        }
    }
}

#[test]
fn a_pattern_must_name_a_template_that_exists() {
    let patterns = "[[pattern]]\nglob = \"*\"\ntemplate = \"martian\"";
    let texts = texts_with(&[("providers/patterns.toml", patterns)]);
    let error = Layout::load(&texts, "default").unwrap_err();
    assert!(error.contains("providers/martian.md") && error.contains("providers/openai.md"));
}

#[test]
fn conditions_are_judged_with_words() {
    let mut facts = Facts {
        model: "anthropic/claude-opus-5".to_owned(),
        mode: Mode::Ask,
        detail: Detail::Full,
        ..Facts::default()
    };
    facts.switches.insert("wide".to_owned(), true);
    let check = |text: &str, holds: bool, words: &str| {
        #[derive(Deserialize)]
        struct Line {
            when: When,
        }
        let line: Line = toml::from_str(&format!("when = {text}")).unwrap();
        let judged = line.when.judge(&facts, &|id| id == "there");
        assert_eq!(judged, (holds, words.to_owned()), "{text}");
    };
    check("{ mode = \"ask\" }", true, "the mode is ask");
    check("{ mode = \"plan\" }", false, "the mode is ask");
    check("{ detail = \"minimal\" }", false, "the detail is full");
    check(
        "{ model = \"claude*\" }",
        true,
        "the model id matches claude*",
    );
    check(
        "{ model = \"*gpt\" }",
        false,
        "the model id does not match *gpt",
    );
    check("{ tool = \"exec\" }", false, "the tool exec is not offered");
    check("{ fact = \"trusted\" }", false, "the folder is not trusted");
    check("{ setting = \"wide\" }", true, "prompt.segments.wide is on");
    check(
        "{ nonEmpty = \"there\" }",
        true,
        "the segment there has text",
    );
    check(
        "{ nonEmpty = \"gone\" }",
        false,
        "the segment gone has no text",
    );
    check("{ file = \"AGENTS.md\" }", false, "AGENTS.md was not found");
    check("{ not = { mode = \"ask\" } }", false, "the mode is ask");
    check(
        "{ all = [{ mode = \"ask\" }, { tool = \"exec\" }] }",
        false,
        "the tool exec is not offered",
    );
    check(
        "{ any = [{ tool = \"exec\" }, { mode = \"ask\" }] }",
        true,
        "the mode is ask",
    );
}

/// What only a client can declare.
const DECLARED: [&str; 11] = [
    "browser",
    "desktop",
    "fileSend",
    "heartbeat",
    "images",
    "inlineButtons",
    "messaging",
    "reactions",
    "replyTags",
    "silentReplies",
    "tts",
];

/// Each fact, first absent, then there.
#[test]
fn conditions_on_facts_follow_the_facts() {
    let folder = || Folder {
        name: "a".to_owned(),
        path: "/a".to_owned(),
        ..Folder::default()
    };
    let mut there = Facts {
        trusted: true,
        roots: vec![folder(), folder()],
        git: Some(Git::default()),
        language: Some("German".to_owned()),
        agent: Some("reviewer".to_owned()),
        docs_path: Some("docs".to_owned()),
        sandbox: LazyText::new(|| "no network".to_owned()),
        skills: vec![SkillFacts {
            name: "pdf".to_owned(),
            description: String::new(),
            location: String::new(),
            folder: None,
            body: "".into(),
            always: false,
            matched: false,
            connector: None,
            trust: Trust::User,
        }],
        ..Facts::default()
    };
    there.editor.active = Some(ActiveDocument::default());
    there.runtime.parent = Some("s".into());
    (there.memory.citations, there.memory.tree) = (true, true);
    for name in DECLARED {
        there.client.insert(name.to_owned(), true.into());
    }
    let rows = [
        ("git", "the directory is {}in a git repository"),
        ("trusted", "the folder is {}trusted"),
        ("folders", "the workspace has {}more than one folder"),
        ("language", "prompt.language is {}set"),
        ("agent", "an agent is {}selected"),
        ("editor", "the active document is {}known"),
        ("subAgent", "the session is {}a sub-agent's"),
        ("citations", "memory.citations is {}on"),
        ("memoryTree", "the folder memory/ is {}present"),
        ("sandbox", "a sandbox is {}in force"),
        ("skills", "a skill is {}available"),
        ("docs", "prompt.docsPath is {}set"),
    ];
    let rows = rows.map(|(fact, words)| (fact, words.to_owned()));
    let client = DECLARED.map(|name| (name, format!("the client has {name} {{}}declared")));
    let mut one = Facts::default();
    one.roots.push(folder());
    for (fact, words) in rows.into_iter().chain(client) {
        let when = When::Fact(serde_json::from_value(fact.into()).unwrap());
        let judged = |facts: &Facts| when.judge(facts, &|_| false);
        assert_eq!(judged(&one), (false, words.replace("{}", "not ")));
        assert_eq!(judged(&there), (true, words.replace("{}", "")));
    }
}

#[test]
fn patterns_match_anywhere_between_stars() {
    // ET-02
    for (pattern, text, expected) in [
        ("*claude*", "us.anthropic.Claude-3.5-sonnet", true),
        ("*gemini*", "google/gemini-4", true),
        ("o1*", "o1-mini", true),
        ("o1*", "so1", false),
        ("a*b*c", "a--b--c", true),
        ("a*b*c", "a--c", false),
        ("abc", "abc", true),
        ("abc", "abcd", false),
        ("*", "", true),
        ("a*a", "a", false),
    ] {
        assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
    }
    assert_eq!(model_id("openrouter/google/gemini-4"), "google/gemini-4");
    assert_eq!(model_id("claude"), "claude");
}

/// K9, OC-11.
#[test]
fn tools_come_in_the_layouts_order_under_its_names() {
    let layout = "toolOrder = [\"read\", \"exec\"]\n[toolNames]\nexec = \"bash\"\n\
                  [[segment]]\nid = \"date\"\nslot = \"tail\"";
    let layout = Layout::load(&texts_with(&[("layouts/x.toml", layout)]), "x").unwrap();
    let tools = ["edit", "exec", "read", "write"].map(tool);
    let tools = layout.tools(&Texts::load(None), &tools, Mode::Agent);
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["read", "bash", "edit", "write"]);
    assert_eq!(layout.tool_name("exec"), "bash");
    assert_eq!(layout.tool_name("read"), "read");
    assert_eq!(layout.wire_name("bash"), "exec");
    assert_eq!(layout.wire_name("exec"), "exec");
}

/// A tool with a description of two lines.
pub(in crate::prompt) fn tool(name: &str) -> ToolFacts {
    ToolFacts {
        spec: ToolSpec {
            name: name.to_owned(),
            description: format!("What {name} does.\nWhen to use {name}, and its limits."),
            input_schema: serde_json::json!({"type": "object", "properties": {}}).into(),
        },
        tier: match name {
            "exec" => Tier::Sandbox,
            "write_todos" | "save_memory" | "ask_user" | "current_time" => Tier::Middleware,
            "memory_search" | "load_skill" => Tier::Knowledge,
            _ => Tier::Filesystem,
        },
        changes: ["edit", "exec", "save_memory", "write"].contains(&name),
        serves: None,
        of_client: false,
    }
}

#[test]
fn the_page_on_layouts_names_every_builder_and_key() {
    let page = include_str!("../../../docs/prompt.md");
    let word = |name: &str| {
        let mut parts = page.split(|c: char| !c.is_alphanumeric());
        parts.any(|part| part == name)
    };
    for name in crate::prompt::builders::names() {
        assert!(word(name), "{name}");
    }
    let unknown = error("colour = 1");
    let known = unknown.split('`').skip(3).step_by(2);
    for key in known.filter(|key| *key != "segment") {
        assert!(word(key), "{key} of {unknown}");
    }
    for layout in Layout::names(&Texts::load(None)) {
        assert!(page.contains(&format!("| `{layout}` |")), "{layout}");
    }
}
