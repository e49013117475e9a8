//! `rpc::Service` for LSP: owns the order of initialize and shutdown, and answers what no method
//! table knows. The methods are in [`Backend`].

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::conversation::{Failure, FailureKind};
use crate::lsp::ext;
use crate::lsp::to_proto::{self, Error};
use crate::rpc::{self, Early, decode};

const NOT_INITIALIZED: i64 = -32002;
const METHOD_NOT_FOUND: i64 = -32601;

/// The answer to a request.
pub type Answering = BoxFuture<'static, Result<Value, Error>>;

/// Handles a notification that was read before its turn.
pub type EarlyNotification<B> = Box<dyn FnOnce(&B) + Send>;

/// A table of methods. Only called between the answers to `initialize` and `shutdown`, but for
/// these two.
pub trait Backend: Send + Sized + Sync + 'static {
    /// The answer to `initialize`; `params` is an object.
    fn initialize(&self, params: Value) -> Value;

    /// Handles a request, or returns `None` for an unknown method. Absent params are `null`.
    fn request(&self, method: &str, params: Value) -> Option<Answering>;

    /// Handles a notification; an unknown one is ignored.
    fn notification(&self, method: &str, params: Value);

    /// See [`rpc::Service::early`].
    fn early(_text: &str) -> Option<EarlyNotification<Self>> {
        None
    }
}

/// The connection's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    New,
    Ready,
    ShutDown,
}

/// The LSP door's service.
pub struct DoorService<B> {
    backend: B,
    stage: Stage,
}

impl<B: Backend> DoorService<B> {
    pub fn new(backend: B) -> Self {
        Self {
            backend,
            stage: Stage::New,
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Answering {
        if let Some(error) = refusal(self.stage, method) {
            return ready(Err(error));
        }
        match method {
            "initialize" => ready(self.initialize(params)),
            "codeAction/resolve" => ready(resolved(params)),
            _ => {
                if method == "shutdown" {
                    self.stage = Stage::ShutDown;
                }
                let answering = self.backend.request(method, params);
                answering.unwrap_or_else(|| ready(Err(unknown(method))))
            }
        }
    }

    /// One that is refused can be repeated.
    fn initialize(&mut self, params: Value) -> Result<Value, Error> {
        let params = match params {
            Value::Null => json!({}),
            Value::Object(_) => params,
            _ => return Err(to_proto::invalid_params("initialize takes an object")),
        };
        let answer = self.backend.initialize(params);
        self.stage = Stage::Ready;
        Ok(answer)
    }
}

impl<B: Backend> rpc::Service for DoorService<B> {
    fn early(text: &str) -> Option<Early<Self>> {
        let handle = B::early(text)?;
        Some(Box::new(move |service| {
            if service.stage == Stage::Ready {
                handle(&service.backend);
            }
        }))
    }

    fn answers_first(method: &str) -> bool {
        matches!(method, "interline/turn/start" | "interline/session/open")
    }

    fn call(&mut self, mut message: Value) -> BoxFuture<'static, Option<Value>> {
        let Some(Value::String(method)) = message.get_mut("method").map(Value::take) else {
            return Box::pin(std::future::ready(None));
        };
        let params = message.get_mut("params").map(Value::take);
        let params = params.unwrap_or_default();
        match message.get_mut("id").map(Value::take) {
            Some(id) => {
                let answering = self.request(&method, params);
                Box::pin(async move {
                    Some(match answering.await {
                        Ok(value) => result(id, value),
                        Err(error) => {
                            decode::error_answer(id, error.code, &error.message, error.data)
                        }
                    })
                })
            }
            None => {
                match self.stage {
                    Stage::New => {
                        tracing::debug!(method, "dropped a notification before initialize");
                    }
                    _ => self.backend.notification(&method, params),
                }
                Box::pin(std::future::ready(None))
            }
        }
    }
}

/// Our code actions need no resolving.
fn resolved(item: Value) -> Result<Value, Error> {
    match item {
        Value::Object(_) => Ok(item),
        _ => Err(to_proto::invalid_params("a code action is an object")),
    }
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
    Some(Error::new(code, message))
}

/// Why there is no such method. Methods of the protocol that are not built yet get a code of ours,
/// unknown ones the standard code.
fn unknown(method: &str) -> Error {
    if !method.starts_with("interline/") {
        let message =
            format!("there is no method {method}: see the capabilities in initialize's answer");
        return Error::new(METHOD_NOT_FOUND, message);
    }
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
        code: METHOD_NOT_FOUND,
        ..to_proto::error(Failure::new(
            FailureKind::Unsupported,
            format!("there is no method {method}"),
            "check the method's name, or update Interline",
        ))
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

fn ready(answer: Result<Value, Error>) -> Answering {
    Box::pin(std::future::ready(answer))
}

#[cfg(test)]
mod tests;
