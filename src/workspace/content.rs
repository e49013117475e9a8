//! The text of a file, and reading it from the file's bytes.

use std::ffi::OsStr;
use std::fs::File;

use ropey::Rope;
use rustix::fs::Stat;
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::dirty::Stamp;
use super::open::{Folder, bounded, refusal};
use super::text::BOM;
use super::{FileError, Revision};

/// Where a text came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Buffer { version: i32, dirty: bool },
    Disk,
}

/// A text as a tool sees it: with its own line ends, without a byte order mark.
#[derive(Clone, Debug)]
pub struct Content {
    pub rope: Rope,
    pub source: Source,
    /// The mirror's revision for a buffer; `Revision(0)` from disk.
    pub revision: Revision,
    /// The file on disk starts with a byte order mark.
    pub bom: bool,
}

impl Content {
    /// Lowercase hex SHA-256 of the text.
    pub fn hash(&self) -> String {
        rope_hash(&self.rope)
    }
}

/// Hash of a rope's text, without building the string.
pub fn rope_hash(rope: &Rope) -> String {
    use std::fmt::Write as _;
    let mut digest = Sha256::new();
    for chunk in rope.chunks() {
        digest.update(chunk.as_bytes());
    }
    let mut out = String::with_capacity(64);
    for byte in digest.finalize() {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// Tools do not read files larger than this.
pub const LIMIT: u64 = 32 * 1024 * 1024;

/// Reads the whole file, which must not change while it is read; an error if it has more than
/// `most` bytes.
pub(super) fn bytes(file: &mut File, most: u64) -> Result<Vec<u8>, FileError> {
    let before = Stamp::new(&file.metadata()?);
    let bytes = bounded(file, most)?;
    if Stamp::new(&file.metadata()?) != before {
        return Err(FileError::Changed);
    }
    Ok(bytes)
}

/// Files up to this size are read with one call.
const BLOCK: usize = 64 * 1024;

/// Reads the regular file `name` of `folder` like [`bytes`], with fewer calls, into a buffer that is
/// used again and again. Of a binary file it may return only the beginning.
pub(super) fn read_entry(
    folder: &Folder,
    name: &OsStr,
    most: u64,
    buffer: &mut Vec<u8>,
) -> Result<(), FileError> {
    let (file, before) = folder.file_and_stat(name)?;
    let length = u64::try_from(before.st_size).unwrap_or(0);
    if length > most {
        return Err(FileError::TooLarge {
            bytes: length,
            limit: most,
        });
    }
    if buffer.capacity() != BLOCK {
        *buffer = Vec::with_capacity(BLOCK);
    }
    buffer.clear();
    loop {
        let read = match rustix::io::read(&file, rustix::buffer::spare_capacity(buffer)) {
            Err(Errno::INTR) => continue,
            read => read.map_err(refusal)?,
        };
        let have = buffer.len() as u64;
        if have > most {
            return Err(FileError::TooLarge {
                bytes: have,
                limit: most,
            });
        }
        // Fewer bytes than there was room for, up to the known length: the end. Files in /proc
        // report length 0.
        if read == 0 || (have == length && buffer.len() < buffer.capacity()) {
            break;
        }
        if buffer.len() == buffer.capacity() {
            if memchr::memchr(0, &buffer[have as usize - read..]).is_some() {
                return Ok(());
            }
            let rest = usize::try_from(length - have.min(length)).unwrap_or(0);
            buffer.reserve_exact(rest.max(BLOCK) + 1);
        }
    }
    let after = rustix::fs::fstat(&file).map_err(refusal)?;
    let stamp = |it: &Stat| {
        let identity = (it.st_dev, it.st_ino, it.st_size);
        let times = (it.st_mtime, it.st_mtime_nsec, it.st_ctime, it.st_ctime_nsec);
        (identity, times)
    };
    match stamp(&before) == stamp(&after) {
        true => Ok(()),
        false => Err(FileError::Changed),
    }
}

/// The text, and whether it was preceded by a byte order mark.
pub(super) fn decode(bytes: Vec<u8>) -> Result<(Rope, bool), FileError> {
    let bom = bytes.starts_with(BOM);
    let text = if bom { &bytes[BOM.len()..] } else { &bytes };
    if text.contains(&0) {
        return Err(FileError::NotText);
    }
    let text = std::str::from_utf8(text).map_err(|_| FileError::NotText)?;
    Ok((Rope::from_str(text), bom))
}
