//! Where a path really leads: links are resolved component by component as far as the path exists,
//! and the rest lexically. Resolving `..` only lexically would be wrong after a link. Reads links
//! only, opens nothing.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

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
}

/// Resolves an absolute path.
pub(super) fn resolve(path: &Path) -> Resolved {
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
    use std::os::unix::fs::MetadataExt as _;
    match (std::fs::symlink_metadata(a), std::fs::symlink_metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
