//! Renaming, deleting, forking and exporting: also for sessions that are not open here. While
//! another process writes a session's log, nothing happens to it; it can be forked all the same.

use std::path::Path;

use super::{Sessions, log_failure, off_thread};
use crate::conversation::event::EnvelopeBody;
use crate::conversation::{Entry, Failure, FailureKind, Recorder as _, SessionId, TurnId};
use crate::knowledge::memory;
use crate::session::actor::{self, Command};
use crate::session::store::{Header, Loaded, Log};
use crate::session::{export, resume, store};

impl Sessions {
    pub async fn rename(&self, id: &SessionId, title: String) -> Result<(), Failure> {
        if let Ok(handle) = self.handle(id) {
            if !handle.writable {
                return Err(actor::read_only());
            }
            return handle.ask(|reply| Command::Rename(title, reply)).await;
        }
        let path = self.stored(id)?;
        let (log, loaded) = Log::open(&path).map_err(|error| log_failure(&path, &error))?;
        let log = log.ok_or_else(actor::read_only)?;
        let resumed = resume::resume(id, loaded.entries);
        log.record(settings(resumed, Some(title)));
        Ok(())
    }

    /// Closes the session if it is open and removes its log, those of its sub-agents, and what it
    /// remembered.
    pub async fn delete(&self, id: &SessionId) -> Result<(), Failure> {
        let path = self.stored(id)?;
        let open = self.handle(id).is_ok();
        if self.handle(id).is_ok_and(|handle| handle.writable) {
            self.close(id).await?;
        } else {
            // A log that cannot be read is nobody's: it may go.
            if let Ok((None, _)) = Log::open(&path) {
                return Err(actor::read_only());
            }
            if open {
                self.close(id).await?;
            }
        }
        std::fs::remove_file(&path).map_err(|error| log_failure(&path, &error.into()))?;
        self.delete_children(&path, id).await;
        if let Err(error) = memory::forget(&self.shared.env, id) {
            tracing::warn!("what session {id} remembered could not be removed: {error}");
        }
        Ok(())
    }

    /// Nobody but their parent names the sessions of sub-agents.
    async fn delete_children(&self, path: &Path, id: &SessionId) {
        let (beside, parent) = (path.to_owned(), id.clone());
        let found = tokio::task::spawn_blocking(move || store::children(&beside, &parent)).await;
        for (child, path) in found.unwrap_or_default() {
            if self.handle(&child).is_ok() {
                // Its end is its own; what cannot be closed is gone already.
                let _ = self.close(&child).await;
            }
            if let Err(error) = std::fs::remove_file(&path) {
                tracing::warn!("the log of sub-agent {child} could not be removed: {error}");
            }
        }
    }

    /// A new session with the conversation before `turn`; without one, with all of it but a turn
    /// that still runs. Files stay as they are, and edits stay the other session's.
    pub async fn fork(&self, id: &SessionId, turn: Option<TurnId>) -> Result<SessionId, Failure> {
        let path = self.stored(id)?;
        let Loaded {
            header, entries, ..
        } = off_thread(&path, store::read).await?;
        let turn = turn.or_else(|| running(&path, id, &entries));
        let end = match &turn {
            None => entries.len(),
            Some(turn) => begins(&entries, turn).ok_or_else(|| {
                Failure::new(
                    FailureKind::UnknownTurn,
                    format!("The session {id} has no turn {turn}."),
                    "interline/session/open lists its turns.",
                )
            })?,
        };
        let title = resume::resume(id, entries.clone()).title;
        let before = resume::resume(id, entries[..end].to_vec());
        let new = SessionId(self.shared.env.id("s"));
        let to = path.with_file_name(format!("{new}.jsonl"));
        let header = Header {
            session_id: new.clone(),
            version: store::VERSION,
            created_at: self.shared.env.timestamp().to_string(),
            program: concat!("interline ", env!("CARGO_PKG_VERSION")).to_owned(),
            // Who forks a sub-agent's session makes it one of its own.
            parent: None,
            ..header
        };
        let written = {
            let to = to.clone();
            let of = id.clone();
            let write = move || {
                let log = Log::create(&to, &header)?;
                for entry in entries.into_iter().take(end).filter(said) {
                    log.record(entry);
                }
                log.record(Entry::Fork { of, turn });
                log.record(settings(before, title.map(|it| format!("{it} (fork)"))));
                log.sync();
                Ok(())
            };
            tokio::task::spawn_blocking(write).await
        };
        written
            .unwrap_or_else(|error| Err(std::io::Error::other(error).into()))
            .map_err(|error| log_failure(&to, &error))?;
        let _one = self.opening.lock().await;
        self.resume(&to, &new).await?;
        Ok(new)
    }

    /// The session as a text; `format` is `markdown`.
    pub async fn export(&self, id: &SessionId, format: &str) -> Result<String, Failure> {
        if format != "markdown" {
            return Err(Failure::new(
                FailureKind::Invalid,
                format!("There is no format {format:?}."),
                "Use markdown.",
            ));
        }
        let path = self.stored(id)?;
        let loaded = off_thread(&path, store::read).await?;
        Ok(export::markdown(&resume::resume(id, loaded.entries)))
    }

    fn stored(&self, id: &SessionId) -> Result<std::path::PathBuf, Failure> {
        store::find(&self.folder(), id).ok_or_else(|| {
            Failure::new(
                FailureKind::UnknownSession,
                format!("There is no session {id}."),
                "interline/session/list shows the stored ones.",
            )
        })
    }
}

/// The settings under another title.
fn settings(resumed: resume::Resumed, title: Option<String>) -> Entry {
    Entry::Configure {
        model: resumed.model.name.unwrap_or_default(),
        mode: resumed.mode,
        layout: resumed.layout.unwrap_or_else(|| "default".to_owned()),
        title,
        agent: resumed.agent,
        detail: Some(resumed.detail.as_str().to_owned()),
        segments: resumed.segments,
        routed: resumed.model.routed,
    }
}

/// Where a turn begins.
fn begins(entries: &[Entry], turn: &TurnId) -> Option<usize> {
    entries.iter().position(|entry| {
        let Entry::Item { turn: id, body, .. } = entry else {
            return false;
        };
        id == turn && matches!(body, EnvelopeBody::Started { .. })
    })
}

/// The turn that some process runs now.
fn running(path: &Path, id: &SessionId, entries: &[Entry]) -> Option<TurnId> {
    let turn = resume::resume(id, entries.to_vec()).interrupted?;
    store::written(path).then_some(turn)
}

/// What was said goes into a fork; what was done to files is the other session's to take back.
fn said(entry: &Entry) -> bool {
    !matches!(
        entry,
        Entry::EditIntent { .. }
            | Entry::EditOutcome { .. }
            | Entry::Revert { .. }
            // It was paid for there.
            | Entry::Usage { .. }
            // What waits goes on waiting there.
            | Entry::Queued { .. }
            | Entry::Dequeued { .. }
    )
}
