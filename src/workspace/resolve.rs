//! Where a path really leads: links are resolved as far as the path exists, and the rest lexically.
//! Resolving `..` only lexically would be wrong after a link. Opens nothing for reading. A path
//! without links costs one system call at any depth where the kernel has `openat2`.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::FileKind;

/// As many links as Linux follows in one path.
const MOST_LINKS: usize = 40;

/// What [`resolve`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Resolved {
    pub path: PathBuf,
    /// The symbolic links that were followed, each with a canonical folder.
    pub links: Vec<PathBuf>,
    /// Links form a loop; `path` is where following them stopped.
    pub looped: bool,
    /// What is at `path`, and its number of links, if the search for links found out.
    pub facts: Option<Facts>,
}

/// Resolves an absolute path.
pub(super) fn resolve(path: &Path) -> Resolved {
    if let Some(facts) = facts_without_links(path) {
        return Resolved {
            path: path.components().collect(),
            facts: Some(facts.unwrap_or(MISSING)),
            ..Resolved::default()
        };
    }
    by_component(path)
}

/// Like [`std::fs::canonicalize`].
pub fn canonicalize(path: &Path) -> std::io::Result<PathBuf> {
    match facts_without_links(path) {
        Some(found) => found.map(|_| path.components().collect()),
        None => std::fs::canonicalize(path),
    }
}

/// What is at `path`; `None` if a link is on the way or at its end, or if that is unknown.
pub fn kind_without_links(path: &Path) -> Option<FileKind> {
    let found = facts_without_links(path)?;
    Some(found.unwrap_or(MISSING).0)
}

/// What is at a path, and its number of links.
type Facts = (FileKind, u64);

const MISSING: Facts = (FileKind::Missing, 0);

/// What is at `path`, or why there is nothing. `None` if the kernel, which stops at the first link,
/// met one, or cannot tell.
#[cfg(target_os = "linux")]
fn facts_without_links(path: &Path) -> Option<std::io::Result<Facts>> {
    use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
    use rustix::io::Errno;
    let plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
    if !path.is_absolute() || !path.components().all(plain) {
        return None;
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(found) => {
            let found = fstat(found).ok()?;
            Some(Ok(match FileType::from_raw_mode(found.st_mode) {
                FileType::RegularFile => (FileKind::File, found.st_nlink),
                FileType::Directory => (FileKind::Directory, 1),
                _ => (FileKind::Special, 1),
            }))
        }
        Err(error @ (Errno::NOENT | Errno::NOTDIR)) => Some(Err(error.into())),
        Err(_) => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn facts_without_links(_: &Path) -> Option<std::io::Result<Facts>> {
    None
}

fn by_component(path: &Path) -> Resolved {
    let mut resolved = Resolved::default();
    let mut left: VecDeque<OsString> = parts(path).collect();
    while let Some(part) = left.pop_front() {
        if part == ".." {
            resolved.path.pop();
            continue;
        }
        // A `/` starts at the top again.
        resolved.path.push(part);
        let Ok(target) = std::fs::read_link(&resolved.path) else {
            continue;
        };
        if resolved.links.len() >= MOST_LINKS {
            resolved.looped = true;
            continue;
        }
        resolved.links.push(resolved.path.clone());
        resolved.path.pop();
        let rest = std::mem::take(&mut left);
        left = parts(&target).chain(rest).collect();
    }
    resolved
}

/// The components of a path, without `.`.
fn parts(path: &Path) -> impl Iterator<Item = OsString> {
    path.iter().filter(|part| *part != ".").map(OsString::from)
}

/// Whether two existing paths name the same file, including spellings that differ in case or
/// normalisation on file systems that ignore it, and bind mounts.
pub(super) fn same_file(a: &Path, b: &Path) -> bool {
    identity(a).is_some_and(|a| Some(a) == identity(b))
}

/// Device and inode of what is at a path.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    let data = std::fs::symlink_metadata(path).ok()?;
    Some((data.dev(), data.ino()))
}

#[cfg(test)]
mod tests;
