//! Edits of open documents: quiet gap, place in the present text, send, and again after a
//! refusal while the text moves on.

use std::sync::Arc;
use std::time::Duration;

use ropey::Rope;
use tokio::time::Instant;

use super::flight::{End, Flight};
use super::judge::{Sent, Verdict, inverse, judge};
use super::{EditJob, Landed, Outcome, settle};
use crate::edit::lanes::{Lane, LaneState};
use crate::edit::rebase::{Conflict, rebase_words};
use crate::edit::{Hunk, Plan, matching};
use crate::host::Fidelity;
use crate::workspace::{Author, Change, Document, Revision, SyncState};

/// Sends in all, the first included.
const TRIES: usize = 3;

/// How long the call waits for the user to pause (INV-4).
const PATIENCE: Duration = Duration::from_secs(15);

/// After a refusal the client's own change is waited for this long, besides its delay.
const NEWS: Duration = Duration::from_millis(500);

/// A refusal means that the user types: before another try the text must rest for this long.
/// Tries that follow each other at once would all meet the same burst.
const PAUSE: Duration = Duration::from_millis(300);

/// An edit that is placed in the present text.
struct Placed {
    sent: Sent,
    document: Document,
    rebased: bool,
}

pub(super) async fn edit(job: &Arc<EditJob>, lane: &Arc<Lane>) -> Outcome {
    let mut refused: Vec<Sent> = Vec::new();
    let mut reason = String::new();
    loop {
        if let Some(last) = refused.last() {
            news(job, last).await;
        }
        let quiet = quiet(job, !refused.is_empty()).await;
        // What was refused may still have come: never judged by the refusal alone.
        if let Some(outcome) = came_late(job, &refused) {
            return outcome;
        }
        let cancelled = !refused.is_empty() && job.cancel.is_cancelled();
        let over = refused.len() == TRIES || unmoved(job, &refused) || cancelled;
        if let Some(last) = refused.last().filter(|_| over) {
            return match doubtful(job, &refused) {
                true => job.unknown(&last.before),
                false => refusal(job, &refused, reason),
            };
        }
        if let Err(outcome) = quiet {
            return outcome;
        }
        if job.document().is_none() {
            return super::closed::stale(job).await;
        }
        let placed = match (place(job), refused.last()) {
            (Ok(placed), _) => placed,
            // An editor can apply what it refuses.
            (Err(Outcome::Conflict { .. }), Some(last)) if doubtful(job, &refused) => {
                return job.unknown(&last.before);
            }
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

/// The outcome of every end but a refusal that may be tried again.
pub(super) async fn finish(
    job: &Arc<EditJob>,
    lane: &Arc<Lane>,
    flight: Flight,
    end: End,
    rebased: bool,
) -> Outcome {
    match end {
        End::Shown { from, to, moved } => shown(job, &flight.sent, (from, to), rebased || moved),
        End::Refused { reason, .. } => {
            job.record_present("refused", &flight.sent.before);
            Outcome::Refused { reason }
        }
        End::Conflict => {
            let now = job
                .document()
                .map_or_else(|| flight.sent.before.clone(), |document| document.rope);
            job.record_present("conflict", &flight.sent.before);
            let by = Author::User;
            job.conflict(Conflict::Overlap { hunk: 0, by }, now)
        }
        End::Elsewhere => restore(job, lane, &flight.sent).await,
        End::Unknown => job.unknown(&flight.sent.before),
        End::Closed | End::Unattached => super::closed::gone(job, lane, &flight.sent, &end).await,
        End::Open => {
            job.record_present("unconfirmed", &flight.sent.before);
            settle::unconfirmed(job, lane, flight);
            Outcome::Unconfirmed
        }
    }
}

pub(super) fn shown(
    job: &EditJob,
    sent: &Sent,
    (from, to): (Revision, Revision),
    rebased: bool,
) -> Outcome {
    let author = Author::Session(job.session.to_string());
    job.workspace.attribute(&job.located.uri, from, to, author);
    let mut landed = job.landed(sent, job.document().as_ref());
    landed.others = others(job);
    let outcome = if rebased {
        Outcome::Rebased(landed)
    } else {
        Outcome::Applied(landed)
    };
    job.record_present(outcome.word(), &sent.expected);
    outcome
}

/// Who else changed the text since the edit was planned.
fn others(job: &EditJob) -> Vec<Author> {
    let own = Author::Session(job.session.to_string());
    let changes = job
        .base_revision
        .and_then(|revision| job.workspace.changes_since(&job.located.uri, revision));
    let mut others: Vec<Author> = Vec::new();
    for change in changes.unwrap_or_default() {
        if change.author != own && !others.contains(&change.author) {
            others.push(change.author);
        }
    }
    others
}

/// Waits until the client has been silent for longer than its delay; the outcome otherwise.
async fn quiet(job: &EditJob, again: bool) -> Result<(), Outcome> {
    let delay = match job.host.fidelity() {
        // The client places the edit in its own present text.
        Fidelity::Anchored => Duration::ZERO,
        _ => job.host.delay(),
    };
    if job.cancel.is_cancelled() {
        return Err(Outcome::Cancelled);
    }
    let gap = match again {
        true => PAUSE.max(delay + delay / 10),
        false if delay.is_zero() => return Ok(()),
        false => delay + delay / 10,
    };
    let until = Instant::now() + PATIENCE;
    let mut signals = job.workspace.watch(&job.located.uri);
    loop {
        signals.mark_unchanged();
        let end = Instant::now() + gap;
        tokio::select! {
            biased;
            () = job.cancel.cancelled() => return Err(Outcome::Cancelled),
            changed = signals.changed() => {
                if changed.is_err() || Instant::now() >= until {
                    let now = job.document().map_or_else(Rope::new, |document| document.rope);
                    return Err(job.conflict(Conflict::Busy, now));
                }
            }
            () = tokio::time::sleep_until(end) => return Ok(()),
        }
    }
}

/// Waits for the text to move on after `last` was refused, for as long as the client may take.
async fn news(job: &EditJob, last: &Sent) {
    let until = Instant::now() + job.host.delay() + NEWS;
    let mut signals = job.workspace.watch(&job.located.uri);
    loop {
        signals.mark_unchanged();
        if job.document().map(|document| document.revision) != last.revision {
            return;
        }
        tokio::select! {
            () = job.cancel.cancelled() => return,
            () = tokio::time::sleep_until(until) => return,
            changed = signals.changed() => if changed.is_err() { return },
        }
    }
}

fn came_late(job: &EditJob, refused: &[Sent]) -> Option<Outcome> {
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

/// Whether the text leaves it open that one of the refused edits was made.
fn doubtful(job: &EditJob, refused: &[Sent]) -> bool {
    let Some(document) = job.document() else {
        return false;
    };
    refused.iter().any(|sent| {
        let changes = sent
            .revision
            .and_then(|revision| job.workspace.changes_since(&job.located.uri, revision));
        let verdict = judge(sent, &document.rope, document.revision, changes.as_deref());
        verdict == Verdict::Unknown
    })
}

/// The client refused this very text: it would again.
fn unmoved(job: &EditJob, refused: &[Sent]) -> bool {
    refused
        .last()
        .is_some_and(|last| job.document().map(|document| document.revision) == last.revision)
}

fn refusal(job: &EditJob, refused: &[Sent], reason: String) -> Outcome {
    tracing::debug!(uri = %job.located.uri, tries = refused.len(), "edit refused: {reason}");
    Outcome::Refused { reason }
}

/// The plan in the present text. Nothing is sent unless every byte that a hunk replaces is the
/// one that the model saw.
fn place(job: &EditJob) -> Result<Placed, Outcome> {
    if job.cancel.is_cancelled() {
        return Err(Outcome::Cancelled);
    }
    let Some(document) = job.document() else {
        return Err(job.conflict(Conflict::Forgotten, Rope::new()));
    };
    if let SyncState::OutOfSync(why) = &document.sync {
        return Err(Outcome::Blocked {
            reason: format!(
                "the mirror of the document is out of sync ({why}); reopening it in the editor \
                 heals it"
            ),
        });
    }
    let changes = match job.base_revision {
        Some(revision) => job.workspace.changes_since(&job.located.uri, revision),
        None => None,
    };
    let (hunks, rebased) = moved(&job.plan, &document.rope, changes.as_deref())
        .map_err(|conflict| job.conflict(conflict, document.rope.clone()))?;
    Ok(Placed {
        sent: Sent::new(document.rope.clone(), Some(document.revision), hunks),
        document,
        rebased,
    })
}

/// The plan's hunks in `now`, and whether `now` differs from the plan's base.
pub(super) fn moved(
    plan: &Plan,
    now: &Rope,
    changes: Option<&[Change]>,
) -> Result<(Vec<Hunk>, bool), Conflict> {
    if *now == plan.base {
        return Ok((plan.hunks.clone(), false));
    }
    let changes = changes.ok_or(Conflict::Forgotten)?;
    let hunks = rebase_words(&plan.base, &plan.hunks, changes)?;
    for (index, (then, here)) in plan.hunks.iter().zip(&hunks).enumerate() {
        let same = now
            .get_byte_slice(here.start..here.end)
            .is_some_and(|text| text == plan.base.byte_slice(then.start..then.end));
        if !same || splits(now, here.start) || splits(now, here.end) {
            let by = changes.last().map_or(Author::User, |it| it.author.clone());
            return Err(Conflict::Overlap { hunk: index, by });
        }
    }
    Ok((hunks, true))
}

/// Inside a character or a CRLF, where a user's change has moved an edge.
fn splits(text: &Rope, offset: usize) -> bool {
    if text.char_to_byte(text.byte_to_char(offset)) != offset {
        return true;
    }
    let around = offset.saturating_sub(1)..(offset + 1).min(text.len_bytes());
    offset > 0
        && text
            .get_byte_slice(around)
            .is_some_and(|pair| matching::splits_crlf(&pair.to_string(), 1))
}

/// The edit landed otherwise: one inverse edit where it is certain what to take back, else the
/// document needs review.
async fn restore(job: &Arc<EditJob>, lane: &Arc<Lane>, sent: &Sent) -> Outcome {
    job.record_present("diverged", &sent.before);
    // The present text may be newer than the client's delay lets us see.
    let quiet = quiet(job, true).await.is_ok() || job.cancel.is_cancelled();
    let back = job.document().filter(|_| quiet).and_then(|document| {
        let changes = job
            .workspace
            .changes_since(&job.located.uri, sent.revision?)?;
        let hunks = inverse(sent, &document.rope, &changes)?;
        let back = Sent::new(document.rope.clone(), Some(document.revision), hunks);
        Some((back, document))
    });
    if let Some((back, document)) = back {
        let mut flight = job.launch(back, Some(&document));
        match flight.land(Some(Instant::now() + job.deadline)).await {
            End::Shown { .. } => {
                job.record_present("restored", &sent.before);
                return Outcome::Diverged { restored: true };
            }
            End::Open => {
                job.record_present("unconfirmed", &sent.before);
                settle::unconfirmed(job, lane, flight);
                return Outcome::Diverged { restored: false };
            }
            _ => job.record_present("diverged", &sent.before),
        }
    }
    settle::diverged(job, lane, &sent.before);
    Outcome::Diverged { restored: false }
}

impl Landed {
    /// Nothing was to be done.
    pub fn is_empty(&self) -> bool {
        self.added == 0 && self.removed == 0
    }
}

/// The lane's state for an edit on its way.
pub(super) fn unconfirmed(flight: &Flight) -> LaneState {
    LaneState::Unconfirmed {
        since: Instant::now(),
        expected: flight.sent.expected.clone(),
        fence: flight.fence(),
    }
}

#[cfg(test)]
mod tests;
