//! The one driver of edits: waits for the lane and a quiet gap, rebases, journals the intent,
//! sends, awaits the answer and the didChange in either order, and concludes from the mirror only
//! (INV-3). Never resends an unconfirmed edit.

mod closed;
mod delete;
mod disk;
mod finish;
mod flight;
mod job;
mod judge;
mod late_answers;
mod open;
mod opened_by_editor;
mod place;
mod sent_edit;
mod together;
mod wait;

use std::sync::Arc;
use std::time::Duration;

use super::lanes::Lane;
use crate::env::tasks;
use crate::host::Fidelity;
pub use job::{DEADLINE, EditJob, Landed, Outcome};
#[cfg(test)]
pub(crate) use sent_edit::Sent;
pub use together::{Fate, together};

/// Runs the job to one outcome. Never resends an unconfirmed edit.
///
/// The future may be dropped only before the edit is sent (through `cancel`); afterwards it ends
/// on its own within the deadline.
pub async fn apply(job: EditJob) -> Outcome {
    let lane = job.lanes.lane(&job.key());
    let cancel = job.cancel.clone();
    let guard = tokio::select! {
        biased;
        () = cancel.cancelled() => return Outcome::Cancelled,
        guard = lane.enter() => guard,
    };
    // The task owns the edit, so that it is still watched if the caller is dropped while the edit
    // is in flight.
    let run = tasks::spawn(async move {
        let outcome = drive(Arc::new(job), lane).await;
        drop(guard);
        outcome
    });
    let cancelled = async {
        cancel.cancelled().await;
        tokio::time::sleep(CANCEL_GRACE).await;
    };
    tokio::select! {
        biased;
        ended = run => match ended {
            Ok(outcome) => outcome,
            Err(error) => Outcome::Refused {
                reason: format!("the edit failed: {error}"),
            },
        },
        // The edit is in flight: the task above holds the lane until its outcome is known
        // (INV-11: the turn does not wait for that).
        () = cancelled => Outcome::Unconfirmed,
    }
}

/// How long a cancelled caller still waits for an edit in flight, so that an edit that lands in
/// this moment is reported as landed.
const CANCEL_GRACE: Duration = Duration::from_millis(200);

async fn drive(job: Arc<EditJob>, lane: Arc<Lane>) -> Outcome {
    if let Err(outcome) = ready(&job, &lane).await {
        return outcome;
    }
    match job.document() {
        Some(_) => open::edit(&job, &lane).await,
        None if job.to_disk() => match disk::write(&job).await {
            Some(outcome) => outcome,
            None => open::edit(&job, &lane).await,
        },
        None => closed::edit(&job, &lane).await,
    }
}

/// Whether an edit of the document is possible now; brings the mirror up to date.
async fn ready(job: &EditJob, lane: &Lane) -> Result<(), Outcome> {
    let blocked = |reason: &str| {
        let reason = reason.to_owned();
        Err(Outcome::Blocked { reason })
    };
    let state = lane.state();
    if let Some(reason) = state.reason()
        && !state.fenced(job.document().as_ref())
    {
        return blocked(reason);
    }
    tokio::select! {
        biased;
        () = job.cancel.cancelled() => return Err(Outcome::Cancelled),
        () = job.host.refresh_file(&job.session, &job.located) => {}
    }
    if job.document().is_some() && job.host.fidelity() == Fidelity::Disk {
        return blocked(
            "the document is open in an editor that accepts no edits; Interline never writes to \
             disk behind an open buffer",
        );
    }
    Ok(())
}

/// Whether the edit could be sent now. Sends nothing.
async fn check(job: &Arc<EditJob>) -> Result<(), Outcome> {
    ready(job, &job.lanes.lane(&job.key())).await?;
    let placed = match job.document() {
        Some(_) => open::place_plan(job).map(drop),
        None => disk::edit_on_disk(job).await.map(drop),
    };
    match placed {
        Err(Outcome::Applied(_)) | Ok(()) => Ok(()),
        Err(outcome) => Err(outcome),
    }
}
