//! Notifications of a plugin about the editor: views, and the diagnostics of other servers.

use crate::conversation::EditorContext;
use crate::lsp::door::Door;
use crate::lsp::ext::{ClientChange, DiagnosticsChange};
use crate::lsp::from_proto;
use crate::workspace::Uri;

pub fn changed(door: &Door, params: EditorContext) {
    if let Ok(sessions) = door.sessions() {
        sessions.set_context(params);
    }
}

pub fn diagnostics(door: &Door, params: DiagnosticsChange) {
    let key = Uri::new(params.uri.as_str()).key();
    if let Ok(sessions) = door.sessions() {
        let reported = params
            .diagnostics
            .iter()
            .map(from_proto::diagnostic)
            .collect();
        sessions.set_diagnostics(&params.uri, reported);
    }
    if params.diagnostics.is_empty() {
        door.diagnostics().remove(&key);
    } else {
        door.diagnostics().insert(key, params);
    }
}

pub fn client(door: &Door, params: ClientChange) {
    door.client_changed(&params);
}
