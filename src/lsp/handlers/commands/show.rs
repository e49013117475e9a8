//! `interline.showPrompt`, and how commands show a document.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::conversation::Failure;
use crate::env;
use crate::env::tasks;
use crate::lsp::door::Door;
use crate::lsp::handlers::arguments::Args;
use crate::session::PreviewPrompt;
use crate::session::preview::markdown;
use crate::workspace::Uri;

pub async fn prompt(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    let preview = PreviewPrompt {
        session_id: args.session_id,
        uri: args.uri,
        ..PreviewPrompt::default()
    };
    let text = markdown::text(&door.sessions()?.preview(preview).await?);
    // A client that runs our commands itself can show the text better than a file does.
    let client = door.client()?;
    if client.offer.commands || !client.show_document {
        return Ok(json!({ "text": text }));
    }
    let state = door.env.dirs.state.clone();
    let Some(path) = write_private(&state, "prompt.md", text.clone()).await else {
        return Ok(json!({ "text": text }));
    };
    let uri = Uri::from_path(&path);
    let params = json!({ "uri": uri.as_str(), "takeFocus": true });
    // The command returns at once, whether or not the editor shows it.
    drop(door.peer.request("window/showDocument", params, None));
    Ok(json!({ "uri": uri.as_str() }))
}

/// Shows a document, or else the message `words`, which names its path.
pub async fn document(door: Arc<Door>, uri: Uri, words: &str) {
    let Ok(host) = door.host() else { return };
    if !host.show_document(uri.as_str(), false).await {
        host.show_info(words);
    }
}

/// Writes a file that only its owner can read, because a preview contains text of open buffers.
pub async fn write_private(state: &Path, name: &'static str, text: String) -> Option<PathBuf> {
    let path = state.join(name);
    let target = path.clone();
    let write = move || env::write_private(&target, [text.as_bytes()]);
    let written = tasks::blocking(write).await;
    match written.map_err(std::io::Error::other).flatten() {
        Ok(()) => Some(path),
        Err(error) => {
            tracing::warn!(%error, name, "cannot write a file");
            None
        }
    }
}
