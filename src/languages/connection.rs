//! A running language server: frames over its pipes, requests matched to answers, and what it says
//! on its own: diagnostics, and whether it is still indexing. It is a client's side of LSP, as small
//! as the questions need.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdin};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::env::tasks;
use crate::process::server::{Pipes, Server as Process};
use crate::rpc::decode::text_of;
use crate::rpc::frame::{FrameReader, Framing};
use crate::rpc::{Answer, Requests, RpcError};

/// Bytes that are kept of what a server prints on standard error.
const KEPT: usize = 500;

/// What a server published for a document.
#[derive(Clone, Debug, Default)]
pub(super) struct Published {
    pub version: Option<i32>,
    pub diagnostics: Vec<Value>,
}

/// A connection. Dropping it kills the process.
pub(super) struct Connection {
    link: Arc<Link>,
    process: tokio::sync::Mutex<Option<Process>>,
}

/// What the reading task shares.
struct Link {
    requests: Requests,
    out: UnboundedSender<Vec<u8>>,
    heard: Mutex<Heard>,
}

#[derive(Default)]
struct Heard {
    published: BTreeMap<String, Published>,
    /// Tokens of work that has begun and not ended.
    working: BTreeSet<String>,
    /// rust-analyzer's `serverStatus`.
    quiescent: Option<bool>,
    stderr: String,
    ended: bool,
}

impl Connection {
    pub fn new(process: Process, pipes: Pipes) -> Self {
        let (out, outgoing) = mpsc::unbounded_channel();
        let link = Arc::new(Link {
            requests: Requests::default(),
            out,
            heard: Mutex::default(),
        });
        tasks::spawn(write(pipes.stdin, outgoing));
        tasks::spawn(read_errors(pipes.stderr, link.clone()));
        tasks::spawn(read(pipes.stdout, link.clone()));
        Self {
            link,
            process: tokio::sync::Mutex::new(Some(process)),
        }
    }

    /// Asks; dropping the future forgets the question.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let Some((id, answer)) = self.link.requests.open(None) else {
            return Err(RpcError::Gone);
        };
        let _forget = Forget(&self.link, id);
        self.link
            .send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        answer.await.map_or(Err(RpcError::Gone), |it| it.result)
    }

    pub fn notify(&self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.link.send(&message);
    }

    /// Whether it ended.
    pub fn ended(&self) -> bool {
        self.link.heard.lock().ended
    }

    /// Whether it says that it is still indexing.
    pub fn is_working(&self) -> bool {
        let heard = self.link.heard.lock();
        match heard.quiescent {
            Some(quiescent) => !quiescent,
            None => !heard.working.is_empty(),
        }
    }

    /// The server reports when it is ready, so until then it is not.
    pub fn expect_status(&self) {
        self.link.heard.lock().quiescent.get_or_insert(false);
    }

    pub fn published(&self) -> BTreeMap<String, Published> {
        self.link.heard.lock().published.clone()
    }

    /// The last line that it printed on standard error, if any.
    pub fn last_words(&self) -> String {
        let heard = self.link.heard.lock();
        let last = heard.stderr.lines().rfind(|line| !line.trim().is_empty());
        last.unwrap_or_default().trim().to_owned()
    }

    /// How the process ended. Waits for it.
    pub async fn end_of_process(&self) -> String {
        match self.process.lock().await.as_mut() {
            Some(process) => process.ended().await,
            None => "it was stopped".to_owned(),
        }
    }

    /// Asks it to end, and ends it.
    pub async fn stop(&self) {
        self.notify("exit", Value::Null);
        if let Some(process) = self.process.lock().await.take() {
            process.end().await;
        }
    }
}

/// Forgets a question whose asker is gone.
struct Forget<'a>(&'a Link, i64);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        if self.0.requests.forget(self.1) {
            self.0.send(&json!({
                "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": self.1 },
            }));
        }
    }
}

impl Link {
    fn send(&self, message: &Value) {
        let body = message.to_string();
        let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        // Fails only after the end, which every waiting request learns.
        let _ = self.out.send(frame.into_bytes());
    }

    fn take(&self, message: &Value) {
        let (id, method) = (message.get("id"), message["method"].as_str());
        match (id, method) {
            (Some(id), Some(method)) => self.serve(id, method, &message["params"]),
            (None, Some(method)) => self.hear(method, &message["params"]),
            (Some(id), None) => {
                let result = match message.get("error") {
                    Some(error) => Err(RpcError::Answered {
                        code: error["code"].as_i64().unwrap_or_default(),
                        message: error["message"].as_str().unwrap_or_default().to_owned(),
                    }),
                    None => Ok(message["result"].clone()),
                };
                self.requests.answer(id, Answer { result, frame: 0 });
            }
            (None, None) => {}
        }
    }

    /// Answers what servers ask of every client; they may change nothing by themselves.
    fn serve(&self, id: &Value, method: &str, params: &Value) {
        let result = match method {
            "workspace/configuration" => {
                let items = params["items"].as_array().map_or(0, Vec::len);
                json!(vec![Value::Null; items])
            }
            "workspace/applyEdit" => json!({ "applied": false }),
            "client/registerCapability"
            | "client/unregisterCapability"
            | "window/workDoneProgress/create"
            | "window/showMessageRequest"
            | "workspace/workspaceFolders" => Value::Null,
            _ if method.ends_with("/refresh") => Value::Null,
            _ => {
                let error = json!({ "code": -32601, "message": "not supported" });
                return self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            }
        };
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    fn hear(&self, method: &str, params: &Value) {
        let mut heard = self.heard.lock();
        match method {
            "textDocument/publishDiagnostics" => {
                let uri = params["uri"].as_str().unwrap_or_default().to_owned();
                let version = params["version"].as_i64();
                let published = Published {
                    version: version.and_then(|version| i32::try_from(version).ok()),
                    diagnostics: params["diagnostics"]
                        .as_array()
                        .cloned()
                        .unwrap_or_default(),
                };
                heard.published.insert(uri, published);
            }
            "$/progress" => {
                let token = params["token"].to_string();
                match params["value"]["kind"].as_str() {
                    Some("begin") => heard.working.insert(token),
                    Some("end") => heard.working.remove(&token),
                    _ => false,
                };
            }
            "experimental/serverStatus" => heard.quiescent = params["quiescent"].as_bool(),
            _ => {}
        }
    }
}

async fn write(mut stdin: ChildStdin, mut outgoing: UnboundedReceiver<Vec<u8>>) {
    while let Some(frame) = outgoing.recv().await {
        if stdin.write_all(&frame).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

async fn read(mut stdout: impl AsyncRead + Send + Unpin, link: Arc<Link>) {
    let mut frames = FrameReader::new(Framing::Headers);
    let mut bytes = vec![0; 64 * 1024];
    loop {
        match stdout.read(&mut bytes).await {
            Ok(0) | Err(_) => break,
            Ok(count) => frames.push(&bytes[..count]),
        }
        while let Some(frame) = frames.pop() {
            let text = frame.map(text_of);
            match text.map(|text| serde_json::from_str::<Value>(&text)) {
                Ok(Ok(message)) => link.take(&message),
                Ok(Err(error)) => tracing::debug!(%error, "a language server's message"),
                Err(error) => tracing::debug!(%error, "a language server's frame"),
            }
        }
    }
    link.heard.lock().ended = true;
    link.requests.close(0);
}

/// Keeps the end of what the server prints, and reads all, so that it does not block.
async fn read_errors(mut stderr: ChildStderr, link: Arc<Link>) {
    let mut bytes = vec![0; 4 * 1024];
    while let Ok(count) = stderr.read(&mut bytes).await {
        if count == 0 {
            return;
        }
        let mut heard = link.heard.lock();
        heard
            .stderr
            .push_str(&String::from_utf8_lossy(&bytes[..count]));
        let keep = heard.stderr.len().saturating_sub(KEPT);
        let from = heard.stderr.ceil_char_boundary(keep);
        heard.stderr.drain(..from);
    }
}
