//! Waiting for the user to pause, and for the text to move on after a refusal.

use std::time::Duration;

use ropey::Rope;
use tokio::time::Instant;

use super::job::{EditJob, Outcome};
use super::sent_edit::Sent;
use crate::edit::rebase::Conflict;
use crate::host::Fidelity;

/// How long the call waits for the user to pause (INV-4).
const PATIENCE: Duration = Duration::from_secs(15);

/// How long to wait after a refusal for the client's own change, in addition to its delay.
const NEWS: Duration = Duration::from_millis(500);

/// A refusal means that the user is typing: the text must rest this long before the next try.
/// Immediate retries would all hit the same burst.
const PAUSE: Duration = Duration::from_millis(300);

/// Waits until the client has been silent for longer than its delay. Fails with the edit's outcome
/// if that does not happen.
pub(super) async fn pause_in_typing(job: &EditJob, again: bool) -> Result<(), Outcome> {
    let delay = match job.host.fidelity() {
        // The client places the edit in its own current text.
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

/// Waits for the text to change after `last` was refused, for as long as the client may take.
pub(super) async fn change_after(job: &EditJob, last: &Sent) {
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
