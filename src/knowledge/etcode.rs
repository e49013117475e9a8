//! A workspace's `etcode.json`: the instruction files that it names, and the refused settings.
//! Only reads it; the format and its rules are in `config`.

#[cfg(test)]
mod tests;

use std::path::Path;

use super::control_files;
use crate::config::etcode::{FILE, parse};
use crate::config::load::Ignored;
use crate::workspace::Workspace;

/// The file's entries for `instructions`, the open buffer before the disk, and its ignored
/// settings, with its path as the source. The file is directly in `root`.
pub fn instructions(workspace: &Workspace, root: &Path) -> (Vec<String>, Vec<Ignored>) {
    let Ok(root) = workspace.canonical(root) else {
        return (Vec::new(), Vec::new());
    };
    let path = root.join(FILE);
    let (instructions, mut ignored) = match control_files::read(workspace, &root, &path) {
        Ok(None) => return (Vec::new(), Vec::new()),
        Ok(Some(text)) => parse(&text.text).workspace(),
        Err(reason) => {
            let ignored = Ignored {
                key: "*".to_owned(),
                source: String::new(),
                reason,
                ..Ignored::default()
            };
            (Vec::new(), vec![ignored])
        }
    };
    for one in &mut ignored {
        one.source = path.display().to_string();
    }
    (instructions, ignored)
}
