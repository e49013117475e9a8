//! Reverting and reviewing changes: the actor checks and hands over; the work runs on a task.

use tokio::sync::OwnedMutexGuard;

use super::failures::busy;
use super::{Actor, Reply};
use crate::agent::SessionState;
use crate::conversation::{Failure, FailureKind};
use crate::env::tasks;
use crate::session::api::{
    DecideHunks, DecidedHunks, ListHunks, RevertTurn, RevertedFile, RevertedTurn,
};
use crate::session::revert::{self, From};
use crate::session::review::{self, ReviewedFile};
use crate::workspace::Formatted;

/// The next message tells the model which files were reverted.
fn note(state: &SessionState, files: &[&RevertedFile]) {
    state.with_conversation(|conversation| {
        for file in files {
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
        tasks::spawn(async move {
            let _one = one;
            let outcome = revert::run(&from, &ask).await;
            if let (Ok(reverted), false) = (&outcome, ask.preview) {
                let changed = |file: &&RevertedFile| file.added > 0 || file.removed > 0;
                let files: Vec<&RevertedFile> = reverted.files.iter().filter(changed).collect();
                note(&state, &files);
                let uris = files.iter().map(|file| file.uri.clone());
                from.host.review_changed(uris.collect());
            }
            let _ = reply.send(outcome);
        });
    }

    /// What is left of the session's changes.
    pub fn review(&self, ask: ListHunks, reply: Reply<Vec<ReviewedFile>>) {
        let from = self.edits();
        tasks::spawn(async move {
            let listed = match from {
                Ok(from) => review::list(&from, &ask).await,
                Err(failure) => Err(failure),
            };
            let _ = reply.send(listed);
        });
    }

    /// Keeps, rejects or amends changes, also while a turn runs.
    pub fn decide(&self, ask: DecideHunks, reply: Reply<DecidedHunks>) {
        let (from, state) = (self.edits(), self.state.clone());
        let one = self.reverting.clone();
        tasks::spawn(async move {
            let _one = one.lock_owned().await;
            let decided = match from {
                Ok(from) => decide(&from, &state, &ask).await,
                Err(failure) => Err(failure),
            };
            let _ = reply.send(decided);
        });
    }

    /// A formatter changed a document when it was saved. If the agent changed it before, the log
    /// says so: the agent's changes there are still its own.
    pub fn formatted(&self, formatted: Formatted) {
        let Ok(from) = self.edits() else {
            return;
        };
        tasks::spawn(async move { review::formatted::record(&from, &formatted).await });
    }

    /// A second revert would hit the turn before, which the user did not ask for.
    fn begin_revert(
        &self,
        ask: &RevertTurn,
    ) -> Result<(From, Option<OwnedMutexGuard<()>>), Failure> {
        let from = self.edits()?;
        if ask.preview {
            return Ok((from, None));
        }
        // A single hunk may be rejected at any time.
        if self.running.is_some() && ask.hunk_ids.is_none() {
            return Err(busy("Wait until it ends or cancel it, then revert."));
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

    /// What reverts and reviews work with.
    fn edits(&self) -> Result<From, Failure> {
        Ok(From {
            shared: self.parts.shared.clone(),
            host: self.host(),
            session: self.parts.id.clone(),
            cwd: self.parts.cwd.clone(),
            closed_files: self.settings().config.edits.closed_files,
            log: self.parts.log.clone().ok_or_else(super::read_only)?,
            journal: self.journal.clone(),
            proposals: self.state.proposals.clone(),
        })
    }
}

async fn decide(
    from: &From,
    state: &SessionState,
    ask: &DecideHunks,
) -> Result<DecidedHunks, Failure> {
    let (answer, decided, proposed) = review::decide(from, &ask.decisions).await?;
    let mut uris: Vec<String> = decided.iter().map(|it| it.uri.clone()).collect();
    uris.extend(proposed);
    uris.sort();
    uris.dedup();
    state.with_conversation(|conversation| conversation.review(decided));
    from.host.review_changed(uris);
    Ok(answer)
}
