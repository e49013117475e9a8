//! Opens below a folder in which no component may be a link: `openat2` where the kernel has it,
//! else component by component. What was opened is checked on the descriptor, so nothing that
//! is swapped between a check and the open matters (A14, B05).

use std::ffi::OsStr;
use std::fs::File;
#[cfg(target_os = "linux")]
use std::os::fd::AsFd as _;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::workspace::FileError;

/// `O_NONBLOCK`: opening a FIFO never waits for its other end.
const SAFE: OFlags = OFlags::CLOEXEC
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

/// Opens the regular file `relative` below `root` for reading, or for reading and writing. No
/// component of `relative` may be a link, `..` or absolute; `root` must be canonical.
pub fn open_beneath(root: &Path, relative: &Path, write: bool) -> Result<File, FileError> {
    #[cfg(target_os = "linux")]
    {
        if names(relative)?.is_empty() {
            return Err(FileError::Directory);
        }
        let folder = open_root(root)?;
        if let Some(opened) = linux::open(folder.as_fd(), relative, access(write) | SAFE) {
            return regular(opened?);
        }
    }
    walk_beneath(root, relative, write)
}

/// As [`open_beneath`], component by component.
pub(super) fn walk_beneath(root: &Path, relative: &Path, write: bool) -> Result<File, FileError> {
    let names = names(relative)?;
    let Some((name, folders)) = names.split_last() else {
        return Err(FileError::Directory);
    };
    let mut folder = open_root(root)?;
    for name in folders {
        folder = open_folder(&folder, name)?;
    }
    regular(open_entry(&folder, name, access(write))?)
}

fn access(write: bool) -> OFlags {
    if write { OFlags::RDWR } else { OFlags::RDONLY }
}

/// Opens an open document's file where its path leads, links included: it is the user's own.
pub(in crate::workspace) fn open_document(path: &Path) -> Result<File, FileError> {
    let flags = OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    regular(rustix::fs::open(path, flags, Mode::empty()).map_err(refusal)?)
}

/// The folder of a root.
pub(in crate::workspace) fn open_root(root: &Path) -> Result<OwnedFd, FileError> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::open(root, flags, Mode::empty()).map_err(refusal)
}

/// A folder in a folder, never through a link.
pub(in crate::workspace) fn open_folder(
    folder: &OwnedFd,
    name: &OsStr,
) -> Result<OwnedFd, FileError> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        // `O_DIRECTORY | O_NOFOLLOW` says ENOTDIR for links and files alike.
        Err(Errno::NOTDIR) if is_link(folder, name) => Err(FileError::Escaped),
        result => result.map_err(refusal),
    }
}

/// An existing entry of a folder, of whatever kind, never through a link.
pub(in crate::workspace) fn open_entry(
    folder: &OwnedFd,
    name: &OsStr,
    access: OFlags,
) -> Result<OwnedFd, FileError> {
    rustix::fs::openat(folder, name, access | SAFE, Mode::empty()).map_err(refusal)
}

/// The file, if the descriptor is one of a regular file.
pub(in crate::workspace) fn regular(opened: OwnedFd) -> Result<File, FileError> {
    let stat = rustix::fs::fstat(&opened).map_err(refusal)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(File::from(opened)),
        FileType::Directory => Err(FileError::Directory),
        FileType::Symlink => Err(FileError::Escaped),
        _ => Err(FileError::Special),
    }
}

/// The plain names of a relative path.
pub(in crate::workspace) fn names(relative: &Path) -> Result<Vec<&OsStr>, FileError> {
    relative
        .components()
        .map(|component| match component {
            Component::Normal(name) => Ok(name),
            _ => Err(FileError::Escaped),
        })
        .collect()
}

pub(in crate::workspace) fn refusal(error: Errno) -> FileError {
    match error {
        Errno::NOENT | Errno::NOTDIR => FileError::Missing,
        Errno::LOOP | Errno::MLINK | Errno::XDEV => FileError::Escaped,
        Errno::ISDIR => FileError::Directory,
        // A FIFO without a reader, a socket, a device without a driver.
        Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => FileError::Special,
        other => FileError::Io(other.into()),
    }
}

fn is_link(folder: &OwnedFd, name: &OsStr) -> bool {
    rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::{BorrowedFd, OwnedFd};
    use std::path::Path;

    use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
    use rustix::io::Errno;

    use super::{FileError, refusal};

    /// The kernel says EAGAIN when a rename raced with the walk; then the slow walk decides.
    const TRIES: usize = 8;

    /// `None` where the kernel or a sandbox has no `openat2`.
    pub fn open(
        root: BorrowedFd<'_>,
        relative: &Path,
        flags: OFlags,
    ) -> Option<Result<OwnedFd, FileError>> {
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..TRIES {
            match openat2(root, relative, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::NOSYS | Errno::PERM) => return None,
                result => return Some(result.map_err(refusal)),
            }
        }
        None
    }
}
