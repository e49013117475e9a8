//! What happens to a lane after its edit's outcome was reported: late answers and changes settle
//! it, actions of the user open it. Sends nothing.

use std::sync::Arc;

use ropey::Rope;

use super::flight::{End, Flight};
use super::job::EditJob;
use crate::edit::lanes::{Lane, LaneState};
use crate::env::tasks;
use crate::workspace::{Author, Document};

/// Blocks the lane until a late answer or didChange shows how the edit ended, or its document is
/// closed or reopened.
pub(super) fn unconfirmed(job: &Arc<EditJob>, lane: &Arc<Lane>, mut flight: Flight) {
    let ticket = lane.shut(LaneState::Unconfirmed {
        fence: flight.fence(),
    });
    let (job, lane) = (Arc::clone(job), Arc::clone(lane));
    tasks::spawn(async move {
        let mut signals = job.workspace.watch(&job.located.uri);
        let end = loop {
            signals.mark_unchanged();
            tokio::select! {
                biased;
                end = flight.land(None) => break end,
                changed = signals.changed() => {
                    if changed.is_err() || !lane.is_shut(ticket) {
                        return;
                    }
                    if flight.target_gone() {
                        break End::Closed;
                    }
                    if let Some(end) = flight.shown_now() {
                        break end;
                    }
                    if flight.refuted() {
                        break End::Refused { reason: String::new(), again: false };
                    }
                }
            }
        };
        let word = match end {
            End::Shown { from, to, .. } => {
                let author = Author::Session(job.session.to_string());
                job.workspace.attribute(&job.located.uri, from, to, author);
                "applied"
            }
            End::Refused { .. } | End::Conflict => "refused",
            End::Elsewhere => "diverged",
            End::Unknown => "unknown",
            End::Unattached => "held",
            End::Closed => "closed",
            End::Open => return,
        };
        job.record_present(word, &flight.sent.before);
        tracing::info!(uri = %job.located.uri, "an unconfirmed edit is settled: {word}");
        match end {
            End::Elsewhere => {
                lane.settle(ticket, LaneState::Diverged);
                watch_user(&job, &lane, ticket, &flight.sent.before);
            }
            End::Unattached => {
                let text = flight.sent.expected.clone();
                lane.settle(ticket, LaneState::Free);
                lane.hold(text, job.located.clone(), Arc::clone(&job.workspace));
            }
            _ => lane.settle(ticket, LaneState::Free),
        }
    });
}

/// Blocks the lane until the user saves, undoes, closes or reopens the document.
pub(super) fn diverged(job: &Arc<EditJob>, lane: &Arc<Lane>, before: &Rope) {
    let ticket = lane.shut(LaneState::Diverged);
    watch_user(job, lane, ticket, before);
}

fn watch_user(
    job: &Arc<EditJob>,
    lane: &Arc<Lane>,
    ticket: crate::edit::lanes::Ticket,
    before: &Rope,
) {
    let (job, lane, before) = (Arc::clone(job), Arc::clone(lane), before.clone());
    let mut signals = job.workspace.watch(&job.located.uri);
    signals.mark_unchanged();
    let Some(mut last) = job.document() else {
        lane.settle(ticket, LaneState::Free);
        return;
    };
    tasks::spawn(async move {
        while signals.changed().await.is_ok() && lane.is_shut(ticket) {
            signals.mark_unchanged();
            let Some(now) = job.document() else { break };
            if user_acted(&job, &last, &now, &before).await {
                break;
            }
            last = now;
        }
        lane.settle(ticket, LaneState::Free);
    });
}

/// Whether a signal was a didOpen, a didSave, or an undo back to the text before the edit.
async fn user_acted(job: &Arc<EditJob>, last: &Document, now: &Document, before: &Rope) -> bool {
    let saved = now.revision == last.revision && now.version == last.version;
    let opened = now.revision != last.revision
        && job
            .workspace
            .changes_since(&now.uri, last.revision)
            .is_none();
    if saved || opened || now.rope == *before {
        return true;
    }
    // A save right after a change causes only one wake-up; the disk shows it.
    let (workspace, document) = (Arc::clone(&job.workspace), now.clone());
    tasks::blocking(move || !workspace.dirty(&document))
        .await
        .unwrap_or(false)
}
