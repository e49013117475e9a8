//! Door 2: the Agent Client Protocol, version 1, one JSON message per line. Converts, hands over to
//! `session`, and reports events as `session/update`. The client's file system is authoritative
//! if it offers one (`acp/files.rs`), otherwise the disk is, except for documents that another
//! editor of the user has open (`acp/bridge.rs`).
//!
//! Its types are our own: it reads few fields of few methods, and everything it writes is checked
//! against the published schema in the stories. Standard output carries nothing else.

mod bridge;
mod chosen;
pub mod client;
pub mod content;
pub mod door;
mod files;
mod host;
mod methods;
mod mirrored;
mod options;
mod permission;
mod question;
mod service;
mod turns;
mod updates;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::config::load::{ClientSettings, load};
use crate::env::Env;
use crate::provider::recording::Recording;
use crate::rpc::{self, Framing};
use door::Door;
use service::AcpService;

/// The only supported version.
pub const VERSION: u64 = 1;

/// How long turns may take to stop after the client is gone (the transport allows 1.5 s).
const END_LIMIT: Duration = Duration::from_secs(1);

/// Serves the client on standard input and output until it leaves; the exit code. The caller
/// then leaves with `std::process::exit`: a thread may still be blocked in a read. `record`: writes
/// lines and model streams to this file, without secrets.
pub async fn serve(env: Env, record: Option<PathBuf>) -> i32 {
    match rpc::stdin() {
        Ok(input) => serve_on(env, record, input, rpc::stdout()).await,
        Err(error) => {
            tracing::error!(%error, "cannot move standard input: raise the limit of open files");
            1
        }
    }
}

/// [`serve`] on any pair of streams.
pub async fn serve_on(
    env: Env,
    record: Option<PathBuf>,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> i32 {
    let (peer, mut transport) = rpc::channel();
    let record = record.or_else(|| load(&env, &ClientSettings::default()).config.record);
    let recording = match record.map(|path| Recording::start(&path, &env).map_err(|e| (path, e))) {
        None => None,
        Some(Ok(recording)) => {
            transport = transport.tap(recording.tap());
            Some(recording)
        }
        Some(Err((path, error))) => {
            tracing::error!(path = %path.display(), %error, "cannot record: check the folder");
            return 1;
        }
    };
    let door = Arc::new(Door::new(env, peer).recording(recording.clone()));
    let service = AcpService::new(Arc::clone(&door));
    let code = transport
        .framing(Framing::Lines)
        .on_end(move || async move { door.end(END_LIMIT).await })
        .serve(service, input, output)
        .await;
    if let Some(recording) = recording {
        recording.finish();
    }
    code
}

#[cfg(test)]
mod tests;
