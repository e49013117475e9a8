//! Door 1: the language server that editors start. The only module that names tower_lsp and
//! lsp_types. A handler converts, calls `session` or `workspace`, and returns (INV-1).

pub mod backend;
pub mod bare;
pub mod capabilities;
pub mod commands;
pub mod door;
pub mod ext;
pub mod from_proto;
pub mod handlers;
pub mod host;
pub mod schema;
pub mod service;
pub mod to_proto;

#[cfg(test)]
mod tests;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::config::load::{ClientSettings, load};
use crate::env::Env;
use crate::provider::recording::Recording;
use crate::rpc::{self, Early, Service};
use crate::session::Leaving;
use backend::Backend;
use door::Door;
use handlers::documents;
use service::DoorService;

/// How long turns may take to stop when the client is gone (the transport allows 1.5 s).
const END_LIMIT: Duration = Duration::from_secs(1);

/// The server's options from the command line.
#[derive(Clone, Debug, Default)]
pub struct ServeOptions {
    /// Record frames and model streams in this file, with secrets removed.
    pub record: Option<PathBuf>,
}

/// Serves the client on standard input and output until it leaves, and returns the exit code. The
/// caller must exit with `std::process::exit`: a thread may still be blocked in a read.
pub async fn serve(env: Env, options: ServeOptions) -> i32 {
    match rpc::stdin() {
        Ok(input) => serve_on(env, options, input, rpc::stdout()).await,
        Err(error) => {
            tracing::error!(%error, "cannot move standard input: raise the open file limit");
            1
        }
    }
}

/// [`serve`] on any pair of streams.
pub async fn serve_on(
    env: Env,
    options: ServeOptions,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> i32 {
    let (peer, mut transport) = rpc::channel();
    let record = options.record.or_else(|| {
        let user = load(&env, &ClientSettings::default());
        user.config.record
    });
    let recording = match record.map(|path| Recording::start(&path, &env).map_err(|e| (path, e))) {
        None => None,
        Some(Ok(recording)) => {
            transport = transport.tap(recording.tap());
            Some(recording)
        }
        Some(Err((path, error))) => {
            tracing::error!(path = %path.display(), %error, "cannot record: check that the folder is writable");
            return 1;
        }
    };
    let raw = Arc::new(OnceLock::new());
    let door = Door::new(env, peer, Arc::clone(&raw)).recording(recording.clone());
    let door = Arc::new(door);
    let service = Lenient(DoorService::new(Backend::service(Arc::clone(&door)), raw));
    let code = transport
        .on_end(move || async move { door.end(Leaving::Lost, END_LIMIT).await })
        .serve(service, input, output)
        .await;
    if let Some(recording) = recording {
        recording.finish();
    }
    code
}

/// Handles what tower-lsp should not see: our methods may come without params, which it would
/// reject, and typed decoding of a didChange (one per key) costs more than applying it.
struct Lenient(DoorService<Backend>);

impl Service for Lenient {
    fn early(text: &str) -> Option<Early<Self>> {
        let change = documents::Changed::read(text)?;
        Some(Box::new(move |lenient| {
            if lenient.0.is_ready() {
                documents::changed(lenient.0.backend().door(), &change);
            }
        }))
    }

    fn answers_first(method: &str) -> bool {
        matches!(method, "interline/turn/start" | "interline/session/open")
    }

    fn call(&mut self, mut message: Value) -> BoxFuture<'static, Option<Value>> {
        let notifies = message.get("id").is_none();
        if notifies && message["method"] == "textDocument/didChange" && self.0.is_ready() {
            // Not read early, perhaps only because its JSON needed repair.
            let door = self.0.backend().door();
            match documents::Changed::read(&message.to_string()) {
                Some(change) => documents::changed(door, &change),
                None => documents::unreadable(door, &message["params"]),
            }
            return Box::pin(std::future::ready(None));
        }
        let ours = message["method"]
            .as_str()
            .is_some_and(|method| method.starts_with("interline/"));
        if ours && message.get("params").is_none_or(Value::is_null) {
            message["params"] = json!({});
        }
        self.0.call(message)
    }
}
