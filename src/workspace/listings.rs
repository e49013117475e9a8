//! Which names may be in a folder and in those above it, up to a root. What was listed is kept with
//! a descriptor of each folder, so asking again looks up at most one path, however deep the folder
//! is.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use rustix::fs::{Dir, FileType};

use super::dirty::Stamp;
use super::open::open_plain_folder;

/// Most folders whose descriptors are kept.
const MOST: usize = 64;
/// Most entries of a folder that are read.
const ENTRIES: usize = 1_024;

/// The folders that were listed.
#[derive(Default)]
pub struct Listings(Mutex<HashMap<PathBuf, Listed>>);

impl Listings {
    /// The names in the canonical `folder` and in those above it up to `top`. Nothing is known of a
    /// folder that cannot be listed, has too many entries, or is behind a link. Blocking.
    pub fn look(&self, top: &Path, folder: &Path) -> KnownNames {
        let mut known = KnownNames::default();
        let mut all = self.0.lock();
        let mut child = None;
        for path in folder.ancestors().take_while(|it| it.starts_with(top)) {
            let Some(now) = current(all.remove(path), path, child.take()) else {
                continue;
            };
            child = path.file_name().map(|name| (name, now.identity));
            if let Some(names) = &now.names {
                known.0.insert(path.to_path_buf(), names.clone());
            }
            if all.len() >= MOST {
                all.retain(|other, _| folder.starts_with(other));
            }
            if all.len() < MOST {
                all.insert(path.to_path_buf(), now);
            }
        }
        known
    }
}

/// The names that may be in some folders; of other folders nothing is known.
#[derive(Clone, Default)]
pub struct KnownNames(HashMap<PathBuf, Arc<Names>>);

impl KnownNames {
    /// Whether the folder may have an entry with this name, in any case.
    pub fn may_have(&self, folder: &Path, name: &str) -> bool {
        // A file system may know other names under several spellings.
        let names = self.0.get(folder).filter(|_| name.is_ascii());
        names.is_none_or(|names| names.folded.contains(&fold(name)))
    }

    pub fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }
}

struct Names {
    folded: HashSet<String>,
    /// The inodes of entries that may be folders.
    folders: HashMap<OsString, u64>,
}

/// The name of a folder in the one above it, and its device and inode.
type Child<'a> = (&'a OsStr, (u64, u64));

/// A folder as it was when it was listed.
struct Listed {
    folder: File,
    identity: (u64, u64),
    stamp: Stamp,
    /// Every later change changes the stamp.
    lasting: bool,
    /// `None`: it has too many entries.
    names: Option<Arc<Names>>,
}

/// The folder at `path` as it is now. `kept` is still that folder if `child`, which is where its own
/// path says, is in it, if the kernel says so, or if the path leads to it.
fn current(kept: Option<Listed>, path: &Path, child: Option<Child<'_>>) -> Option<Listed> {
    let kept = match (kept.and_then(Listed::refreshed), child) {
        (Some(now), Some(child)) if now.holds(child) => return Some(now),
        (Some(now), None) if is_at(&now.folder, path) => return Some(now),
        (kept, _) => kept,
    };
    let folder = open_plain_folder(path)?;
    let data = folder.metadata().ok()?;
    match kept {
        Some(kept) if kept.identity == (data.dev(), data.ino()) => kept.refreshed(),
        _ => Listed::read(folder),
    }
}

impl Listed {
    fn read(folder: File) -> Option<Self> {
        let data = folder.metadata().ok()?;
        let stamp = Stamp::new(&data);
        let lasting = stamp.settled(SystemTime::now()) && keeps_stamps(&folder);
        Some(Self {
            identity: (data.dev(), data.ino()),
            names: names(&folder).ok()?.map(Arc::new),
            folder,
            stamp,
            lasting,
        })
    }

    /// Listed again, unless nothing can have changed.
    fn refreshed(self) -> Option<Self> {
        let stamp = Stamp::new(&self.folder.metadata().ok()?);
        match self.lasting && stamp == self.stamp {
            true => Some(self),
            false => Self::read(self.folder),
        }
    }

    /// Whether `child` is in it. A folder is in only one other, and a mount point has another device.
    fn holds(&self, (name, (device, inode)): Child<'_>) -> bool {
        let names = self.names.as_ref();
        let known = names.and_then(|names| names.folders.get(name));
        device == self.identity.0 && known == Some(&inode)
    }
}

/// Whether the kernel names `path` as the place of an open folder.
#[cfg(target_os = "linux")]
fn is_at(folder: &File, path: &Path) -> bool {
    use std::os::fd::AsRawFd as _;
    let link = format!("/proc/self/fd/{}", folder.as_raw_fd());
    std::fs::read_link(link).is_ok_and(|place| place == path)
}

#[cfg(not(target_os = "linux"))]
fn is_at(_: &File, _: &Path) -> bool {
    false
}

/// The names in a folder; `None` if there are too many.
fn names(folder: &File) -> std::io::Result<Option<Names>> {
    let mut listing = Dir::new(folder.try_clone()?)?;
    // The clone continues where the last listing ended.
    listing.rewind();
    let mut names = Names {
        folded: HashSet::new(),
        folders: HashMap::new(),
    };
    for entry in listing {
        let entry = entry?;
        if names.folded.len() >= ENTRIES {
            return Ok(None);
        }
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        names.folded.insert(fold(&name.to_string_lossy()));
        if matches!(entry.file_type(), FileType::Directory | FileType::Unknown) {
            names.folders.insert(name.to_owned(), entry.ino());
        }
    }
    Ok(Some(names))
}

/// Whether this file system changes the stamps of a folder with its entries: remote ones may not.
#[cfg(target_os = "linux")]
fn keeps_stamps(folder: &File) -> bool {
    // ext, XFS, Btrfs, tmpfs, overlay, F2FS, ZFS, bcachefs.
    const KNOWN: [u64; 8] = [
        0xef53,
        0x5846_5342,
        0x9123_683e,
        0x0102_1994,
        0x794c_7630,
        0xf2f5_2010,
        0x2fc1_2fc1,
        0xca45_1a4e,
    ];
    let found = rustix::fs::fstatfs(folder).ok();
    let kind = found.and_then(|found| u64::try_from(found.f_type).ok());
    kind.is_some_and(|kind| KNOWN.contains(&kind))
}

#[cfg(not(target_os = "linux"))]
fn keeps_stamps(_: &File) -> bool {
    false
}

/// Equal for spellings that might be the same file: ignores case and everything but ASCII.
pub(super) fn fold(key: &str) -> String {
    key.chars()
        .filter(char::is_ascii)
        .map(|char| char.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests;
