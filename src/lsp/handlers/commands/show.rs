//! `interline.showPrompt`, and how commands show a document.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::arguments::Args;
use crate::conversation::Failure;
use crate::lsp::door::Door;
use crate::lsp::handlers::prompt::markdown;
use crate::session::PreviewPrompt;
use crate::workspace::Uri;

/// How long an editor may take to show a document before a message names its path.
const SHOWING: Duration = Duration::from_secs(5);

pub async fn prompt(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    let preview = PreviewPrompt {
        session_id: args.session_id,
        uri: args.uri,
        ..PreviewPrompt::default()
    };
    let text = markdown(&door.sessions()?.preview(preview).await?);
    // A client that runs our commands itself can show the text better than a file does.
    let client = door.client()?;
    if client.offer.commands || !client.show_document {
        return Ok(json!({ "text": text }));
    }
    let state = door.env.dirs.state.clone();
    let written = {
        let text = text.clone();
        tokio::task::spawn_blocking(move || write_private(&state, "prompt.md", &text)).await
    };
    let path = match written {
        Ok(Ok(path)) => path,
        Ok(Err(error)) => {
            tracing::warn!(%error, "cannot write the preview");
            return Ok(json!({ "text": text }));
        }
        Err(_) => return Ok(json!({ "text": text })),
    };
    let uri = Uri::from_path(&path);
    let params = json!({ "uri": uri.as_str(), "takeFocus": true });
    // The command returns at once, whether or not the editor shows it.
    drop(door.peer.request("window/showDocument", params, None));
    Ok(json!({ "uri": uri.as_str() }))
}

/// Shows a document, or else the message `words`, which names its path.
pub async fn document(door: Arc<Door>, uri: Uri, words: &str) {
    let (Ok(client), Ok(host)) = (door.client(), door.host()) else {
        return;
    };
    if client.show_document {
        let params = json!({ "uri": uri.as_str(), "takeFocus": true });
        let answer = door
            .peer
            .request("window/showDocument", params, Some(SHOWING));
        if answer.await.result.is_ok_and(|it| it["success"] != false) {
            return;
        }
    }
    host.show_info(words);
}

/// Writes a file that only its owner can read: a preview contains text of open buffers.
pub fn write_private(state: &Path, name: &str, text: &str) -> std::io::Result<PathBuf> {
    use std::io::Write as _;
    std::fs::create_dir_all(state)?;
    let path = state.join(name);
    let mut file = tempfile::NamedTempFile::new_in(state)?;
    file.write_all(text.as_bytes())?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}
