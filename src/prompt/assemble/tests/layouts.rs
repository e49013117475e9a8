//! What each layout promises, on one rich fixture: a fixed clock, host and workspace. Goldens show
//! everything, the tests below name the behaviours.

mod etcode;
mod hostile;
mod inputs;
mod mini;
mod openclaw;
mod shared;
mod zeus;
mod zyhive;

use super::*;
use crate::conversation::ToolFacts;
use crate::knowledge::persona::FileText;
use crate::prompt::facts::{AgentPrompt, LazyText, MemoryFacts, NO_SANDBOX, Runtime, SkillFacts};

/// The fixture under another layout.
fn built(layout: &str, facts: &Facts) -> Assembled {
    let texts = Texts::load(None);
    assemble(&Layout::load(&texts, layout).unwrap(), &texts, facts)
}

/// The system text as one string.
fn text(layout: &str, facts: &Facts) -> String {
    system_text(&built(layout, facts))
}

fn file(name: &str, text: &str) -> FileText {
    FileText {
        name: name.to_owned(),
        path: format!("/w/app/{name}").into(),
        text: text.to_owned(),
        hash: sha256(text.as_bytes()),
        bytes: text.len(),
        unsaved: false,
        standing: Standing::Session,
    }
}

fn skill(name: &str, description: &str, body: &str) -> SkillFacts {
    SkillFacts {
        name: name.to_owned(),
        description: description.to_owned(),
        location: format!(".agents/skills/{name}/SKILL.md"),
        folder: None,
        body: body.into(),
        always: false,
        matched: false,
        connector: None,
        trust: Trust::Workspace,
    }
}

fn runtime() -> Runtime {
    Runtime {
        host: "mac".to_owned(),
        os: "Darwin 25.0".to_owned(),
        arch: "arm64".to_owned(),
        version: "1.0".to_owned(),
        channel: "zed".to_owned(),
        thinking: "adaptive".to_owned(),
        reasoning: "off".to_owned(),
        parent: None,
        tools: true,
    }
}

fn files() -> Vec<FileText> {
    vec![
        file("IDENTITY.md", "# Who I am\n- Name: Flow\n"),
        file("SOUL.md", "Help truly, never perform.\n"),
        file("memory/INDEX.md", "- 2026-11-20: release\n"),
        file("MEMORY.md", "old memory\n"),
        file("RELATIONS.md", "| member | relation | object |\n"),
        file("TOOLS.md", "Use the linter.\n"),
    ]
}

/// Tools that the client offers, by what they serve.
fn clients() -> [ToolFacts; 2] {
    [("message", "messaging"), ("page_open", "browser")].map(|(name, serves)| ToolFacts {
        serves: Some(serves.to_owned()),
        of_client: true,
        ..tool(name)
    })
}

/// Everything that any layout shows.
fn rich(trusted: bool) -> Facts {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let tools = [
        "ask_user",
        "current_time",
        "edit",
        "exec",
        "glob",
        "grep",
        "list",
        "load_skill",
        "memory_search",
        "read",
        "save_memory",
        "write",
        "write_todos",
    ];
    Facts {
        tools: tools.map(tool).into_iter().chain(clients()).collect(),
        files: files(),
        skills: vec![
            skill("deploy", "Ships the app to staging.", "Run `make ship`."),
            skill("search", "Finds things on the web.", "Use web_fetch."),
        ],
        memory: MemoryFacts {
            index: words(&["release: 3 entries"]),
            user: words(&["prefers short answers"]),
            project: words(&["supports IE11"]),
            related: words(&["the cart rounds half up"]),
            tree: true,
            citations: true,
            advice: None,
        },
        client: serde_json::from_value(serde_json::json!({
            "tts": true,
            "reactions": "minimal",
            "replyTags": true,
            "messaging": true,
            "inlineButtons": true,
            "silentReplies": true,
            "heartbeat": "If you get a heartbeat and nothing is due, answer HEARTBEAT_OK.",
            "extraSystemPrompt": "The user speaks in the group Builders.",
            "browser": true,
        }))
        .unwrap(),
        runtime: runtime(),
        aliases: vec![("sonnet".to_owned(), "anthropic/claude-sonnet-5".to_owned())],
        owners: words(&["+491700000001"]),
        notes: Some("Tests need the database.".to_owned()),
        docs_path: Some("/usr/share/doc/interline".to_owned()),
        environment: vec![("Shell".to_owned(), "/bin/zsh".to_owned())],
        variables: words(&["NPM_TOKEN", "GITHUB_TOKEN"]),
        created: words(&["src/new.rs"]),
        resources: words(&["docs/plan.md"]),
        attachments: words(&["image/png"]),
        picked: vec![("review (git)".to_owned(), "Review the branch.".to_owned())],
        sandbox: LazyText::new(|| "landlock: writes stay inside the folders".to_owned()),
        degraded: vec![("web_fetch".to_owned(), "the network is down".to_owned())],
        constraints: words(&["Do not touch the schema."]),
        summary: Some("The cart was fixed.".to_owned()),
        ..facts(trusted)
    }
}

/// Each part is there, after the one before it.
#[track_caller]
fn in_order(text: &str, parts: &[&str]) {
    let mut at = 0;
    for part in parts {
        match text[at..].find(part) {
            Some(found) => at += found + part.len(),
            None => panic!("{part:?} is not there after {:?}:\n{text}", &text[..at]),
        }
    }
}

/// Rows of the system slot that are there, by id, in order.
fn ids(assembled: &Assembled) -> Vec<&str> {
    let rows = assembled.rows.iter();
    rows.filter(|row| row.included && row.slot == Slot::System)
        .map(|row| row.id.as_str())
        .collect()
}

/// The text of one row; empty when it is absent.
fn of<'a>(assembled: &'a Assembled, id: &str) -> &'a str {
    row(assembled, id).text.as_deref().unwrap_or_default()
}
