//! The outcome of an edit whose flight has ended.

use std::sync::Arc;

use tokio::time::Instant;

use super::flight::{End, Flight};
use super::job::{EditJob, Outcome};
use super::judge::inverse;
use super::sent_edit::Sent;
use super::{disk, late_answers, wait};
use crate::edit::lanes::Lane;
use crate::edit::rebase::Conflict;
use crate::workspace::{Author, Revision};

/// The outcome of every end, except a refusal that may be retried.
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
        End::Closed | End::Unattached => not_open(job, lane, &flight.sent, &end).await,
        End::Open => {
            job.record_present("unconfirmed", &flight.sent.before);
            late_answers::unconfirmed(job, lane, flight);
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
    job.record_present(outcome.log_name(), &sent.expected);
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

/// The edit landed differently than planned. Reverts it with one inverse edit where it is certain
/// what to revert, else the document needs review.
async fn restore(job: &Arc<EditJob>, lane: &Arc<Lane>, sent: &Sent) -> Outcome {
    job.record_present("diverged", &sent.before);
    // The editor's text may be newer than the one that its delay lets us see.
    let quiet = wait::pause_in_typing(job, true).await.is_ok() || job.cancel.is_cancelled();
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
                late_answers::unconfirmed(job, lane, flight);
                return Outcome::Diverged { restored: false };
            }
            _ => job.record_present("diverged", &sent.before),
        }
    }
    late_answers::diverged(job, lane, &sent.before);
    Outcome::Diverged { restored: false }
}

/// The client claims the edit, but the document is not, or no longer, open: the disk decides, else
/// the file is held.
async fn not_open(job: &Arc<EditJob>, lane: &Arc<Lane>, sent: &Sent, end: &End) -> Outcome {
    let on_disk = disk::current_content(job).await.ok();
    if on_disk.is_some_and(|content| content.rope == sent.expected) {
        job.record_present("applied", &sent.expected);
        return Outcome::Applied(job.landed(sent, job.document().as_ref()));
    }
    if *end == End::Closed {
        job.record_present("refused", &sent.before);
        return Outcome::Refused {
            reason: "the document was closed before the edit was saved, and the edit is lost"
                .to_owned(),
        };
    }
    job.host.learn_attach(&job.suffix(), false);
    lane.hold(
        sent.expected.clone(),
        job.located.clone(),
        Arc::clone(&job.workspace),
    );
    job.record_outcome("held", None, &sent.expected);
    Outcome::Held(job.landed(sent, None))
}
