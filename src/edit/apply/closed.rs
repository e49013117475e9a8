//! Edits of files that are not open, through the editor, which opens them. The disk's text is
//! checked by hash first.

use std::sync::Arc;

use tokio::time::Instant;

use super::flight::End;
use super::job::{EditJob, Outcome};
use super::{disk, finish, open};
use crate::edit::lanes::Lane;

pub(super) async fn edit(job: &Arc<EditJob>, lane: &Arc<Lane>) -> Outcome {
    let sent = match disk::edit_on_disk(job).await {
        Ok(sent) => sent,
        Err(outcome) => return outcome,
    };
    // A didOpen may have come while the disk was read: then the document is open.
    if job.document().is_some() {
        return open::edit(job, lane).await;
    }
    let mut flight = job.launch(sent, None);
    let end = flight.land(Some(Instant::now() + job.deadline)).await;
    if let End::Shown { .. } = end {
        job.host.learn_attach(&job.suffix(), true);
    }
    finish::finish(job, lane, flight, end, false).await
}
