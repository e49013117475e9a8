//! `textDocument/did…`: the mirror follows immediately. Also `interline.saveAll`.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::conversation::{Failure, FailureKind};
use crate::env::tasks;
use crate::host::Host as _;
use crate::lsp::door::Door;
use crate::lsp::handlers::arguments::Args;
use crate::lsp::params::{DidChange, DidOpen, DidSave, OfDocument};
use crate::workspace::{ContentChange, Uri};

pub fn opened(door: &Arc<Door>, params: DidOpen) {
    let document = params.text_document;
    door.workspace.did_open(
        Uri::new(document.uri.as_str()),
        &document.language_id,
        document.version,
        &document.text,
    );
    // From now on it is known which side changes.
    let (workspace, uri) = (Arc::clone(&door.workspace), Uri::new(document.uri));
    tasks::blocking(move || {
        if let Some(document) = workspace.document(&uri) {
            workspace.dirty(&document);
        }
    });
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
        (notifies && version).then(|| frame.params.into())
    }
}

impl From<DidChange> for Changed {
    fn from(params: DidChange) -> Self {
        Self {
            uri: Uri::new(params.text_document.uri),
            version: params.text_document.version,
            changes: params.content_changes,
        }
    }
}

#[derive(Deserialize)]
struct ChangeFrame<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    id: Option<IgnoredAny>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    params: DidChange,
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

/// A didChange that [`Changed::read`] did not take. A malformed one is still a change: the mirror is
/// no longer correct.
pub fn changed_late(door: &Door, params: Value) {
    if let Ok(read) = DidChange::deserialize(&params) {
        return changed(door, &read.into());
    }
    let uri = params["textDocument"]["uri"].as_str();
    tracing::warn!(uri, "a malformed textDocument/didChange");
    if let Some(uri) = uri {
        door.workspace.lose(
            &Uri::new(uri),
            "a change could not be read: it does not follow LSP",
        );
    }
}

pub fn saved(door: &Arc<Door>, params: DidSave) {
    let uri = Uri::new(params.text_document.uri);
    let formatted = door.workspace.did_save(&uri, params.text.as_deref());
    if let (Some(formatted), Ok(sessions)) = (formatted, door.sessions()) {
        sessions.formatted(&formatted);
    }
}

pub fn closed(door: &Arc<Door>, params: OfDocument) {
    let uri = Uri::new(params.text_document.uri);
    door.diagnostics().remove(&uri.key());
    door.workspace.diagnostics.forget(&uri.key());
    door.workspace.did_close(&uri);
}

/// `interline.saveAll`.
pub async fn save_all(door: Arc<Door>, _: Args) -> Result<Value, Failure> {
    let workspace = Arc::clone(&door.workspace);
    // Comparing with the disk reads files.
    let dirty = tasks::blocking(move || {
        let mut dirty = workspace.documents();
        dirty.retain(|document| {
            document.uri.path().is_some() && workspace.file_state(document).may_save()
        });
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
