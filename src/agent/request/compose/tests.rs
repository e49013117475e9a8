//! The path of a turn and a preview, on a real folder: which facts reach the prompt, and when it is
//! rendered again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::*;
use crate::agent::request::draft::REBUILT;
use crate::agent::{Conversation, Settings};
use crate::config::Config;
use crate::conversation::{EditorContext, EpochId};
use crate::edit::Seen;
use crate::env::Env;
use crate::knowledge::instructions::fetch::UrlCache;
use crate::knowledge::trust::TrustStore;
use crate::prompt::Texts;
use crate::prompt::epoch::NESTED;
use crate::prompt::layout::Cadence;
use crate::provider::Providers;
use crate::tools::Registry;
use crate::workspace::{Encoding, Root, Uri, Workspace};

struct Desk {
    /// The temporary folder, removed at the end.
    dir: tempfile::TempDir,
    context: RequestContext,
}

fn shared(top: &Path) -> Shared {
    let zone = jiff::tz::TimeZone::get("America/New_York").unwrap();
    let now = jiff::Timestamp::UNIX_EPOCH.to_zoned(zone);
    let env = Env::fixed(top, now, BTreeMap::new());
    let workspace = Workspace::new();
    let root = top.join("repo");
    workspace.set_roots(vec![Root::new(Uri::from_path(&root), None).unwrap()]);
    Shared {
        client: Default::default(),
        offered: Default::default(),
        lanes: Arc::default(),
        texts: Arc::new(Texts::load(None)),
        registry: Registry::built_in(),
        mcp: crate::mcp::Servers::new(env.clone(), workspace.clone()),
        providers: Providers::new(env.clone()),
        trust: TrustStore::new(&env),
        urls: UrlCache::default(),
        caches: Default::default(),
        languages: Arc::default(),
        trusted_now: Mutex::new(vec![root]),
        roles: Mutex::default(),
        unverified: Mutex::default(),
        env,
        workspace,
    }
}

/// A trusted root `repo` with an AGENTS.md, at the start of 1970 in UTC, in New York; thinking is
/// not bound to the prompt.
fn desk(layout: &str, config: &str) -> Desk {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    fs::create_dir_all(top.join("repo/pkg")).unwrap();
    fs::write(top.join("repo/AGENTS.md"), "Use tabs.").unwrap();
    let shared = shared(&top);
    let config: Arc<Config> = Arc::new(toml::from_str(config).unwrap());
    let found = shared.providers.resolve(&config, Some("replay/@demo"));
    let mut model = found.unwrap();
    Arc::make_mut(&mut model.facts).prefix_bound = false;
    let context = RequestContext {
        settings: Arc::new(Settings::new(config.mode, config)),
        cwd: top.join("repo"),
        model,
        layout: Arc::new(Layout::load(&shared.texts, layout).unwrap()),
        editor: EditorContext::default(),
        picked: Default::default(),
        segments: Vec::new(),
        seen: Seen::default(),
        encoding: Encoding::Utf16,
        news: Vec::new(),
        parent: None,
        conversation: Conversation::default(),
        input: Vec::new(),
        servers_known: false,
        epoch: EpochId::from("epoch_1"),
        hooks: Default::default(),
        session: None,
        shared: Arc::new(shared),
    };
    Desk { dir, context }
}

impl Desk {
    fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.path().join("repo").join(name), text).unwrap();
    }

    /// Drafts and admits as a turn would, without sending anything.
    fn turn(&mut self) -> Draft {
        let (_, draft, _) = self.context.draft();
        let conversation = &mut self.context.conversation;
        if draft.new_epoch.is_some() {
            conversation.begin(draft.baseline.clone());
        }
        let entries = draft.journal.iter();
        let entries = entries.map(|entry| (entry.source.clone(), entry.hash.clone()));
        conversation.known_sources.extend(entries);
        let sent = draft.tail.iter();
        let sent = sent.map(|part| (part.id.clone(), part.hash.clone()));
        conversation.tail.extend(sent);
        conversation.push(draft.message.clone());
        draft
    }
}

fn system(baseline: &Baseline) -> String {
    let blocks = baseline.system.iter();
    blocks.map(|block| block.text.as_str()).collect()
}

/// The user's words, updates and tail of a message.
fn words(draft: &Draft) -> String {
    let text = |block: &Block| match block {
        Block::Text { text } => text.clone(),
        other => panic!("{other:?}"),
    };
    draft.message.content.iter().map(text).collect()
}

/// ZY-04, ZY-04-C, OC-48, K21: the setting's zone, else the layout's, else the system's; an unknown
/// zone is UTC.
#[test]
fn the_time_zone_comes_from_the_setting_the_layout_or_the_system() {
    for (layout, set, zone, date) in [
        ("zyhive", "", "Asia/Shanghai", "1970-01-01 08:00:00 CST"),
        (
            "zyhive",
            "Europe/Berlin",
            "Europe/Berlin",
            "1970-01-01 01:00:00 CET",
        ),
        ("zyhive", "Mars/Olympus", "UTC", "1970-01-01 00:00:00 UTC"),
        ("openclaw", "", "America/New_York", "1969-12-31"),
        ("openclaw", "Asia/Shanghai", "Asia/Shanghai", "1970-01-01"),
        ("default", "", "America/New_York", "1969-12-31"),
        ("default", "Mars/Olympus", "UTC", "1970-01-01"),
    ] {
        let config = match set {
            "" => String::new(),
            set => format!("[prompt]\ntimezone = '{set}'"),
        };
        let (facts, _, _) = desk(layout, &config).context.draft();
        assert_eq!(
            (facts.timezone.as_str(), facts.date.as_str()),
            (zone, date),
            "{layout}"
        );
    }
}

/// ET-12, OC-53: the session's directory is used, wherever the process runs.
#[test]
fn the_session_decides_the_directory() {
    let mut desk = desk("etcode", "");
    desk.context.cwd = desk.context.cwd.join("pkg");
    let (facts, draft, _) = desk.context.draft();
    let cwd = desk.context.cwd.display().to_string();
    assert_eq!(facts.cwd, cwd);
    assert_ne!(desk.context.cwd, std::env::current_dir().unwrap());
    assert!(system(&draft.baseline).contains(&format!("Working directory: {cwd}\n")));
}

/// OC-05, ZE-03, MC-24, ET-40: a layout's cadence decides when an edited file reaches the system
/// text: at once, with the next turn, or never within the epoch.
#[test]
fn the_cadence_decides_when_a_changed_file_is_seen() {
    for (layout, cadence) in [
        ("default", Cadence::Session),
        ("zyhive", Cadence::Turn),
        ("zeus", Cadence::Turn),
        ("openclaw", Cadence::Step),
        ("etcode", Cadence::Step),
        ("mini", Cadence::Step),
    ] {
        let mut desk = desk(layout, "");
        assert_eq!(desk.context.layout.head.cadence, cadence, "{layout}");
        desk.turn();
        assert_eq!(
            desk.context.baseline_between_steps(),
            None,
            "{layout}: nothing changed"
        );
        desk.write("AGENTS.md", "Use spaces.");
        let between = desk.context.baseline_between_steps().map(|it| system(&it));
        let next = desk.turn();
        let spaces = |text: &String| text.contains("Use spaces.");
        // `mini` has them in the tail.
        if layout != "mini" {
            assert_eq!(
                between.is_some_and(|it| spaces(&it)),
                cadence == Cadence::Step
            );
            let rebuilt = next.new_epoch.as_deref() == Some(REBUILT);
            assert_eq!(rebuilt, cadence != Cadence::Session, "{layout}");
            assert_eq!(spaces(&system(&next.baseline)), rebuilt, "{layout}");
        }
    }
}

/// ZY-01, K12: within an epoch of the default layout the bytes stay, and a change is reported once.
#[test]
fn the_default_layout_reports_changes_and_keeps_its_bytes() {
    let mut desk = desk("default", "");
    let first = desk.turn();
    assert_eq!(first.new_epoch.as_deref(), Some("start"));
    assert!(system(&first.baseline).contains("Use tabs."));
    desk.write("AGENTS.md", "Use spaces.");
    let second = desk.turn();
    assert_eq!(
        (second.new_epoch.as_deref(), &second.baseline),
        (None, &first.baseline)
    );
    assert!(words(&second).contains("Use spaces."));
    assert!(!words(&desk.turn()).contains("Use spaces."));
}

/// K12: if thinking is bound to the bytes before it, no layout is rendered between two steps.
#[test]
fn nothing_is_rendered_between_steps_if_thinking_is_bound() {
    let mut desk = desk("openclaw", "");
    Arc::make_mut(&mut desk.context.model.facts).prefix_bound = true;
    desk.turn();
    desk.write("AGENTS.md", "Use spaces.");
    assert_eq!(desk.context.baseline_between_steps(), None);
    assert_eq!(desk.turn().new_epoch.as_deref(), Some(REBUILT));
}

/// K13, OC-49: a tool that appears or disappears changes the request at once in a live layout, and
/// with the next epoch in the default one.
#[test]
fn tools_are_fixed_for_an_epoch_of_the_default_layout() {
    for (layout, live) in [("default", false), ("openclaw", true), ("zeus", true)] {
        let mut desk = desk(layout, "");
        let (mut facts, _, _) = desk.context.draft();
        desk.turn();
        facts.tools.retain(|tool| tool.spec.name != "exec");
        let sources = desk.context.sources(&facts, &[]);
        let next = draft(&desk.context.conversation, &sources, Vec::new());
        let offered = next.baseline.tools.iter().any(|tool| tool.name == "exec");
        assert_eq!(offered, !live, "{layout}");
    }
}

/// OC-C6: while the hashes of its sources are unchanged, the stable part is sent again byte for
/// byte; a changed source changes only its own hash.
#[test]
fn the_stable_part_stays_while_the_hashes_of_its_sources_do() {
    for (layout, key) in [("default", "AGENTS.md"), ("openclaw", "row:projectContext")] {
        let mut desk = desk(layout, "");
        let first = desk.turn();
        let stable = |draft: &Draft| draft.baseline.system[0].clone();
        desk.write("other.md", "no source");
        desk.context.shared.workspace.did_open(
            Uri::from_path(&desk.context.cwd.join("other.md")),
            "markdown",
            1,
            "no source",
        );
        let second = desk.turn();
        assert_eq!(
            (second.new_epoch.as_deref(), stable(&second)),
            (None, stable(&first))
        );
        assert_eq!(
            first.assembled.sources, second.assembled.sources,
            "{layout}"
        );
        desk.write("AGENTS.md", "Use spaces.");
        let third = desk.turn();
        let changed = third.assembled.sources.iter();
        let changed: Vec<&str> = changed
            .filter(|(key, hash)| first.assembled.sources.get(*key) != Some(*hash))
            .map(|(key, _)| key.as_str())
            .collect();
        assert_eq!(changed, [key], "{layout}");
    }
}

/// ET-33-C2: claims are forgotten with their epoch, but not if the layout only renders again.
#[test]
fn claims_end_with_their_epoch() {
    for (reason, kept) in [(REBUILT, true), ("model", false)] {
        let mut desk = desk("openclaw", "");
        let mut baseline = desk.turn().baseline;
        baseline.reason = reason.to_owned();
        let key = format!("{NESTED}/repo/pkg/AGENTS.md");
        let conversation = &mut desk.context.conversation;
        conversation
            .known_sources
            .insert(key.clone(), "hash".to_owned());
        conversation.begin(baseline);
        assert_eq!(
            conversation.known_sources.contains_key(&key),
            kept,
            "{reason}"
        );
    }
}
