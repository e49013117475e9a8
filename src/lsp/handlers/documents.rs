//! `textDocument/did…`: the mirror follows immediately. Also `interline.saveAll`.

use std::borrow::Cow;
use std::sync::Arc;

use lsp_types::{DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::conversation::{Failure, FailureKind};
use crate::host::Host as _;
use crate::lsp::door::Door;
use crate::lsp::handlers::arguments::Args;
use crate::lsp::service::raw_uri;
use crate::workspace::{ContentChange, Uri};

pub fn opened(door: &Door, params: DidOpenTextDocumentParams) {
    let document = params.text_document;
    door.workspace.did_open(
        raw_uri(&document.uri),
        &document.language_id,
        document.version,
        &document.text,
    );
}

/// A didChange with its URI as the client wrote it.
#[derive(Debug)]
pub struct Changed {
    uri: Uri,
    version: i32,
    changes: Vec<ContentChange>,
}

/// How far from a frame's start and end the method is searched for.
const EDGE: usize = 256;

impl Changed {
    /// Reads a frame that is a well-formed didChange; `None` for all others.
    pub fn read(text: &str) -> Option<Self> {
        const NAME: &[u8] = b"\"textDocument/didChange\"";
        let bytes = text.as_bytes();
        let (head, tail) = (
            &bytes[..bytes.len().min(EDGE)],
            &bytes[bytes.len().saturating_sub(EDGE)..],
        );
        let named = |part: &[u8]| part.windows(NAME.len()).any(|window| window == NAME);
        if !named(head) && !named(tail) {
            return None;
        }
        let frame: ChangeFrame = serde_json::from_str(text).ok()?;
        let notifies = frame.method == "textDocument/didChange" && frame.id.is_none();
        let version = frame.jsonrpc.is_none_or(|version| version == "2.0");
        (notifies && version).then(|| Self {
            uri: Uri::new(frame.params.text_document.uri),
            version: frame.params.text_document.version,
            changes: frame.params.content_changes,
        })
    }
}

#[derive(Deserialize)]
struct ChangeFrame<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    id: Option<IgnoredAny>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    params: ChangeParams,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChangeParams {
    text_document: VersionedDocument,
    content_changes: Vec<ContentChange>,
}

#[derive(Deserialize)]
struct VersionedDocument {
    uri: String,
    version: i32,
}

pub fn changed(door: &Door, change: &Changed) {
    let Changed {
        uri,
        version,
        changes,
    } = change;
    door.workspace
        .did_change(uri, *version, changes, door.encoding());
}

/// A malformed didChange is still a change: the mirror is no longer correct.
pub fn unreadable(door: &Door, params: &Value) {
    let uri = params["textDocument"]["uri"].as_str();
    tracing::warn!(uri, "a malformed textDocument/didChange");
    if let Some(uri) = uri {
        door.workspace.lose(
            &Uri::new(uri),
            "a change could not be read: it does not follow LSP",
        );
    }
}

pub fn saved(door: &Door, params: DidSaveTextDocumentParams) {
    let uri = raw_uri(&params.text_document.uri);
    door.workspace.did_save(&uri, params.text.as_deref());
}

pub fn closed(door: &Door, params: DidCloseTextDocumentParams) {
    let uri = raw_uri(&params.text_document.uri);
    door.diagnostics().remove(&uri.key());
    if let Ok(sessions) = door.sessions() {
        sessions.set_diagnostics(uri.as_str(), Vec::new());
    }
    door.workspace.did_close(&uri);
}

/// `interline.saveAll`.
pub async fn save_all(door: Arc<Door>, _: Args) -> Result<Value, Failure> {
    let workspace = Arc::clone(&door.workspace);
    // Comparing with the disk reads files.
    let dirty = tokio::task::spawn_blocking(move || {
        let mut dirty = workspace.documents();
        dirty.retain(|document| document.uri.path().is_some() && workspace.dirty(document));
        dirty.into_iter().map(|document| document.uri).collect()
    });
    let dirty: Vec<Uri> = dirty.await.unwrap_or_default();
    let Some(results) = door.host()?.save(dirty, "save all").await else {
        return Err(Failure::new(
            FailureKind::Unsupported,
            "this client cannot be asked to save",
            "save the files in the editor",
        ));
    };
    let rows: Vec<Value> = results
        .into_iter()
        .map(|row| json!({ "uri": row.uri.as_str(), "saved": row.saved, "reason": row.reason }))
        .collect();
    Ok(json!({ "results": rows }))
}
