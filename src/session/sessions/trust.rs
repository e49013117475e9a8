//! The user's decisions about folders and active files, as a client delivers them.

use std::path::{Path, PathBuf};

use super::Sessions;
use crate::conversation::{Failure, FailureKind};
use crate::knowledge::control_files::{self, Text};
use crate::session::api::{SetTrust, TrustDecision};
use crate::workspace::Uri;

impl Sessions {
    /// Stores the decision. A file is trusted by the hash of the text that the user saw: if the
    /// text has changed, nothing is stored.
    pub fn set_trust(&self, change: SetTrust) -> Result<(), Failure> {
        let trusted = change.decision == TrustDecision::Trust;
        let store = &self.shared.trust;
        let outcome = match (&change.folder, &change.file, &change.hash) {
            (Some(folder), None, _) => store.set_folder(&path_of(folder)?, trusted),
            (None, Some(file), _) if !trusted => store.forget_file(&path_of(file)?),
            (None, Some(file), Some(hash)) => {
                let path = path_of(file)?;
                let text = self.seen(&path, &hash.to_ascii_lowercase())?;
                store.trust_text(&text.path, &text.text).map(|_| ())
            }
            _ => {
                return Err(Failure::invalid(
                    "A trust decision needs a folder, or a file and the hash of its content.",
                    "For example {\"folder\": \"/path\", \"decision\": \"trust\"}.",
                ));
            }
        };
        outcome.map_err(|error| {
            Failure::invalid(
                format!("The decision could not be stored: {error}."),
                "Check that the state folder can be written.",
            )
        })
    }

    /// The file's text with that hash: the buffer's or the disk's.
    fn seen(&self, path: &Path, hash: &str) -> Result<Text, Failure> {
        let unreadable = |reason: String| {
            Failure::invalid(
                format!("The file cannot be trusted: {reason}."),
                "Name a text file of at most 1 MiB, and the SHA-256 of its content.",
            )
        };
        let buffer = self.shared.workspace.root_for(path).and_then(|root| {
            control_files::read(&self.shared.workspace, &root.path, path)
                .ok()
                .flatten()
        });
        if let Some(text) = buffer.filter(|text| text.hash == hash) {
            return Ok(text);
        }
        let text = control_files::read_disk(path).map_err(unreadable)?;
        if text.hash == hash {
            return Ok(text);
        }
        Err(Failure::new(
            FailureKind::Stale,
            "The file changed since it was shown; the decision was not stored.",
            "Review the file again and decide then.",
        ))
    }
}

fn path_of(text: &str) -> Result<PathBuf, Failure> {
    let path = if text.contains("://") {
        Uri::new(text).path()
    } else {
        Some(PathBuf::from(text))
    };
    path.filter(|path| path.is_absolute()).ok_or_else(|| {
        Failure::invalid(
            "That is no path on this machine.",
            "Use an absolute path or a file: URI.",
        )
    })
}
