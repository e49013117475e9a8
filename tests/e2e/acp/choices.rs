//! What a client's user chooses: options of a session, and commands as prompts.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::client::Client;
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};

const TEXT: &str = "//- /a.txt\nx\n";
const AGENT: &str = "[agents.poet]\ndescription = \"Verse\"\nprompt = \"Answer in verse.\"\n";

/// The current values of a session's options.
fn current(options: &Value) -> BTreeMap<String, String> {
    let options = options["configOptions"].as_array().expect("options").iter();
    let text = |it: &Value| it.as_str().expect("a text").to_owned();
    options
        .map(|it| (text(&it["id"]), text(&it["currentValue"])))
        .collect()
}

#[test]
fn thinking_agent_and_layout_are_options_that_reach_the_model() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let path = stage.folder("config/interline/config.toml");
    std::fs::write(path, AGENT).expect("settings");
    let mut client = Client::start(&stage, &model);
    let new = client.call(
        "session/new",
        json!({ "cwd": stage.root(), "mcpServers": [] }),
    );
    let new = new.expect("a session");
    assert_eq!(new["configOptions"][2]["category"], "thought_level");
    let session = new["sessionId"].as_str().expect("an id");
    let other = client.session(&stage.root());
    for (session, id, value) in [
        (session, "thinking", "low"),
        (session, "agent", "poet"),
        (&other, "layout", "mini"),
    ] {
        let set = json!({ "sessionId": session, "configId": id, "value": value });
        let options = client.call("session/set_config_option", set).expect(id);
        assert_eq!(current(&options)[id], value);
    }
    client.prompt(session, "hi");
    let asked = model.last();
    assert!(asked.raw_text().contains("\"effort\":\"low\""));
    assert!(asked.system().contains("Answer in verse."));
}

#[test]
fn an_option_with_an_unknown_value_changes_nothing() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut client = Client::start(&stage, &model);
    let session = client.session(&stage.root());
    for (id, value) in [
        ("thinking", "much"),
        ("agent", "missing"),
        ("layout", "none"),
        ("x", "y"),
    ] {
        let set = json!({ "sessionId": session, "configId": id, "value": value });
        let refused = client.call("session/set_config_option", set).expect_err(id);
        assert_eq!(refused["code"], -32602, "{id}: {refused}");
    }
    assert!(client.all("config_option_update").is_empty());
}

/// A picker shows what can be used.
#[test]
fn models_without_a_key_are_not_offered() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut client = Client::start(&stage, &model);
    let new = client.call(
        "session/new",
        json!({ "cwd": stage.root(), "mcpServers": [] }),
    );
    let models = new.expect("a session")["configOptions"][1]["options"].to_string();
    assert!(models.contains("\"anthropic/"), "{models}");
    assert!(!models.contains("\"gemini/"), "{models}");
}

#[test]
fn commands_show_the_prompt_and_memories_and_export_the_session() {
    let model = Model::says("the answer");
    let stage = Stage::new(TEXT);
    let mut client = Client::start(&stage, &model);
    let session = client.session(&stage.root());
    client.prompt(&session, "the question");
    let asked = model.count();
    client.prompt(&session, "/prompt");
    assert!(client.agent_text(&session).contains("# The prompt"));
    client.prompt(&session, "/memory");
    assert!(
        client
            .agent_text(&session)
            .contains("Nothing is remembered")
    );
    client.prompt(&session, "/export");
    let chunks = client.all("agent_message_chunk").into_iter();
    let mut links = chunks.filter(|it| it["content"]["type"] == "resource_link");
    let link = links.next().expect("a link")["content"]["uri"].clone();
    let path = link
        .as_str()
        .and_then(|it| it.strip_prefix("file://"))
        .expect("a file");
    let text = std::fs::read_to_string(path).expect("the export");
    assert!(
        text.contains("the question") && text.contains("the answer"),
        "{text}"
    );
    assert_eq!(model.count(), asked, "no model was asked");
    let commands = client.all("available_commands_update")[0].to_string();
    for name in ["compact", "prompt", "memory", "export", "revert", "redo"] {
        assert!(commands.contains(&format!("\"{name}\"")), "{commands}");
    }
}

#[test]
fn compact_replaces_the_conversation_by_a_summary_with_this_focus() {
    let model = Model::start(
        |request| match request.raw_text().contains("Write a summary") {
            true => Reply::text("## Task\nCount apples."),
            false => Reply::text("ok"),
        },
    );
    let stage = Stage::new(TEXT);
    let mut client = Client::start(&stage, &model);
    let session = client.session(&stage.root());
    for _ in 0..3 {
        client.prompt(&session, &format!("apples {}", "and pears ".repeat(3_000)));
    }
    assert_eq!(client.prompt(&session, "/compact the apples"), "end_turn");
    assert!(model.last().raw_text().contains("the apples"));
    assert!(client.agent_text(&session).contains("is compacted"));
    client.prompt(&session, "go on");
    assert!(model.last().raw_text().contains("Count apples."));
}

#[test]
fn a_cancelled_compact_ends_as_cancelled() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |request| match request.n {
        0..3 => Reply::text("ok"),
        _ => Reply::text("late").after(&held),
    });
    let stage = Stage::new(TEXT);
    let mut client = Client::start(&stage, &model);
    let session = client.session(&stage.root());
    for _ in 0..3 {
        client.prompt(&session, &"and pears ".repeat(3_000));
    }
    let compact = client.start_prompt(&session, "/compact");
    client.until(|_| model.count() == 4);
    client.cancel(&session);
    let end = client.wait(compact).expect("no error");
    assert_eq!(end["stopReason"], "cancelled");
    gate.open();
}
