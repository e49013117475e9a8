//! Texts that the client or another editor shows, as open documents of the mirror.

use ropey::Rope;

use crate::workspace::{ContentChange, Encoding, SyncState, Uri, Workspace};

/// The text in the mirror, as an open document; its version there.
pub(super) fn show(workspace: &Workspace, uri: &Uri, rope: &Rope) -> i32 {
    match workspace.document(uri) {
        Some(document) if document.opened => {
            if document.rope == *rope && document.sync == SyncState::InSync {
                return document.version;
            }
            let version = document.version.saturating_add(1);
            let text = String::from(rope);
            let whole = ContentChange { range: None, text };
            workspace.did_change(uri, version, &[whole], Encoding::Utf8);
            version
        }
        _ => {
            workspace.did_open(uri.clone(), "", 1, &String::from(rope));
            1
        }
    }
}

/// Removes the file from the mirror: the disk has its text.
pub(super) fn close(workspace: &Workspace, uri: &Uri) {
    if let Some(document) = workspace.document(uri) {
        workspace.did_close(&document.uri);
    }
}
