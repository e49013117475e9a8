//! Saves the files that a turn changed (`edits.saveAfter`), once, when it ends: a command in between
//! has its save barrier, and a formatter would move the text under the next edit.

use std::path::Path;

use super::state::TurnEnd;
use crate::agent::TurnEnv;
use crate::agent::request::attachments::shown_path;
use crate::config::SaveAfter;
use crate::conversation::{FileChange, TurnStop};
use crate::host::{Host, SaveResult};
use crate::workspace::file_state::FileState;
use crate::workspace::{Uri, Workspace};

/// Saves what the turn changed, if the setting says so. A cancelled turn saves nothing.
pub(super) async fn at_end(cx: &TurnEnv, end: &TurnEnd) {
    let wanted = cx.config().edits.save_after == SaveAfter::Always;
    if !wanted || cx.parent.is_some() || end.stop == TurnStop::Cancelled {
        return;
    }
    let workspace = &cx.shared.workspace;
    let held = open_files(workspace, &end.files, |it| it.unsaved() && !it.may_save());
    if !held.is_empty() {
        let held = names(workspace, &cx.cwd, &held).join(", ");
        cx.notice(format!(
            "Not saved: {held}, because another program changed or deleted it on disk. Compare the \
             two texts in the editor, and save yours there."
        ));
    }
    let unsaved = unsaved(workspace, &end.files);
    if unsaved.is_empty() {
        return;
    }
    tokio::select! {
        problem = save(&*cx.host, unsaved) => if let Some(problem) = problem {
            cx.notice(problem);
        },
        () = cx.cancel.cancelled() => {}
    }
}

/// The changed files that are open, with unsaved text that may be saved.
pub fn unsaved(workspace: &Workspace, files: &[FileChange]) -> Vec<Uri> {
    open_files(workspace, files, FileState::may_save)
}

fn open_files(
    workspace: &Workspace,
    files: &[FileChange],
    wanted: impl Fn(FileState) -> bool,
) -> Vec<Uri> {
    let uris = files.iter().map(|file| Uri::new(file.uri.as_str()));
    let documents = uris.filter_map(|uri| workspace.document(&uri));
    let found = documents.filter(|document| {
        let state = || workspace.file_state(document);
        document.opened && document.uri.path().is_some() && wanted(state())
    });
    found.map(|document| document.uri).collect()
}

/// The documents as the user sees their paths.
pub fn names(workspace: &Workspace, cwd: &Path, uris: &[Uri]) -> Vec<String> {
    let uris = uris.iter();
    uris.map(|uri| shown_path(workspace, uri.as_str(), cwd))
        .collect()
}

/// Has the client save; a message for the user if a file was not saved. A client that cannot be
/// asked tells its user which files are unsaved.
pub async fn save(host: &dyn Host, uris: Vec<Uri>) -> Option<String> {
    let results = host.save(uris, "the agent changed it").await?;
    let refused: Vec<String> = results.into_iter().filter_map(refusal).collect();
    let files = refused.join(", ");
    (!refused.is_empty()).then(|| format!("Not saved: {files}. Save it in the editor."))
}

fn refusal(result: SaveResult) -> Option<String> {
    let name = || match result.uri.path() {
        Some(path) => path.file_name().map_or_else(
            || result.uri.to_string(),
            |name| name.to_string_lossy().into_owned(),
        ),
        None => result.uri.to_string(),
    };
    match (result.saved, &result.reason) {
        (true, _) => None,
        (false, Some(reason)) => Some(format!("{} ({reason})", name())),
        (false, None) => Some(name()),
    }
}
