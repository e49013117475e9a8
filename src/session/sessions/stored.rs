//! Renaming and deleting: also for sessions that are not open here. While another process writes
//! a session's log, nothing happens to it.

use super::{Sessions, log_failure};
use crate::conversation::{Entry, Failure, FailureKind, Recorder as _, SessionId};
use crate::knowledge::memory;
use crate::session::actor::{self, Command};
use crate::session::store::Log;
use crate::session::{resume, store};

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
        log.record(Entry::Configure {
            model: resumed.model.unwrap_or_default(),
            mode: resumed.mode,
            layout: resumed.layout.unwrap_or_else(|| "default".to_owned()),
            title: Some(title),
            agent: resumed.agent,
            detail: Some(resumed.detail.as_str().to_owned()),
            segments: resumed.segments,
        });
        Ok(())
    }

    /// Closes the session if it is open and removes its log and what it remembered.
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
        if let Err(error) = memory::forget(&self.shared.env, id) {
            tracing::warn!("what session {id} remembered could not be removed: {error}");
        }
        Ok(())
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
