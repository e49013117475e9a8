//! Edits of files that no editor shows us: through the editor, which opens them, or on disk
//! where the client has no buffers. The disk's text is checked by hash before either.

use std::sync::Arc;

use ropey::Rope;
use tokio::time::Instant;

use super::flight::End;
use super::judge::Sent;
use super::{EditJob, Outcome, open};
use crate::edit::lanes::Lane;
use crate::edit::rebase::Conflict;
use crate::workspace::{Content, FileError, files};

/// Through the editor.
pub(super) async fn edit(job: &Arc<EditJob>, lane: &Arc<Lane>) -> Outcome {
    let sent = match check(job).await {
        Ok(sent) => sent,
        Err(outcome) => return outcome,
    };
    if sent.hunks.is_empty() && !job.create {
        return Outcome::Applied(job.landed(&sent, None));
    }
    if job.cancel.is_cancelled() {
        return Outcome::Cancelled;
    }
    // Between the check and here nothing was awaited but the disk; a didOpen meanwhile makes it
    // an open document.
    if job.document().is_some() {
        return open::edit(job, lane).await;
    }
    let mut flight = job.launch(sent, None);
    let end = flight.land(Some(Instant::now() + job.deadline)).await;
    if let End::Shown { .. } = end {
        job.host.learn_attach(&job.suffix(), true);
    }
    open::finish(job, lane, flight, end, false).await
}

/// On disk, atomically.
pub(super) async fn write(job: &Arc<EditJob>) -> Outcome {
    let sent = match check(job).await {
        Ok(sent) => sent,
        Err(outcome) => return outcome,
    };
    if sent.hunks.is_empty() && !job.create {
        return Outcome::Applied(job.landed(&sent, None));
    }
    if job.cancel.is_cancelled() {
        return Outcome::Cancelled;
    }
    let before = files::rope_hash(&sent.before);
    job.record_intent(&sent, None, &before);
    let expected = (!job.create).then_some(before);
    let written = blocking(job, {
        let text = sent.expected.clone();
        move |job| {
            if job.document().is_some() {
                // Opened in this moment: its buffer is the truth now.
                return Err(FileError::Changed);
            }
            files::write(&job.workspace, &job.located, expected.as_deref(), &text)
        }
    })
    .await;
    match written {
        Ok(()) => {
            job.record_outcome("applied", None, &sent.expected);
            Outcome::Applied(job.landed(&sent, None))
        }
        Err(FileError::Changed | FileError::Open) => {
            job.record_present("conflict", &sent.before);
            let now = present(job).await.map_or_else(|_| Rope::new(), |c| c.rope);
            job.conflict(Conflict::Forgotten, now)
        }
        Err(error) => {
            job.record_present("refused", &sent.before);
            Outcome::Refused {
                reason: error.to_string(),
            }
        }
    }
}

/// The document is not, or no longer, open after the edit was claimed: the disk decides, else
/// the file is held.
pub(super) async fn gone(job: &Arc<EditJob>, lane: &Arc<Lane>, sent: &Sent, end: &End) -> Outcome {
    let on_disk = present(job).await.ok();
    if on_disk.is_some_and(|content| content.rope == sent.expected) {
        job.record_present("applied", &sent.expected);
        return Outcome::Applied(job.landed(sent, job.document().as_ref()));
    }
    if *end == End::Closed {
        job.record_present("refused", &sent.before);
        return Outcome::Refused {
            reason: "the document was closed before the edit was saved; its text is gone"
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

/// The plan against the disk's present text.
async fn check(job: &Arc<EditJob>) -> Result<Sent, Outcome> {
    let now = match present(job).await {
        Ok(_) if job.create => return Err(stale(job).await),
        Ok(content) => content.rope,
        Err(FileError::Missing) if job.create => Rope::new(),
        Err(FileError::Missing) => return Err(job.conflict(Conflict::Forgotten, Rope::new())),
        Err(error) => {
            return Err(Outcome::Refused {
                reason: error.to_string(),
            });
        }
    };
    let (hunks, _) = open::moved(&job.plan, &now, None)
        .map_err(|conflict| job.conflict(conflict, now.clone()))?;
    Ok(Sent::new(now, None, hunks))
}

/// The planned text is not the present one any more: nothing is sent.
pub(super) async fn stale(job: &Arc<EditJob>) -> Outcome {
    let now = present(job).await.map_or_else(|_| Rope::new(), |c| c.rope);
    job.conflict(Conflict::Forgotten, now)
}

async fn present(job: &Arc<EditJob>) -> Result<Content, FileError> {
    blocking(job, |job| files::read(&job.workspace, &job.located)).await
}

async fn blocking<T: Send + 'static>(
    job: &Arc<EditJob>,
    work: impl FnOnce(&EditJob) -> Result<T, FileError> + Send + 'static,
) -> Result<T, FileError> {
    let job = Arc::clone(job);
    tokio::task::spawn_blocking(move || work(&job))
        .await
        .unwrap_or_else(|error| Err(FileError::Io(std::io::Error::other(error))))
}
