use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::*;
use crate::config::Config;
use crate::config::load::Loaded;
use crate::conversation::Mode;
use crate::conversation::entry::Uninvited;
use crate::env::Env;
use crate::prompt::Layout;
use crate::session::Sessions;
use crate::workspace::{Root, Uri, Workspace};

struct Desk {
    _dir: tempfile::TempDir,
    sessions: Arc<Sessions>,
    root: PathBuf,
    settings: Settings,
}

impl Desk {
    fn new(config: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let now = jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC);
        let env = Env::fixed(dir.path(), now, BTreeMap::new());
        let root = dir.path().canonicalize().unwrap().join("repo");
        fs::create_dir_all(root.join(".interline/agents")).unwrap();
        let workspace = Workspace::new();
        workspace.set_roots(Root::new(Uri::from_path(&root), None).into_iter().collect());
        let config: Config = toml::from_str(config).unwrap();
        let settings = Settings {
            mode: config.mode,
            agent: None,
            profile: None,
            segments: Vec::new(),
            detail: Detail::Full,
            thinking: None,
            config: Arc::new(config),
            rules: Vec::new(),
            choices: Default::default(),
            servers: None,
            uninvited: Uninvited::default(),
        };
        Self {
            _dir: dir,
            sessions: Sessions::new(env, workspace, Loaded::default()),
            root,
            settings,
        }
    }

    fn trust(&self, file: &str, text: &str) {
        let path = self.root.join(file);
        fs::write(&path, text).unwrap();
        let store = &self.sessions.shared().trust;
        store.set_folder(&self.root, true).unwrap();
        store.trust_text(&path, text).unwrap();
    }

    fn select(&mut self, name: &str, by: By) -> Result<Option<String>, Failure> {
        select(
            self.sessions.shared(),
            &self.root,
            &mut self.settings,
            name,
            by,
        )
    }
}

const OWN: &str = "[agents.doer]\nprompt = 'Do.'\nmode = 'agent'\nmodel = 'anthropic/m'\n\
    detail = 'minimal'\ntools = ['read']\n[agents.thinker]\nmode = 'ask'\n";

/// ET-45, OC-43.
#[test]
fn an_agent_brings_its_mode_model_detail_and_tools() {
    let mut desk = Desk::new(&format!("mode = 'plan'\n{OWN}"));
    let model = desk.select("doer", By::Request).unwrap();
    assert_eq!(model.as_deref(), Some("anthropic/m"));
    assert_eq!(desk.settings.mode, Mode::Agent);
    assert_eq!(desk.settings.detail, Detail::Minimal);
    let registry = &desk.sessions.shared().registry.clone();
    let layout = Layout::load(&desk.sessions.shared().texts, "default").unwrap();
    assert_eq!(
        desk.settings
            .registry(registry, &layout, &Default::default(), &Default::default())
            .names(),
        ["read"]
    );
    assert_eq!(desk.select("", By::Request).unwrap(), None);
    assert_eq!(desk.settings.agent, None);
    assert!(
        desk.settings
            .registry(registry, &layout, &Default::default(), &Default::default())
            .names()
            .contains(&"exec".to_owned())
    );
}

/// INV-8, INV-9: a repository can carry the setting, so the agent it names only narrows the mode.
#[test]
fn a_settings_agent_never_widens_the_mode() {
    let mut desk = Desk::new(&format!("mode = 'plan'\n{OWN}"));
    desk.select("doer", By::Setting).unwrap();
    assert_eq!(desk.settings.mode, Mode::Plan);
    desk.select("thinker", By::Setting).unwrap();
    assert_eq!(desk.settings.mode, Mode::Ask);
}

/// INV-9: neither does a workspace's agent, however it is chosen.
#[test]
fn a_workspaces_agent_never_widens_the_mode() {
    let mut desk = Desk::new("mode = 'plan'");
    desk.trust(".interline/agents/wide.md", "---\nmode: agent\n---\nx");
    desk.trust(".interline/agents/narrow.md", "---\nmode: ask\n---\nx");
    desk.select("wide", By::Request).unwrap();
    assert_eq!(desk.settings.mode, Mode::Plan);
    desk.select("narrow", By::Request).unwrap();
    assert_eq!(desk.settings.mode, Mode::Ask);
}

/// ET-45: an unknown name lists the known ones and changes nothing.
#[test]
fn an_unknown_agent_is_an_error_that_lists_the_known_ones() {
    let mut desk = Desk::new(OWN);
    let failure = desk.select("nobody", By::Request).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Invalid);
    assert!(
        failure.sentences().contains("build, doer, plan, thinker"),
        "{failure:?}"
    );
    assert!(desk.settings.agent.is_none() && desk.settings.profile.is_none());
    fs::write(desk.root.join(".interline/agents/new.md"), "New.").unwrap();
    let failure = desk.select("new", By::Request).unwrap_err();
    assert_eq!(failure.kind, FailureKind::NotTrusted);
    assert!(
        failure.sentences().contains(".interline/agents/new.md"),
        "{failure:?}"
    );
    let failure = Desk::new("").select("nobody", By::Request).unwrap_err();
    assert!(
        failure.sentences().contains("Agents: build, plan."),
        "{failure:?}"
    );
}

/// INV-9: when trust ends in the middle of a session, so does the agent.
#[test]
fn a_changed_file_is_no_longer_an_agent() {
    let mut desk = Desk::new("");
    desk.trust(".interline/agents/a.md", "---\ntools: read\n---\nOne.");
    desk.select("a", By::Request).unwrap();
    let refreshed = |desk: &Desk| {
        let now = current_profile(desk.sessions.shared(), &desk.root, &desk.settings);
        now.map(|profile| profile.map(|profile| profile.prompt.clone()))
    };
    assert_eq!(refreshed(&desk).unwrap().as_deref(), Some("One."));
    fs::write(desk.root.join(".interline/agents/a.md"), "Evil.").unwrap();
    assert_eq!(refreshed(&desk).unwrap_err().kind, FailureKind::NotTrusted);
    desk.trust(".interline/agents/a.md", "Two.");
    assert_eq!(refreshed(&desk).unwrap().as_deref(), Some("Two."));
}

/// ZY-64: opt-in tools are available only if the layout or the agent asks for them.
#[test]
fn opt_in_tools_are_available_only_on_request() {
    let mut desk = Desk::new("[agents.host]\ntools = ['read', 'self_rename']\n");
    let registry = &desk.sessions.shared().registry.clone();
    let layout = |name: &str| Layout::load(&desk.sessions.shared().texts, name).unwrap();
    let (plain, team) = (layout("default"), layout("zyhive"));
    let names = |settings: &Settings, layout| {
        settings
            .registry(registry, layout, &Default::default(), &Default::default())
            .names()
    };
    assert!(!names(&desk.settings, &plain).contains(&"self_rename".to_owned()));
    assert!(names(&desk.settings, &team).contains(&"self_rename".to_owned()));
    assert!(!names(&desk.settings, &team).contains(&"settings".to_owned()));
    desk.select("host", By::Request).unwrap();
    for layout in [&plain, &team] {
        assert_eq!(names(&desk.settings, layout), ["read", "self_rename"]);
    }
}

/// ZY-68: a tool that could leave the folder is missing, even if the agent names it.
#[test]
fn zy68_a_confined_agent_has_no_tool_that_escapes() {
    let mut desk = Desk::new("");
    let folder = desk.sessions.shared().env.dirs.config.join("agents");
    fs::create_dir_all(&folder).unwrap();
    let text = "---\nconfine: skills/pdf\ntools: read, exec, self_install_skill\n---\nWork.";
    fs::write(folder.join("studio.md"), text).unwrap();
    desk.select("studio", By::Request).unwrap();
    let shared = desk.sessions.shared();
    let layout = Layout::load(&shared.texts, "zyhive").unwrap();
    let registry = desk.settings.registry(
        &shared.registry,
        &layout,
        &shared.declared(),
        &Default::default(),
    );
    assert_eq!(registry.names(), ["read"]);
    let policy = shared.policy(&desk.settings, &desk.root);
    assert_eq!(policy.confine, Some(desk.root.join("skills/pdf")));
}
