//! Platforms without descriptor-relative opens: every component is checked for links before the
//! open. A swap between the check and the open is not caught here, and the README says so.

use std::fs::File;
use std::path::{Component, Path};

use crate::workspace::FileError;

/// Opens the regular file `relative` below `root` for reading, or for reading and writing.
pub fn open_beneath(root: &Path, relative: &Path, write: bool) -> Result<File, FileError> {
    let mut path = root.to_owned();
    for component in relative.components() {
        let Component::Normal(name) = component else {
            return Err(FileError::Escaped);
        };
        path.push(name);
        let metadata = std::fs::symlink_metadata(&path).map_err(refusal)?;
        if metadata.is_symlink() {
            return Err(FileError::Escaped);
        }
    }
    checked(&path, write)
}

/// Opens an open document's file where its path leads, links included: it is the user's own.
pub(in crate::workspace) fn open_document(path: &Path) -> Result<File, FileError> {
    checked(path, false)
}

fn checked(path: &Path, write: bool) -> Result<File, FileError> {
    let metadata = std::fs::metadata(path).map_err(refusal)?;
    if metadata.is_dir() {
        return Err(FileError::Directory);
    }
    if !metadata.is_file() {
        return Err(FileError::Special);
    }
    std::fs::OpenOptions::new()
        .read(true)
        .write(write)
        .open(path)
        .map_err(refusal)
}

pub(in crate::workspace) fn refusal(error: std::io::Error) -> FileError {
    match error.kind() {
        std::io::ErrorKind::NotFound => FileError::Missing,
        _ => FileError::Io(error),
    }
}
