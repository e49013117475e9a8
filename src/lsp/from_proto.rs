//! Converts LSP types to ours: positions, changes, workspace folders. Pure, except that roots are
//! looked up on disk.

use serde_json::Value;

use crate::agent::request::facts::Reported;
use crate::workspace::{Position, Range, Root, Uri};

pub fn position(position: lsp_types::Position) -> Position {
    Position {
        line: position.line,
        character: position.character,
    }
}

pub fn range(range: lsp_types::Range) -> Range {
    Range {
        start: position(range.start),
        end: position(range.end),
    }
}

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

/// An LSP diagnostic as the prompt shows it.
pub fn diagnostic(value: &Value) -> Reported {
    let severity = match value["severity"].as_u64() {
        Some(2) => "warning",
        Some(3) => "information",
        Some(4) => "hint",
        _ => "error",
    };
    let line = value["range"]["start"]["line"].as_u64().unwrap_or(0);
    Reported {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        severity: severity.to_owned(),
        message: value["message"].as_str().unwrap_or_default().to_owned(),
    }
}
