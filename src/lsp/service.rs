//! `rpc::Service` over tower-lsp's `LspService`: converts frames to its requests and back, and
//! adapts messages that its typed decoding would reject although editors send them (hazards g5 to
//! g9). Owns the order of initialize and shutdown. Knows no handler: the backend delegates.
//!
//! Do not use tower-lsp's `Client`: what it sends is logged and lost.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::StreamExt;
use serde::Deserialize as _;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, ErrorCode, Request};
use tower_lsp::{ClientSocket, LanguageServer, LspService};
use tower_service::Service as _;

use crate::conversation::{Failure, FailureKind};
use crate::lsp::ext;
use crate::rpc::{self, decode};

mod scrub;
mod uris;

pub use scrub::scrub_initialize;
pub use uris::raw_uri;

const NOT_INITIALIZED: i64 = -32002;

/// The connection's state, set by the answers to `initialize` and `shutdown`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Stage {
    New,
    Ready,
    ShutDown,
}

type Patch = Arc<dyn Fn(&mut Value) + Send + Sync>;

/// The LSP door's service.
pub struct DoorService<B> {
    inner: LspService<B>,
    /// Until the first call, which spawns the task that drains it.
    socket: Option<ClientSocket>,
    raw_initialize: Arc<OnceLock<Value>>,
    patch: Patch,
    stage: Arc<AtomicU8>,
    last_id: i64,
    /// Inner ids whose future was dropped; tower-lsp would keep them forever.
    dropped: Arc<Mutex<Vec<i64>>>,
}

impl<B: LanguageServer> DoorService<B> {
    /// `raw_initialize` receives the params of `initialize` as the client sent them, before the
    /// backend is called.
    pub fn new(
        (inner, socket): (LspService<B>, ClientSocket),
        raw_initialize: Arc<OnceLock<Value>>,
    ) -> Self {
        Self {
            inner,
            socket: Some(socket),
            raw_initialize,
            patch: Arc::new(|_| {}),
            stage: Arc::new(AtomicU8::new(Stage::New as u8)),
            last_id: 0,
            dropped: Arc::default(),
        }
    }

    /// Changes the result of `initialize` before it is sent, for capabilities that lsp-types 0.94
    /// has no fields for.
    pub fn patch_initialize(mut self, patch: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        self.patch = Arc::new(patch);
        self
    }

    /// The backend.
    pub fn backend(&self) -> &B {
        self.inner.inner()
    }

    /// Between the answers to `initialize` and `shutdown`.
    pub fn is_ready(&self) -> bool {
        self.stage() == Stage::Ready
    }

    fn stage(&self) -> Stage {
        match self.stage.load(Ordering::SeqCst) {
            0 => Stage::New,
            1 => Stage::Ready,
            _ => Stage::ShutDown,
        }
    }

    fn request(&mut self, id: Value, method: String, params: Option<Value>) -> Answering {
        if let Some(refusal) = refuse(self.stage(), &method) {
            return ready(refusal.answer(id));
        }
        if method == "codeAction/resolve" && is_resolved(params.as_ref()) {
            return ready(result(id, params.unwrap_or_default()));
        }
        let initialize = method == "initialize";
        if method == "shutdown" {
            self.stage.store(Stage::ShutDown as u8, Ordering::SeqCst);
        }
        let guard = self.inner_id();
        let request = build(&method, params).id(guard.id).finish();
        let future = self.inner.call(request);
        let stage = Arc::clone(&self.stage);
        let patch = Arc::clone(&self.patch);
        Box::pin(async move {
            let outcome = future.await;
            guard.settle();
            let answer = match outcome {
                Ok(Some(response)) => response.into_parts().1,
                // tower-lsp drops requests for unknown `$/` methods.
                Ok(None) => Err(Error::method_not_found()),
                Err(error) => Err(Error {
                    message: error.to_string().into(),
                    ..Error::invalid_request()
                }),
            };
            Some(match answer {
                Ok(mut value) => {
                    if initialize {
                        patch(&mut value);
                        stage.store(Stage::Ready as u8, Ordering::SeqCst);
                    }
                    result(id, value)
                }
                Err(error) => refusal_of(error, &method).answer(id),
            })
        })
    }

    fn notification(&mut self, method: &str, params: Option<Value>) -> Answering {
        if self.stage() == Stage::New {
            tracing::debug!(method, "dropped a notification before initialize");
            return Box::pin(std::future::ready(None));
        }
        let request = build(method, params).finish();
        let future = self.inner.call(request);
        Box::pin(async move {
            if let Err(error) = future.await {
                tracing::warn!(%error, "a notification failed");
            }
            None
        })
    }

    /// A fresh id for tower-lsp, which never sees the client's own: so ids of any type work, and an
    /// id can be reused after a cancel.
    fn inner_id(&mut self) -> InnerId {
        self.last_id += 1;
        InnerId {
            id: self.last_id,
            dropped: Some(Arc::clone(&self.dropped)),
        }
    }

    /// Makes tower-lsp forget requests whose future was dropped.
    fn forget_dropped(&mut self) {
        let dropped = std::mem::take(&mut *lock(&self.dropped));
        for id in dropped {
            let cancel = build("$/cancelRequest", Some(json!({ "id": id }))).finish();
            let _ = self.inner.call(cancel).now_or_never();
        }
    }

    fn drain_socket(&mut self) {
        if let Some(mut socket) = self.socket.take() {
            tokio::spawn(async move {
                while let Some(lost) = socket.next().await {
                    let method = lost.method();
                    tracing::error!(method, "sent through tower-lsp's client: use rpc::Peer");
                }
            });
        }
    }
}

type Answering = BoxFuture<'static, Option<Value>>;

impl<B: LanguageServer> rpc::Service for DoorService<B> {
    type Early = Infallible;

    fn early(_: &str) -> Option<Infallible> {
        None
    }

    fn take_early(&mut self, early: Infallible) {
        match early {}
    }

    fn call(&mut self, mut message: Value) -> Answering {
        self.drain_socket();
        self.forget_dropped();
        let method = match message.get_mut("method").map(Value::take) {
            Some(Value::String(method)) => method,
            _ => return Box::pin(std::future::ready(None)),
        };
        let params = message.get_mut("params").map(Value::take);
        let params = self.prepare(&method, params);
        match message.get_mut("id").map(Value::take) {
            Some(id) => self.request(id, method, params),
            None => self.notification(&method, params),
        }
    }
}

impl<B: LanguageServer> DoorService<B> {
    /// Makes params fit tower-lsp's types without losing data.
    fn prepare(&self, method: &str, params: Option<Value>) -> Option<Value> {
        let mut params = params.filter(|params| !params.is_null());
        match method {
            "initialize" => {
                let mut params = params.unwrap_or_else(|| json!({}));
                if self.stage() == Stage::New {
                    let _ = self.raw_initialize.set(params.clone());
                    uris::keep_exact(method, &mut params);
                    scrub_initialize(&mut params);
                }
                return Some(params);
            }
            // Some clients send `{}`, which tower-lsp rejects.
            "shutdown" => return None,
            "initialized" => return params.or_else(|| Some(json!({}))),
            _ => {}
        }
        if let Some(params) = &mut params {
            uris::keep_exact(method, params);
        }
        params
    }
}

/// The inner id of a running request; records when the request's future is dropped.
struct InnerId {
    id: i64,
    dropped: Option<Arc<Mutex<Vec<i64>>>>,
}

impl InnerId {
    fn settle(mut self) {
        self.dropped = None;
    }
}

impl Drop for InnerId {
    fn drop(&mut self) {
        if let Some(dropped) = &self.dropped {
            lock(dropped).push(self.id);
        }
    }
}

struct Refusal {
    code: i64,
    message: String,
    data: Option<Value>,
}

impl Refusal {
    fn new(code: i64, message: &str) -> Self {
        Self {
            code,
            message: message.to_owned(),
            data: None,
        }
    }

    fn answer(self, id: Value) -> Value {
        decode::error_answer(id, self.code, &self.message, self.data)
    }
}

fn refuse(stage: Stage, method: &str) -> Option<Refusal> {
    let (code, message) = match (stage, method == "initialize") {
        (Stage::New, true) | (Stage::Ready, false) => return None,
        (Stage::New, false) => (NOT_INITIALIZED, "send initialize first"),
        (Stage::Ready, true) => (
            decode::INVALID_REQUEST,
            "initialize was answered already: start another process for another client",
        ),
        (Stage::ShutDown, _) => (
            decode::INVALID_REQUEST,
            "the server is shut down: only exit is left",
        ),
    };
    Some(Refusal::new(code, message))
}

/// Converts an error of tower-lsp. For an unknown method of ours it becomes kind `unsupported`.
fn refusal_of(error: Error, method: &str) -> Refusal {
    let unknown = error.code == ErrorCode::MethodNotFound
        && (error.data.is_none() || error.data == Some(Value::from(method)));
    if unknown && method.starts_with("interline/") {
        return unsupported(method);
    }
    if unknown {
        return Refusal::new(
            error.code.code(),
            &format!("there is no method {method}: see the capabilities in initialize's answer"),
        );
    }
    Refusal {
        code: error.code.code(),
        message: error.message.into_owned(),
        data: error.data,
    }
}

/// Methods of the protocol that are not built yet get a code of ours, unknown ones the standard
/// code.
fn unsupported(method: &str) -> Refusal {
    let listed = ext::METHODS.iter().any(|known| {
        known.name == method && matches!(known.direction, ext::Direction::ClientRequest)
    });
    let (code, message, hint) = if listed {
        (
            FailureKind::Unsupported.code(),
            format!("{method} is not built yet"),
            "`interline schema` and protocol.md list what is; initialize's answer names it in `off`",
        )
    } else {
        (
            ErrorCode::MethodNotFound.code(),
            format!("there is no method {method}"),
            "check the method's name, or update Interline",
        )
    };
    let failure = Failure::new(FailureKind::Unsupported, message, hint);
    Refusal {
        code,
        message: failure.words(),
        data: Some(json!({ "kind": failure.kind, "hint": failure.hint })),
    }
}

/// Items that need no resolving: those without `data`, and bare Commands, which are not CodeActions.
fn is_resolved(item: Option<&Value>) -> bool {
    item.is_some_and(|item| {
        item.is_object()
            && (item.get("data").is_none_or(Value::is_null)
                || lsp_types::CodeAction::deserialize(item).is_err())
    })
}

fn build(method: &str, params: Option<Value>) -> tower_lsp::jsonrpc::RequestBuilder {
    let builder = Request::build(method.to_owned());
    match params {
        Some(params) => builder.params(params),
        None => builder,
    }
}

fn result(id: Value, result: Value) -> Value {
    // Not `json!`, which would serialize the result again.
    let fields = [
        ("jsonrpc", Value::from("2.0")),
        ("id", id),
        ("result", result),
    ];
    Value::Object(
        fields
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect(),
    )
}

fn ready(answer: Value) -> Answering {
    Box::pin(std::future::ready(Some(answer)))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
