//! Replacing a file atomically, relative to its folder's descriptor: if someone replaces a folder
//! by a link, or the file by something else, the result is an error and our text goes nowhere.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ropey::Rope;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use crate::conversation::FileShape;
use crate::workspace::FileError;
use crate::workspace::content::{LIMIT, bytes, decode, rope_hash};
use crate::workspace::leftovers::{self, Leftovers, Noted};
use crate::workspace::open::{names, open_entry, open_folder, open_root, refusal, regular};
use crate::workspace::text::BOM;

/// Longest wait for the lock of a folder, which is held for one check and one rename.
const WAIT: Duration = Duration::from_secs(5);

/// One replacement.
pub(super) struct Job<'a> {
    pub expected: Option<&'a str>,
    pub text: &'a Rope,
    /// Of a new file; `None`: as the umask says, without a byte order mark.
    pub shape: Option<FileShape>,
    /// Checked again at the last moment.
    pub still_closed: &'a dyn Fn() -> Result<(), FileError>,
    /// Where temporary files are recorded.
    pub leftovers: Option<&'a Leftovers>,
}

impl Job<'_> {
    /// Replaces the file `relative` below `root` with the text.
    pub fn replace(&self, root: &Path, relative: &Path) -> Result<(), FileError> {
        let names = names(relative)?;
        let Some((name, folders)) = names.split_last() else {
            return Err(FileError::Directory);
        };
        let mut created = Created::default();
        let result = created.enter(open_root(root)?, folders).and_then(|folder| {
            let path = root.join(folders.iter().collect::<PathBuf>());
            Place { folder, path, name }.replace(self)
        });
        if result.is_err() {
            created.undo();
        }
        result
    }
}

impl Job<'_> {
    /// Removes the file `relative` below `root`.
    pub fn remove(&self, root: &Path, relative: &Path) -> Result<(), FileError> {
        let names = names(relative)?;
        let Some((name, folders)) = names.split_last() else {
            return Err(FileError::Directory);
        };
        let mut within = folders.iter();
        let folder =
            within.try_fold(open_root(root)?, |folder, name| open_folder(&folder, name))?;
        let path = root.join(folders.iter().collect::<PathBuf>());
        Place { folder, path, name }.remove(self)
    }
}

/// The folders created for the file, each with its parent.
#[derive(Default)]
struct Created(Vec<(OwnedFd, OsString)>);

impl Created {
    /// The innermost of `folders`; creates those that are missing.
    fn enter(&mut self, root: OwnedFd, folders: &[&OsStr]) -> Result<OwnedFd, FileError> {
        let mut folders = folders.iter();
        folders.try_fold(root, |folder, name| match open_folder(&folder, name) {
            Err(FileError::Missing) => self.create(folder, name),
            result => result,
        })
    }

    fn create(&mut self, parent: OwnedFd, name: &OsStr) -> Result<OwnedFd, FileError> {
        match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => {}
            // Another process just created it, or a file is where a folder is needed.
            Err(Errno::EXIST) => {
                return open_folder(&parent, name).map_err(|error| match error {
                    FileError::Missing => FileError::Special,
                    other => other,
                });
            }
            Err(error) => return Err(refusal(error)),
        }
        let folder = open_folder(&parent, name)?;
        self.0.push((parent, name.to_owned()));
        Ok(folder)
    }

    /// Removes those that are empty.
    fn undo(&mut self) {
        while let Some((parent, name)) = self.0.pop() {
            if rustix::fs::unlinkat(&parent, &name, AtFlags::REMOVEDIR).is_err() {
                break;
            }
        }
    }
}

/// A name in an open folder.
struct Place<'a> {
    folder: OwnedFd,
    /// The folder's.
    path: PathBuf,
    name: &'a OsStr,
}

/// A file that is not published yet.
struct Temporary {
    name: OsString,
    file: File,
    _noted: Option<Noted>,
}

/// The file that is replaced.
struct Before {
    stat: Stat,
    bom: bool,
}

impl Place<'_> {
    fn replace(&self, job: &Job<'_>) -> Result<(), FileError> {
        let before = self.check(job.expected)?;
        if before.is_some() {
            self.writable()?;
        }
        let mut temporary = self.temporary(before.is_none(), job.leftovers)?;
        let result = fill(&mut temporary.file, before.as_ref(), job)
            .and_then(|()| self.lock())
            .and_then(|()| (job.still_closed)())
            .and_then(|()| self.check(job.expected))
            .and_then(|_| self.publish(&temporary.name, before.is_none()));
        let _ = rustix::fs::flock(&self.folder, FlockOperation::Unlock);
        if let Err(error) = result {
            let _ = rustix::fs::unlinkat(&self.folder, &temporary.name, AtFlags::empty());
            return Err(error);
        }
        // Some file systems cannot sync a folder; the rename has happened anyway.
        let _ = rustix::fs::fsync(&self.folder);
        Ok(())
    }

    fn remove(&self, job: &Job<'_>) -> Result<(), FileError> {
        self.writable()?;
        let result = self
            .lock()
            .and_then(|()| (job.still_closed)())
            .and_then(|()| self.check(job.expected))
            .and_then(|_| {
                rustix::fs::unlinkat(&self.folder, self.name, AtFlags::empty()).map_err(refusal)
            });
        let _ = rustix::fs::flock(&self.folder, FlockOperation::Unlock);
        result?;
        let _ = rustix::fs::fsync(&self.folder);
        Ok(())
    }

    /// Locks the folder against our other processes, which could otherwise replace the file between
    /// the check and the rename. A file system without locks leaves that gap.
    fn lock(&self) -> Result<(), FileError> {
        let until = Instant::now() + WAIT;
        loop {
            match rustix::fs::flock(&self.folder, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) if Instant::now() >= until => return Err(FileError::Busy),
                Err(Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(1)),
                Err(Errno::INTR) => {}
                _ => return Ok(()),
            }
        }
    }

    /// Checks that the current file is the one that the writer expects.
    fn check(&self, expected: Option<&str>) -> Result<Option<Before>, FileError> {
        let opened = match open_entry(&self.folder, self.name) {
            Err(FileError::Missing) if expected.is_none() => return Ok(None),
            Err(FileError::Missing) => return Err(FileError::Changed),
            result => result?,
        };
        let mut file = regular(opened)?;
        let Some(expected) = expected else {
            return Err(FileError::Changed);
        };
        let stat = rustix::fs::fstat(&file).map_err(refusal)?;
        let links = crate::workspace::file_kind::links(&file.metadata()?);
        if links > 1 {
            return Err(FileError::HardLinked { links });
        }
        let (rope, bom) = decode(bytes(&mut file, LIMIT)?)?;
        if rope_hash(&rope) != expected {
            return Err(FileError::Changed);
        }
        Ok(Some(Before { stat, bom }))
    }

    /// Refuses a read-only file, which a rename would replace (B06). Checks the mode too, because
    /// root may write everything.
    fn writable(&self) -> Result<(), FileError> {
        use rustix::fs::Access;
        let stat = rustix::fs::statat(&self.folder, self.name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(refusal)?;
        if stat.st_mode & 0o222 == 0 {
            return Err(FileError::ReadOnly);
        }
        match rustix::fs::accessat(&self.folder, self.name, Access::WRITE_OK, AtFlags::EACCESS) {
            Err(Errno::ACCESS | Errno::ROFS | Errno::PERM | Errno::TXTBSY) => {
                Err(FileError::ReadOnly)
            }
            // The write itself reports other errors, and more clearly.
            _ => Ok(()),
        }
    }

    /// A temporary file next to the target; the umask applies to the mode of a new file.
    fn temporary(&self, new: bool, notes: Option<&Leftovers>) -> Result<Temporary, FileError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mode = Mode::from_raw_mode(if new { 0o666 } else { 0o600 });
        let mut tries = 0;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(leftovers::name(number));
            // Without a note, the file is left behind only if the process is killed.
            let noted = notes.and_then(|notes| notes.note(&self.path, number).ok());
            match rustix::fs::openat(&self.folder, &name, flags, mode) {
                // Left behind by a killed process with the same id.
                Err(Errno::EXIST) if tries < 1000 => tries += 1,
                result => {
                    let file = File::from(result.map_err(refusal)?);
                    return Ok(Temporary {
                        name,
                        file,
                        _noted: noted,
                    });
                }
            }
        }
    }

    fn publish(&self, temporary: &OsStr, new: bool) -> Result<(), FileError> {
        let folder = &self.folder;
        if !new {
            return rustix::fs::renameat(folder, temporary, folder, self.name).map_err(refusal);
        }
        let exclusive = rename_new(folder, temporary, self.name);
        match exclusive {
            // The file system lacks this rename: a hard link also fails if the target exists.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                match rustix::fs::linkat(folder, temporary, folder, self.name, AtFlags::empty()) {
                    Err(Errno::EXIST) => Err(FileError::Changed),
                    Err(error) => Err(refusal(error)),
                    Ok(()) => {
                        let _ = rustix::fs::unlinkat(folder, temporary, AtFlags::empty());
                        Ok(())
                    }
                }
            }
            Err(Errno::EXIST) => Err(FileError::Changed),
            result => result.map_err(refusal),
        }
    }
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn rename_new(folder: &OwnedFd, from: &OsStr, to: &OsStr) -> rustix::io::Result<()> {
    rustix::fs::renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn rename_new(_: &OwnedFd, _: &OsStr, _: &OsStr) -> rustix::io::Result<()> {
    Err(Errno::NOSYS)
}

fn fill(file: &mut File, before: Option<&Before>, job: &Job<'_>) -> Result<(), FileError> {
    let shape = job.shape.filter(|_| before.is_none());
    let bom = before.map(|before| before.bom);
    if bom.or(shape.map(|shape| shape.bom)) == Some(true) {
        file.write_all(BOM)?;
    }
    for chunk in job.text.chunks() {
        file.write_all(chunk.as_bytes())?;
    }
    if let Some(before) = before {
        inherit(file, &before.stat)?;
    }
    if let Some(shape) = shape {
        let mode = Mode::from_raw_mode(shape.mode & 0o777);
        rustix::fs::fchmod(&*file, mode).map_err(refusal)?;
    }
    file.sync_all()?;
    Ok(())
}

/// Copies the old file's owner, where permitted, and its mode; without the owner no set-id bits.
fn inherit(file: &File, stat: &Stat) -> Result<(), FileError> {
    use std::os::unix::fs::MetadataExt as _;
    let own = file.metadata()?;
    let mut mode = stat.st_mode & 0o7777;
    if (own.uid(), own.gid()) != (stat.st_uid, stat.st_gid) {
        let owner = rustix::fs::Uid::from_raw(stat.st_uid);
        let group = rustix::fs::Gid::from_raw(stat.st_gid);
        if rustix::fs::fchown(file, Some(owner), Some(group)).is_err() {
            mode &= 0o1777;
            let _ = rustix::fs::fchown(file, None, Some(group));
        }
    }
    rustix::fs::fchmod(file, Mode::from_raw_mode(mode)).map_err(refusal)
}
