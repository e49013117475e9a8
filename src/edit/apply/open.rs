//! Edits of open documents: wait for a quiet gap, place the hunks in the current text, send, and
//! retry after a refusal while the text keeps changing.

use std::sync::Arc;

use ropey::Rope;
use tokio::time::Instant;

use super::finish::{finish, shown};
use super::flight::End;
use super::job::{EditJob, Outcome};
use super::judge::{Verdict, judge};
use super::place::{rebased_hunks, untouched_hunks};
use super::sent_edit::Sent;
use super::{disk, wait};
use crate::edit::lanes::Lane;
use crate::edit::rebase::Conflict;
use crate::workspace::document::text_before;
use crate::workspace::{Change, Document, SyncState};

/// How often an edit is sent at most, including the first time.
const TRIES: usize = 3;

/// An edit placed in the current text.
pub(super) struct Placed {
    sent: Sent,
    document: Document,
    rebased: bool,
}

pub(super) async fn edit(job: &Arc<EditJob>, lane: &Arc<Lane>) -> Outcome {
    let mut refused: Vec<Sent> = Vec::new();
    let mut reason = String::new();
    loop {
        if let Some(last) = refused.last() {
            wait::change_after(job, last).await;
        }
        let quiet = wait::pause_in_typing(job, !refused.is_empty()).await;
        // A refused edit may still have landed: the refusal alone proves nothing.
        if let Some(outcome) = landed_late(job, &refused) {
            return outcome;
        }
        let cancelled = !refused.is_empty() && job.cancel.is_cancelled();
        let over = refused.len() == TRIES || is_unchanged(job, &refused) || cancelled;
        if let Some(last) = refused.last().filter(|_| over) {
            return match may_have_landed(job, &refused) {
                true => job.unknown(&last.before),
                false => refusal(job, &refused, reason),
            };
        }
        if let Err(outcome) = quiet {
            return outcome;
        }
        if job.document().is_none() {
            return disk::conflict(job).await;
        }
        let placed = match (place_plan(job), refused.last()) {
            // An editor can apply an edit that it refuses.
            (Ok(_) | Err(Outcome::Conflict { .. }), Some(last))
                if may_have_landed(job, &refused) =>
            {
                return job.unknown(&last.before);
            }
            (Ok(placed), _) => placed,
            (Err(outcome), _) => return outcome,
        };
        if placed.sent.hunks.is_empty() {
            return Outcome::Applied(job.landed(&placed.sent, Some(&placed.document)));
        }
        let mut flight = job.launch(placed.sent, Some(&placed.document));
        match flight.land(Some(Instant::now() + job.deadline)).await {
            End::Refused {
                reason: why,
                again: true,
            } => {
                job.record_present("refused", &flight.sent.before);
                reason = why;
                refused.push(flight.sent);
            }
            end => return finish(job, lane, flight, end, placed.rebased).await,
        }
    }
}

fn landed_late(job: &EditJob, refused: &[Sent]) -> Option<Outcome> {
    let document = job.document()?;
    refused.iter().find_map(|sent| {
        let changes = job
            .workspace
            .changes_since(&job.located.uri, sent.revision?);
        match judge(sent, &document.rope, document.revision, changes.as_deref()) {
            Verdict::Shown { from, to, .. } => Some(shown(job, sent, (from, to), true)),
            _ => None,
        }
    })
}

/// Whether one of the refused edits may be in the text.
fn may_have_landed(job: &EditJob, refused: &[Sent]) -> bool {
    let Some(document) = job.document() else {
        return false;
    };
    refused.iter().any(|sent| {
        let changes = sent
            .revision
            .and_then(|revision| job.workspace.changes_since(&job.located.uri, revision));
        let verdict = judge(sent, &document.rope, document.revision, changes.as_deref());
        matches!(verdict, Verdict::Unknown | Verdict::Elsewhere { .. })
    })
}

/// Whether the text is still the one for which the client refused the edit: it would refuse again.
fn is_unchanged(job: &EditJob, refused: &[Sent]) -> bool {
    refused
        .last()
        .is_some_and(|last| job.document().map(|document| document.revision) == last.revision)
}

fn refusal(job: &EditJob, refused: &[Sent], reason: String) -> Outcome {
    tracing::debug!(uri = %job.located.uri, tries = refused.len(), "edit refused: {reason}");
    Outcome::Refused { reason }
}

/// The changes since the client opened the file with the text that the plan was made on.
fn since_base_was_opened(job: &EditJob, document: &Document) -> Option<Vec<Change>> {
    let (_, mut changes) = job.workspace.changes_since_open(&job.located.uri)?;
    changes.retain(|change| change.revision <= document.revision);
    (text_before(&document.rope, &changes) == job.plan.base).then_some(changes)
}

/// Places the plan in the current text. Nothing is sent unless every byte that a hunk replaces is
/// the one that the model saw.
pub(super) fn place_plan(job: &EditJob) -> Result<Placed, Outcome> {
    if job.cancel.is_cancelled() {
        return Err(Outcome::Cancelled);
    }
    let Some(document) = job.document() else {
        return Err(job.conflict(Conflict::Forgotten, Rope::new()));
    };
    if let SyncState::OutOfSync(why) = &document.sync {
        return Err(Outcome::Blocked {
            reason: format!(
                "Interline's copy of the document is out of sync ({why}); reopen it in the editor"
            ),
        });
    }
    let changes = match job.base_revision {
        Some(revision) => job.workspace.changes_since(&job.located.uri, revision),
        None => since_base_was_opened(job, &document),
    };
    let placed = match job.strict {
        true => untouched_hunks(&job.plan, &document.rope, changes.as_deref()),
        false => rebased_hunks(&job.plan, &document.rope, changes.as_deref()),
    };
    let (hunks, rebased) =
        placed.map_err(|conflict| job.conflict(conflict, document.rope.clone()))?;
    Ok(Placed {
        sent: Sent::new(document.rope.clone(), Some(document.revision), hunks),
        document,
        rebased,
    })
}
