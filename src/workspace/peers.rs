//! The registry of processes: each lists the documents that its editor has open, so that no other
//! process writes such a file behind that editor's back, and the roots below which other processes
//! may read and edit these documents through its socket. One file and one socket per process, with
//! mode 0600 in a folder with mode 0700. Those of dead processes are removed.

mod socket;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Document;
use super::leftovers::{Leftovers, lives};
use crate::env::write_private;
use crate::process;

pub use socket::Listener;

/// This process's place in the registry.
#[derive(Clone, Debug)]
pub struct Peers {
    folder: PathBuf,
    process: i32,
    leftovers: Leftovers,
}

/// What one process publishes to the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Card {
    pub process: i32,
    /// When it started, in the system's own unit: another process may get its id later.
    pub started: Option<u64>,
    pub editor: String,
    pub documents: Vec<OpenDocument>,
    /// The folders (canonical) of the documents that its socket serves; empty without a socket.
    pub roots: Vec<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenDocument {
    pub uri: String,
    /// [`Document::key`]: the canonical path of a file.
    pub key: String,
    pub dirty: bool,
}

impl OpenDocument {
    pub fn new(document: &Document, dirty: bool) -> Self {
        Self {
            uri: document.uri.to_string(),
            key: document.key.clone(),
            dirty,
        }
    }
}

impl Card {
    /// The editor and the process, for messages.
    pub fn holder(&self) -> String {
        let editor = match self.editor.as_str() {
            "" => "an editor",
            name => name,
        };
        format!("{editor} (its Interline is process {})", self.process)
    }

    /// Whether it lists the document with this key as open.
    pub fn lists(&self, key: &str) -> bool {
        self.documents.iter().any(|document| document.key == key)
    }
}

impl Peers {
    /// `runtime` is [`crate::env::Dirs::runtime`].
    pub fn new(runtime: &Path) -> Self {
        Self {
            folder: runtime.join("open"),
            process: i32::try_from(std::process::id()).unwrap_or(0),
            leftovers: Leftovers::new(runtime),
        }
    }

    /// The temporary files of all processes.
    pub fn leftovers(&self) -> &Leftovers {
        &self.leftovers
    }

    /// Replaces this process's card; without documents it is removed. `roots`: as in [`Card`].
    pub fn publish(
        &self,
        editor: &str,
        roots: Vec<PathBuf>,
        documents: Vec<OpenDocument>,
    ) -> std::io::Result<()> {
        if documents.is_empty() {
            let _ = std::fs::remove_file(self.file(self.process));
            return Ok(());
        }
        let card = Card {
            process: self.process,
            started: process::start_time(self.process),
            editor: editor.to_owned(),
            documents,
            roots,
        };
        write_private(&self.file(self.process), [&*serde_json::to_vec(&card)?])
    }

    /// Removes this process's card and socket.
    pub fn leave(&self) {
        self.remove(self.process);
    }

    fn remove(&self, process: i32) {
        for file in [self.file(process), self.socket(process)] {
            let _ = std::fs::remove_file(file);
        }
    }

    /// Another process whose editor has the document open.
    pub fn holder(&self, key: &str) -> Option<Card> {
        self.others().into_iter().find(|card| card.lists(key))
    }

    /// The cards of the other running processes.
    pub fn others(&self) -> Vec<Card> {
        let Ok(entries) = std::fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        entries
            .flatten()
            .filter_map(|entry| {
                let path = entry.path();
                let name = path.file_name()?.to_str()?.strip_suffix(".json")?;
                let process: i32 = name.parse().ok()?;
                if process == self.process {
                    return None;
                }
                let card: Card = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
                let lives = lives(process, card.started);
                if !lives {
                    self.remove(process);
                }
                lives.then_some(card)
            })
            .collect()
    }

    fn file(&self, process: i32) -> PathBuf {
        self.folder.join(format!("{process}.json"))
    }
}

#[cfg(test)]
mod tests;
