//! The files below a folder in path order, with ignore rules, merged with the open documents
//! that are not on disk yet. Follows no link.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::gitignore::GitignoreBuilder;
use ignore::{Match, WalkBuilder};

use super::{SearchError, Visibility};
use crate::workspace::{Document, Workspace};

/// What a walk meets.
pub(super) struct Entry {
    pub path: PathBuf,
    pub folder: bool,
    pub link: bool,
    /// The open document of the file.
    pub document: Option<Document>,
}

/// One walk below a canonical folder.
pub(super) struct Walk<'a> {
    pub workspace: &'a Workspace,
    pub folder: &'a Path,
    pub visible: &'a dyn Visibility,
    pub cancel: &'a AtomicBool,
    /// Only the folder's own entries.
    pub shallow: bool,
}

/// The folder that was met last and must not be seen; the walk is depth first, so one is enough.
#[derive(Clone, Default)]
struct Hidden(Arc<Mutex<Option<PathBuf>>>);

impl Hidden {
    fn set(&self, folder: &Path) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder.to_owned());
    }

    fn contains(&self, path: &Path) -> bool {
        let folder = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        folder
            .as_deref()
            .is_some_and(|folder| path.starts_with(folder))
    }
}

type Visit<'a> = dyn FnMut(Entry) -> ControlFlow<()> + 'a;

impl Walk<'_> {
    /// Calls `visit` for each entry, the folder itself left out.
    pub fn run(&self, visit: &mut Visit<'_>) -> Result<(), SearchError> {
        let mut open = self.documents();
        let mut fresh = self.fresh(&open);
        fresh.reverse();
        // The walker's filter must be 'static: it learns here which folder not to go into.
        let hidden = Hidden::default();
        for step in self.builder(hidden.clone()).build() {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(SearchError::Cancelled);
            }
            // Folders that cannot be read are passed over, as ripgrep does.
            let Ok(step) = step else { continue };
            if step.depth() == 0 {
                continue;
            }
            let path = step.path();
            let kind = step.file_type();
            let folder = kind.is_some_and(|kind| kind.is_dir());
            if !self.visible.visible(path) {
                if folder {
                    hidden.set(path);
                }
                continue;
            }
            while fresh
                .last()
                .is_some_and(|(before, _)| before.as_path() < path)
            {
                if let Some((path, document)) = fresh.pop()
                    && visit(entry(path, document)).is_break()
                {
                    return Ok(());
                }
            }
            let link = kind.is_some_and(|kind| kind.is_symlink());
            if !folder && !link && !kind.is_some_and(|kind| kind.is_file()) {
                continue;
            }
            let entry = Entry {
                document: open.remove(path),
                path: path.to_owned(),
                folder,
                link,
            };
            if visit(entry).is_break() {
                return Ok(());
            }
        }
        for (path, document) in fresh.into_iter().rev() {
            if visit(entry(path, document)).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn builder(&self, hidden: Hidden) -> WalkBuilder {
        let mut builder = WalkBuilder::new(self.folder);
        builder
            .hidden(false)
            .require_git(false)
            .follow_links(false)
            .filter_entry(move |entry| {
                entry.file_name() != ".git" && !hidden.contains(entry.path())
            })
            .sort_by_file_path(Path::cmp);
        if self.shallow {
            builder.max_depth(Some(1));
        }
        builder
    }

    /// Open documents below the folder.
    fn documents(&self) -> BTreeMap<PathBuf, Document> {
        self.workspace
            .documents()
            .into_iter()
            .map(|document| (PathBuf::from(&document.key), document))
            .filter(|(path, _)| path.is_absolute() && path.starts_with(self.folder))
            .collect()
    }

    /// Those that are not on disk yet and would be shown if they were, in path order.
    fn fresh(&self, open: &BTreeMap<PathBuf, Document>) -> Vec<(PathBuf, Document)> {
        open.iter()
            .filter(|(path, _)| {
                let direct = path.parent() == Some(self.folder);
                path.as_path() != self.folder
                    && (direct || !self.shallow)
                    && std::fs::symlink_metadata(path).is_err()
                    && !ignored(path)
                    && self.seen(path)
            })
            .map(|(path, document)| (path.clone(), document.clone()))
            .collect()
    }

    /// The path and the folders above it, up to where the walk starts, may be seen.
    fn seen(&self, path: &Path) -> bool {
        path.ancestors()
            .take_while(|above| *above != self.folder)
            .all(|above| self.visible.visible(above))
    }
}

fn entry(path: PathBuf, document: Document) -> Entry {
    Entry {
        path,
        folder: false,
        link: false,
        document: Some(document),
    }
}

/// Ignore files apply to a path that does not exist as they would if it did: the nearest file
/// decides, `.ignore` before `.gitignore`.
fn ignored(path: &Path) -> bool {
    if path.components().any(|part| part.as_os_str() == ".git") {
        return true;
    }
    for folder in path.ancestors().skip(1) {
        for name in [".ignore", ".gitignore"] {
            let file = folder.join(name);
            if !file.is_file() {
                continue;
            }
            let mut builder = GitignoreBuilder::new(folder);
            // A line that does not parse costs only itself.
            let _ = builder.add(&file);
            let Ok(rules) = builder.build() else { continue };
            match rules.matched_path_or_any_parents(path, false) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
    }
    false
}
