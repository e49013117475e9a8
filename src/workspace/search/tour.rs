//! The folders of a walk. They are descriptors: one that is replaced by a link during the walk is
//! skipped, and no path is resolved twice.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::ops::{ControlFlow, Range};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::rules::{NAMES, Rules};
use super::types::{Entries, Stop};
use super::walk::{Entry, Visit, Walk};
use crate::workspace::beneath::Folder;
use crate::workspace::{Document, FileError, FileKind};

/// How many folders stay open until all their entries were visited. The others are opened again
/// for each part, so that no tree exhausts the process's descriptors.
const HELD: usize = 32;

/// Most entries that a thread takes at once.
const PART: usize = 64;

/// What all threads of a walk share.
pub(super) struct Tour<'a> {
    walk: &'a Walk<'a>,
    /// The canonical root, out of which no link of an ignore file leads.
    top: PathBuf,
    /// The open documents below the walk's folder.
    open: BTreeMap<PathBuf, Document>,
    /// The folders that contain them.
    edited: HashSet<PathBuf>,
    /// A clone for each folder that stays open.
    held: Arc<()>,
}

/// What one thread has for itself.
pub(super) struct Hand<'a> {
    visit: Visit<'a>,
    listing: Vec<u8>,
    path: PathBuf,
}

/// Name and kind of an entry; `None` for a link.
type Listed = (OsString, Option<FileKind>);

/// A folder whose entries are being visited.
pub(super) struct Place<'a> {
    path: PathBuf,
    /// This folder or the nearest above it that stays open.
    base: Arc<Base>,
    rules: Rules,
    shown: Entries<'a>,
    /// Those that may have to be visited, in path order.
    entries: Vec<Listed>,
    /// The folder contains open documents.
    edited: bool,
}

/// A folder that stays open.
struct Base {
    path: PathBuf,
    folder: Folder,
    _held: Arc<()>,
}

/// Some entries of a place.
pub(super) struct Part<'a> {
    pub place: Arc<Place<'a>>,
    pub range: Range<usize>,
    /// The place's folder, if it was just opened and does not stay open.
    pub folder: Option<Folder>,
}

/// A place that was just opened, and its folder if that does not stay open.
pub(super) type Opened<'a> = (Place<'a>, Option<Folder>);

impl Place<'_> {
    /// The entries from `at` on that one thread takes: some files, or one folder.
    pub fn part(&self, at: usize) -> Range<usize> {
        let folder = |kind| kind == Some(FileKind::Directory);
        let rest = self.entries[at..].iter().take(PART);
        let files = rest.take_while(|(_, kind)| !folder(*kind)).count();
        at..(at + files.max(1)).min(self.entries.len())
    }

    /// The path of an entry; `None` after the last.
    pub fn entry(&self, at: usize) -> Option<PathBuf> {
        self.entries.get(at).map(|(name, _)| self.path.join(name))
    }
}

impl<'a> Tour<'a> {
    pub fn new(walk: &'a Walk<'a>, top: PathBuf) -> Self {
        let open = walk.documents();
        let folders = open.keys().filter_map(|path| path.parent());
        Self {
            walk,
            top,
            edited: folders.map(Path::to_owned).collect(),
            open,
            held: Arc::default(),
        }
    }

    /// What a thread needs to take part.
    pub fn hand(&self) -> Hand<'a> {
        Hand {
            visit: (self.walk.visit)(),
            listing: Vec::new(),
            path: PathBuf::new(),
        }
    }

    /// An error if the walk must stop.
    pub fn check(&self) -> Result<(), Stop> {
        self.walk.bounds.check()
    }

    /// Whether nothing at `path` or after it can be part of the result.
    pub fn beyond(&self, path: &Path) -> bool {
        self.walk.hits.beyond(path)
    }

    /// Visits the new documents, and lists the folder in which the walk begins.
    pub fn begin(
        &self,
        hand: &mut Hand<'_>,
        folder: Folder,
        rules: Rules,
    ) -> Result<Opened<'a>, FileError> {
        for (path, document) in self.walk.fresh(&self.open, &self.top, &rules) {
            let entry = Entry {
                path,
                folder: false,
                link: false,
                document: Some(document),
                within: None,
            };
            if self.walk.wants(path, Some(FileKind::File)) {
                self.visit(hand, entry);
            }
        }
        let path = self.walk.folder.path.clone();
        let (entries, _) = self.entries(hand, &path, &folder)?;
        let place = Place {
            shown: self.walk.visible.inside(&path),
            edited: self.edited.contains(&path),
            base: self.base(&path, folder),
            path,
            rules,
            entries,
        };
        Ok((place, None))
    }

    fn visit(&self, hand: &mut Hand<'_>, entry: Entry<'_>) {
        let path = entry.path;
        if let Some(hit) = (hand.visit)(entry) {
            self.walk.hits.add(path.to_owned(), hit);
        }
    }

    /// Visits a part of a place. Returns the place that it enters if the part is a folder.
    pub fn visit_part(
        &self,
        hand: &mut Hand<'_>,
        part: Part<'a>,
    ) -> Result<Option<Opened<'a>>, Stop> {
        let place = &*part.place;
        let own = match part.folder {
            None if place.base.path != place.path => {
                let relative = place.path.strip_prefix(&place.base.path);
                let Some(Ok(folder)) = relative.ok().map(|it| place.base.folder.below(it)) else {
                    // If the folder is gone, so are its entries.
                    return Ok(None);
                };
                Some(folder)
            }
            own => own,
        };
        let within = own.as_ref().unwrap_or(&place.base.folder);
        let mut path = std::mem::take(&mut hand.path);
        for (name, kind) in &place.entries[part.range] {
            self.check()?;
            path = joined(path, &place.path, name);
            if self.beyond(&path) {
                break;
            }
            let folder = *kind == Some(FileKind::Directory);
            if place.rules.leave_out(&path, folder) || !(place.shown)(name) {
                continue;
            }
            if folder && !self.walk.shallow {
                let entered = self.enter(hand, place, within, &path, name);
                hand.path = path;
                return Ok(entered);
            }
            let entry = Entry {
                path: &path,
                folder,
                link: kind.is_none(),
                document: place.edited.then(|| self.open.get(&path)).flatten(),
                within: Some(within),
            };
            self.visit(hand, entry);
        }
        hand.path = path;
        Ok(None)
    }

    /// Enters a folder of a place. One that cannot be read is skipped, as in ripgrep; so is one
    /// that was replaced by a link.
    fn enter(
        &self,
        hand: &mut Hand<'_>,
        outer: &Place<'_>,
        within: &Folder,
        path: &Path,
        name: &OsStr,
    ) -> Option<Opened<'a>> {
        let folder = within.folder(name).ok()?;
        let (entries, there) = self.entries(hand, path, &folder).ok()?;
        if entries.is_empty() {
            return None;
        }
        let rules = outer.rules.below(path, &self.top, &folder, there);
        let (base, own) = match Arc::strong_count(&self.held) > HELD {
            true => (Arc::clone(&outer.base), Some(folder)),
            false => (self.base(path, folder), None),
        };
        let place = Place {
            shown: self.walk.visible.inside(path),
            edited: self.edited.contains(path),
            path: path.to_owned(),
            base,
            rules,
            entries,
        };
        Some((place, own))
    }

    fn base(&self, path: &Path, folder: Folder) -> Arc<Base> {
        Arc::new(Base {
            path: path.to_owned(),
            folder,
            _held: Arc::clone(&self.held),
        })
    }

    /// The entries of a folder that may have to be visited, in path order, and which of [`NAMES`]
    /// it contains.
    fn entries(
        &self,
        hand: &mut Hand<'_>,
        path: &Path,
        folder: &Folder,
    ) -> Result<(Vec<Listed>, [bool; 4]), FileError> {
        let mut entries = Vec::new();
        let mut there = [false; 4];
        let mut seen = 0_usize;
        let mut full = PathBuf::new();
        folder.each_entry(&mut hand.listing, &mut |name, kind| {
            seen += 1;
            // A folder may have millions of entries.
            if seen.is_multiple_of(1024) && self.check().is_err() {
                return ControlFlow::Break(());
            }
            for (there, known) in there.iter_mut().zip(NAMES) {
                *there |= name == known;
            }
            full = joined(std::mem::take(&mut full), path, name);
            if name != ".git" && self.walk.wants(&full, kind) {
                entries.push((name.to_owned(), kind));
            }
            ControlFlow::Continue(())
        })?;
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok((entries, there))
    }
}

/// `folder/name`, in the memory of `path`.
fn joined(path: PathBuf, folder: &Path, name: &OsStr) -> PathBuf {
    let mut bytes = path.into_os_string().into_vec();
    bytes.clear();
    bytes.extend_from_slice(folder.as_os_str().as_bytes());
    if !bytes.ends_with(b"/") {
        bytes.push(b'/');
    }
    bytes.extend_from_slice(name.as_bytes());
    PathBuf::from(OsString::from_vec(bytes))
}
