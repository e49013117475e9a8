//! Converts LSP types to ours: workspace folders and diagnostics. Pure, except that roots are
//! looked up on disk.

use serde_json::Value;

use crate::workspace::{Root, Uri};

/// The folders that `initialize` names: `workspaceFolders`, else `rootUri`, else `rootPath`.
/// Folders that do not exist here are omitted.
pub fn roots(params: &Value) -> Vec<Root> {
    if let Some(folders) = params["workspaceFolders"].as_array()
        && !folders.is_empty()
    {
        return folders.iter().filter_map(root).collect();
    }
    let single = ["rootUri", "rootPath"]
        .into_iter()
        .find_map(|key| params[key].as_str().filter(|text| !text.is_empty()));
    single
        .and_then(|text| existing_root(Uri::new(text), None))
        .into_iter()
        .collect()
}

fn root(folder: &Value) -> Option<Root> {
    let name = folder["name"].as_str().filter(|name| !name.is_empty());
    existing_root(Uri::new(folder["uri"].as_str()?), name.map(str::to_owned))
}

/// The root at `uri`; logs a warning if it is not a folder on this machine.
pub fn existing_root(uri: Uri, name: Option<String>) -> Option<Root> {
    let root = Root::new(uri.clone(), name);
    if root.is_none() {
        tracing::warn!(%uri, "ignored a workspace folder that is not a folder on this machine");
    }
    root
}
