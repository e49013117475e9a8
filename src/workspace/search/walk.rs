//! The files below a folder with ignore rules, merged with open documents that are not on disk yet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::hits::{Hit, Hits};
use super::rules::Rules;
use super::shown::would_visit;
use super::types::{Bounds, SearchError, Visibility};
use crate::workspace::beneath::{self, Folder};
use crate::workspace::{Document, FileError, FileKind, Located, Workspace};

/// An entry found by a walk.
pub(super) struct Entry<'a> {
    pub path: &'a Path,
    pub folder: bool,
    pub link: bool,
    /// The open document of the file.
    pub document: Option<&'a Document>,
    /// The folder in which it was found.
    pub within: Option<&'a Folder>,
}

/// What one thread does with the entries that it finds.
pub(super) type Visit<'a> = Box<dyn FnMut(Entry<'_>) -> Option<Hit> + 'a>;

/// One walk below a folder.
pub(super) struct Walk<'a> {
    pub workspace: &'a Workspace,
    pub folder: &'a Located,
    pub visible: &'a dyn Visibility,
    pub bounds: &'a Bounds<'a>,
    /// Only the folder's own entries, with links and folders.
    pub shallow: bool,
    /// Whether a file is visited, by its path relative to the folder.
    pub wanted: &'a (dyn Fn(&Path) -> bool + Sync),
    /// Makes what one thread does.
    pub visit: &'a (dyn Fn() -> Visit<'a> + Sync),
    pub hits: &'a Hits,
}

impl Walk<'_> {
    /// The canonical root, out of which no link of an ignore file leads, the folder in which the
    /// walk begins, and its rules.
    pub fn begin(&self) -> Result<(PathBuf, Folder, Rules), SearchError> {
        let (top, relative) = beneath::base(self.workspace, self.folder).map_err(io)?;
        let folder = Folder::open(&top, &relative).map_err(io)?;
        let with_excluded = self.visible.with_excluded();
        let rules = Rules::new(self.workspace, &self.folder.path, &top, with_excluded);
        Ok((top, folder, rules))
    }

    /// Whether the entry may be visited or entered, as far as its path and kind tell.
    pub fn wants(&self, path: &Path, kind: Option<FileKind>) -> bool {
        match kind {
            _ if self.shallow => kind != Some(FileKind::Special),
            Some(FileKind::Directory) => true,
            Some(FileKind::File) => {
                (self.wanted)(path.strip_prefix(&self.folder.path).unwrap_or(path))
            }
            Some(FileKind::Special | FileKind::Missing) | None => false,
        }
    }

    /// Open documents below the folder.
    pub fn documents(&self) -> BTreeMap<PathBuf, Document> {
        self.workspace
            .documents()
            .into_iter()
            .map(|document| (PathBuf::from(&document.key), document))
            .filter(|(path, _)| path.is_absolute() && path.starts_with(&self.folder.path))
            .collect()
    }

    /// The documents that are not on disk yet and would be shown if they were, in path order.
    pub fn fresh<'d>(
        &self,
        open: &'d BTreeMap<PathBuf, Document>,
        top: &Path,
        rules: &Rules,
    ) -> Vec<(&'d PathBuf, &'d Document)> {
        let base = &self.folder.path;
        open.iter()
            .filter(|(path, _)| {
                let direct = path.parent() == Some(base);
                path.as_path() != base
                    && (direct || !self.shallow)
                    && std::fs::symlink_metadata(path).is_err()
                    && would_visit(self.visible, path, top, (base, rules))
            })
            .collect()
    }
}

pub(super) fn io(error: FileError) -> SearchError {
    match error {
        FileError::Io(error) => error.into(),
        other => std::io::Error::other(other.to_string()).into(),
    }
}
