//! Reverting a turn's changes: the actor checks and hands over; the work runs on a task.

use tokio::sync::OwnedMutexGuard;

use super::failures::busy;
use super::{Actor, Reply};
use crate::agent::SessionState;
use crate::conversation::{Failure, FailureKind};
use crate::session::api::{RevertTurn, RevertedFile, RevertedTurn};
use crate::session::revert::{self, From};

/// The next message tells the model which files were reverted.
fn note(state: &SessionState, reverted: &RevertedTurn) {
    let changed = |file: &&RevertedFile| file.added > 0 || file.removed > 0;
    state.with_conversation(|conversation| {
        for file in reverted.files.iter().filter(changed) {
            if !conversation.reverted.contains(&file.uri) {
                conversation.reverted.push(file.uri.clone());
            }
        }
    });
}

impl Actor {
    pub fn revert(&self, ask: RevertTurn, reply: Reply<RevertedTurn>) {
        let (from, one) = match self.begin_revert(&ask) {
            Ok(begun) => begun,
            Err(failure) => {
                let _ = reply.send(Err(failure));
                return;
            }
        };
        let state = self.state.clone();
        tokio::spawn(async move {
            let _one = one;
            let preview = ask.preview;
            let outcome = revert::run(from, ask).await;
            if let (Ok(reverted), false) = (&outcome, preview) {
                note(&state, reverted);
            }
            let _ = reply.send(outcome);
        });
    }

    /// A second revert would hit the turn before, which the user did not ask for.
    fn begin_revert(
        &self,
        ask: &RevertTurn,
    ) -> Result<(From, Option<OwnedMutexGuard<()>>), Failure> {
        let from = self.revertible(ask)?;
        if ask.preview {
            return Ok((from, None));
        }
        let one = self.reverting.clone().try_lock_owned();
        let one = one.map_err(|_| {
            Failure::new(
                FailureKind::Busy,
                "A revert is already running in this session.",
                "Wait for it to finish.",
            )
        })?;
        Ok((from, Some(one)))
    }

    fn revertible(&self, ask: &RevertTurn) -> Result<From, Failure> {
        if ask.hunk_ids.is_some() {
            return Err(Failure::new(
                FailureKind::Unsupported,
                "Single hunks cannot be reverted yet.",
                "Name the turn, and files with `uris`.",
            ));
        }
        let log = self.parts.log.clone().ok_or_else(super::read_only)?;
        if self.running.is_some() && !ask.preview {
            return Err(busy("Wait until it ends or cancel it, then revert."));
        }
        Ok(From {
            shared: self.parts.shared.clone(),
            host: self.host(),
            session: self.parts.id.clone(),
            cwd: self.parts.cwd.clone(),
            closed_files: self.settings().config.edits.closed_files,
            log,
        })
    }
}
