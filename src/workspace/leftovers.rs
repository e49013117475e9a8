//! Temporary files next to the user's own. Each is recorded in the runtime folder while it exists,
//! so that the next process can remove those that a killed one left behind. Nothing else is ever
//! removed.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::env::private_folder;
use crate::process;

/// Most bytes of a note.
const NOTE: u64 = 64 * 1024;

/// The name of a temporary file of this process.
pub fn name(number: u64) -> String {
    temporary_name(std::process::id(), number)
}

fn temporary_name(process: u32, number: u64) -> String {
    format!(".interline-{process}-{number}.tmp")
}

/// Where the notes are.
#[derive(Clone, Debug)]
pub struct Leftovers {
    folder: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Note {
    process: u32,
    /// When the process started, in the system's own unit.
    started: Option<u64>,
    number: u64,
    /// The file's folder.
    folder: PathBuf,
}

/// The note of a file. Drop it when the file is gone.
pub struct Noted(PathBuf);

impl Drop for Noted {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Leftovers {
    /// `runtime` is [`crate::env::Dirs::runtime`].
    pub fn new(runtime: &Path) -> Self {
        Self {
            folder: runtime.join("temporary"),
        }
    }

    /// Records the file [`name`]`(number)` in `folder`, before it is created.
    pub fn note(&self, folder: &Path, number: u64) -> std::io::Result<Noted> {
        let process = std::process::id();
        let note = Note {
            process,
            started: i32::try_from(process).ok().and_then(process::start_time),
            number,
            folder: folder.to_owned(),
        };
        private_folder(&self.folder)?;
        let path = self.folder.join(format!("{process}-{number}.json"));
        std::fs::write(&path, serde_json::to_vec(&note)?)?;
        Ok(Noted(path))
    }

    /// Removes the files recorded by processes that are no longer running.
    pub fn sweep(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else {
            return;
        };
        for entry in entries.flatten() {
            let place = entry.path();
            let Some(note) = read(&place).filter(dead) else {
                continue;
            };
            let file = note.folder.join(temporary_name(note.process, note.number));
            // Anything but a regular file was put there by someone else.
            if std::fs::symlink_metadata(&file).is_ok_and(|data| data.is_file()) {
                let removed = std::fs::remove_file(&file);
                tracing::info!(path = %file.display(), ?removed, "a killed process left this file behind");
            }
            let _ = std::fs::remove_file(&place);
        }
    }
}

fn read(path: &Path) -> Option<Note> {
    let parent = path.parent()?;
    let name = Path::new(path.file_name()?);
    let mut file: File = super::open::open_beneath(parent, name).ok()?;
    serde_json::from_slice(&super::open::bounded(&mut file, NOTE).ok()?).ok()
}

fn dead(note: &Note) -> bool {
    i32::try_from(note.process).is_ok_and(|process| !lives(process, note.started))
}

/// Whether the process that `started` then is running, and not another one with its id.
pub(super) fn lives(process: i32, started: Option<u64>) -> bool {
    process::is_running(process) && (started.is_none() || started == process::start_time(process))
}

#[cfg(test)]
mod tests;
