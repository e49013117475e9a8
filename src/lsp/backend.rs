//! tower-lsp's `LanguageServer`. Delegates to the handlers and does nothing else.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use lsp_types as lsp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::{ClientSocket, LanguageServer, LspService, LspServiceBuilder};

use super::commands;
use super::door::Door;
use super::handlers::{
    actions, complete, context, documents, mcp, prompt, session, status, transcript, trust, turn,
    workspace,
};
use super::to_proto;
use crate::conversation::Failure;
use crate::session::Leaving;

/// How long `shutdown` may take.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(1);

/// The server as tower-lsp sees it.
pub struct Backend {
    door: Arc<Door>,
}

/// Registers our requests and lists their names.
macro_rules! requests {
    ($($name:literal => $handler:path,)*) => {
        /// Our requests that have a handler; the others are answered as unsupported.
        pub const REQUESTS: &[&str] = &[$($name),*];

        fn requests(builder: LspServiceBuilder<Backend>) -> LspServiceBuilder<Backend> {
            builder$(.custom_method($name, |backend: &Backend, params: Value| {
                answer(Arc::clone(&backend.door), params, $handler)
            }))*
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
    "interline/turn/dequeue" => turn::dequeue,
    "interline/turn/revert" => turn::revert,
    "interline/prompt/preview" => prompt::preview,
    "interline/input/complete" => complete::complete,
    "interline/trust/set" => trust::set,
    "interline/auth/set" => trust::auth,
    "interline/mcp/login" => mcp::login,
    "interline/mcp/logout" => mcp::logout,
    "interline/status" => status::status,
}

/// Registers a notification.
macro_rules! notification {
    ($builder:expr, $name:literal, $handler:path) => {
        $builder.custom_method($name, |backend: &Backend, params: Value| {
            // Handled within the first poll: nothing here may wait (INV-1).
            match decode(params) {
                Ok(params) => $handler(&backend.door, params),
                Err(reason) => tracing::warn!(method = $name, reason, "ignored a notification"),
            }
            std::future::ready(())
        })
    };
}

impl Backend {
    pub fn door(&self) -> &Door {
        &self.door
    }

    /// The service with all methods registered.
    pub fn service(door: Arc<Door>) -> (LspService<Backend>, ClientSocket) {
        let builder = requests(LspService::build(|_| Backend { door }));
        let builder = notification!(builder, "interline/context/didChange", context::changed);
        let builder = notification!(
            builder,
            "interline/diagnostics/didChange",
            context::diagnostics
        );
        let builder = notification!(builder, "interline/client/didChange", context::client);
        let builder = notification!(
            builder,
            "window/workDoneProgress/cancel",
            turn::progress_cancelled
        );
        builder.finish()
    }
}

fn decode<P: DeserializeOwned>(params: Value) -> std::result::Result<P, String> {
    serde_path_to_error::deserialize(params).map_err(|error| error.to_string())
}

/// Decodes the params, calls the handler, and encodes its result.
fn answer<P, R, F>(
    door: Arc<Door>,
    params: Value,
    handler: impl FnOnce(Arc<Door>, P) -> F + Send + 'static,
) -> BoxFuture<'static, Result<Value>>
where
    P: DeserializeOwned + Send + 'static,
    R: Serialize,
    F: Future<Output = std::result::Result<R, Failure>> + Send + 'static,
{
    Box::pin(async move {
        let params = decode(params).map_err(|reason| to_proto::invalid_params(&reason))?;
        let result = handler(door, params).await.map_err(to_proto::error)?;
        serde_json::to_value(result).map_err(|error| Error {
            message: error.to_string().into(),
            ..Error::internal_error()
        })
    })
}

#[tower_lsp::async_trait]
impl LanguageServer for Backend {
    async fn initialize(&self, _: lsp::InitializeParams) -> Result<lsp::InitializeResult> {
        let answer = self.door.initialize(&commands::names());
        serde_json::from_value(answer).map_err(|error| Error {
            message: error.to_string().into(),
            ..Error::internal_error()
        })
    }

    async fn initialized(&self, _: lsp::InitializedParams) {
        self.door.ready();
    }

    async fn shutdown(&self) -> Result<()> {
        self.door.end(Leaving::Bidden, SHUTDOWN_LIMIT).await;
        Ok(())
    }

    async fn did_open(&self, params: lsp::DidOpenTextDocumentParams) {
        documents::opened(&self.door, params);
    }

    // `Lenient` handles it first; only one sent before `initialize` gets here.
    async fn did_change(&self, _: lsp::DidChangeTextDocumentParams) {}

    async fn did_save(&self, params: lsp::DidSaveTextDocumentParams) {
        documents::saved(&self.door, params);
    }

    async fn did_close(&self, params: lsp::DidCloseTextDocumentParams) {
        documents::closed(&self.door, params);
    }

    async fn code_action(
        &self,
        params: lsp::CodeActionParams,
    ) -> Result<Option<lsp::CodeActionResponse>> {
        Ok(Some(actions::list(&self.door, &params)))
    }

    async fn code_action_resolve(&self, action: lsp::CodeAction) -> Result<lsp::CodeAction> {
        Ok(action)
    }

    async fn code_lens(&self, params: lsp::CodeLensParams) -> Result<Option<Vec<lsp::CodeLens>>> {
        Ok(transcript::lenses(&self.door, &params))
    }

    async fn completion(
        &self,
        params: lsp::CompletionParams,
    ) -> Result<Option<lsp::CompletionResponse>> {
        Ok(transcript::completion(Arc::clone(&self.door), params).await)
    }

    async fn execute_command(&self, params: lsp::ExecuteCommandParams) -> Result<Option<Value>> {
        let door = Arc::clone(&self.door);
        commands::execute(door, &params.command, params.arguments)
            .await
            .map(Some)
            .map_err(to_proto::error)
    }

    async fn did_change_configuration(&self, params: lsp::DidChangeConfigurationParams) {
        workspace::configuration(&self.door, params);
    }

    async fn did_change_workspace_folders(&self, params: lsp::DidChangeWorkspaceFoldersParams) {
        workspace::folders(&self.door, params);
    }

    // Closed files are read from disk when needed, so there is nothing to track.
    async fn did_change_watched_files(&self, _: lsp::DidChangeWatchedFilesParams) {}

    async fn did_create_files(&self, _: lsp::CreateFilesParams) {}

    async fn did_rename_files(&self, _: lsp::RenameFilesParams) {}

    async fn did_delete_files(&self, _: lsp::DeleteFilesParams) {}
}
