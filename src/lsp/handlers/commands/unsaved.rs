//! `interline.saveAll`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::arguments::Args;
use crate::conversation::{Failure, FailureKind};
use crate::host::Host as _;
use crate::lsp::door::Door;
use crate::workspace::Uri;

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
