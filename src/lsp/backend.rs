//! The table of LSP methods: decodes params, calls the handlers, and encodes their results.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::commands;
use super::door::Door;
use super::handlers::{
    actions, complete, context, documents, mcp, prompt, review, session, status, transcript, trust,
    turn, workspace,
};
use super::service::{Answering, Backend, EarlyNotification};
use super::to_proto::{self, Error};
use crate::config::typed::typed;
use crate::conversation::Failure;
use crate::session::Leaving;

/// How long `shutdown` may take.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(1);

/// Lists the names of our requests, and calls the handler of one.
macro_rules! requests {
    ($($name:literal => $handler:path,)*) => {
        /// Our requests that have a handler; the others are answered as unsupported.
        pub const REQUESTS: &[&str] = &[$($name),*];

        fn request(door: Arc<Door>, method: &str, params: Value) -> Option<Answering> {
            Some(match method {
                $($name => answer(door, params, $handler),)*
                _ => return None,
            })
        }
    };
}

requests! {
    "interline/session/new" => session::new,
    "interline/session/configure" => session::configure,
    "interline/session/list" => session::list,
    "interline/session/open" => session::open,
    "interline/session/fork" => session::fork,
    "interline/session/export" => session::export,
    "interline/session/rename" => session::rename,
    "interline/session/delete" => session::delete,
    "interline/session/close" => session::close,
    "interline/session/compact" => session::compact,
    "interline/turn/start" => turn::start,
    "interline/turn/steer" => turn::steer,
    "interline/turn/cancel" => turn::cancel,
    "interline/turn/retry" => turn::retry,
    "interline/turn/dequeue" => turn::dequeue,
    "interline/turn/revert" => turn::revert,
    "interline/review/list" => review::list,
    "interline/review/decide" => review::decide,
    "interline/prompt/preview" => prompt::preview,
    "interline/input/complete" => complete::complete,
    "interline/trust/set" => trust::set,
    "interline/rules/list" => trust::rules,
    "interline/rules/remove" => trust::remove_rule,
    "interline/auth/set" => trust::auth,
    "interline/auth/test" => trust::test,
    "interline/mcp/login" => mcp::login,
    "interline/mcp/logout" => mcp::logout,
    "interline/status" => status::status,
    "interline/debug" => status::debug,
}

impl Backend for Arc<Door> {
    fn initialize(&self, params: Value) -> Value {
        Door::initialize(self, &params, &commands::names())
    }

    fn request(&self, method: &str, params: Value) -> Option<Answering> {
        let door = Arc::clone(self);
        Some(match method {
            "shutdown" => Box::pin(async move {
                door.end(Leaving::Bidden, SHUTDOWN_LIMIT).await;
                Ok(Value::Null)
            }),
            "textDocument/codeAction" => answer(door, params, actions::list),
            "textDocument/codeLens" => answer(door, params, transcript::lenses),
            "textDocument/completion" => answer(door, params, transcript::completion),
            "workspace/executeCommand" => answer(door, params, commands::run),
            _ => return request(door, method, optional(params)),
        })
    }

    fn notification(&self, method: &str, params: Value) {
        let read = match method {
            "initialized" => {
                self.ready();
                Ok(())
            }
            "textDocument/didOpen" => notified(self, params, documents::opened),
            // Not read early, perhaps only because its JSON needed repair.
            "textDocument/didChange" => {
                documents::changed_late(self, params);
                Ok(())
            }
            "textDocument/didSave" => notified(self, params, documents::saved),
            "textDocument/didClose" => notified(self, params, documents::closed),
            "workspace/didChangeConfiguration" => notified(self, params, workspace::configuration),
            "workspace/didChangeWorkspaceFolders" => notified(self, params, workspace::folders),
            "window/workDoneProgress/cancel" => notified(self, params, turn::progress_cancelled),
            "interline/context/didChange" => notified(self, optional(params), context::changed),
            "interline/diagnostics/didChange" => {
                notified(self, optional(params), context::diagnostics)
            }
            "interline/languages/didChange" => notified(self, optional(params), context::languages),
            "interline/client/didChange" => notified(self, optional(params), context::client),
            // Also what needs no handling: closed files are read from disk when they are needed.
            _ => Ok(()),
        };
        if let Err(reason) = read {
            tracing::warn!(method, reason, "ignored a notification");
        }
    }

    fn early(text: &str) -> Option<EarlyNotification<Self>> {
        let change = documents::Changed::read(text)?;
        Some(Box::new(move |door| documents::changed(door, &change)))
    }
}

/// Our methods may come without params.
fn optional(params: Value) -> Value {
    match params {
        Value::Null => json!({}),
        params => params,
    }
}

/// Calls the handler of a notification within the first poll: nothing in it may wait (INV-1).
fn notified<P: DeserializeOwned>(
    door: &Arc<Door>,
    params: Value,
    handler: fn(&Arc<Door>, P),
) -> Result<(), String> {
    let params = typed(params).map_err(|wrong| wrong.to_string())?;
    handler(door, params);
    Ok(())
}

/// Decodes the params, calls the handler, and encodes its result.
fn answer<P, R, F>(
    door: Arc<Door>,
    params: Value,
    handler: impl FnOnce(Arc<Door>, P) -> F + Send + 'static,
) -> Answering
where
    P: DeserializeOwned + Send + 'static,
    R: Serialize,
    F: Future<Output = Result<R, Failure>> + Send + 'static,
{
    let params = match typed(params) {
        Ok(params) => params,
        Err(wrong) => {
            let error = to_proto::invalid_params(&wrong.to_string());
            return Box::pin(std::future::ready(Err(error)));
        }
    };
    Box::pin(async move {
        let result = handler(door, params).await.map_err(to_proto::error)?;
        serde_json::to_value(result).map_err(|error| Error::internal(&error))
    })
}
