//! Logs that another program of the ZyHive design wrote, put among the sessions: listed, opened,
//! continued. The lines have the forms of that design and words of their own.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::acp::client::Client;
use crate::fixture::Stage;
use crate::model::Model;

const TEXT: &str = "//- /a.txt\nalpha\n";

/// Flat lines, whose content is JSON in a string, and a record of a call for display.
const FLAT: &str = r#"{"role":"user","content":"\"Where is the lamp?\"","ts":1740000000}
{"role":"assistant","content":"[{\"type\":\"text\",\"text\":\"I will look.\"}]","ts":1740000001,"toolCalls":[{"name":"read","input":"{\"path\":\"DISPLAYED.md\"}","result":"DISPLAYED"}]}
{"role":"user","content":"[{\"type\":\"tool_result\",\"tool_use_id\":\"tu_01\",\"content\":\"on the shelf\"}]","ts":1740000002}
{"role":"assistant","content":"\"It is on the shelf.\"","ts":1740000003}
"#;

/// The typed form: a header that names an agent and no session, messages, and a compaction.
const TYPED: &str = r#"{"type":"session","version":3,"agentId":"main","createdAt":1740000000000}
{"type":"message","message":{"role":"user","content":"Forget this."},"timestamp":1740000001000}
{"type":"compaction","summary":"They spoke of lamps.","firstKeptEntryId":"e2","tokensBefore":900,"tokensAfter":90,"timestamp":1740000002000}
{"type":"message","message":{"role":"user","content":"Where is the lamp?"},"timestamp":1740000003000}
{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"It is on the shelf."}],"toolCalls":[{"name":"read","input":"DISPLAYED","result":"DISPLAYED"}]},"timestamp":1740000004000}
"#;

/// Puts a log beside those of the workspace.
fn put(stage: &Stage, model: &Model, name: &str, text: &str) -> PathBuf {
    stage.editor(model).run("begin");
    let path = stage.logs()[0].with_file_name(format!("{name}.jsonl"));
    std::fs::write(&path, text).unwrap();
    model.allow_new_epoch();
    path
}

/// The words of the events that a session shows.
fn shown(opened: &Value) -> Vec<String> {
    let items = opened["items"].as_array().unwrap().iter();
    let events = items.map(|item| &item["body"]["event"]);
    let words = |event: &Value| match event["type"].as_str()? {
        "userMessage" => Some(event["input"][0]["text"].as_str()?.to_owned()),
        "text" => Some(event["text"].as_str()?.to_owned()),
        "toolCall" => Some(event["output"].as_str()?.to_owned()),
        _ => None,
    };
    events.filter_map(words).collect()
}

/// ZY-82, ZY-84, ZY-98, K10: also after it was continued, and opened again.
#[test]
fn a_log_of_flat_lines_is_listed_opened_and_continued() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let path = put(&stage, &model, "ses-flat", FLAT);
    let mut editor = stage.editor(&model);
    let here = json!({ "cwd": stage.root() });
    let listed = editor.request("interline/session/list", here);
    let mut rows = listed["sessions"].as_array().unwrap().iter();
    let row = rows.find(|row| row["sessionId"] == "ses-flat").unwrap();
    assert_eq!(
        (&row["title"], &row["turns"]),
        (&json!("Where is the lamp?"), &json!(1))
    );
    let texts = [
        "Where is the lamp?",
        "I will look.",
        "DISPLAYED",
        "It is on the shelf.",
    ];
    assert_eq!(shown(&editor.resume("ses-flat")), texts);
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        FLAT,
        "only looked at"
    );
    editor.run("And the lens?");
    let sent = model.last().raw_text();
    assert!(
        sent.contains("It is on the shelf.") && !sent.contains("DISPLAYED"),
        "{sent}"
    );
    assert!(std::fs::read_to_string(&path).unwrap().starts_with(FLAT));
    editor.quit();
    let mut editor = stage.editor(&model);
    let again = shown(&editor.resume("ses-flat"));
    assert_eq!(again[..4], texts);
    assert_eq!(again[4..], ["And the lens?", "ok"]);
    editor.run("Thanks.");
    assert!(model.last().raw_text().contains("Where is the lamp?"));
}

/// ZY-82, ZY-83-C, ZY-84, ZY-98, K10.
#[test]
fn a_log_with_another_program_s_header_is_listed_opened_and_continued() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    put(&stage, &model, "ses-typed", TYPED);
    let mut editor = stage.editor(&model);
    let listed = editor.request("interline/session/list", json!({}));
    assert!(listed.to_string().contains("ses-typed"), "{listed}");
    let opened = editor.resume("ses-typed");
    let texts = [
        "Forget this.",
        "Where is the lamp?",
        "It is on the shelf.",
        "DISPLAYED",
    ];
    assert_eq!(shown(&opened), texts);
    editor.run("And the lens?");
    let sent = model.last().raw_text();
    assert!(sent.contains("They spoke of lamps.") && sent.contains("It is on the shelf."));
    assert!(
        !sent.contains("Forget this.") && !sent.contains("DISPLAYED"),
        "{sent}"
    );
    let fork = json!({ "sessionId": "ses-typed" });
    let fork = editor.request("interline/session/fork", fork)["sessionId"].clone();
    assert_eq!(shown(&editor.resume(fork.as_str().unwrap()))[..4], texts);
}

/// ZY-98: over the other door too.
#[test]
fn a_foreign_log_is_loaded_over_acp() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    put(&stage, &model, "ses-flat", FLAT);
    let mut client = Client::start(&stage, &model);
    let listed = client.call("session/list", json!({ "cwd": stage.root() }));
    assert!(listed.unwrap().to_string().contains("ses-flat"));
    let params = json!({ "sessionId": "ses-flat", "cwd": stage.root(), "mcpServers": [] });
    client.call("session/load", params).unwrap();
    let prompts = client.all("user_message_chunk");
    assert_eq!(prompts[0]["content"]["text"], "Where is the lamp?");
    assert_eq!(
        client.agent_text("ses-flat"),
        "I will look.It is on the shelf."
    );
    assert_eq!(client.prompt("ses-flat", "And the lens?"), "end_turn");
}
