//! Opening files below a folder without following links out of it: with `openat2` if the kernel has
//! it, else component by component. The opened descriptor is checked, so replacing something between
//! a check and the open has no effect (A14, B05).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::ops::ControlFlow;
#[cfg(target_os = "linux")]
use std::os::fd::AsFd as _;
use std::os::fd::OwnedFd;
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

#[cfg(target_os = "linux")]
use rustix::fs::RawDir;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{FileError, FileKind};

/// `O_NONBLOCK`: opening a FIFO never waits for its other end.
const SAFE: OFlags = OFlags::CLOEXEC
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

/// Opens the regular file `relative` below `root` for reading. No component of `relative` may be a
/// link, `..` or absolute; `root` must be canonical.
pub fn open_beneath(root: &Path, relative: &Path) -> Result<File, FileError> {
    #[cfg(target_os = "linux")]
    {
        if names(relative)?.is_empty() {
            return Err(FileError::Directory);
        }
        if let Some(opened) = linux::open_below(root, relative, OFlags::RDONLY | SAFE) {
            return regular(opened?);
        }
    }
    walk_beneath(root, relative)
}

/// Like [`open_beneath`], component by component.
pub(super) fn walk_beneath(root: &Path, relative: &Path) -> Result<File, FileError> {
    let names = names(relative)?;
    let Some((name, folders)) = names.split_last() else {
        return Err(FileError::Directory);
    };
    let mut folder = open_root(root)?;
    for name in folders {
        folder = open_folder(&folder, name)?;
    }
    regular(open_entry(&folder, name)?)
}

/// Opens an open document's file and follows links: the user opened it.
pub(super) fn open_document(path: &Path) -> Result<File, FileError> {
    let flags = OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    regular(rustix::fs::open(path, flags, Mode::empty()).map_err(refusal)?)
}

/// The folder of a root.
pub(super) fn open_root(root: &Path) -> Result<OwnedFd, FileError> {
    rustix::fs::open(root, FOLDER, Mode::empty()).map_err(refusal)
}

/// The folder at `path`, if no part of the path is a link. Only where the kernel can tell.
pub(super) fn open_plain_folder(path: &Path) -> Option<File> {
    #[cfg(target_os = "linux")]
    return linux::direct(path, FOLDER.difference(OFlags::NOFOLLOW))?
        .ok()
        .map(File::from);
    #[cfg(not(target_os = "linux"))]
    None
}

/// An open folder. Its entries are opened through its descriptor, so they stay the same even if
/// something in its path is moved or replaced.
#[derive(Debug)]
pub struct Folder(OwnedFd);

/// Bytes of one call that lists a folder.
#[cfg(target_os = "linux")]
const LISTING: usize = 64 * 1024;

/// How a folder is opened.
const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);

impl Folder {
    /// The folder `relative` below the canonical `root`; no component may be a link.
    pub fn open(root: &Path, relative: &Path) -> Result<Self, FileError> {
        if names(relative)?.is_empty() {
            return open_root(root).map(Self);
        }
        #[cfg(target_os = "linux")]
        {
            let flags = FOLDER.difference(OFlags::NOFOLLOW);
            if let Some(opened) = linux::open_below(root, relative, flags) {
                return opened.map(Self);
            }
        }
        Self(open_root(root)?).below(relative)
    }

    /// A folder at any depth below it, without following links.
    pub fn below(&self, relative: &Path) -> Result<Self, FileError> {
        let names = names(relative)?;
        #[cfg(target_os = "linux")]
        {
            // With NOFOLLOW a link at the end would look like a file.
            let flags = FOLDER.difference(OFlags::NOFOLLOW);
            if let Some(opened) = linux::open(self.0.as_fd(), relative, flags) {
                return opened.map(Self);
            }
        }
        let (first, rest) = names.split_first().ok_or(FileError::Missing)?;
        rest.iter()
            .try_fold(self.folder(first)?, |folder, name| folder.folder(name))
    }

    /// A folder in it, without following links.
    pub fn folder(&self, name: &OsStr) -> Result<Self, FileError> {
        open_folder(&self.0, name).map(Self)
    }

    /// A regular file in it, for reading, without following links.
    pub fn file(&self, name: &OsStr) -> Result<File, FileError> {
        regular(open_entry(&self.0, name)?)
    }

    /// Like [`Folder::file`], with the metadata that the check looked at.
    pub(super) fn file_and_stat(&self, name: &OsStr) -> Result<(File, Stat), FileError> {
        regular_and_stat(open_entry(&self.0, name)?)
    }

    /// Names and kinds of its entries, in the file system's order; `None` for a link.
    pub fn entries(
        &self,
    ) -> Result<impl Iterator<Item = (OsString, Option<FileKind>)> + '_, FileError> {
        let listing = Dir::read_from(&self.0).map_err(refusal)?;
        Ok(listing.map_while(Result::ok).filter_map(|entry| {
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                return None;
            }
            let name = OsString::from_vec(name.to_vec());
            let kind = self.kind(&name, entry.file_type())?;
            Some((name, kind))
        }))
    }

    /// Like [`Folder::entries`], without an allocation for each entry. `buffer` is for the kernel's
    /// answers.
    #[cfg(target_os = "linux")]
    pub fn each_entry(
        &self,
        buffer: &mut Vec<u8>,
        visit: &mut dyn FnMut(&OsStr, Option<FileKind>) -> ControlFlow<()>,
    ) -> Result<(), FileError> {
        buffer.clear();
        buffer.reserve(LISTING);
        rustix::fs::seek(&self.0, rustix::fs::SeekFrom::Start(0)).map_err(refusal)?;
        let mut listing = RawDir::new(&self.0, buffer.spare_capacity_mut());
        while let Some(entry) = listing.next() {
            // A folder deleted meanwhile has no further entries.
            let Ok(entry) = entry else { break };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "."
                && name != ".."
                && let Some(kind) = self.kind(name, entry.file_type())
                && visit(name, kind).is_break()
            {
                break;
            }
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    pub fn each_entry(
        &self,
        _: &mut Vec<u8>,
        visit: &mut dyn FnMut(&OsStr, Option<FileKind>) -> ControlFlow<()>,
    ) -> Result<(), FileError> {
        let mut entries = self.entries()?;
        let _ = entries.try_for_each(|(name, kind)| visit(&name, kind));
        Ok(())
    }

    /// The kind of an entry whose listing says `kind`: `Some(None)` for a link, `None` if it is
    /// gone.
    fn kind(&self, name: &OsStr, kind: FileType) -> Option<Option<FileKind>> {
        let kind = match kind {
            // Some file systems do not report the type.
            FileType::Unknown => FileType::from_raw_mode(stat(&self.0, name)?.st_mode),
            kind => kind,
        };
        Some(match kind {
            FileType::Symlink => None,
            FileType::RegularFile => Some(FileKind::File),
            FileType::Directory => Some(FileKind::Directory),
            _ => Some(FileKind::Special),
        })
    }

    /// A folder of our own in it; created for the user only if missing.
    pub fn private(&self, name: &OsStr) -> Result<Self, FileError> {
        match rustix::fs::mkdirat(&self.0, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => self.folder(name),
            Err(error) => Err(refusal(error)),
        }
    }

    /// A lock file of our own in it; created if missing.
    pub fn lock_file(&self, name: &OsStr) -> Result<File, FileError> {
        let flags = OFlags::CREATE | OFlags::RDWR | SAFE;
        let mode = Mode::RUSR | Mode::WUSR;
        regular(rustix::fs::openat(&self.0, name, flags, mode).map_err(refusal)?)
    }

    /// Replaces a file of our own in it atomically, accessible to its owner only.
    pub fn replace(&self, name: &OsStr, bytes: &[u8]) -> Result<(), FileError> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | SAFE;
        let temporary = format!(".{}.tmp", uuid::Uuid::now_v7().simple());
        let file = rustix::fs::openat(&self.0, &*temporary, flags, Mode::RUSR | Mode::WUSR);
        let mut file = File::from(file.map_err(refusal)?);
        let written = file
            .write_all(bytes)
            .and_then(|()| file.sync_all())
            .and_then(|()| Ok(rustix::fs::renameat(&self.0, &*temporary, &self.0, name)?));
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&self.0, &*temporary, AtFlags::empty());
        }
        Ok(written?)
    }

    /// The descriptor, for a process that is started in the folder.
    pub fn into_descriptor(self) -> OwnedFd {
        self.0
    }
}

/// A folder in a folder, without following links.
pub(super) fn open_folder(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, FileError> {
    match rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
        // `O_DIRECTORY | O_NOFOLLOW` gives ENOTDIR for links and files alike.
        Err(Errno::NOTDIR) if is_link(folder, name) => Err(FileError::Escaped),
        result => result.map_err(refusal),
    }
}

/// An existing entry of a folder, of any kind, for reading, without following links.
pub(super) fn open_entry(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, FileError> {
    rustix::fs::openat(folder, name, OFlags::RDONLY | SAFE, Mode::empty()).map_err(refusal)
}

/// The file, if the descriptor is that of a regular file.
pub(super) fn regular(opened: OwnedFd) -> Result<File, FileError> {
    regular_and_stat(opened).map(|(file, _)| file)
}

fn regular_and_stat(opened: OwnedFd) -> Result<(File, Stat), FileError> {
    let stat = rustix::fs::fstat(&opened).map_err(refusal)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok((File::from(opened), stat)),
        FileType::Directory => Err(FileError::Directory),
        FileType::Symlink => Err(FileError::Escaped),
        _ => Err(FileError::Special),
    }
}

/// The plain names of a relative path.
pub(super) fn names(relative: &Path) -> Result<Vec<&OsStr>, FileError> {
    relative
        .components()
        .map(|component| match component {
            Component::Normal(name) => Ok(name),
            _ => Err(FileError::Escaped),
        })
        .collect()
}

pub(super) fn refusal(error: Errno) -> FileError {
    match error {
        Errno::NOENT | Errno::NOTDIR => FileError::Missing,
        Errno::LOOP | Errno::MLINK | Errno::XDEV => FileError::Escaped,
        Errno::ISDIR => FileError::Directory,
        // A FIFO without a reader, a socket, a device without a driver.
        Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => FileError::Special,
        other => FileError::Io(other.into()),
    }
}

pub(super) fn refused(error: std::io::Error) -> FileError {
    match Errno::from_io_error(&error) {
        Some(number) => refusal(number),
        None => FileError::Io(error),
    }
}

fn is_link(folder: &OwnedFd, name: &OsStr) -> bool {
    stat(folder, name).is_some_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Symlink)
}

/// The metadata of a folder's entry, or of the link itself.
fn stat(folder: &OwnedFd, name: &OsStr) -> Option<rustix::fs::Stat> {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()
}

/// Opens a regular file named by a repository, below the canonical `top`, for reading. Links may
/// lead to another place below `top`, but not out of it.
pub fn open_inside(top: &Path, relative: &Path) -> Result<File, FileError> {
    match open_beneath(top, relative) {
        Err(FileError::Escaped) => {}
        result => return result,
    }
    let target = std::fs::canonicalize(top.join(relative)).map_err(refused)?;
    let target = target.strip_prefix(top).map_err(|_| FileError::Escaped)?;
    open_beneath(top, target)
}

/// Opens the folder at `path`. If `path` is below the canonical `root`, the folder must be there
/// too; links may lead to another place below `root`.
pub fn open_named(root: &Path, path: &Path) -> Result<Folder, FileError> {
    let target = std::fs::canonicalize(path).map_err(refused)?;
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

/// Reads a whole file; one with more than `most` bytes is an error.
pub fn bounded(file: &mut File, most: u64) -> Result<Vec<u8>, FileError> {
    let too_large = |bytes| FileError::TooLarge { bytes, limit: most };
    let length = file.metadata()?.len();
    if length > most {
        return Err(too_large(length));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    // Files in /proc report length 0; the limit applies to what is read.
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
    use std::path::Path;

    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    use rustix::io::Errno;

    use super::{FileError, open_root, refusal};

    /// The kernel returns EAGAIN if a rename raced with the walk; after that the slow walk decides.
    const TRIES: usize = 8;

    /// Opens `relative`, plain names only, below `root`: in one call if no part of the whole path is
    /// a link, because then it leads where it says. A link above the root may be legitimate.
    pub fn open_below(
        root: &Path,
        relative: &Path,
        flags: OFlags,
    ) -> Option<Result<OwnedFd, FileError>> {
        if let Some(opened) = direct(&root.join(relative), flags) {
            return Some(opened.map_err(refusal));
        }
        match open_root(root) {
            Ok(folder) => open(folder.as_fd(), relative, flags),
            Err(error) => Some(Err(error)),
        }
    }

    /// Opens an absolute path of which no part is a link; `None` if that is unknown.
    pub fn direct(path: &Path, flags: OFlags) -> Option<rustix::io::Result<OwnedFd>> {
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        if !path.is_absolute() {
            return None;
        }
        match openat2(CWD, path, flags, Mode::empty(), resolve) {
            Err(Errno::LOOP | Errno::NAMETOOLONG) => None,
            Err(Errno::AGAIN | Errno::INTR | Errno::NOSYS | Errno::PERM) => None,
            result => Some(result),
        }
    }

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
                // Also for a path that is longer than one call may name.
                Err(Errno::NOSYS | Errno::PERM | Errno::NAMETOOLONG) => return None,
                result => return Some(result.map_err(refusal)),
            }
        }
        None
    }
}
