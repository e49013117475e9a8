//! Opening files below a folder without following links out of it.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::FileError;

#[cfg(unix)]
#[path = "open/unix.rs"]
pub(super) mod system;
#[cfg(not(unix))]
#[path = "open/other.rs"]
pub(super) mod system;

pub(super) use system::open_document;
pub use system::{Folder, open_beneath};

/// Opens a regular file named by a repository, below the canonical `top`, for reading. Links may
/// lead to another place below `top`, but not out of it.
pub fn open_inside(top: &Path, relative: &Path) -> Result<File, FileError> {
    match open_beneath(top, relative, false) {
        Err(FileError::Escaped) => {}
        result => return result,
    }
    let target = std::fs::canonicalize(top.join(relative)).map_err(system::refused)?;
    let target = target.strip_prefix(top).map_err(|_| FileError::Escaped)?;
    open_beneath(top, target, false)
}

/// Opens the folder at `path`. If `path` is below the canonical `root`, the folder must be there
/// too; links may lead to another place below `root`.
pub fn open_named(root: &Path, path: &Path) -> Result<Folder, FileError> {
    let target = std::fs::canonicalize(path).map_err(system::refused)?;
    let plain = |relative: &Path| {
        let mut parts = relative.components();
        parts.all(|part| matches!(part, std::path::Component::Normal(_)))
    };
    let (top, relative) = match path.strip_prefix(root) {
        Ok(named) if plain(named) => {
            let relative = target.strip_prefix(root).map_err(|_| FileError::Escaped)?;
            (root.to_owned(), relative.to_owned())
        }
        _ => split(&target).ok_or(FileError::Missing)?,
    };
    Folder::open(&top, &relative)
}

/// The top of an absolute path's file system, and the rest.
pub(super) fn split(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let top = path.ancestors().last()?;
    if !path.is_absolute() {
        return None;
    }
    Some((top.to_owned(), path.strip_prefix(top).ok()?.to_owned()))
}

/// Reads a small file; one with more than `most` bytes is an error.
pub fn bounded(file: &mut File, most: u64) -> Result<Vec<u8>, FileError> {
    let too_large = |bytes| FileError::TooLarge { bytes, limit: most };
    let length = file.metadata()?.len();
    if length > most {
        return Err(too_large(length));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}
