use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{Answering, Backend, DoorService, ready};
use crate::lsp::params::{
    CodeActions, DidChange, DidChangeWorkspaceFolders, DidOpen, ExecuteCommand,
};
use crate::rpc::tests::client::*;

/// Records the messages that arrive.
#[derive(Clone, Default)]
struct Recorder {
    log: Arc<Mutex<Vec<String>>>,
    initialized: Arc<Mutex<Vec<Value>>>,
}

impl Recorder {
    fn note(&self, text: impl Into<String>) {
        self.log.lock().unwrap().push(text.into());
    }
}

fn read<P: serde::de::DeserializeOwned>(params: Value) -> P {
    serde_json::from_value(params).unwrap()
}

impl Backend for Recorder {
    fn initialize(&self, params: Value) -> Value {
        self.initialized.lock().unwrap().push(params);
        json!({ "capabilities": {} })
    }

    fn request(&self, method: &str, params: Value) -> Option<Answering> {
        Some(match method {
            "interline/known" => ready(Ok(json!("known"))),
            "interline/slow" => Box::pin(std::future::pending()),
            "shutdown" => ready(Ok(Value::Null)),
            "workspace/executeCommand" => {
                ready(Ok(read::<ExecuteCommand>(params).arguments.into()))
            }
            "textDocument/codeAction" => {
                let params: CodeActions = read(params);
                let related = &params.context.diagnostics[0]["relatedInformation"][0];
                self.note(related["location"]["uri"].as_str().unwrap());
                ready(Ok(Value::Null))
            }
            _ => return None,
        })
    }

    fn notification(&self, method: &str, params: Value) {
        match method {
            "initialized" => self.note(method),
            "textDocument/didOpen" => self.note(read::<DidOpen>(params).text_document.uri),
            "textDocument/didChange" => {
                let change: DidChange = read(params);
                let size = change.content_changes[0].text.len();
                self.note(format!("{} {size}", change.text_document.uri));
            }
            "workspace/didChangeWorkspaceFolders" => {
                let change: DidChangeWorkspaceFolders = read(params);
                self.note(change.event.added[0].uri.as_str());
            }
            _ => {}
        }
    }
}

struct Door {
    client: Client,
    recorder: Recorder,
}

impl Door {
    fn start() -> Self {
        let recorder = Recorder::default();
        let client = Client::start(|_| DoorService::new(recorder.clone()));
        Self { client, recorder }
    }

    fn ready() -> Self {
        let mut door = Self::start();
        let answer = door.ask(0, "initialize", json!({ "capabilities": {} }));
        assert!(answer["error"].is_null(), "{answer}");
        door
    }

    fn ask(&mut self, id: i64, method: &str, params: Value) -> Value {
        self.client.ask(id, method, params)
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.client.send(&notification(method, params));
    }

    /// What the backend recorded so far.
    fn log(&mut self) -> Vec<String> {
        self.ask(-1, "interline/known", json!(null));
        std::mem::take(&mut *self.recorder.log.lock().unwrap())
    }
}

fn open(uri: &str) -> Value {
    json!({ "textDocument": { "uri": uri, "languageId": "x", "version": 1, "text": "" } })
}

#[test]
fn g5_null_params_are_dropped() {
    let mut door = Door::ready();
    door.client.send(&notification("initialized", json!(null)));
    door.client
        .send(&json!({ "jsonrpc": "2.0", "method": "initialized" }));
    assert_eq!(door.log(), ["initialized", "initialized"]);
    let answer = door.ask(1, "shutdown", json!(null));
    assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": 1, "result": null }));
    let mut door = Door::ready();
    assert!(door.ask(1, "shutdown", json!({}))["error"].is_null());
}

#[test]
fn g6_messages_behind_initialize_are_handled_in_order() {
    let mut door = Door::start();
    let mut all = Vec::new();
    for message in [
        request(1, "initialize", json!({ "capabilities": {} })),
        notification("initialized", json!({})),
        notification("textDocument/didOpen", open("file:///a")),
        request(2, "interline/known", json!({})),
    ] {
        all.extend(framed(message.to_string().as_bytes()));
    }
    door.client.send_bytes(&all);
    assert_eq!(door.client.answer(2)["result"], "known");
    assert_eq!(door.log(), ["initialized", "file:///a"]);
}

#[test]
fn g7_every_uri_reaches_the_backend_as_the_client_wrote_it() {
    let uris = [
        "file:///a/b.rs",
        "file:///a b.rs",
        "file:///c%3A/x.rs",
        "file:///c:/%zz/é漢.rs",
        "FILE:///A",
        "/plain/path",
        "C:\\x\\y.rs",
        "",
        "file://",
        "relative/path",
        "untitled:Untitled-1",
        "file:///a/../b",
        "interline-raw:%2Fx",
        "git:/x?{\"ref\":\"~\"}",
        "file:///100%",
    ];
    let mut door = Door::ready();
    for uri in uris {
        door.notify("textDocument/didOpen", open(uri));
        let event = json!({ "added": [{ "uri": uri, "name": "x" }], "removed": [] });
        door.notify(
            "workspace/didChangeWorkspaceFolders",
            json!({ "event": event }),
        );
        let range = json!({ "start": { "line": 0, "character": 0 },
            "end": { "line": 0, "character": 0 } });
        let related = json!([{ "location": { "uri": uri, "range": range }, "message": "m" }]);
        let diagnostic = json!({ "range": range, "message": "m", "relatedInformation": related,
            "codeDescription": { "href": uri } });
        let answer = door.ask(
            5,
            "textDocument/codeAction",
            json!({ "textDocument": { "uri": uri }, "range": range,
                "context": { "diagnostics": [diagnostic] } }),
        );
        assert!(answer["error"].is_null(), "{uri}: {answer}");
        assert_eq!(door.log(), [uri; 3]);
    }
}

#[test]
fn opaque_values_keep_strings_that_look_like_uris() {
    let mut door = Door::ready();
    let arguments = json!([{ "uri": "/plain", "range": null }]);
    let params = json!({ "command": "interline.ask", "arguments": arguments });
    let answer = door.ask(1, "workspace/executeCommand", params);
    assert_eq!(answer["result"], arguments);
}

#[test]
fn g9_unknown_values_in_initialize_are_accepted() {
    let params = json!({
        "processId": -1,
        "rootUri": "/home/x",
        "trace": "compact",
        "workspaceFolders": [{ "uri": "/home/y", "name": "y" }, { "name": "no uri" }],
        "capabilities": {
            "workspace": {
                "applyEdit": true,
                "workspaceEdit": { "resourceOperations": ["create", "teleport", "rename"] }
            },
            "textDocument": {
                "hover": { "contentFormat": ["markdown", "hologram", "plaintext"] },
                "synchronization": { "didSave": true, "willSave": "maybe" },
                "completion": { "completionItem": { "documentationFormat": ["hologram"] } }
            },
            "general": { "positionEncodings": ["utf-8", "utf-7"] },
            "experimental": { "interline": { "version": 1 } }
        }
    });
    let mut door = Door::start();
    let answer = door.ask(1, "initialize", params.clone());
    assert!(answer["error"].is_null(), "{answer}");
    assert_eq!(*door.recorder.initialized.lock().unwrap(), [params]);
}

#[test]
fn g9_a_malformed_initialize_does_not_end_the_connection() {
    for params in [json!({}), json!(null), json!({ "capabilities": null })] {
        let mut door = Door::start();
        let answer = door.ask(1, "initialize", params);
        assert!(answer["error"].is_null(), "{answer}");
    }
    let mut door = Door::start();
    let answer = door.ask(1, "initialize", json!(["odd"]));
    assert_eq!(answer["error"]["code"], -32602);
    let again = door.ask(2, "initialize", json!({ "capabilities": {} }));
    assert!(
        again["error"].is_null(),
        "a refused initialize can be repeated"
    );
}

#[test]
fn g10_unknown_methods_get_a_code_and_a_reason() {
    let mut door = Door::ready();
    assert_eq!(
        door.ask(1, "textDocument/nonsense", json!({}))["error"]["code"],
        -32601
    );
    assert_eq!(
        door.ask(2, "$/nonsense", json!({}))["error"]["code"],
        -32601
    );
    let answer = door.ask(3, "interline/nonsense", json!({}));
    assert_eq!(answer["error"]["code"], -32601);
    assert_eq!(answer["error"]["data"]["kind"], "unsupported");
    assert!(!answer["error"]["data"]["hint"].as_str().unwrap().is_empty());
    let answer = door.ask(5, "interline/session/fork", json!({}));
    assert_eq!(answer["error"]["code"], 4016, "known, but not built yet");
    assert_eq!(answer["error"]["data"]["kind"], "unsupported");
    door.notify("interline/nonsense", json!({}));
    door.notify("$/nonsense", json!({}));
    let known = door.ask(4, "interline/known", json!(null));
    assert_eq!(known["result"], "known");
    assert_eq!(door.client.leftovers(), Vec::<Value>::new());
}

#[test]
fn e04_requests_at_the_wrong_time_are_refused() {
    let mut door = Door::start();
    for method in ["shutdown", "interline/known", "interline/nonsense", "x/y"] {
        assert_eq!(
            door.ask(1, method, json!(null))["error"]["code"],
            -32002,
            "{method}"
        );
    }
    door.notify("textDocument/didOpen", open("file:///early"));
    let answer = door.ask(2, "initialize", json!({ "capabilities": {} }));
    assert!(answer["error"].is_null(), "{answer}");
    let twice = door.ask(3, "initialize", json!({ "capabilities": {} }));
    assert_eq!(twice["error"]["code"], -32600);
    assert_eq!(door.log(), Vec::<String>::new());
    assert!(door.ask(4, "shutdown", json!(null))["error"].is_null());
    for method in ["shutdown", "initialize", "interline/known", "x/y"] {
        assert_eq!(
            door.ask(5, method, json!(null))["error"]["code"],
            -32600,
            "{method}"
        );
    }
    door.notify("exit", json!(null));
    assert_eq!(door.client.exit_code(), 0);
}

#[test]
fn items_are_resolved_to_themselves() {
    let mut door = Door::ready();
    for item in [
        json!({ "title": "t", "command": "c", "arguments": [{ "uri": "/x" }] }),
        json!({ "title": "t", "command": "c", "data": 1 }),
        json!({ "title": "t", "kind": "quickfix", "isPreferred": true }),
        json!({ "title": "t", "data": null, "edit": { "changes": { "/x": [] } } }),
        json!({ "title": "t", "data": 1 }),
        json!({ "title": "t", "data": 1, "edit": { "changes": { "/x": [] } } }),
        json!({ "unknown": true }),
    ] {
        let answer = door.ask(1, "codeAction/resolve", item.clone());
        assert_eq!(answer["result"], item);
    }
    assert!(!door.ask(3, "codeAction/resolve", json!(null))["error"].is_null());
}

#[test]
fn e07_an_id_can_be_reused_after_its_cancel() {
    let mut door = Door::ready();
    for id in [json!("x"), json!(1.5), json!(7)] {
        for _ in 0..3 {
            door.client
                .send(&request(id.clone(), "interline/slow", json!(null)));
            door.notify("$/cancelRequest", json!({ "id": id }));
            assert_eq!(door.client.answer(id.clone())["error"]["code"], -32800);
        }
        door.client
            .send(&request(id.clone(), "interline/known", json!(null)));
        assert_eq!(door.client.answer(id)["result"], "known");
    }
}

#[test]
fn a_slow_request_holds_no_other_up() {
    let mut door = Door::ready();
    for id in 1..=3 {
        door.client
            .send(&request(id, "interline/slow", json!(null)));
    }
    let known = door.ask(4, "interline/known", json!(null));
    assert_eq!(known["result"], "known");
    assert_eq!(door.client.leftovers(), Vec::<Value>::new());
}

#[test]
fn g4_a_change_of_five_megabytes_arrives() {
    let mut door = Door::ready();
    let text = "x".repeat(5 * 1024 * 1024);
    let params = json!({ "textDocument": { "uri": "file:///a", "version": 2 },
        "contentChanges": [{ "text": text }] });
    door.notify("textDocument/didChange", params);
    assert_eq!(door.log(), ["file:///a 5242880"]);
}
