//! Where a path really leads: links are resolved component by component as far as the path exists,
//! and the rest lexically. Resolving `..` only lexically would be wrong after a link. Reads links
//! only, opens nothing.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// As many links as Linux follows in one path.
const MOST_LINKS: usize = 40;

/// What [`resolve`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resolved {
    pub path: PathBuf,
    /// The symbolic links that were followed, each with a canonical folder.
    pub links: Vec<PathBuf>,
    /// Links form a loop; `path` is where following them stopped.
    pub looped: bool,
}

/// Resolves an absolute path.
pub(super) fn resolve(path: &Path) -> Resolved {
    let mut current = PathBuf::new();
    let mut left: VecDeque<Part> = parts(path).collect();
    let mut links = Vec::new();
    let mut looped = false;
    while let Some(part) = left.pop_front() {
        match part {
            Part::Prefix(prefix) => current = PathBuf::from(prefix),
            Part::Root => current.push(Component::RootDir),
            Part::Up => {
                current.pop();
            }
            Part::Name(name) => {
                current.push(name);
                let Ok(target) = std::fs::read_link(&current) else {
                    continue;
                };
                if links.len() >= MOST_LINKS {
                    looped = true;
                    continue;
                }
                links.push(current.clone());
                current.pop();
                let rest = std::mem::take(&mut left);
                left = parts(&target).chain(rest).collect();
            }
        }
    }
    Resolved {
        path: current,
        links,
        looped,
    }
}

enum Part {
    /// The prefix of a Windows path.
    Prefix(OsString),
    Root,
    Up,
    Name(OsString),
}

fn parts(path: &Path) -> impl Iterator<Item = Part> {
    path.components().filter_map(|component| match component {
        Component::Prefix(_) => Some(Part::Prefix(component.as_os_str().to_owned())),
        Component::RootDir => Some(Part::Root),
        Component::CurDir => None,
        Component::ParentDir => Some(Part::Up),
        Component::Normal(name) => Some(Part::Name(name.to_owned())),
    })
}

/// Whether two existing paths name the same file, including spellings that differ in case or
/// normalisation on file systems that ignore it, and bind mounts.
#[cfg(unix)]
pub(super) fn same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (std::fs::symlink_metadata(a), std::fs::symlink_metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

/// Whether two existing paths name the same file.
#[cfg(not(unix))]
pub(super) fn same_file(a: &Path, b: &Path) -> bool {
    match (std::fs::canonicalize(a), std::fs::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

#[cfg(all(test, unix))]
mod tests;
