//! Door 1: the language server that editors start. A handler converts, calls `session` or `workspace`, and returns (INV-1).

pub mod backend;
pub mod bare;
mod bridge;
pub mod capabilities;
pub mod commands;
pub mod door;
pub mod ext;
pub mod from_proto;
pub mod handlers;
pub mod host;
pub mod params;
pub mod schema;
pub mod service;
pub mod to_proto;

#[cfg(test)]
mod tests;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::config::load::{ClientSettings, load};
use crate::env::Env;
use crate::provider::recording::Recording;
use crate::rpc;
use crate::session::Leaving;
use door::Door;
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
    let door = Arc::new(Door::new(env, peer).recording(recording.clone()));
    let service = DoorService::new(Arc::clone(&door));
    let code = transport
        .on_end(move || async move { door.end(Leaving::Lost, END_LIMIT).await })
        .serve(service, input, output)
        .await;
    if let Some(recording) = recording {
        recording.finish();
    }
    code
}
