//! Reading and, for hosts without buffers, writing files: the open buffer first, the disk second
//! (INV-2). Every path goes through `beneath`, so no link is followed here.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use ropey::Rope;
use sha2::{Digest as _, Sha256};

use super::beneath::open_beneath;
use super::dirty::Stamp;
use super::peers::Peers;
use super::{FileKind, Located, Revision, Workspace};

#[cfg(unix)]
#[path = "files/unix.rs"]
mod atomic;
#[cfg(not(unix))]
#[path = "files/other.rs"]
mod atomic;

/// Where a text came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Buffer { version: i32, dirty: bool },
    Disk,
}

/// A text as a tool sees it: own line ends, no BOM.
#[derive(Clone, Debug)]
pub struct Content {
    pub rope: Rope,
    pub source: Source,
    /// The mirror's revision for a buffer; `Revision(0)` from disk.
    pub revision: Revision,
    /// The disk file starts with a byte order mark.
    pub bom: bool,
}

impl Content {
    /// Lowercase hex SHA-256 of the text.
    pub fn hash(&self) -> String {
        rope_hash(&self.rope)
    }
}

/// Hash of a rope's text without building the string.
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

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("there is no such file")]
    Missing,
    #[error("it is a directory")]
    Directory,
    #[error("it is not a regular file")]
    Special,
    #[error("it has {bytes} bytes, more than the limit of {limit}")]
    TooLarge { bytes: u64, limit: u64 },
    #[error("it is not UTF-8 text")]
    NotText,
    #[error("it changed while it was read or written")]
    Changed,
    #[error("it lies outside the workspace's folders or was swapped for a link")]
    Escaped,
    /// INV-2: an open document is never written on disk.
    #[error("it is open in the editor, which alone may change it")]
    Open,
    /// Another process's editor has it open, and the user's unsaved text may be there.
    #[error("it is open in {0}: save and close it there, or ask there")]
    OpenElsewhere(String),
    /// A15: the other names might lie outside.
    #[error("it has {links} names (hard links), and replacing it would part them")]
    HardLinked { links: u64 },
    /// B06: never made writable silently.
    #[error("it is read-only")]
    ReadOnly,
    /// The lock on its folder is held for too long.
    #[error(
        "another process is replacing a file of the same folder and does not finish; try again"
    )]
    Busy,
    /// The editor changed a document that it never opened, so its text is not known.
    #[error("its text in the editor is not known ({0}); open it again in the editor")]
    OutOfSync(String),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// Files larger than this are not read into the mirror's tools.
pub const LIMIT: u64 = 32 * 1024 * 1024;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// The text at `located`: the open document's, else the file's.
pub fn read(workspace: &Workspace, located: &Located) -> Result<Content, FileError> {
    if let Some(document) = workspace.document_by_key(&located.key()) {
        if let (false, super::SyncState::OutOfSync(reason)) = (document.opened, &document.sync) {
            return Err(FileError::OutOfSync(reason.clone()));
        }
        return Ok(Content {
            source: Source::Buffer {
                version: document.version,
                dirty: workspace.dirty(&document),
            },
            bom: marked(located),
            revision: document.revision,
            rope: document.rope,
        });
    }
    on_disk(workspace, located)
}

/// The file's text on disk, whatever a buffer shows.
pub fn on_disk(workspace: &Workspace, located: &Located) -> Result<Content, FileError> {
    match located.kind {
        FileKind::Directory => return Err(FileError::Directory),
        FileKind::Special => return Err(FileError::Special),
        FileKind::File | FileKind::Missing => {}
    }
    let (root, relative) = base(workspace, located)?;
    let (rope, bom) = decode(bytes(&mut open_beneath(&root, &relative, false)?)?)?;
    Ok(Content {
        rope,
        source: Source::Disk,
        revision: Revision(0),
        bom,
    })
}

/// Replaces or creates a file on disk: temporary file in the same folder, same mode, fsync,
/// rename; refuses (`Changed`) when the present text's hash is not `expected` (`None`: the file
/// must not exist). Missing parent folders below the root are made. Keeps the BOM.
pub fn write(
    workspace: &Workspace,
    located: &Located,
    expected: Option<&str>,
    text: &Rope,
) -> Result<(), FileError> {
    let key = located.key();
    let closed = || {
        if workspace.document_by_key(&key).is_some() {
            return Err(FileError::Open);
        }
        match workspace.peers().and_then(|peers| peers.holder(&key)) {
            Some(card) => Err(FileError::OpenElsewhere(card.holder())),
            None => Ok(()),
        }
    };
    closed()?;
    let Some((index, _)) = &located.root else {
        return Err(FileError::Escaped);
    };
    let roots = workspace.roots();
    let root = roots.get(*index).ok_or(FileError::Escaped)?;
    // The roots may have changed since `located` was made (E13).
    let relative = located
        .path
        .strip_prefix(&root.path)
        .map_err(|_| FileError::Escaped)?;
    let job = atomic::Job {
        expected,
        text,
        still_closed: &closed,
        leftovers: workspace.peers().map(Peers::leftovers),
    };
    job.replace(&root.path, relative)
}

/// The bytes of a file on disk, at most `most` of them.
pub fn raw(workspace: &Workspace, located: &Located, most: u64) -> Result<Vec<u8>, FileError> {
    let mut file = opened(workspace, located)?;
    let length = file.metadata()?.len();
    if length > most {
        return Err(FileError::TooLarge {
            bytes: length,
            limit: most,
        });
    }
    bytes(&mut file)
}

/// How many bytes a file on disk has.
pub fn size(workspace: &Workspace, located: &Located) -> Result<u64, FileError> {
    Ok(opened(workspace, located)?.metadata()?.len())
}

fn opened(workspace: &Workspace, located: &Located) -> Result<File, FileError> {
    match located.kind {
        FileKind::Directory => return Err(FileError::Directory),
        FileKind::Special => return Err(FileError::Special),
        FileKind::File | FileKind::Missing => {}
    }
    let (root, relative) = base(workspace, located)?;
    open_beneath(&root, &relative, false)
}

/// The folder to open below and the path in it: the root's, or for places outside all roots
/// (policy allowed them) the file system's.
pub(super) fn base(
    workspace: &Workspace,
    located: &Located,
) -> Result<(PathBuf, PathBuf), FileError> {
    let roots = workspace.roots();
    if let Some((index, _)) = &located.root {
        let root = roots.get(*index).ok_or(FileError::Escaped)?;
        let relative = located
            .path
            .strip_prefix(&root.path)
            .map_err(|_| FileError::Escaped)?;
        return Ok((root.path.clone(), relative.to_owned()));
    }
    split(&located.path).ok_or(FileError::Missing)
}

/// The top of an absolute path's file system, and the rest.
pub(super) fn split(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let top = path.ancestors().last()?;
    if !path.is_absolute() {
        return None;
    }
    Some((top.to_owned(), path.strip_prefix(top).ok()?.to_owned()))
}

/// The whole file, which must stay as it is meanwhile.
pub(super) fn bytes(file: &mut File) -> Result<Vec<u8>, FileError> {
    let before = file.metadata()?;
    let too_large = |bytes| FileError::TooLarge {
        bytes,
        limit: LIMIT,
    };
    if before.len() > LIMIT {
        return Err(too_large(before.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(before.len()).unwrap_or(0));
    // Files of /proc say length 0; the limit holds for what they give.
    file.by_ref().take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        return Err(too_large(bytes.len() as u64));
    }
    if Stamp::of(&file.metadata()?) != Stamp::of(&before) {
        return Err(FileError::Changed);
    }
    Ok(bytes)
}

/// The text and whether a byte order mark stood before it.
pub(super) fn decode(bytes: Vec<u8>) -> Result<(Rope, bool), FileError> {
    let bom = bytes.starts_with(BOM);
    let text = if bom { &bytes[BOM.len()..] } else { &bytes };
    if text.contains(&0) {
        return Err(FileError::NotText);
    }
    let text = std::str::from_utf8(text).map_err(|_| FileError::NotText)?;
    Ok((Rope::from_str(text), bom))
}

/// The disk file of an open document starts with a byte order mark.
fn marked(located: &Located) -> bool {
    if located.kind != FileKind::File || !located.path.is_absolute() {
        return false;
    }
    let mut start = [0; BOM.len()];
    super::beneath::open_document(&located.path)
        .is_ok_and(|mut file| file.read_exact(&mut start).is_ok() && start == BOM)
}

#[cfg(all(test, unix))]
mod tests;
