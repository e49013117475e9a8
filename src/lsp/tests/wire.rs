//! The complete door in one process: frames in, frames out.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::env::Env;
use crate::lsp::door::Door;
use crate::lsp::service::DoorService;
use crate::rpc::tests::client::{Client, notification, request};

/// A client with its own folder.
struct Story {
    client: Client,
    dir: tempfile::TempDir,
    next: i64,
}

fn start(capabilities: Value, options: Value) -> (Story, Value) {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["w", "config", "state", "run", "home"] {
        std::fs::create_dir(dir.path().join(folder)).unwrap();
    }
    std::fs::write(
        dir.path().join("config/config.toml"),
        "model = 'replay/@demo'\n",
    )
    .unwrap();
    let now = "2026-11-21T10:00:00[UTC]".parse().unwrap();
    let env = Env::fixed(dir.path(), now, BTreeMap::new());
    let client = Client::start(|peer| DoorService::new(Arc::new(Door::new(env, peer.clone()))));
    let mut story = Story {
        client,
        dir,
        next: 0,
    };
    let answer = story.ask(
        "initialize",
        json!({
            "processId": null,
            "rootUri": story.uri(""),
            "capabilities": capabilities,
            "initializationOptions": options,
        }),
    );
    story.notify("initialized", json!({}));
    (story, answer)
}

impl Story {
    fn uri(&self, name: &str) -> String {
        let root = self.dir.path().canonicalize().unwrap().join("w");
        format!("file://{}{name}", root.display())
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        self.client.ask(self.next, method, params)
    }

    fn command(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({ "command": name, "arguments": arguments });
        self.ask("workspace/executeCommand", params)
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.client.send(&notification(method, params));
    }

    fn ignored(&mut self) -> Vec<String> {
        let status = self.ask("interline/status", json!({}));
        let rows = status["result"]["ignoredSettings"].as_array().unwrap();
        let keys = rows.iter().map(|row| row["key"].as_str().unwrap());
        keys.map(str::to_owned).collect()
    }

    fn actions(&mut self, context: Value) -> Vec<String> {
        let answer = self.ask(
            "textDocument/codeAction",
            json!({
                "textDocument": { "uri": self.uri("/a.rs") },
                "range": { "start": { "line": 0, "character": 0 },
                           "end": { "line": 0, "character": 3 } },
                "context": context,
            }),
        );
        let rows = answer["result"].as_array().unwrap();
        let titles = rows.iter().map(|row| row["title"].as_str().unwrap());
        titles.map(str::to_owned).collect()
    }
}

fn rich() -> Value {
    json!({ "experimental": { "interline": {
        "version": 1, "events": true, "commands": true, "userSettings": true } } })
}

#[test]
fn our_methods_accept_missing_and_null_params() {
    let (mut story, _) = start(json!({}), Value::Null);
    for params in [Some(Value::Null), Some(json!({})), None] {
        story.next += 1;
        let id = story.next;
        let mut message = request(id, "interline/status", json!({}));
        match params {
            Some(params) => message["params"] = params,
            None => {
                message.as_object_mut().unwrap().remove("params");
            }
        }
        story.client.send(&message);
        let answer = story.client.answer(id);
        assert_eq!(answer["result"]["version"], env!("CARGO_PKG_VERSION"));
    }
}

#[test]
fn wrong_params_name_the_field() {
    let (mut story, _) = start(json!({}), Value::Null);
    let answer = story.command("interline.dance", json!([]));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("interline.ask"), "{message}");
    let answer = story.ask("interline/turn/cancel", json!({ "sessionId": 7 }));
    assert_eq!(answer["error"]["code"], -32602);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("sessionId:"), "{message}");
}

#[test]
fn a_document_is_mirrored_at_once_under_the_uri_that_the_client_wrote() {
    let (mut story, _) = start(json!({}), Value::Null);
    let uri = story.uri("/odd%20name.rs");
    story.notify(
        "textDocument/didOpen",
        json!({ "textDocument": { "uri": uri, "languageId": "rust", "version": 1, "text": "a\n" } }),
    );
    let range = json!({ "start": { "line": 0, "character": 1 },
                        "end": { "line": 0, "character": 1 } });
    story.notify(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": uri, "version": 5 },
                "contentChanges": [{ "range": range, "text": "b" }] }),
    );
    let status = story.ask("interline/status", json!({}));
    let document = &status["result"]["documents"][0];
    assert_eq!(document["uri"], uri.as_str());
    assert_eq!(document["version"], 5);
    assert_eq!(document["hash"], crate::conversation::sha256(b"ab\n"));
    story.notify(
        "textDocument/didClose",
        json!({ "textDocument": { "uri": uri } }),
    );
    let status = story.ask("interline/status", json!({}));
    assert_eq!(status["result"]["documents"], json!([]));
}

#[test]
fn granting_settings_of_a_repository_are_a_notice_in_status() {
    let options = json!({ "approvals": "auto", "user": { "limits": { "steps": 99 } } });
    let (mut story, _) = start(rich(), options);
    assert_eq!(story.ignored(), ["approvals"]);
    let settings = json!({ "interline": { "providers": {}, "approvals": "ask" } });
    story.notify(
        "workspace/didChangeConfiguration",
        json!({ "settings": settings }),
    );
    story
        .client
        .find(|message| message["method"] == "interline/status/didChange");
    assert_eq!(story.ignored(), ["providers"]);
    // A client without `userSettings` cannot send user settings.
    let (mut story, _) = start(json!({}), json!({ "user": { "approvals": "auto" } }));
    assert_eq!(story.ignored(), ["user"]);
}

#[test]
fn on_automatic_trigger_only_fix_is_offered_and_only_with_diagnostics() {
    let (mut story, _) = start(json!({}), Value::Null);
    let range = json!({ "start": { "line": 0, "character": 0 },
                        "end": { "line": 0, "character": 1 } });
    let diagnostics = json!([{ "range": range, "message": "no" }]);
    let fix = "Interline: fix this";
    let explain = "Interline: explain this";
    let chat = "Interline: ask in chat…";
    assert_eq!(
        story.actions(json!({ "diagnostics": diagnostics })),
        [fix, explain, chat]
    );
    assert_eq!(
        story.actions(json!({ "diagnostics": diagnostics, "triggerKind": 2 })),
        [fix]
    );
    let nothing: [&str; 0] = [];
    assert_eq!(
        story.actions(json!({ "diagnostics": [], "triggerKind": 2 })),
        nothing
    );
    assert_eq!(story.actions(json!({ "diagnostics": [] })), [explain, chat]);
    assert_eq!(
        story.actions(json!({ "diagnostics": diagnostics, "only": ["quickfix"] })),
        [fix]
    );
}

#[test]
fn commands_change_the_current_session_and_inform_a_bare_client() {
    let (mut story, _) = start(json!({}), Value::Null);
    let made = story.command("interline.newSession", json!([]))["result"].clone();
    let changed = story.command("interline.mode", json!([{ "mode": "plan" }]));
    assert_eq!(changed["result"]["sessionId"], made["sessionId"]);
    assert_eq!(changed["result"]["mode"], "plan");
    let shown = story.client.find(|m| m["method"] == "window/showMessage");
    let text = shown["params"]["message"].as_str().unwrap();
    assert!(text.contains("mode plan"), "{text}");
    let wrong = story.command("interline.mode", json!([{ "mode": "dance" }]));
    let message = wrong["error"]["message"].as_str().unwrap();
    assert!(message.contains("agent, ask, plan"), "{message}");
    let saved = story.command("interline.saveAll", json!([]));
    assert_eq!(saved["error"]["data"]["kind"], "unsupported");
    let none = story.command("interline.approve", json!([]));
    assert_eq!(none["error"]["data"]["kind"], "invalid");
    let cancelled = story.command("interline.cancel", json!([]));
    assert_eq!(cancelled["result"]["cancelled"], json!([]));
}

#[test]
fn trust_is_given_by_command_to_the_first_root() {
    let (mut story, _) = start(json!({}), Value::Null);
    let given = story.command("interline.trust", json!([]));
    let folder = given["result"]["folder"].as_str().unwrap().to_owned();
    let status = story.ask("interline/status", json!({}));
    assert_eq!(status["result"]["trust"][folder.as_str()], true);
    let nothing = story.ask("interline/trust/set", json!({ "decision": "trust" }));
    assert_eq!(nothing["error"]["data"]["kind"], "invalid");
}

#[test]
fn trust_is_revoked_by_command() {
    let (mut story, _) = start(json!({}), Value::Null);
    let folder = story.command("interline.trust", json!([]))["result"]["folder"].clone();
    let taken = story.command("interline.untrust", json!([{ "folder": folder }]));
    assert_eq!(taken["result"]["folder"], folder);
    let status = story.ask("interline/status", json!({}));
    let trusted = &status["result"]["trust"][folder.as_str().unwrap()];
    assert_ne!(*trusted, true, "{status}");
}

/// A client that sends its context need not repeat the place.
#[test]
fn a_command_without_a_place_uses_the_cursor() {
    let offer = json!({ "version": 1, "events": true, "commands": true, "context": true });
    let (mut story, _) = start(
        json!({ "experimental": { "interline": offer } }),
        Value::Null,
    );
    let nowhere = story.command("interline.explain", json!([]));
    let message = nowhere["error"]["message"].as_str().unwrap();
    assert!(message.contains("put the cursor in a file"), "{message}");
    let uri = story.uri("/a.rs");
    let at = |line: u32| json!({ "line": line, "character": 0 });
    let cursor = json!({ "start": at(3), "end": at(3) });
    let view = json!({ "uri": uri, "active": true, "selections": [cursor] });
    story.notify("interline/context/didChange", json!({ "editors": [view] }));
    let none = story.command("interline.fix", json!([{}]));
    let message = none["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("nothing is reported at that place"),
        "{message}"
    );
    let range = json!({ "start": at(3), "end": at(4) });
    let reported = json!({ "range": range, "message": "odd" });
    story.notify(
        "interline/diagnostics/didChange",
        json!({ "uri": uri, "diagnostics": [reported] }),
    );
    for command in ["interline.fix", "interline.explain"] {
        let started = story.command(command, json!([{}]));
        assert!(started["result"]["turnId"].is_string(), "{started}");
    }
}

#[test]
fn the_prompt_is_shown_as_a_document_or_returned_as_text() {
    let (mut story, _) = start(json!({}), Value::Null);
    let shown = story.command("interline.showPrompt", json!([]));
    let text = shown["result"]["text"].as_str().unwrap();
    assert!(text.starts_with("# The prompt\n"), "{text}");
    assert!(text.contains("| segment | source |"), "{text}");

    let window = json!({ "showDocument": { "support": true } });
    let mut own = rich();
    own["window"] = window.clone();
    let (mut story, _) = start(own, Value::Null);
    let shown = story.command("interline.showPrompt", json!([]));
    let text = shown["result"]["text"].as_str().unwrap();
    assert!(
        text.starts_with("# The prompt\n"),
        "it has a place of its own"
    );

    let (mut story, _) = start(json!({ "window": window }), Value::Null);
    let shown = story.command("interline.showPrompt", json!([]));
    let request = story.client.find(|m| m["method"] == "window/showDocument");
    assert_eq!(request["params"]["uri"], shown["result"]["uri"]);
    let file = story.dir.path().join("state/prompt.md");
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.starts_with("# The prompt\n"));
    let mode = std::os::unix::fs::MetadataExt::mode(&file.metadata().unwrap());
    assert_eq!(mode & 0o077, 0, "it holds what is in open buffers");
}

#[test]
fn workspace_folders_are_added_and_removed() {
    let (mut story, _) = start(rich(), Value::Null);
    std::fs::create_dir(story.dir.path().join("w/inner")).unwrap();
    let (root, inner) = (story.uri(""), story.uri("/inner"));
    let event = json!({ "added": [{ "uri": inner, "name": "inner" }],
                        "removed": [{ "uri": root, "name": "w" }] });
    story.notify(
        "workspace/didChangeWorkspaceFolders",
        json!({ "event": event }),
    );
    let made = story.ask("interline/session/new", json!({}));
    let folders = made["result"]["folders"].to_string();
    assert!(folders.contains("/w/inner"), "{folders}");
}

#[test]
fn shutdown_is_answered_and_exit_ends_with_zero() {
    let (mut story, _) = start(json!({}), Value::Null);
    assert_eq!(story.ask("shutdown", Value::Null)["result"], Value::Null);
    story.notify("exit", Value::Null);
    assert_eq!(story.client.exit_code(), 0);
}

/// A malformed change is lost, and the mirror says so until the full text arrives.
#[test]
fn a_malformed_change_puts_its_document_out_of_sync() {
    let (mut story, _) = start(rich(), Value::Null);
    let uri = story.uri("/a.rs");
    let at = |line: Value| {
        json!({ "start": { "line": line, "character": 0 },
                                   "end": { "line": 0, "character": 0 } })
    };
    let bad = [
        (json!("2"), json!([{ "text": "x" }])),
        (
            json!(2),
            json!([{ "text": "x" }, { "range": at(json!(-1)), "text": "y" }]),
        ),
        (json!(2), json!([{ "range": at(json!(0)), "text": 7 }])),
        (json!(2), json!({ "text": "x" })),
    ];
    let mut last = 1;
    story.notify(
        "textDocument/didOpen",
        json!({ "textDocument": { "uri": uri, "languageId": "rust", "version": 1, "text": "a" } }),
    );
    // As a request it is refused and changes nothing.
    let document = json!({ "uri": uri, "version": 2 });
    let params = json!({ "textDocument": document, "contentChanges": [{ "text": "b" }] });
    let answer = story.ask("textDocument/didChange", params);
    assert!(answer["error"]["code"].is_i64(), "{answer}");
    for (version, changes) in bad {
        let document = json!({ "uri": uri, "version": version });
        story.notify(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": changes }),
        );
        let status = story.ask("interline/status", json!({}));
        let shown = &status["result"]["documents"][0];
        assert_eq!(shown["synced"], false, "{changes}: {shown}");
        last += 5;
        story.notify(
            "textDocument/didChange",
            json!({ "textDocument": { "uri": uri, "version": last },
                    "contentChanges": [{ "text": format!("text {last}") }] }),
        );
        let status = story.ask("interline/status", json!({}));
        let shown = &status["result"]["documents"][0];
        assert_eq!(shown["synced"], true, "{shown}");
        assert_eq!(shown["version"], last);
    }
}
