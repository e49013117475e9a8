//! Reading files and, for hosts without buffers, writing them: the open buffer first, the disk
//! second (INV-2). Every path goes through `beneath`, so no link is followed here.

mod replace;

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;

use ropey::Rope;

use super::beneath::base;
pub use super::content::{Content, LIMIT, Source, rope_hash};
use super::content::{bytes, decode};
use super::open::open_beneath;
use super::peers::Peers;
use super::text::BOM;
use super::{FileError, FileKind, Located, Revision, Workspace};
use crate::conversation::FileShape;

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
            bom: has_bom(located),
            revision: document.revision,
            rope: document.rope,
        });
    }
    on_disk(workspace, located)
}

/// The file's text on disk, even if a buffer differs from it.
pub fn on_disk(workspace: &Workspace, located: &Located) -> Result<Content, FileError> {
    let (rope, bom) = decode(bytes(&mut open(workspace, located)?, LIMIT)?)?;
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
    with_job(workspace, located, expected, text, |job| {
        let (root, relative) = base(workspace, located)?;
        job.replace(&root, &relative)
    })
}

/// Creates a file on disk with this shape.
pub fn create(
    workspace: &Workspace,
    located: &Located,
    text: &Rope,
    shape: FileShape,
) -> Result<(), FileError> {
    with_job(workspace, located, None, text, |job| {
        let (root, relative) = base(workspace, located)?;
        let shape = Some(shape);
        replace::Job { shape, ..*job }.replace(&root, &relative)
    })
}

/// The shape of the file of `text`, if an editor may create such a file otherwise: one with other
/// permissions than a new file has, with a byte order mark, or with carriage returns. `None` also
/// for files that cannot be read or written beneath a root.
pub fn shape(workspace: &Workspace, located: &Located, text: &Rope) -> Option<FileShape> {
    located.root.as_ref()?;
    let mut file = open(workspace, located).ok()?;
    let mode = file.metadata().ok()?.permissions().mode() & 0o777;
    let mut start = [0; BOM.len()];
    let bom = file.read_exact(&mut start).is_ok() && start == BOM;
    let usual = matches!(mode, 0o644 | 0o664) && !bom && !text.chars().any(|it| it == '\r');
    (!usual).then_some(FileShape { mode, bom })
}

/// Runs `work` on a job for a file below a root that is open nowhere.
fn with_job(
    workspace: &Workspace,
    located: &Located,
    expected: Option<&str>,
    text: &Rope,
    work: impl FnOnce(&replace::Job<'_>) -> Result<(), FileError>,
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
    if located.root.is_none() {
        return Err(FileError::Escaped);
    }
    work(&replace::Job {
        expected,
        text,
        shape: None,
        still_closed: &closed,
        leftovers: workspace.peers().map(Peers::leftovers),
    })
}

/// Removes a file on disk. Fails with `Changed` if the hash of its text is not `expected`.
pub fn remove(workspace: &Workspace, located: &Located, expected: &str) -> Result<(), FileError> {
    with_job(workspace, located, Some(expected), &Rope::new(), |job| {
        let (root, relative) = base(workspace, located)?;
        job.remove(&root, &relative)
    })
}

/// The bytes of a file on disk; an error if there are more than `most`.
pub fn read_bytes(
    workspace: &Workspace,
    located: &Located,
    most: u64,
) -> Result<Vec<u8>, FileError> {
    bytes(&mut open(workspace, located)?, most.min(LIMIT))
}

/// The size of a file on disk, in bytes.
pub fn size(workspace: &Workspace, located: &Located) -> Result<u64, FileError> {
    Ok(open(workspace, located)?.metadata()?.len())
}

fn open(workspace: &Workspace, located: &Located) -> Result<File, FileError> {
    match located.kind {
        FileKind::Directory => return Err(FileError::Directory),
        FileKind::Special => return Err(FileError::Special),
        FileKind::File | FileKind::Missing => {}
    }
    let (root, relative) = base(workspace, located)?;
    open_beneath(&root, &relative)
}

/// Whether the file of an open document starts with a byte order mark.
fn has_bom(located: &Located) -> bool {
    if located.kind != FileKind::File || !located.path.is_absolute() {
        return false;
    }
    let mut start = [0; BOM.len()];
    super::open::open_document(&located.path)
        .is_ok_and(|mut file| file.read_exact(&mut start).is_ok() && start == BOM)
}

#[cfg(test)]
mod tests;
