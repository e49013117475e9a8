//! The files below a folder in path order, with ignore rules, merged with open documents that are
//! not on disk yet. Folders are descriptors: one that is replaced by a link during the walk is
//! skipped, and no path is resolved twice.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

use super::rules::Rules;
use super::types::{Bounds, SearchError, Visibility};
use crate::workspace::beneath::{self, Folder};
use crate::workspace::{Document, FileError, FileKind, Located, Workspace};

/// How many folders stay open on the way down. A deeper tree reopens them on the way back, so that
/// no tree exhausts the process's descriptors.
const HELD: usize = 32;

/// An entry found by a walk.
pub(super) struct Entry<'a> {
    pub path: PathBuf,
    pub folder: bool,
    pub link: bool,
    /// The open document of the file.
    pub document: Option<Document>,
    /// The folder in which it was found.
    within: Option<&'a Folder>,
}

impl Entry<'_> {
    /// Opens the file.
    pub fn open(&self) -> Result<File, FileError> {
        match (self.within, self.path.file_name()) {
            (Some(folder), Some(name)) => folder.file(name),
            _ => Err(FileError::Missing),
        }
    }
}

/// One walk below a folder.
pub(super) struct Walk<'a> {
    pub workspace: &'a Workspace,
    pub folder: &'a Located,
    pub visible: &'a dyn Visibility,
    pub bounds: &'a Bounds<'a>,
    /// Only the folder's own entries.
    pub shallow: bool,
}

/// A folder whose entries are being visited.
struct Level {
    path: PathBuf,
    /// `None` while more than [`HELD`] are open.
    folder: Option<Folder>,
    rules: Rules,
    /// In path order.
    entries: IntoIter<(PathBuf, Option<FileKind>)>,
}

type Visit<'a> = dyn FnMut(Entry<'_>) -> ControlFlow<()> + 'a;

impl Walk<'_> {
    /// Calls `visit` for each entry, not for the folder itself. Returns whether it stopped because
    /// the time ran out.
    pub fn run(&self, visit: &mut Visit<'_>) -> Result<bool, SearchError> {
        let (top, relative) = beneath::base(self.workspace, self.folder).map_err(io)?;
        let folder = Folder::open(&top, &relative).map_err(io)?;
        let user = self.workspace.user_git();
        let rules = Rules::new(&self.folder.path, &top, user.as_ref());
        let mut open = self.documents();
        let mut fresh = self.fresh(&open, &top, &rules);
        fresh.reverse();
        let path = self.folder.path.clone();
        let entries = self.entries(&path, &folder)?;
        let mut levels = vec![Level {
            path,
            folder: Some(folder),
            rules,
            entries: entries.into_iter(),
        }];
        while let Some(level) = levels.last_mut() {
            if self.time_is_up()? {
                return Ok(true);
            }
            let Some((path, kind)) = level.entries.next() else {
                levels.pop();
                self.reopen(&mut levels);
                continue;
            };
            let folder = kind == Some(FileKind::Directory);
            if path.file_name() == Some(OsStr::new(".git"))
                || level.rules.leave_out(&path, folder)
                || !self.visible.visible(&path)
            {
                continue;
            }
            while fresh.last().is_some_and(|(before, _)| *before < path) {
                if let Some((path, document)) = fresh.pop()
                    && visit(entry(path, document)).is_break()
                {
                    return Ok(false);
                }
            }
            if kind == Some(FileKind::Special) {
                continue;
            }
            let met = Entry {
                document: open.remove(&path),
                path,
                folder,
                link: kind.is_none(),
                within: level.folder.as_ref(),
            };
            let path = (folder && !self.shallow).then(|| met.path.clone());
            if visit(met).is_break() {
                return Ok(false);
            }
            if let Some(path) = path {
                self.enter(&mut levels, path, &top)?;
            }
        }
        for (path, document) in fresh.into_iter().rev() {
            if visit(entry(path, document)).is_break() {
                break;
            }
        }
        Ok(false)
    }

    /// Enters a folder of the last level. One that cannot be read is skipped, as in ripgrep; so is
    /// one that was replaced by a link.
    fn enter(&self, levels: &mut Vec<Level>, path: PathBuf, top: &Path) -> Result<(), SearchError> {
        let depth = levels.len();
        let Some(outer) = levels.last_mut() else {
            return Ok(());
        };
        let (Some(within), Some(name)) = (&outer.folder, path.file_name()) else {
            return Ok(());
        };
        let Ok(folder) = within.folder(name) else {
            return Ok(());
        };
        let entries = match self.entries(&path, &folder) {
            Ok(entries) => entries,
            Err(SearchError::Io(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        let rules = outer.rules.below(&path, top, &folder, &entries);
        if depth > HELD {
            outer.folder = None;
        }
        levels.push(Level {
            path,
            folder: Some(folder),
            rules,
            entries: entries.into_iter(),
        });
        Ok(())
    }

    /// Reopens the last level's folder if it was closed. If the folder is gone, so are its entries.
    fn reopen(&self, levels: &mut [Level]) {
        let Some((last, outer)) = levels.split_last_mut() else {
            return;
        };
        if last.folder.is_some() {
            return;
        }
        let held = outer.iter().rev().find_map(|level| {
            let relative = last.path.strip_prefix(&level.path).ok()?;
            Some((level.folder.as_ref()?, relative))
        });
        last.folder = held.and_then(|(held, relative)| held.below(relative).ok());
        if last.folder.is_none() {
            last.entries = Vec::new().into_iter();
        }
    }

    /// The entries of a folder, in path order.
    fn entries(
        &self,
        path: &Path,
        folder: &Folder,
    ) -> Result<Vec<(PathBuf, Option<FileKind>)>, SearchError> {
        let mut entries = Vec::new();
        for (name, kind) in folder.entries().map_err(io)? {
            // A folder may have millions of entries.
            if entries.len() % 1024 == 1023 && self.time_is_up()? {
                break;
            }
            entries.push((path.join(name), kind));
        }
        entries.sort_unstable_by(|(a, _), (b, _)| a.file_name().cmp(&b.file_name()));
        Ok(entries)
    }

    /// Whether the time ran out.
    fn time_is_up(&self) -> Result<bool, SearchError> {
        if self.bounds.cancelled() {
            return Err(SearchError::Cancelled);
        }
        Ok(self.bounds.late())
    }

    /// Open documents below the folder.
    fn documents(&self) -> BTreeMap<PathBuf, Document> {
        self.workspace
            .documents()
            .into_iter()
            .map(|document| (PathBuf::from(&document.key), document))
            .filter(|(path, _)| path.is_absolute() && path.starts_with(&self.folder.path))
            .collect()
    }

    /// The documents that are not on disk yet and would be shown if they were, in path order.
    fn fresh(
        &self,
        open: &BTreeMap<PathBuf, Document>,
        top: &Path,
        rules: &Rules,
    ) -> Vec<(PathBuf, Document)> {
        let base = &self.folder.path;
        open.iter()
            .filter(|(path, _)| {
                let direct = path.parent() == Some(base);
                path.as_path() != base
                    && (direct || !self.shallow)
                    && std::fs::symlink_metadata(path).is_err()
                    && self.would_visit(path, top, rules)
            })
            .map(|(path, document)| (path.clone(), document.clone()))
            .collect()
    }

    /// Whether the walk would visit the path and each folder on the way to it.
    fn would_visit(&self, path: &Path, top: &Path, rules: &Rules) -> bool {
        let mut folders: Vec<&Path> = path
            .ancestors()
            .take_while(|above| *above != self.folder.path)
            .collect();
        folders.reverse();
        let mut rules = rules.clone();
        folders.into_iter().all(|place| {
            let shown = place.file_name() != Some(OsStr::new(".git"))
                && !rules.leave_out(place, place != path)
                && self.visible.visible(place);
            rules = rules.inside(place, top);
            shown
        })
    }
}

fn entry(path: PathBuf, document: Document) -> Entry<'static> {
    Entry {
        path,
        folder: false,
        link: false,
        document: Some(document),
        within: None,
    }
}

fn io(error: FileError) -> SearchError {
    match error {
        FileError::Io(error) => error.into(),
        other => std::io::Error::other(other.to_string()).into(),
    }
}
