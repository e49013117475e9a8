//! Notifications of a plugin about the editor: views, other language servers and what they report.

use std::sync::Arc;

use crate::conversation::EditorContext;
use crate::lsp::door::Door;
use crate::lsp::ext::{ClientChange, DiagnosticsChange, LanguagesChange};
use crate::workspace::Uri;
use crate::workspace::diagnostics::Reported;

pub fn changed(door: &Arc<Door>, params: EditorContext) {
    if let Ok(sessions) = door.sessions() {
        sessions.set_context(params);
    }
}

pub fn diagnostics(door: &Arc<Door>, params: DiagnosticsChange) {
    let key = Uri::new(params.uri.as_str()).key();
    let reported = params.diagnostics.iter().map(Reported::read);
    let diagnostics = &door.workspace.diagnostics;
    diagnostics.set(&key, params.version, reported.collect());
    if params.diagnostics.is_empty() {
        door.diagnostics().remove(&key);
    } else {
        door.diagnostics().insert(key, params);
    }
}

pub fn client(door: &Arc<Door>, params: ClientChange) {
    door.client_changed(&params);
}

pub fn languages(door: &Arc<Door>, params: LanguagesChange) {
    if let Ok(sessions) = door.sessions() {
        let languages = &sessions.shared().languages;
        if languages.may_come() {
            languages.set_editor(params.languages);
        }
    }
}
