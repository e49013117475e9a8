//! Forks a session: a new log with the conversation up to a turn. A session that another process
//! writes can be forked too.

use std::path::{Path, PathBuf};

use super::Sessions;
use super::storage::off_thread;
use super::stored::settings;
use crate::conversation::event::EnvelopeBody;
use crate::conversation::{Entry, Failure, FailureKind, Recorder as _, SessionId, TurnId};
use crate::session::resume::Replay;
use crate::session::store::{Header, Log, StoreError};
use crate::session::{checkpoint, resume, store};

impl Sessions {
    /// A new session with the conversation before `turn`; without one, with all of it except a
    /// running turn. Files stay unchanged, and edits belong to the other session.
    pub async fn fork(&self, id: &SessionId, turn: Option<TurnId>) -> Result<SessionId, Failure> {
        let path = self.stored(id)?;
        let new = SessionId(self.shared.env.id("s"));
        let to = path.with_file_name(format!("{new}.jsonl"));
        let now = self.shared.env.timestamp().to_string();
        let copy = Copy {
            of: id.clone(),
            new: new.clone(),
            turn,
            to: to.clone(),
            now,
        };
        if off_thread(&path, move |path| copy.write(path))
            .await?
            .is_err()
        {
            return Err(Failure::new(
                FailureKind::UnknownTurn,
                "The session has no such turn.",
                "Name a turn from the session's list.",
            ));
        }
        let _one = self.opening.lock().await;
        self.resume(&to, &new, None).await?;
        Ok(new)
    }
}

/// The state of a fork being written.
struct Copy {
    of: SessionId,
    new: SessionId,
    /// The turn before which it ends.
    turn: Option<TurnId>,
    to: PathBuf,
    now: String,
}

impl Copy {
    /// Writes it from the log at `path`; an inner `Err`: that log has no such turn.
    fn write(self, path: &Path) -> Result<Result<(), TurnId>, StoreError> {
        let turn = self.turn.clone().or_else(|| running(path));
        let loaded = store::read(path)?;
        let end = match &turn {
            None => loaded.entries.len(),
            Some(turn) => match begins(&loaded.entries, turn) {
                Some(at) => at,
                None => return Ok(Err(turn.clone())),
            },
        };
        let title = resume::title(&loaded.entries).map(|it| format!("{it} (fork)"));
        let header = Header {
            session_id: self.new,
            version: store::VERSION,
            created_at: self.now,
            program: store::PROGRAM.to_owned(),
            // A fork of a sub-agent's session is an ordinary session.
            parent: None,
            ..loaded.header
        };
        let log = Log::create(&self.to, &header)?;
        let mut before = Replay::default();
        for entry in loaded.entries.into_iter().take(end) {
            if fork_keeps(&entry) {
                log.record(entry.clone());
            }
            before.apply(entry);
        }
        log.record(Entry::Fork { of: self.of, turn });
        log.record(settings(before.finish(), title));
        log.sync();
        Ok(Ok(()))
    }
}

/// Whether a turn begins here.
fn begins(entries: &[Entry], turn: &TurnId) -> Option<usize> {
    entries.iter().position(|entry| {
        let Entry::Item { turn: id, body, .. } = entry else {
            return false;
        };
        id == turn && matches!(body, EnvelopeBody::Started { .. })
    })
}

/// The turn that some process runs now.
fn running(path: &Path) -> Option<TurnId> {
    let turn = checkpoint::recall(path).ok()?.resumed.interrupted?;
    store::written(path).then_some(turn)
}

/// Messages go into a fork; file changes can only be reverted in the other session.
fn fork_keeps(entry: &Entry) -> bool {
    !matches!(
        entry,
        Entry::EditIntent { .. }
            | Entry::EditsTogether { .. }
            | Entry::EditOutcome { .. }
            | Entry::Revert { .. }
            | Entry::Review { .. }
            // It was paid for there.
            | Entry::Usage { .. }
            // Waiting prompts keep waiting there.
            | Entry::Queued { .. }
            | Entry::Dequeued { .. }
            | Entry::ClientTurn { .. }
            | Entry::Partial { .. }
            // It refers to the other log's bytes.
            | Entry::Lost { .. }
            | Entry::Vouched { .. }
    )
}
