//! One of our JSON files: read whole and without a lock, private to the user, changed under a lock
//! and replaced atomically.

use std::fs::{File, Metadata};
use std::io::{Error, ErrorKind, Read as _, Result, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;
use serde::Serialize;

use crate::env::{private, private_folder};

/// Largest file that is read, in bytes.
const LIMIT: u64 = 8 * 1024 * 1024;

/// The file's text; `None` if it does not exist. `refused` is the error for a file that others may
/// have written.
pub(super) fn read(path: &Path, refused: impl Fn(&str) -> Error) -> Result<Option<String>> {
    // Never waits on a FIFO in its place.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = File::options();
    options.read(true);
    options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            // A link, or a file of another user.
            check_private(&std::fs::symlink_metadata(path)?).map_err(&refused)?;
            return Err(error);
        }
    };
    check_private(&file.metadata()?).map_err(&refused)?;
    let mut text = String::new();
    file.take(LIMIT).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Holds off other processes that change the file until the result is dropped.
pub(super) fn lock(path: &Path) -> Result<File> {
    private_folder(path.parent().unwrap_or(Path::new(".")))?;
    let lock = private::lock_file(&path.with_extension("lock"))?;
    lock.lock()?;
    Ok(lock)
}

/// Replaces the file. Temporary files are made for their owner alone.
pub(super) fn replace(path: &Path, contents: &impl Serialize) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&serde_json::to_vec_pretty(contents)?)?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Checks that this is a regular file that belongs to this user and no one else may write.
fn check_private(data: &Metadata) -> std::result::Result<(), &'static str> {
    if data.is_symlink() {
        return Err("is a symbolic link");
    }
    if !data.is_file() {
        return Err("is not a regular file");
    }
    if data.len() >= LIMIT {
        return Err("is too large");
    }
    if data.uid() != rustix::process::geteuid().as_raw() {
        return Err("belongs to another user");
    }
    if data.mode() & 0o022 != 0 {
        return Err("can be written by other users");
    }
    Ok(())
}
