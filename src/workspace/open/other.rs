//! Platforms without descriptor-relative opens: every component is checked for links before the
//! open. A replacement between the check and the open is not detected, and the README says so.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use crate::workspace::{FileError, FileKind};

/// Opens the regular file `relative` below `root` for reading, or for reading and writing.
pub fn open_beneath(root: &Path, relative: &Path, write: bool) -> Result<File, FileError> {
    checked(&way(root, relative)?, write)
}

/// The path of `relative` below `root`, if no component is a link.
fn way(root: &Path, relative: &Path) -> Result<PathBuf, FileError> {
    let mut path = root.to_owned();
    for component in relative.components() {
        let Component::Normal(name) = component else {
            return Err(FileError::Escaped);
        };
        path.push(name);
        let metadata = std::fs::symlink_metadata(&path).map_err(refused)?;
        if metadata.is_symlink() {
            return Err(FileError::Escaped);
        }
    }
    Ok(path)
}

/// A folder whose entries are opened by their checked paths.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder `relative` below the canonical `root`; no component may be a link.
    pub fn open(root: &Path, relative: &Path) -> Result<Self, FileError> {
        let path = way(root, relative)?;
        match std::fs::metadata(&path).map_err(refused)?.is_dir() {
            true => Ok(Self(path)),
            false => Err(FileError::Missing),
        }
    }

    /// A folder of our own in it; created if missing.
    pub fn private(&self, name: &OsStr) -> Result<Self, FileError> {
        match std::fs::create_dir(self.0.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error.into()),
            _ => self.folder(name),
        }
    }

    /// A lock file of our own in it; created if missing.
    pub fn lock_file(&self, name: &OsStr) -> Result<File, FileError> {
        let mut options = File::options();
        options.create(true).truncate(false).read(true).write(true);
        Ok(options.open(self.0.join(name))?)
    }

    /// Replaces a file of our own in it atomically.
    pub fn replace(&self, name: &OsStr, bytes: &[u8]) -> Result<(), FileError> {
        let mut file = tempfile::NamedTempFile::new_in(&self.0)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        let kept = file.persist(self.0.join(name));
        kept.map(drop).map_err(|error| FileError::Io(error.error))
    }

    /// Processes cannot be started in a descriptor on this platform.
    pub fn into_descriptor(self) {}

    /// A folder at any depth below it, without following links.
    pub fn below(&self, relative: &Path) -> Result<Self, FileError> {
        Self::open(&self.0, relative)
    }

    /// A folder in it, without following links.
    pub fn folder(&self, name: &OsStr) -> Result<Self, FileError> {
        Self::open(&self.0, Path::new(name))
    }

    /// A regular file in it, for reading, without following links.
    pub fn file(&self, name: &OsStr) -> Result<File, FileError> {
        open_beneath(&self.0, Path::new(name), false)
    }

    /// Names and kinds of its entries, in the file system's order; `None` for a link.
    pub fn entries(
        &self,
    ) -> Result<impl Iterator<Item = (OsString, Option<FileKind>)> + '_, FileError> {
        let listing = std::fs::read_dir(&self.0).map_err(refused)?;
        Ok(listing.map_while(Result::ok).filter_map(|entry| {
            let kind = entry.file_type().ok()?;
            let kind = match (kind.is_symlink(), kind.is_file(), kind.is_dir()) {
                (true, _, _) => None,
                (_, true, _) => Some(FileKind::File),
                (_, _, true) => Some(FileKind::Directory),
                _ => Some(FileKind::Special),
            };
            Some((entry.file_name(), kind))
        }))
    }
}

/// Opens an open document's file and follows links: the user opened it.
pub(in crate::workspace) fn open_document(path: &Path) -> Result<File, FileError> {
    checked(path, false)
}

fn checked(path: &Path, write: bool) -> Result<File, FileError> {
    let metadata = std::fs::metadata(path).map_err(refused)?;
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
        .map_err(refused)
}

pub(in crate::workspace) fn refused(error: std::io::Error) -> FileError {
    match error.kind() {
        std::io::ErrorKind::NotFound => FileError::Missing,
        _ => FileError::Io(error),
    }
}
