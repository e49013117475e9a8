//! Files that changed on disk while the editor shows their older text: the editor is asked to reload
//! them, and gets a moment to do so.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::ToolContext;
use super::target;
use crate::env::tasks;
use crate::workspace::file_state::FileState;
use crate::workspace::{Uri, Workspace};

/// How long editors take to notice a changed file on their own.
const WAIT: Duration = Duration::from_millis(1_500);

/// The open documents of these that are outdated.
async fn outdated(workspace: &Arc<Workspace>, of: impl Fn(&Uri) -> bool) -> Vec<Uri> {
    let mut documents = workspace.documents();
    documents.retain(|document| document.opened && of(&document.uri));
    let workspace = Arc::clone(workspace);
    let find = move || {
        documents.retain(|document| workspace.file_state(document) == FileState::Outdated);
        let uris = documents.into_iter().map(|document| document.uri);
        uris.collect()
    };
    tasks::blocking(find).await.unwrap_or_default()
}

/// Asks the editor to reload documents that changed on disk. Returns those that it reloaded, and
/// those that it did not.
async fn reload(cx: &ToolContext, of: impl Fn(&Uri) -> bool) -> (Vec<Uri>, Vec<Uri>) {
    let mut changed = outdated(&cx.workspace, of).await;
    changed.sort_unstable();
    let mut left = changed.clone();
    if !left.is_empty() {
        cx.host.changed_on_disk(&left);
    }
    let until = Instant::now() + WAIT;
    while let Some(first) = left.first().cloned() {
        let mut signals = cx.workspace.watch(&first);
        signals.mark_unchanged();
        let before = left.clone();
        left = outdated(&cx.workspace, |uri| before.contains(uri)).await;
        if !left.contains(&first) {
            continue;
        }
        tokio::select! {
            () = cx.cancel.cancelled() => break,
            () = tokio::time::sleep_until(until) => break,
            _ = signals.changed() => {}
        }
    }
    changed.retain(|uri| !left.contains(uri));
    (changed, left)
}

/// What changed on disk of what is open, in words for the model.
pub(super) async fn note(cx: &ToolContext) -> String {
    let (reloaded, left) = reload(cx, |_| true).await;
    let names = |uris: &[Uri]| {
        let paths = uris.iter().filter_map(Uri::path);
        let names: Vec<String> = paths.map(|path| target::relative_path(cx, &path)).collect();
        names.join(", ")
    };
    let mut text = String::new();
    if !reloaded.is_empty() {
        let values = names(&reloaded);
        text.push('\n');
        text.push_str(&cx.text("results/exec-reloaded.md", &[("files", &values)]));
    }
    if !left.is_empty() {
        let values = names(&left);
        text.push('\n');
        text.push_str(&cx.text("results/exec-outdated.md", &[("files", &values)]));
    }
    text
}
