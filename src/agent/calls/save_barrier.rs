//! The save barrier. A command reads the disk, so relevant unsaved documents are first saved
//! through the client, or their didSave is awaited. Documents that stay unsaved are reported.

use std::time::Duration;

use crate::agent::TurnEnv;
use crate::workspace::Uri;

/// How long the user of a client without saving has to save.
const WAIT: Duration = Duration::from_secs(60);

/// Saves `uris` as far as the client supports it. Returns the shown paths that the client did not
/// save, with its reason (the command itself reports documents that stayed unsaved); `None`: the
/// turn was cancelled.
pub async fn save_first(cx: &TurnEnv, uris: Vec<Uri>, reason: &str) -> Option<Vec<String>> {
    let dirty = still_dirty(cx, &uris);
    if dirty.is_empty() {
        return Some(Vec::new());
    }
    let answered = tokio::select! {
        answered = cx.host.save(dirty.clone(), reason) => answered,
        () = cx.cancel.cancelled() => return None,
    };
    let Some(results) = answered else {
        return wait(cx, dirty).await;
    };
    let refused = results.into_iter().filter(|result| !result.saved);
    let refused = refused.filter_map(|result| {
        let reason = result.reason?;
        Some(format!("{} ({reason})", shown_path(cx, &result.uri)))
    });
    Some(refused.collect())
}

/// Waits for didSave of each, together at most [`WAIT`].
async fn wait(cx: &TurnEnv, uris: Vec<Uri>) -> Option<Vec<String>> {
    let shown: Vec<String> = uris.iter().map(|uri| shown_path(cx, uri)).collect();
    cx.host.message(&format!(
        "Save {} so that the command sees your changes (it runs in {} s either way).",
        shown.join(", "),
        WAIT.as_secs()
    ));
    let all = async {
        for uri in &uris {
            let mut watch = cx.shared.workspace.watch(uri);
            while !still_dirty(cx, std::slice::from_ref(uri)).is_empty() {
                if watch.changed().await.is_err() {
                    break;
                }
            }
        }
    };
    tokio::select! {
        () = all => Some(Vec::new()),
        () = tokio::time::sleep(WAIT) => Some(Vec::new()),
        () = cx.cancel.cancelled() => None,
    }
}

fn still_dirty(cx: &TurnEnv, uris: &[Uri]) -> Vec<Uri> {
    uris.iter()
        .filter(|uri| {
            cx.shared.workspace.document(uri).is_some_and(|document| {
                document.opened && cx.shared.workspace.file_state(&document).may_save()
            })
        })
        .cloned()
        .collect()
}

fn shown_path(cx: &TurnEnv, uri: &Uri) -> String {
    crate::agent::request::attachments::shown_path(&cx.shared.workspace, uri.as_str(), &cx.cwd)
}
