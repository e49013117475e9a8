//! Whether a buffer differs from its file: by length, then by content, cached until either
//! changes. Encodings that the editor converts are compared as it converts them.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use ropey::Rope;

use super::document::{Document, Revision};
use super::file_state::Since;
use super::text::BOM;

/// The outcome of one comparison, and the text and file that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    revision: Revision,
    stamp: Stamp,
    pub dirty: bool,
}

/// File metadata that changes when the file changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    length: u64,
    modified: Option<std::time::SystemTime>,
    /// Device, inode and change time, where the platform has them.
    identity: [i64; 4],
}

impl Stamp {
    pub fn new(metadata: &std::fs::Metadata) -> Self {
        Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            identity: identity(metadata),
        }
    }

    /// Whether any change after `now` will change the stamp: file system clocks are coarse.
    pub fn settled(&self, now: std::time::SystemTime) -> bool {
        let [_, _, changed, _] = self.identity;
        let changed = u64::try_from(changed).ok().map(Duration::from_secs);
        let changed = changed.and_then(|since| std::time::UNIX_EPOCH.checked_add(since));
        let old = |time| now.duration_since(time).is_ok_and(|age| age > TICK);
        self.modified.is_some_and(old) && changed.is_some_and(old)
    }
}

fn identity(metadata: &std::fs::Metadata) -> [i64; 4] {
    use std::os::unix::fs::MetadataExt as _;
    [
        metadata.dev().cast_signed(),
        metadata.ino().cast_signed(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ]
}

/// Longer than any file system's clock step (FAT: 2 s).
const TICK: Duration = Duration::from_secs(3);

/// The text that a buffer and its file last had in common.
#[derive(Clone, Debug)]
pub(super) struct Base {
    pub rope: Rope,
    pub revision: Revision,
    /// The file then. `None`: it was just saved, and not looked at since.
    pub stamp: Option<Stamp>,
}

impl Base {
    /// What changed since, in a buffer and file that differ. `path`: the file.
    pub fn since(&mut self, path: &Path, document: &Document) -> Since {
        let stamp = std::fs::metadata(path).ok().map(|it| Stamp::new(&it));
        if self.stamp.is_none() {
            self.stamp.clone_from(&stamp);
        }
        let disk = match &stamp {
            Some(stamp) if self.stamp.as_ref() != Some(stamp) => {
                same_text(path, stamp.length, &self.rope) != Some(true)
            }
            Some(_) => false,
            None => true,
        };
        Since {
            buffer: self.rope != document.rope,
            disk,
        }
    }
}

impl Verdict {
    /// The buffer and the file have the same text.
    pub fn base(&self, document: &Document) -> Option<Base> {
        (!self.dirty).then(|| Base {
            rope: document.rope.clone(),
            revision: self.revision,
            stamp: Some(self.stamp.clone()),
        })
    }

    /// Whether the verdict may be cached: a file written just now can change again with the same
    /// time stamp, because file system clocks are coarse.
    pub fn settled(&self) -> bool {
        self.stamp
            .modified
            .is_some_and(|time| time.elapsed().is_ok_and(|age| age > TICK))
    }

    /// Compares, unless `known` is still valid. `None`: there is no readable file.
    pub fn compare(path: &Path, document: &Document, known: Option<&Self>) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        if !metadata.is_file() {
            return None;
        }
        let stamp = Stamp::new(&metadata);
        let revision = document.revision;
        if let Some(known) = known
            && known.stamp == stamp
            && known.revision == revision
        {
            return Some(known.clone());
        }
        let dirty = !same_text(path, stamp.length, &document.rope)?;
        Some(Self {
            revision,
            stamp,
            dirty,
        })
    }
}

/// `None` when the file cannot be read.
fn same_text(path: &Path, length: u64, rope: &Rope) -> Option<bool> {
    let bytes = rope.len_bytes() as u64;
    // UTF-8 with or without a byte order mark, or UTF-16 or Latin-1.
    let most = 2 * bytes + 4;
    if length > most {
        return Some(false);
    }
    let mut file = super::open::open_document(path).ok()?;
    let mut disk = Vec::with_capacity(usize::try_from(length).ok()?);
    file.by_ref().take(most + 1).read_to_end(&mut disk).ok()?;
    Some(same_bytes(&disk, rope))
}

/// Whether the bytes on disk are the rope's text in an encoding that editors read: UTF-8, UTF-16
/// with a byte order mark, Latin-1.
fn same_bytes(disk: &[u8], rope: &Rope) -> bool {
    if equal(disk, rope) || disk.strip_prefix(BOM).is_some_and(|rest| equal(rest, rope)) {
        return true;
    }
    let wide = |unit: fn([u8; 2]) -> u16| {
        let (pairs, odd) = disk[2..].as_chunks::<2>();
        let units = pairs.iter().map(|pair| unit(*pair));
        odd.is_empty()
            && units.eq(rope
                .chars()
                .flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec()))
    };
    if disk.starts_with(b"\xff\xfe") {
        return wide(u16::from_le_bytes);
    }
    if disk.starts_with(b"\xfe\xff") {
        return wide(u16::from_be_bytes);
    }
    std::str::from_utf8(disk).is_err()
        && disk.len() == rope.len_chars()
        && disk.iter().copied().map(char::from).eq(rope.chars())
}

fn equal(mut disk: &[u8], rope: &Rope) -> bool {
    if disk.len() != rope.len_bytes() {
        return false;
    }
    rope.chunks().all(|chunk| {
        let (head, rest) = disk.split_at(chunk.len());
        disk = rest;
        head == chunk.as_bytes()
    })
}

#[cfg(test)]
mod tests;
