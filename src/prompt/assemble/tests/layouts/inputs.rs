//! What assembly takes, and that it takes it from the facts alone.

use super::*;

/// System text and tail.
fn all(layout: &Layout, texts: &Texts, facts: &Facts) -> String {
    let assembled = assemble(layout, texts, facts);
    let tail = assembled.tail.iter().map(|part| part.text.as_str());
    system_text(&assembled) + &tail.collect::<String>()
}

type Change = (&'static str, fn(&mut Facts));

const CHANGES: [Change; 23] = [
    ("working directory", |facts| facts.cwd = "/else".to_owned()),
    ("sandbox", |facts| {
        facts.sandbox = LazyText::new(|| NO_SANDBOX.to_owned())
    }),
    ("names of tools", |facts| facts.tools.truncate(3)),
    ("summaries of tools", |facts| {
        facts.tools[2].spec.description = "Other.".to_owned();
    }),
    ("skills", |facts| facts.skills.truncate(1)),
    ("citations", |facts| facts.memory.citations = false),
    ("owners", |facts| facts.owners.clear()),
    ("aliases", |facts| facts.aliases.clear()),
    ("thinking", |facts| {
        facts.runtime.thinking = "off".to_owned()
    }),
    ("reasoning", |facts| {
        facts.runtime.reasoning = "on".to_owned()
    }),
    ("reasoning tags", |facts| {
        facts.switches.insert("reasoningFormat".to_owned(), true);
    }),
    ("extra text", |facts| {
        facts.client.remove("extraSystemPrompt");
    }),
    ("context files", |facts| facts.files.truncate(1)),
    ("notes", |facts| facts.notes = None),
    ("host", |facts| facts.runtime.host = "box".to_owned()),
    ("hints on messages", |facts| {
        let words = serde_json::json!("Write to Ana only.");
        facts.client.insert("messaging".to_owned(), words);
    }),
    ("reactions", |facts| {
        facts
            .client
            .insert("reactions".to_owned(), serde_json::json!("extensive"));
    }),
    ("heartbeat", |facts| {
        facts.client.remove("heartbeat");
    }),
    ("documentation", |facts| facts.docs_path = None),
    ("voice", |facts| {
        facts.client.remove("tts");
    }),
    ("zone", |facts| facts.timezone = "Asia/Tokyo".to_owned()),
    ("time", |facts| facts.date = "2027-01-01".to_owned()),
    ("detail", |facts| facts.detail = Detail::Minimal),
];

/// OC-02: each of the inputs shows in what is rendered; how owners and dates are shown is the
/// layout's.
#[test]
fn every_input_is_shown() {
    let texts = Texts::load(None);
    let layout = Layout::load(&texts, "openclaw").unwrap();
    let before = all(&layout, &texts, &rich(true));
    for (what, change) in CHANGES {
        let mut facts = rich(true);
        change(&mut facts);
        assert_ne!(all(&layout, &texts, &facts), before, "{what}");
    }
    let own = texts.get("layouts/openclaw.toml").unwrap();
    let raw = own.replace("display = \"hash\"", "display = \"raw\"");
    let raw = raw.replace("dateFormat = \"%Y-%m-%d\"", "dateFormat = \"%H:%M\"");
    let texts = texts_with(&[("layouts/openclaw.toml", &raw)]);
    let layout = Layout::load(&texts, "openclaw").unwrap();
    assert!(all(&layout, &texts, &rich(true)).contains("\n- +491700000001\n"));
    assert_eq!(layout.head.date_format, "%H:%M");
}

/// ET-15, OC-01: the environment is rendered from facts; a place that does not exist is as good.
#[test]
fn the_environment_needs_no_files() {
    let facts = Facts {
        cwd: "/nowhere/at/all".to_owned(),
        ..rich(true)
    };
    let env = of(&built("etcode", &facts), "env").to_owned();
    in_order(
        &env,
        &[
            "Working directory: /nowhere/at/all\n",
            "Is directory a git repo: yes\n",
        ],
    );
}

/// K2: the template first, then who the agent is, then the rest.
#[test]
fn the_default_layout_begins_with_template_and_persona() {
    let assembled = built("default", &rich(true));
    let ids = ids(&assembled);
    assert_eq!(ids[..4], ["provider", "identity", "soul", "environment"]);
    in_order(
        &system_text(&assembled),
        &[
            Texts::load(None).get("providers/anthropic.md").unwrap(),
            "# Who I am",
            "Help truly, never perform.",
            "# Environment\n",
            "# Project instructions\n",
        ],
    );
}
