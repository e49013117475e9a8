use std::fs;

use proptest::prelude::*;

use super::*;
use crate::workspace::{Root, Uri};

struct Desk {
    _dir: tempfile::TempDir,
    env: Env,
    workspace: std::sync::Arc<Workspace>,
    root: PathBuf,
    config: Config,
}

impl Desk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let now = jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC);
        let env = Env::fixed(dir.path(), now, BTreeMap::new());
        let root = dir.path().canonicalize().unwrap().join("repo");
        fs::create_dir_all(&root).unwrap();
        let workspace = Workspace::new();
        workspace.set_roots(Root::new(Uri::from_path(&root), None).into_iter().collect());
        Self {
            _dir: dir,
            env,
            workspace,
            root,
            config: Config::default(),
        }
    }

    fn configured(settings: &str) -> Self {
        let mut desk = Self::new();
        desk.config = toml::from_str(settings).unwrap();
        desk
    }

    /// A file below the workspace; `trusted` as it is.
    fn file(&self, name: &str, text: &str, trusted: bool) {
        let path = self.root.join(name);
        write(&path, text);
        if trusted {
            let store = TrustStore::new(&self.env);
            store.trust_text(&path, text).unwrap();
        }
    }

    fn find(&self) -> Found {
        self.find_when(true)
    }

    fn find_when(&self, trusted: bool) -> Found {
        find(
            &self.workspace,
            &self.env,
            &self.config,
            &self.root,
            trusted,
        )
    }

    /// The one agent of a file of the user's.
    fn parsed(text: &str) -> (AgentProfile, Vec<String>) {
        let desk = Self::new();
        write(&desk.env.dirs.config.join("agents/x.md"), text);
        let mut found = desk.find();
        let problems = found.problems.into_iter().map(|(_, reason)| reason);
        (found.agents.remove(0), problems.collect())
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn names(found: &Found) -> Vec<(&str, &str)> {
    let agents = found.agents.iter();
    agents
        .map(|it| (it.name.as_str(), it.prompt.as_str()))
        .collect()
}

const REVIEWER: &str = "---\nname: reviewer\ndescription: Reviews.\nmodel: anthropic/m\n\
    tools: Read, Grep\nmode: plan\ndetail: minimal\ncolor: red\n---\nYou review.\n";

/// ET-41, ET-45: Markdown with front matter; unknown fields are left alone.
#[test]
fn a_file_becomes_an_agent() {
    let (agent, problems) = Desk::parsed(REVIEWER);
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(agent.name, "reviewer");
    assert_eq!(agent.prompt, "You review.");
    assert_eq!(agent.description, "Reviews.");
    assert_eq!(agent.model.as_deref(), Some("anthropic/m"));
    assert!(agent.tools.has("read") && agent.tools.has("grep") && !agent.tools.has("exec"));
    assert_eq!(agent.mode, Some(Mode::Plan));
    assert_eq!(agent.detail, Some(AgentDetail::Minimal));
    assert_eq!(agent.author, Author::User);
    let (agent, _) = Desk::parsed("Only a prompt.");
    assert_eq!(
        (agent.name.as_str(), agent.prompt.as_str()),
        ("x", "Only a prompt.")
    );
    assert_eq!(
        (agent.model, agent.mode, agent.tools),
        (None, None, Tools::default())
    );
}

/// OC-43: detail by kind.
#[test]
fn who_is_made_to_be_a_sub_agent_gets_the_minimal_prompt() {
    let (agent, _) = Desk::parsed("---\nmode: subagent\n---\nx");
    assert_eq!(
        (agent.mode, agent.detail),
        (None, Some(AgentDetail::Minimal))
    );
    let (agent, _) = Desk::parsed("---\nmode: subagent\ndetail: full\n---\nx");
    assert_eq!(agent.detail, Some(AgentDetail::Full));
    let (agent, problems) = Desk::parsed("---\nmode: primary\ndetail: much\n---\nx");
    assert_eq!((agent.mode, agent.detail), (None, None));
    assert_eq!(problems.len(), 1, "{problems:?}");
}

/// INV-8: a limit that cannot be read is no freedom.
#[test]
fn a_misspelt_mode_is_reported_and_gives_the_narrowest() {
    let (agent, problems) = Desk::parsed("---\nmode: plann\n---\nx");
    assert_eq!(agent.mode, Some(Mode::Ask));
    assert_eq!(problems.len(), 1, "{problems:?}");
}

#[test]
fn tools_are_a_list_or_a_table_and_other_programs_names_count() {
    let tools = |fields: &str| Desk::parsed(&format!("---\n{fields}\n---\nx")).0.tools;
    let list = tools("tools: [Bash, MultiEdit, edit, mcp__x__y]");
    assert_eq!(list.only.as_deref().unwrap(), ["exec", "edit", "mcp__x__y"]);
    assert_eq!(list.unknown(&["exec", "edit"]), ["mcp__x__y"]);
    assert_eq!(tools("tools: '*'"), Tools::default());
    assert_eq!(tools("tools:"), Tools::default());
    assert!(!tools("tools: []").has("read"));
    let table = tools("tools:\n  bash: false\n  write: no\n  read: true");
    assert!(table.has("read") && table.has("edit"));
    assert!(!table.has("exec") && !table.has("write"));
    let without = tools("disallowedTools: Write, Bash");
    assert!(without.has("read") && !without.has("write") && !without.has("exec"));
}

/// ET-45: the first source that defines a name is used, and the others are reported.
#[test]
fn sources_have_an_order() {
    let mut desk = Desk::configured("[agents.a]\nprompt = 'setting'\n");
    let dirs = desk.env.dirs.clone();
    let places = [
        ("b", dirs.config.join("agents")),
        ("c", dirs.home.join(".claude/agents")),
        ("d", desk.root.join(".interline/agents")),
        ("e", desk.root.join(".claude/agents")),
    ];
    for (at, (own, folder)) in places.iter().enumerate() {
        for name in ["a", "b", "c", "d", "e"].iter().filter(|it| *it <= own) {
            let path = folder.join(format!("{name}.md"));
            let text = format!("{own}{at}");
            write(&path, &text);
            TrustStore::new(&desk.env).trust_text(&path, &text).unwrap();
        }
        write(&folder.join("a.md"), "later");
    }
    let found = desk.find();
    let expected = [
        ("a", "setting"),
        ("b", "b0"),
        ("c", "c1"),
        ("d", "d2"),
        ("e", "e3"),
    ];
    assert_eq!(names(&found), expected);
    let count_of = |reason: &str| {
        found
            .problems
            .iter()
            .filter(|it| it.1.contains(reason))
            .count()
    };
    assert_eq!(count_of("agents.a already defines a"), 2);
    assert_eq!(found.untrusted.len(), 2);
    desk.config.agents.clear();
    assert_eq!(names(&desk.find())[0], ("a", "later"));
}

/// INV-9: a workspace's agent counts in a trusted folder, with exactly the trusted text.
#[test]
fn a_workspaces_agent_needs_the_folders_trust_and_its_own() {
    let desk = Desk::new();
    desk.file(".interline/agents/good.md", "Good.", true);
    desk.file(
        ".claude/agents/new.md",
        "---\nname: fresh\n---\nNew.",
        false,
    );
    let found = desk.find();
    assert_eq!(names(&found), [("good", "Good.")]);
    assert_eq!(found.agents[0].author, Author::Workspace);
    assert_eq!(found.untrusted[0].name, "fresh");
    let unknown = named(&found, "fresh").unwrap_err();
    assert_eq!(unknown.known, ["build", "good", "plan"]);
    assert_eq!(unknown.untrusted.as_deref(), Some(".claude/agents/new.md"));
    assert_eq!(named(&found, "other").unwrap_err().untrusted, None);
    assert!(named(&found, "good").is_ok() && named(&found, "Good").is_err());
    assert_eq!(names(&desk.find_when(false)), []);
    assert_eq!(desk.find_when(false).untrusted.len(), 2);
    desk.file(".interline/agents/good.md", "Evil.", false);
    assert_eq!(names(&desk.find()), []);
}

/// ET-50: they need no file; the user's own of that name count before them, a workspace's file that
/// nobody trusts does not.
#[test]
fn build_and_plan_are_there_without_configuration() {
    let desk = Desk::new();
    desk.file(".interline/agents/build.md", "Evil.", false);
    let found = desk.find();
    for (name, mode) in [("build", Mode::Agent), ("plan", Mode::Plan)] {
        let agent = named(&found, name).unwrap();
        assert_eq!((agent.mode, agent.prompt.as_str()), (Some(mode), ""));
        assert_eq!(
            (agent.tools, agent.author),
            (Tools::default(), Author::User)
        );
    }
    write(&desk.env.dirs.config.join("agents/plan.md"), "Mine.");
    write(
        &desk.env.dirs.config.join("agents/build.md"),
        "---\nconfine: ..\n---\nMine.",
    );
    let found = desk.find();
    assert_eq!(named(&found, "plan").unwrap().prompt, "Mine.");
    assert!(named(&found, "build").is_err(), "the user's own is broken");
}

/// INV-9: a repository brings no recorded model, and short names of other programs cost
/// themselves only.
#[test]
fn an_unusable_model_is_reported_and_ignored() {
    let desk = Desk::configured("[modelAliases]\nbig = 'anthropic/big'\ntape = 'replay/x.jsonl'\n");
    for (name, model) in [
        ("a", "replay/evil.jsonl"),
        ("b", "sonnet"),
        ("c", "big"),
        ("d", "tape"),
    ] {
        let text = format!("---\nmodel: {model}\n---\nx");
        desk.file(&format!(".interline/agents/{name}.md"), &text, true);
    }
    let found = desk.find();
    let models: Vec<Option<&str>> = found.agents.iter().map(|it| it.model.as_deref()).collect();
    assert_eq!(models, [None, None, Some("big"), None]);
    assert_eq!(found.problems.len(), 3, "{:?}", found.problems);
    let (agent, _) = Desk::parsed("---\nmodel: inherit\n---\nx");
    assert_eq!(agent.model, None);
}

#[test]
fn settings_may_name_a_prompt_file_and_what_is_wrong_costs_that_agent_only() {
    let desk = Desk::configured(
        "[agents.a]\npromptFile = 'texts/a.md'\n[agents.b]\npromptFile = 'missing.md'\n\
         [agents.'c d']\nprompt = 'x'\n[agents.e]\nprompt = 'short'\npromptFile = 'texts/a.md'\n\
         tools = ['Read']\n",
    );
    write(&desk.env.dirs.config.join("texts/a.md"), "From a file.");
    let huge = "x".repeat(PROMPT + 1);
    write(&desk.env.dirs.config.join("agents/huge.md"), &huge);
    fs::write(desk.env.dirs.config.join("agents/bin.md"), b"\xff").unwrap();
    let fifo = desk.env.dirs.config.join("agents/fifo.md");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let found = desk.find();
    assert_eq!(names(&found), [("a", "From a file."), ("e", "short")]);
    assert!(found.agents[1].tools.has("read") && !found.agents[1].tools.has("exec"));
    assert_eq!(found.problems.len(), 6, "{:?}", found.problems);
}

/// The user's own files stay the user's when the home folder itself is the workspace.
#[test]
fn a_file_of_the_users_is_theirs_inside_a_workspace_too() {
    let desk = Desk::new();
    let home = &desk.env.dirs.home;
    write(&home.join(".claude/agents/mine.md"), "Mine.");
    let root = Root::new(Uri::from_path(home), None).unwrap();
    desk.workspace.set_roots(vec![root.clone()]);
    let found = find(&desk.workspace, &desk.env, &desk.config, &root.path, false);
    assert_eq!(found.agents[0].author, Author::User);
    assert_eq!((found.untrusted.len(), found.problems.len()), (0, 0));
}

proptest! {
    /// Whatever a file holds: bounded, sound names, no panic.
    #[test]
    fn any_text_is_an_agent_or_a_problem(text in "(---\n)?([a-z]{1,6}: ?[ -~]{0,12}\n){0,6}(---\n)?[ -~\n]{0,40}") {
        let desk = Desk::new();
        write(&desk.env.dirs.config.join("agents/x.md"), &text);
        let found = desk.find();
        for agent in &found.agents {
            prop_assert!(sound_name(&agent.name));
        }
        prop_assert_eq!(found.agents.len() + usize::from(found.agents.is_empty()), 1);
        prop_assert!(!found.agents.is_empty() || !found.problems.is_empty());
    }
}

/// ZY-68: a limit that cannot be held makes no agent.
#[test]
fn zy68_an_agent_of_the_user_s_may_be_confined_to_a_folder() {
    let desk = Desk::new();
    let folder = desk.env.dirs.config.join("agents");
    let agent = |name: &str, confine: &str| {
        let text = format!("---\nconfine: {confine}\n---\nMake the skill.");
        write(&folder.join(format!("{name}.md")), &text);
    };
    agent("studio", "skills/pdf");
    for (name, confine) in [
        ("up", "../x"),
        ("root", "/etc"),
        ("none", "''"),
        ("list", "[a]"),
    ] {
        agent(name, confine);
    }
    let theirs = "---\nconfine: skills/pdf\n---\nObey.";
    desk.file(".interline/agents/theirs.md", theirs, true);
    let found = desk.find();
    let names: Vec<&str> = found.agents.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["studio"]);
    assert_eq!(found.agents[0].confine, Some("skills/pdf".into()));
    assert_eq!(found.problems.len(), 5, "{:?}", found.problems);
}
