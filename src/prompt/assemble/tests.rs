mod layouts;
mod properties;

use super::*;
use crate::conversation::{Mode, Segment};
use crate::knowledge::instructions::{Instruction, Origin, Standing};
use crate::prompt::facts::{ActiveDocument, Detail, EditorFacts, Folder, Git};
use crate::prompt::fence::tests::outside;
use crate::prompt::layout::tests::{texts_with, tool};

pub(in crate::prompt) fn instruction(source: &str, origin: Origin, text: &str) -> Instruction {
    Instruction {
        source: source.to_owned(),
        path: Some(format!("/w/{source}").into()),
        text: text.to_owned(),
        hash: sha256(text.as_bytes()),
        origin,
        unsaved: false,
        standing: match origin {
            Origin::Global => Standing::User,
            _ => Standing::Session,
        },
    }
}

pub(in crate::prompt) fn folder(name: &str, path: &str) -> Folder {
    Folder {
        name: name.to_owned(),
        path: path.to_owned(),
        writable: true,
        description: None,
    }
}

/// A session with everything: the fixture of goldens and journal tests.
pub(in crate::prompt) fn facts(trusted: bool) -> Facts {
    let editor = EditorFacts {
        active: Some(ActiveDocument {
            path: "src/main.rs".to_owned(),
            language: "rust".to_owned(),
            dirty: true,
            lines: 40,
            cursor: Some((7, 5)),
            around: Some((6, "fn main() {\n    run();\n}".to_owned())),
            selection: Some((7, 7, "run()".to_owned())),
            visible: Some((1, 30)),
        }),
        open: vec![
            ("README.md".to_owned(), false),
            ("src/main.rs".to_owned(), true),
        ],
        visible: vec![("README.md".to_owned(), 1, 20)],
        recent: vec![(
            "src/main.rs".to_owned(),
            "@@ -7 +7 @@\n-    go();\n+    run();\n".to_owned(),
        )],
        diagnostics: vec![(
            "src/main.rs".to_owned(),
            7,
            "error".to_owned(),
            "cannot find function `run`".to_owned(),
        )],
    };
    Facts {
        model: "anthropic/claude-opus-5".to_owned(),
        mode: Mode::Agent,
        detail: Detail::Full,
        cwd: "/w/app".to_owned(),
        roots: vec![folder("app", "/w/app")],
        git: Some(Git {
            branch: Some("main".to_owned()),
            head: Some("0123456789ab".to_owned()),
        }),
        platform: "linux".to_owned(),
        date: "2026-11-21".to_owned(),
        timezone: "Europe/Berlin".to_owned(),
        trusted,
        instructions: vec![
            instruction("~/.config/interline/AGENTS.md", Origin::Global, "Be brief."),
            instruction("AGENTS.md", Origin::Workspace, "Run `cargo test`.\n"),
            instruction("src/AGENTS.md", Origin::Workspace, "```\nno unwrap\n```\n"),
        ],
        problems: vec![("docs/*.md".to_owned(), "there is no such file".to_owned())],
        tools: ["edit", "exec", "glob", "grep", "list", "read", "write"]
            .map(tool)
            .to_vec(),
        segments: vec![
            Segment {
                id: "house".to_owned(),
                title: "House rules".to_owned(),
                body: "No tabs.".to_owned(),
                slot: Some(Slot::System),
            },
            Segment {
                id: "ticket".to_owned(),
                title: "Ticket".to_owned(),
                body: "Number 7.".to_owned(),
                slot: None,
            },
        ],
        editor,
        hints: vec!["The tool exec failed three times.".to_owned()],
        ..Facts::default()
    }
}

fn default_layout() -> (Texts, Layout) {
    let texts = Texts::load(None);
    let layout = Layout::load(&texts, "default").unwrap();
    (texts, layout)
}

fn assembled(facts: &Facts) -> Assembled {
    let (texts, layout) = default_layout();
    assemble(&layout, &texts, facts)
}

fn row<'a>(assembled: &'a Assembled, id: &str) -> &'a SegmentRow {
    let mut rows = assembled.rows.iter().filter(|row| row.id == id);
    let row = rows.next().unwrap_or_else(|| panic!("no row {id}"));
    assert!(rows.next().is_none(), "two rows {id}");
    row
}

fn system_text(assembled: &Assembled) -> String {
    let texts: Vec<&str> = assembled
        .system
        .iter()
        .map(|block| block.text.as_str())
        .collect();
    texts.join("\n")
}

/// Rows, blocks and tail as one text, for the goldens.
fn drawn(assembled: &Assembled) -> String {
    let mut out = String::new();
    for row in &assembled.rows {
        let mark = if row.included { '+' } else { '-' };
        out.push_str(&format!(
            "{mark} {} [{}, {:?}, {:?}, {} bytes] {}: {}\n",
            row.id, row.layer, row.slot, row.trust, row.bytes, row.source, row.reason
        ));
    }
    for (number, block) in assembled.system.iter().enumerate() {
        let boundary = if block.boundary { "boundary" } else { "open" };
        out.push_str(&format!(
            "\n=== system {number} ({boundary})\n{}\n",
            block.text
        ));
    }
    for part in &assembled.tail {
        out.push_str(&format!("\n=== tail {}\n{}\n", part.id, part.text));
    }
    out
}

fn golden(name: &str, assembled: &Assembled) {
    insta::with_settings!({
        snapshot_path => "golden", prepend_module_to_snapshot => false, omit_expression => true
    }, {
        insta::assert_snapshot!(name, drawn(assembled));
    });
}

#[test]
fn golden_of_the_default_layout_in_a_trusted_folder() {
    golden("default_trusted", &assembled(&facts(true)));
}

#[test]
fn golden_of_the_default_layout_in_an_untrusted_folder() {
    // K22
    golden("default_untrusted", &assembled(&facts(false)));
}

#[test]
fn the_default_layout_has_two_blocks_with_a_boundary_each() {
    let assembled = assembled(&facts(true));
    assert_eq!(assembled.system.len(), 2);
    assert!(assembled.system.iter().all(|block| block.boundary));
    assert_eq!(
        assembled.system[0].text,
        Texts::load(None).get("providers/anthropic.md").unwrap()
    );
}

#[test]
fn absent_inputs_leave_no_heading_and_a_reason() {
    // ZE-05, OC-03
    let facts = Facts {
        cwd: "/w".to_owned(),
        platform: "linux".to_owned(),
        date: "2026-11-21".to_owned(),
        timezone: "UTC".to_owned(),
        ..Facts::default()
    };
    let assembled = assembled(&facts);
    let system = system_text(&assembled);
    for heading in [
        "# Project instructions",
        "# The user's",
        "# Editing",
        "# Commands",
    ] {
        assert!(!system.contains(heading), "{heading}");
    }
    assert!(system.contains("# Environment\nWorking directory: /w\n"));
    let ids: Vec<&str> = assembled.tail.iter().map(|part| part.id.as_str()).collect();
    assert_eq!(ids, ["date"]);
    for (id, reason) in [
        ("instructions", "no AGENTS.md was found"),
        (
            "editing",
            "the tool edit is not offered, the tool write is not offered",
        ),
        ("git", "the directory is not in a git repository"),
        ("cursor", "the editor did not report an active document"),
        ("selection", "nothing is selected"),
        ("caller", "the caller gave no segments"),
        ("language", "prompt.language is not set"),
        ("hints", "there are no hints"),
        ("provider", "no pattern matches the model id"),
    ] {
        let row = row(&assembled, id);
        assert!(row.reason.starts_with(reason), "{id}: {}", row.reason);
        assert_eq!(row.included, row.text.is_some() && row.bytes > 0, "{id}");
    }
}

#[test]
fn the_template_is_chosen_by_the_first_pattern_on_the_model_id() {
    // ET-01…04
    for (model, template) in [
        ("anthropic/claude-sonnet-5", "anthropic"),
        ("bedrock/us.anthropic.claude-3.5", "anthropic"),
        ("openai/gpt-6-sol", "openai"),
        ("openai/o3-mini", "openai"),
        ("openrouter/google/gemini-4", "gemini"),
        ("openai-chat/qwen3.8-max", "default"),
        ("replay/demo", "default"),
        ("", "default"),
    ] {
        let facts = Facts {
            model: model.to_owned(),
            ..Facts::default()
        };
        let assembled = assembled(&facts);
        let source = &row(&assembled, "provider").source;
        assert_eq!(
            source,
            &format!("built in: providers/{template}.md"),
            "{model}"
        );
    }
}

#[test]
fn trust_decides_where_instructions_go() {
    // K22, INV-9, A27: the same files, trusted and untrusted.
    let trusted = assembled(&facts(true));
    let instructions = row(&trusted, "instructions");
    assert_eq!(
        (instructions.slot, instructions.trust),
        (Slot::System, Trust::Workspace)
    );
    assert_eq!(instructions.source, "AGENTS.md, src/AGENTS.md");
    assert!(system_text(&trusted).contains("Instructions from: AGENTS.md\nRun `cargo test`."));

    let untrusted = assembled(&facts(false));
    let instructions = row(&untrusted, "instructions");
    assert_eq!(
        (instructions.slot, instructions.trust),
        (Slot::Tail, Trust::Untrusted)
    );
    assert!(
        instructions
            .reason
            .contains("untrusted folder: fenced, in the tail")
    );
    let system = system_text(&untrusted);
    assert!(!system.contains("cargo test") && system.contains("Be brief."));
    assert!(!untrusted.sources.contains_key("AGENTS.md"));
    assert!(
        untrusted
            .sources
            .contains_key("~/.config/interline/AGENTS.md")
    );
    let part = untrusted
        .tail
        .iter()
        .find(|part| part.id == "instructions")
        .unwrap();
    assert!(part.text.contains("The user has not trusted this folder."));
    assert!(!outside(&part.text).contains("no unwrap"));
}

#[test]
fn files_of_one_prompt_can_be_trusted_differently() {
    let mut facts = facts(true);
    let mut other = instruction("lib/AGENTS.md", Origin::Configured, "Other folder.");
    other.standing = Standing::Folder { trusted: false };
    let mut own = instruction("~/notes.md", Origin::Configured, "My notes.");
    own.standing = Standing::User;
    facts.instructions.extend([other, own]);
    let assembled = assembled(&facts);
    let system = system_text(&assembled);
    assert!(system.contains("My notes.") && !system.contains("Other folder."));
    assert_eq!(row(&assembled, "instructions").slot, Slot::System);
    assert_eq!(row(&assembled, "instructionsUnverified").slot, Slot::Tail);
}

#[test]
fn sources_name_what_the_system_text_was_made_of() {
    let assembled = assembled(&facts(true));
    let keys: Vec<&str> = assembled.sources.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "AGENTS.md",
            "mode",
            "segment:house",
            "src/AGENTS.md",
            "trust",
            "~/.config/interline/AGENTS.md"
        ]
    );
    assert_eq!(assembled.sources["mode"], "agent");
    assert_eq!(
        assembled.sources["AGENTS.md"],
        sha256(b"Run `cargo test`.\n")
    );
}

#[test]
fn an_instruction_file_cannot_take_the_key_of_something_else() {
    let mut facts = facts(true);
    facts.instructions = vec![instruction("mode", Origin::Workspace, "x")];
    let assembled = assembled(&facts);
    assert_eq!(assembled.sources["mode"], "agent");
    assert_eq!(assembled.sources["./mode"], sha256(b"x"));
}

#[test]
fn a_switched_off_segment_is_absent_and_says_so() {
    // ZE-83
    let mut facts = facts(true);
    for id in ["git", "instructions", "house"] {
        facts.switches.insert(id.to_owned(), false);
    }
    let assembled = assembled(&facts);
    for id in ["git", "instructions", "house"] {
        let row = row(&assembled, id);
        assert!(!row.included && row.text.is_none());
        assert_eq!(row.reason, "switched off by the setting prompt.segments");
    }
    assert!(!assembled.sources.contains_key("AGENTS.md"));
    assert!(!assembled.sources.contains_key("segment:house"));
    assert!(!system_text(&assembled).contains("No tabs."));
}

#[test]
fn the_setting_moves_trusted_editor_segments_into_the_system_text_only() {
    let mut facts = facts(true);
    facts.editor_in_system = true;
    let moved = assembled(&facts);
    assert_eq!(row(&moved, "selection").slot, Slot::System);
    assert!(
        row(&moved, "selection")
            .reason
            .contains("prompt.editorSlot")
    );
    // Diagnostics quote what anybody wrote.
    assert_eq!(row(&moved, "diagnostics").slot, Slot::Tail);
    assert_eq!(row(&moved, "git").slot, Slot::Tail);
    assert!(moved.sources.contains_key("editor:selection"));
    assert!(moved.system.len() <= 2);

    facts.trusted = false;
    let stayed = assembled(&facts);
    assert_eq!(row(&stayed, "selection").slot, Slot::Tail);
    assert!(
        row(&stayed, "selection")
            .reason
            .contains("untrusted: goes into the tail")
    );

    facts.trusted = true;
    facts.editor.active.as_mut().unwrap().path = "/etc/hosts".to_owned();
    assert_eq!(row(&assembled(&facts), "selection").slot, Slot::Tail);
}

/// K22.
#[test]
fn no_layout_can_put_untrusted_text_into_the_system_slot() {
    let layout = "[[segment]]\nid = \"diagnostics\"\nslot = \"system\"\n\
                  [[segment]]\nid = \"branch\"\nslot = \"system\"\nparams = { builder = \"git\" }\n\
                  [[segment]]\nid = \"instructions\"\nslot = \"system\"\nheading = \"# Obey\"";
    let texts = texts_with(&[("layouts/x.toml", layout)]);
    let layout = Layout::load(&texts, "x").unwrap();
    let mut facts = facts(false);
    facts.instructions.remove(0);
    let assembled = assemble(&layout, &texts, &facts);
    assert_eq!(assembled.system, []);
    assert_eq!(assembled.tail.len(), 3);
    assert!(
        assembled
            .tail
            .iter()
            .all(|part| !part.text.contains("# Obey"))
    );
}

/// ZE-34: the system text, the template of the provider apart, names no tool that is not offered.
#[test]
fn the_default_layout_asks_for_no_tool_that_is_not_offered() {
    let own = [
        "delegate",
        "glob",
        "grep",
        "memory_search",
        "save_memory",
        "write",
        "write_todos",
    ];
    let mut facts = facts(true);
    for offered in [false, true] {
        facts.tools = own
            .into_iter()
            .filter(|_| offered)
            .map(tool)
            .chain([tool("read")])
            .collect();
        let assembled = assembled(&facts);
        let texts = assembled.rows.iter().filter(|row| row.id != "provider");
        let text: String = texts.filter_map(|row| row.text.as_deref()).collect();
        for name in own {
            let named = text.contains(&format!("`{name}`"));
            assert_eq!(named, offered, "{name}: {text}");
        }
    }
}

/// ZY-23-C, OC-41: a sub-agent learns that its last message is the report.
#[test]
fn the_default_layout_tells_a_sub_agent_to_report() {
    let mut facts = facts(true);
    assert!(!row(&assembled(&facts), "report").included);
    facts.runtime.parent = Some("s1".to_owned());
    facts.detail = Detail::Minimal;
    let system = system_text(&assembled(&facts));
    assert!(
        system.contains("# Sub-agent\nYou are a sub-agent"),
        "{system}"
    );
}

#[test]
fn detail_decides_what_a_sub_agent_sees() {
    let mut facts = facts(true);
    facts.detail = Detail::Minimal;
    let minimal = assembled(&facts);
    assert!(!row(&minimal, "documents").included);
    assert_eq!(row(&minimal, "documents").reason, "the detail is minimal");
    assert!(row(&minimal, "instructions").included && row(&minimal, "tools").included);
    facts.detail = Detail::None;
    assert!(!row(&assembled(&facts), "tools").included);
}

#[test]
fn a_layout_decides_blocks_joiners_headings_and_budgets() {
    let layout = "blocks = \"one\"\njoiner = \"\\n--\\n\"\n\
        [[segment]]\nid = \"a\"\nslot = \"system\"\nheading = \"# A\"\n\
        params = { text = \"modes/ask.md\" }\nbudget = { chars = 9, keep = \"tail\" }\n\
        [[segment]]\nid = \"mode\"\nslot = \"system\"\njoin = \"|\"\n\
        [[segment]]\nid = \"b\"\nslot = \"system\"\nparams = { text = \"tiny.md\" }\n\
        [[segment]]\nid = \"selection\"\nslot = \"tail\"\nbudget = { chars = 2 }";
    let texts = texts_with(&[
        ("layouts/x.toml", layout),
        ("tiny.md", "t"),
        ("modes/agent.md", "m"),
    ]);
    let layout = Layout::load(&texts, "x").unwrap();
    let assembled = assemble(&layout, &texts, &facts(true));
    let [block] = assembled.system.as_slice() else {
        panic!("one block");
    };
    let total = texts.get("modes/ask.md").unwrap().chars().count();
    let left = total - 9;
    assert_eq!(
        block.text,
        format!("# A\n[… {left} of {total} characters are omitted here …]\nent mode.|m\n--\nt")
    );
    assert_eq!(row(&assembled, "b").trust, Trust::User);
    assert!(
        assembled.tail[0]
            .text
            .contains("ru\n[… 3 of 5 characters are omitted here …]\n```")
    );
}

#[test]
fn lists_are_capped_and_unsaved_documents_stay_in_them() {
    let mut facts = facts(true);
    facts.editor.open = (0..200)
        .map(|n| (format!("f{n:03}.rs"), n == 199))
        .collect();
    let part = assembled(&facts)
        .tail
        .into_iter()
        .find(|part| part.id == "documents")
        .unwrap();
    assert!(part.text.contains("f199.rs (unsaved)"));
    assert!(part.text.contains("… and 150 more"));
    assert_eq!(part.text.matches(".rs").count(), 50);
}

#[test]
fn a_callers_id_never_shadows_a_segment_of_the_layout() {
    let mut facts = facts(true);
    facts.segments[1].id = "date".to_owned();
    let assembled = assembled(&facts);
    assert_eq!(row(&assembled, "date").source, "clock");
    assert_eq!(row(&assembled, "segment:date").source, "caller");
    assert_eq!(caller_id(&default_layout().1, "date"), "segment:date");
}

#[test]
fn the_fixed_text_of_the_default_layout_stays_small() {
    // ZE-82: with about 7 KB of tools the prompt stays under 16 KB.
    for model in [
        "anthropic/claude-5",
        "openai/gpt-6",
        "gemini/gemini-4",
        "x/llama",
    ] {
        let facts = Facts {
            model: model.to_owned(),
            instructions: vec![],
            segments: vec![],
            ..facts(true)
        };
        let bytes = system_text(&assembled(&facts)).len();
        assert!(bytes < 9_000, "{model}: {bytes}");
    }
}

#[test]
fn every_text_that_code_names_exists() {
    let texts = Texts::load(None);
    let sources = [
        include_str!("../assemble.rs"),
        include_str!("../epoch.rs"),
        include_str!("../sources.rs"),
        include_str!("../fence.rs"),
        include_str!("../builders.rs"),
        include_str!("../builders/provider.rs"),
        include_str!("../builders/session.rs"),
        include_str!("../builders/lists.rs"),
        include_str!("../builders/hints.rs"),
        include_str!("../builders/caller_segments.rs"),
        include_str!("../builders/instructions.rs"),
    ];
    let mut names: Vec<String> = ["title.md", "compact.md"].map(str::to_owned).to_vec();
    for source in sources {
        let quoted = source.split('"').skip(1).step_by(2);
        let own =
            |text: &&str| text.ends_with(".md") && *text != "AGENTS.md" && !text.contains(' ');
        names.extend(quoted.filter(own).map(str::to_owned));
    }
    for mode in Mode::ALL {
        names.push(format!("modes/{}.md", mode.as_str()));
    }
    for id in [
        "git",
        "documents",
        "cursor",
        "selection",
        "visible",
        "recent",
        "diagnostics",
    ] {
        names.push(format!("segments/{id}.md"));
    }
    assert!(names.len() > 25, "{names:?}");
    for name in names.iter().filter(|name| !name.contains('{')) {
        assert!(
            texts.get(name).is_some_and(|text| !text.is_empty()),
            "{name}"
        );
    }
}

#[test]
fn no_placeholder_reaches_the_model() {
    for trusted in [true, false] {
        let mut facts = facts(trusted);
        facts.language = Some("German".to_owned());
        let assembled = assembled(&facts);
        for row in &assembled.rows {
            let text = row.text.as_deref().unwrap_or_default();
            assert!(!text.contains("{{"), "{}: {text}", row.id);
        }
        assert!(system_text(&assembled).contains("German"));
    }
}
