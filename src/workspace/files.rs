//! Reading files and, for hosts without buffers, writing them: the open buffer first, the disk
//! second (INV-2). Every path goes through `beneath`, so no link is followed here.

use std::fs::File;
use std::io::Read as _;

use ropey::Rope;

use super::beneath::base;
use super::content::{BOM, bytes, decode};
pub use super::content::{Content, LIMIT, Source, rope_hash};
use super::open::open_beneath;
use super::peers::Peers;
use super::{FileError, FileKind, Located, Revision, Workspace};

#[cfg(unix)]
#[path = "files/unix.rs"]
mod atomic;
#[cfg(not(unix))]
#[path = "files/other.rs"]
mod atomic;

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

/// The file's text on disk, even if a buffer differs from it.
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
/// rename. Fails with `Changed` if the hash of the current text is not `expected` (`None`: the
/// file must not exist). Creates missing parent folders below the root. Keeps the byte order mark.
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

/// The bytes of a file on disk; an error if there are more than `most`.
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

/// The size of a file on disk, in bytes.
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

/// Whether the file of an open document starts with a byte order mark.
fn marked(located: &Located) -> bool {
    if located.kind != FileKind::File || !located.path.is_absolute() {
        return false;
    }
    let mut start = [0; BOM.len()];
    super::open::open_document(&located.path)
        .is_ok_and(|mut file| file.read_exact(&mut start).is_ok() && start == BOM)
}

#[cfg(all(test, unix))]
mod tests;
