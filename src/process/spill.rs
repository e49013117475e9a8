//! The private file for a command's output that is too long for the model. If it cannot be
//! written, the result names no file; the command is never stopped for it.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::env::private_folder;

/// Most bytes of such a file: below the largest file that `read` opens.
pub const SPILL_LIMIT: u64 = 16 * 1024 * 1024;

/// The state of the file.
#[derive(Debug, Default)]
pub enum Spill {
    #[default]
    None,
    Open {
        file: File,
        path: PathBuf,
        left: u64,
    },
    /// The file could not be created or written, so the result names none.
    Failed,
}

impl Spill {
    /// Creates the file in `folder`, once.
    pub fn open(&mut self, folder: &Path) {
        if !matches!(self, Self::None) {
            return;
        }
        *self = match create_private(folder) {
            Ok((file, path)) => Self::Open {
                file,
                path,
                left: SPILL_LIMIT,
            },
            Err(error) => {
                tracing::warn!(%error, folder = %folder.display(), "cannot create the file for a command's long output");
                Self::Failed
            }
        };
    }

    /// Appends UTF-8 as long as there is room.
    pub fn write(&mut self, bytes: &[u8]) {
        let Self::Open { file, left, .. } = self else {
            return;
        };
        let cut = bytes
            .len()
            .min(usize::try_from(*left).unwrap_or(usize::MAX));
        // Ends on a character, so that the file stays readable text.
        let cut = (0..=cut)
            .rev()
            .find(|&at| bytes.get(at).is_none_or(|byte| byte & 0xc0 != 0x80))
            .unwrap_or(0);
        *left = if cut < bytes.len() {
            0
        } else {
            *left - cut as u64
        };
        if let Err(error) = file.write_all(&bytes[..cut]) {
            tracing::warn!(%error, "cannot write a command's long output");
            *self = Self::Failed;
        }
    }

    /// The file, if there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Open { path, .. } => Some(path),
            Self::None | Self::Failed => None,
        }
    }

    /// The file, if it holds everything that was written to it.
    pub fn complete_path(&self) -> Option<&Path> {
        match self {
            Self::Open { path, left, .. } if *left > 0 => Some(path),
            _ => None,
        }
    }
}

/// A new 0600 file with a random name in `folder`, which is created as 0700.
fn create_private(folder: &Path) -> std::io::Result<(File, PathBuf)> {
    private_folder(folder)?;
    // tempfile creates files as 0600, with O_EXCL and a random name.
    let file = tempfile::Builder::new()
        .prefix("out-")
        .suffix(".txt")
        .rand_bytes(16)
        .tempfile_in(folder)?;
    Ok(file.keep()?)
}
