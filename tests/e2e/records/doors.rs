//! Records of the other ways in: the Agent Client Protocol and the command line.

use serde_json::{Value, json};

use super::record::Record;
use super::{TEXT, script};
use crate::acp::client::{Answer, Client};
use crate::fixture::Stage;
use crate::model::Model;
use crate::terminal::{interline, text};

fn updates(record: &mut Record, client: &mut Client) {
    for params in std::mem::take(&mut client.updates) {
        // Sent as soon as the skills are known.
        if params["update"]["sessionUpdate"] == "available_commands_update" {
            continue;
        }
        record.line("update", &params);
    }
    for (_, params) in std::mem::take(&mut client.permissions) {
        record.line("permission", &params);
    }
    // Files are read side by side.
    let mut files = std::mem::take(&mut client.files);
    files.sort();
    for (method, path) in files {
        record.line(&method, &path.into());
    }
}

#[test]
fn the_record_of_a_session_in_an_acp_client() {
    let model = Model::start(script);
    let stage = Stage::new(TEXT);
    let mut client = Client::spawn(&stage, &model);
    let mut record = Record::new(&stage);
    let files = json!({ "fs": { "readTextFile": true, "writeTextFile": true } });
    record.line("initialize", &client.initialize(files));
    let path = stage.path("src/lib.rs").display().to_string();
    let unsaved = format!("// unsaved\n{}", stage.read("src/lib.rs"));
    client.buffers.insert(path, unsaved);
    let params = json!({ "cwd": stage.root(), "mcpServers": [] });
    let new = client.call("session/new", params).expect("a session");
    record.line("session/new", &new);
    let session = new["sessionId"].as_str().expect("an id").to_owned();
    client.user.extend([Answer::Takes("allow_once"); 8]);
    for prompt in ["Tidy it", "and now?", "continue"] {
        record.title(prompt);
        let id = client.start_prompt(&session, prompt);
        let end = client.wait(id).expect("an end");
        updates(&mut record, &mut client);
        record.line("session/prompt", &end);
    }
    record.title("configured, listed, loaded");
    for (method, mut params) in [
        ("session/set_mode", json!({ "modeId": "plan" })),
        ("session/set_mode", json!({ "modeId": "none" })),
        ("session/list", json!({})),
        (
            "session/load",
            json!({ "cwd": stage.root(), "mcpServers": [] }),
        ),
        (
            "session/load",
            json!({ "cwd": stage.root(), "mcpServers": [], "sessionId": "s_0" }),
        ),
        ("session/nothing", json!({})),
    ] {
        if params.get("sessionId").is_none() {
            params["sessionId"] = session.as_str().into();
        }
        match client.call(method, params) {
            Ok(answer) => {
                record.line(method, &answer);
                if method == "session/load" {
                    // Sent beside the answer.
                    let usage =
                        |update: &Value| update["update"]["sessionUpdate"] == "usage_update";
                    client.until(|client| client.updates.iter().any(usage));
                    client.updates.sort_by_key(usage);
                }
            }
            Err(error) => record.line(method, &error),
        }
        updates(&mut record, &mut client);
    }
    record.title("the last request");
    record.request(&model.last(), false);
    assert_eq!(client.leave(), 0);
    record.holds("acp");
}

#[test]
fn the_record_of_the_command_line() {
    let model = Model::start(script);
    let stage = Stage::new(TEXT);
    let mut record = Record::new(&stage);
    for args in [
        &["run", "Tidy it"][..],
        &["run", "--trust", "--json", "--continue", "and now?"],
        &["run", "--mode", "plan", "continue"],
        &["run", "--layout", "none", "continue"],
        &["prompt", "src"],
        &["prompt", "--trust", "--prompt", "hi", "--layout", "zeus"],
        &["trust"],
        &["trust", "AGENTS.md"],
        &["trust", "missing"],
        &["trust", "--remove"],
        &["sessions"],
        &["sessions", "show", "s_0"],
        &["mcp"],
    ] {
        record.title(&args.join(" "));
        let output = interline(&stage, &model.url(), args);
        record.text(&text(&output));
        record.line("exit", &output.status.code().into());
    }
    record.title("the last request");
    record.request(&model.last(), false);
    record.holds("terminal");
}
