//! The workspace's folders.

use std::path::{Path, PathBuf};

use super::Uri;

/// One folder of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    pub uri: Uri,
    /// Canonical.
    pub path: PathBuf,
    pub name: String,
}

impl Root {
    /// The root at `uri`; `None` if it is not a folder on this machine.
    pub fn new(uri: Uri, name: Option<String>) -> Option<Self> {
        let path = std::fs::canonicalize(uri.path()?).ok()?;
        if !path.is_dir() {
            return None;
        }
        let name = name.unwrap_or_else(|| {
            path.file_name().map_or_else(
                || "/".to_owned(),
                |name| name.to_string_lossy().into_owned(),
            )
        });
        Some(Self { uri, path, name })
    }

    /// Component-wise containment of a canonical path (`/w/repo-evil` is not in `/w/repo`).
    pub fn contains(&self, path: &Path) -> bool {
        path.starts_with(&self.path)
    }
}

/// Index of the innermost root that contains the canonical `path`, and the path relative to it.
/// Compares whole components.
pub(super) fn containing(roots: &[Root], path: &Path) -> Option<(usize, PathBuf)> {
    roots
        .iter()
        .enumerate()
        .filter_map(|(index, root)| Some((index, path.strip_prefix(&root.path).ok()?)))
        .min_by_key(|(_, relative)| relative.components().count())
        .map(|(index, relative)| (index, relative.to_owned()))
}
