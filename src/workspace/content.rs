//! The text of a file, and reading it from the file's bytes.

use std::fs::File;

use ropey::Rope;
use sha2::{Digest as _, Sha256};

use super::dirty::Stamp;
use super::open::bounded;
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
