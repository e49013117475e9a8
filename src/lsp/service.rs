//! `rpc::Service` over tower-lsp's `LspService`: converts frames to its requests and back, and
//! adapts messages that its typed decoding would reject although editors send them (hazards g5 to
//! g9). Owns the order of initialize and shutdown. Knows no handler: the backend delegates.
//!
//! Do not use tower-lsp's `Client`: what it sends is logged and lost.

use std::sync::{Arc, OnceLock};

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::StreamExt;
use parking_lot::Mutex;
use serde::Deserialize as _;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, ErrorCode, Request};
use tower_lsp::{ClientSocket, LanguageServer, LspService};
use tower_service::Service as _;

use crate::conversation::{Failure, FailureKind};
use crate::lsp::{ext, to_proto};
use crate::rpc::{self, decode};

mod repair_initialize;
mod uris;

pub use repair_initialize::scrub_initialize;
pub use uris::raw_uri;

const NOT_INITIALIZED: i64 = -32002;

/// The connection's state, set by the answers to `initialize` and `shutdown`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    New,
    Ready,
    ShutDown,
}

/// The LSP door's service.
pub struct DoorService<B> {
    inner: LspService<B>,
    /// Until the first call, which spawns the task that drains it.
    socket: Option<ClientSocket>,
    raw_initialize: Arc<OnceLock<Value>>,
    stage: Arc<Mutex<Stage>>,
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
            stage: Arc::default(),
            last_id: 0,
            dropped: Arc::default(),
        }
    }

    /// The backend.
    pub fn backend(&self) -> &B {
        self.inner.inner()
    }

    /// Between the answers to `initialize` and `shutdown`.
    pub fn is_ready(&self) -> bool {
        *self.stage.lock() == Stage::Ready
    }

    fn request(&mut self, id: Value, method: String, params: Option<Value>) -> Answering {
        if let Some(error) = refusal(*self.stage.lock(), &method) {
            return ready(error_answer(id, error));
        }
        if method == "codeAction/resolve" && is_resolved(params.as_ref()) {
            return ready(result(id, params.unwrap_or_default()));
        }
        let initialize = method == "initialize";
        if method == "shutdown" {
            *self.stage.lock() = Stage::ShutDown;
        }
        let guard = self.inner_id();
        let request = build(&method, params).id(guard.id).finish();
        let future = self.inner.call(request);
        let stage = Arc::clone(&self.stage);
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
                Ok(value) => {
                    if initialize {
                        *stage.lock() = Stage::Ready;
                    }
                    result(id, value)
                }
                Err(error) => error_answer(id, explained(error, &method)),
            })
        })
    }

    fn notification(&mut self, method: &str, params: Option<Value>) -> Answering {
        if *self.stage.lock() == Stage::New {
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
        let dropped = std::mem::take(&mut *self.dropped.lock());
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
                if *self.stage.lock() == Stage::New {
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
            dropped.lock().push(self.id);
        }
    }
}

fn error_answer(id: Value, error: Error) -> Value {
    decode::error_answer(id, error.code.code(), &error.message, error.data)
}

fn refusal(stage: Stage, method: &str) -> Option<Error> {
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
    Some(Error {
        code: ErrorCode::from(code),
        message: message.into(),
        data: None,
    })
}

/// Explains tower-lsp's error for an unknown method. For one of ours it becomes kind `unsupported`.
fn explained(error: Error, method: &str) -> Error {
    let unknown = error.code == ErrorCode::MethodNotFound
        && (error.data.is_none() || error.data == Some(Value::from(method)));
    if !unknown {
        return error;
    }
    if method.starts_with("interline/") {
        return unsupported(method);
    }
    let message =
        format!("there is no method {method}: see the capabilities in initialize's answer");
    Error {
        message: message.into(),
        data: None,
        ..error
    }
}

/// Methods of the protocol that are not built yet get a code of ours, unknown ones the standard
/// code.
fn unsupported(method: &str) -> Error {
    let planned = ext::METHODS.iter().any(|known| {
        known.name == method && matches!(known.direction, ext::Direction::ClientRequest)
    });
    if planned {
        return to_proto::error(Failure::new(
            FailureKind::Unsupported,
            format!("{method} is not built yet"),
            "`interline schema` and protocol.md list what is; initialize's answer names it in `off`",
        ));
    }
    Error {
        code: ErrorCode::MethodNotFound,
        ..to_proto::error(Failure::new(
            FailureKind::Unsupported,
            format!("there is no method {method}"),
            "check the method's name, or update Interline",
        ))
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

#[cfg(test)]
mod tests;
