//! Interline's own files and folders: created for the user alone, and opened without following
//! links or blocking on a FIFO. Whoever can write them controls the next session, so files of
//! another user are refused.

use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};

/// What others may do with a file or folder.
const OTHERS: u32 = 0o077;
/// Others may write it.
const WRITABLE: u32 = 0o022;

/// Creates `folder` and its missing parents, private to the user.
pub fn private_folder(folder: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(folder)
}

/// Replaces a file as a whole, readable by the user alone. Creates its folder.
pub fn write_private<'a>(path: &Path, parts: impl IntoIterator<Item = &'a [u8]>) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    private_folder(folder)?;
    // Created with mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    for part in parts {
        file.write_all(part)?;
    }
    file.persist(path)?;
    Ok(())
}

/// Like [`private_folder`], but the folder, or the link in its place, must be the user's. Removes
/// others' access and returns whether they could have written to it.
pub fn own_folder(folder: &Path) -> Result<bool> {
    private_folder(folder)?;
    let data = std::fs::symlink_metadata(folder)?;
    owned(&data, folder)?;
    let real = match data.is_symlink() {
        true => folder.canonicalize()?,
        false => folder.to_owned(),
    };
    let opened = open(OpenOptions::new().read(true), OFlags::DIRECTORY, &real)?;
    close(&opened, folder)
}

/// Checks `state` and the folders in it before anything there is trusted: they must be the user's.
/// Returns those that others could write to until now. Missing ones are created later.
pub fn check_state_folders(state: &Path) -> Result<Vec<PathBuf>> {
    let mut open = Vec::new();
    let mut look = |folder: PathBuf| -> Result<()> {
        if own_folder(&folder)? {
            open.push(folder);
        }
        Ok(())
    };
    look(state.to_owned())?;
    for entry in std::fs::read_dir(state)? {
        let path = entry?.path();
        // A link to a file is refused when the file is opened.
        if path.is_dir() {
            look(path)?;
        }
    }
    Ok(open)
}

/// Opens a regular file of ours for reading.
pub fn read_file(path: &Path) -> Result<File> {
    regular(OpenOptions::new().read(true), path)
}

/// Opens a file for appending, and creates it if it is missing.
pub fn log_file(path: &Path) -> Result<File> {
    regular(OpenOptions::new().append(true).create(true), path)
}

/// Opens a lock file, and creates it if it is missing. Its content is not changed.
pub fn lock_file(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    regular(options.read(true).write(true).create(true), path)
}

/// A file of ours in a folder that is open, so that nothing on the way to it can be exchanged.
/// The folder belongs to the user, and neither it nor the folder above it is a link.
#[derive(Debug)]
pub struct Place {
    folder: OwnedFd,
    path: PathBuf,
}

impl Place {
    /// Opens the folder of `path`.
    pub fn of(path: &Path) -> Result<Self> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let above = folder.parent().unwrap_or(Path::new(""));
        let opened = open_folder(CWD, above.as_os_str(), above)?;
        let name = folder.file_name().unwrap_or_default();
        let opened = File::from(open_folder(&opened, name, folder)?);
        close(&opened, folder)?;
        Ok(Self {
            folder: opened.into(),
            path: path.to_owned(),
        })
    }

    /// As [`Self::of`]; the folder is made, private to the user, if it is missing.
    pub fn made(path: &Path) -> Result<Self> {
        if let Some(folder) = path.parent() {
            private_folder(folder)?;
        }
        Self::of(path)
    }

    /// Opens the file for reading.
    pub fn read(&self) -> Result<File> {
        self.open(OFlags::RDONLY)
    }

    /// Opens the file, which is there, for reading and appending.
    pub fn append(&self) -> Result<File> {
        self.open(OFlags::RDWR | OFlags::APPEND)
    }

    /// Makes the file, which is not there yet, for reading and appending.
    pub fn create(&self) -> Result<File> {
        self.open(OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL)
    }

    /// Replaces the file in one step.
    pub fn replace(&self, bytes: &[u8]) -> Result<()> {
        let temporary = format!(".{}.tmp", uuid::Uuid::now_v7().simple());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | SAFE;
        let mode = Mode::RUSR | Mode::WUSR;
        let mut file = File::from(rustix::fs::openat(&self.folder, &temporary, flags, mode)?);
        let written = file.write_all(bytes).and_then(|()| {
            let (folder, name) = (&self.folder, self.name());
            Ok(rustix::fs::renameat(folder, &temporary, folder, name)?)
        });
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&self.folder, &temporary, AtFlags::empty());
        }
        written
    }

    /// Removes the file.
    pub fn remove(&self) -> Result<()> {
        let removed = rustix::fs::unlinkat(&self.folder, self.name(), AtFlags::empty());
        Ok(removed?)
    }

    fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    fn open(&self, flags: OFlags) -> Result<File> {
        let mode = Mode::RUSR | Mode::WUSR;
        let opened = rustix::fs::openat(&self.folder, self.name(), flags | SAFE, mode);
        checked(opened.map(File::from).map_err(Error::from), &self.path)
    }
}

fn open_folder(above: impl std::os::fd::AsFd, name: &OsStr, path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | SAFE;
    let opened = rustix::fs::openat(above, name, flags, Mode::empty());
    opened.map_err(|error| match std::fs::symlink_metadata(path) {
        Ok(data) if data.is_symlink() => refused(path, "is a symbolic link"),
        _ => error.into(),
    })
}

/// `O_NONBLOCK` makes a FIFO open at once; it has no effect on a regular file.
const SAFE: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

fn open(options: &mut OpenOptions, flags: OFlags, path: &Path) -> Result<File> {
    let flags = flags | SAFE;
    options
        .mode(0o600)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or(0))
        .open(path)
}

fn regular(options: &mut OpenOptions, path: &Path) -> Result<File> {
    checked(open(options, OFlags::empty(), path), path)
}

fn checked(opened: Result<File>, path: &Path) -> Result<File> {
    let file = opened.map_err(|error| match std::fs::symlink_metadata(path) {
        Ok(data) if data.is_symlink() => refused(path, "is a symbolic link"),
        Ok(data) if !data.is_file() => refused(path, "is not a regular file"),
        _ => error,
    })?;
    if !file.metadata()?.is_file() {
        return Err(refused(path, "is not a regular file"));
    }
    close(&file, path)?;
    Ok(file)
}

/// Removes others' access. Returns whether they could have written the file.
fn close(file: &File, path: &Path) -> Result<bool> {
    let data = file.metadata()?;
    owned(&data, path)?;
    let mode = data.mode();
    if mode & OTHERS == 0 {
        return Ok(false);
    }
    let written = mode & WRITABLE != 0;
    match rustix::fs::fchmod(file, Mode::from_raw_mode(mode & 0o700)) {
        Ok(()) => Ok(written),
        Err(error) if written => Err(error.into()),
        // A read-only file system: others can only read it.
        Err(_) => Ok(false),
    }
}

fn owned(data: &Metadata, path: &Path) -> Result<()> {
    match data.uid() == rustix::process::geteuid().as_raw() {
        true => Ok(()),
        false => Err(refused(path, "belongs to another user")),
    }
}

fn refused(path: &Path, why: &str) -> Error {
    Error::new(
        ErrorKind::PermissionDenied,
        format!("{} {why}", path.display()),
    )
}

#[cfg(test)]
mod tests;
