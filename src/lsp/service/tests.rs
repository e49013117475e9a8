use std::sync::{Arc, Mutex, OnceLock};

use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::*;
use tower_lsp::{LanguageServer, LspService};

use super::{DoorService, raw_uri};
use crate::rpc::Service as _;
use crate::rpc::tests::client::*;

/// Records the messages that arrive typed.
struct Backend {
    log: Arc<Mutex<Vec<String>>>,
    initialized: Arc<Mutex<Vec<InitializeParams>>>,
}

impl Backend {
    fn note(&self, text: String) {
        self.log.lock().unwrap().push(text);
    }

    async fn known(&self) -> Result<Value> {
        Ok(json!("known"))
    }

    async fn slow(&self) -> Result<Value> {
        std::future::pending().await
    }
}

#[tower_lsp::async_trait]
impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        // Gives the next messages in the pipe a chance to overtake.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        self.initialized.lock().unwrap().push(params);
        Ok(InitializeResult::default())
    }

    async fn initialized(&self, _: InitializedParams) {
        self.note("initialized".to_owned());
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        self.note(raw_uri(&params.text_document.uri).to_string());
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        let size = params.content_changes[0].text.len();
        self.note(format!("{} {size}", raw_uri(&params.text_document.uri)));
    }

    async fn did_create_files(&self, params: CreateFilesParams) {
        self.note(params.files[0].uri.clone());
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        self.note(raw_uri(&params.changes[0].uri).to_string());
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        self.note(raw_uri(&params.event.added[0].uri).to_string());
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        Ok(Some(Value::Array(params.arguments)))
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        let related = params.context.diagnostics[0].related_information.as_ref();
        self.note(raw_uri(&related.unwrap()[0].location.uri).to_string());
        Ok(None)
    }

    async fn code_action_resolve(&self, mut action: CodeAction) -> Result<CodeAction> {
        action.title.push_str(" (resolved)");
        Ok(action)
    }
}

struct Door {
    client: Client,
    log: Arc<Mutex<Vec<String>>>,
    initialized: Arc<Mutex<Vec<InitializeParams>>>,
    raw: Arc<OnceLock<Value>>,
}

impl Door {
    fn start() -> Self {
        let (log, initialized, raw) = <(Arc<_>, Arc<_>, Arc<_>)>::default();
        let client = Client::start(|_| {
            let (log, initialized) = (Arc::clone(&log), Arc::clone(&initialized));
            let service = LspService::build(|_| Backend { log, initialized })
                .custom_method("interline/known", Backend::known)
                .custom_method("interline/slow", Backend::slow)
                .finish();
            DoorService::new(service, Arc::clone(&raw))
        });
        Self {
            client,
            log,
            initialized,
            raw,
        }
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
        std::mem::take(&mut *self.log.lock().unwrap())
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
    assert_eq!(
        door.client.answer(2)["error"]["code"],
        -32602,
        "it takes no params"
    );
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
        let changes = json!([{ "uri": uri, "type": 1 }]);
        door.notify(
            "workspace/didChangeWatchedFiles",
            json!({ "changes": changes }),
        );
        let event = json!({ "added": [{ "uri": uri, "name": "x" }], "removed": [] });
        door.notify(
            "workspace/didChangeWorkspaceFolders",
            json!({ "event": event }),
        );
        door.notify(
            "workspace/didCreateFiles",
            json!({ "files": [{ "uri": uri }] }),
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
        assert_eq!(door.log(), [uri; 5]);
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
fn g9_unknown_values_in_initialize_are_dropped() {
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
    assert_eq!(door.raw.get(), Some(&params), "the backend can look it up");
    let initialized = door.initialized.lock().unwrap();
    let got = &initialized[0];
    assert_eq!(got.process_id, None);
    assert_eq!(got.trace, None);
    assert_eq!(raw_uri(got.root_uri.as_ref().unwrap()).as_str(), "/home/x");
    let folders = got.workspace_folders.as_ref().unwrap();
    assert_eq!(raw_uri(&folders[0].uri).as_str(), "/home/y");
    assert_eq!(folders.len(), 1);
    let workspace = got.capabilities.workspace.as_ref().unwrap();
    assert_eq!(workspace.apply_edit, Some(true));
    let edit = workspace.workspace_edit.as_ref().unwrap();
    let operations = edit.resource_operations.as_ref().unwrap();
    assert_eq!(operations.len(), 2, "only the unknown one is left out");
    let document = got.capabilities.text_document.as_ref().unwrap();
    let hover = document.hover.as_ref().unwrap();
    assert_eq!(hover.content_format.as_ref().unwrap().len(), 2);
    let sync = document.synchronization.as_ref().unwrap();
    assert_eq!((sync.did_save, sync.will_save), (Some(true), None));
    assert!(got.capabilities.experimental.is_some());
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
fn items_without_data_are_resolved_to_themselves() {
    let mut door = Door::ready();
    for item in [
        json!({ "title": "t", "command": "c", "arguments": [{ "uri": "/x" }] }),
        json!({ "title": "t", "command": "c", "data": 1 }),
        json!({ "title": "t", "kind": "quickfix", "isPreferred": true }),
        json!({ "title": "t", "data": null, "edit": { "changes": { "/x": [] } } }),
        json!({ "title": "t", "data": 1, "edit": { "changes": { "/x": [] } } }),
        json!({ "unknown": true }),
    ] {
        let answer = door.ask(1, "codeAction/resolve", item.clone());
        assert_eq!(answer["result"], item);
    }
    let answer = door.ask(2, "codeAction/resolve", json!({ "title": "t", "data": 1 }));
    assert_eq!(answer["result"]["title"], "t (resolved)");
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
fn concurrent_requests_have_different_inner_ids() {
    let mut door = Door::ready();
    for id in 1..=3 {
        door.client
            .send(&request(id, "interline/slow", json!(null)));
    }
    let known = door.ask(4, "interline/known", json!(null));
    assert_eq!(known["result"], "known");
    assert_eq!(door.client.leftovers(), Vec::<Value>::new());
}

#[tokio::test]
async fn f2_tower_forgets_requests_whose_future_was_dropped() {
    let backend = Backend {
        log: Arc::default(),
        initialized: Arc::default(),
    };
    let service = LspService::build(|_| backend)
        .custom_method("interline/slow", Backend::slow)
        .custom_method("interline/known", Backend::known)
        .finish();
    let mut door = DoorService::new(service, Arc::default());
    door.call(request(0, "initialize", json!({}))).await;
    let mut slow = door.call(request(1, "interline/slow", json!(null)));
    assert!(futures_util::poll!(&mut slow).is_pending());
    drop(slow);
    let inner_id = door.last_id;
    door.call(notification("initialized", json!({}))).await;
    // The same inner id would be refused if it were still known.
    door.last_id = inner_id - 1;
    let again = door.call(request(2, "interline/known", json!(null))).await;
    assert_eq!(again.unwrap()["result"], "known");
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
