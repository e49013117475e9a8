//! The file of a document that is not open: checking the plan against its text, and writing it
//! where the client has no buffers. The text is checked by hash first.

use std::sync::Arc;

use ropey::Rope;

use super::job::{EditJob, Outcome};
use super::place::rebased_hunks;
use super::sent_edit::Sent;
use crate::edit::rebase::Conflict;
use crate::env::tasks;
use crate::host::Fidelity;
use crate::workspace::{Content, FileError, files};

/// Writes the file on disk, atomically. `None`: the client has just opened it, so its buffer is
/// authoritative from now on, and nothing was written.
pub(super) async fn write(job: &Arc<EditJob>) -> Option<Outcome> {
    let sent = match edit_on_disk(job).await {
        Ok(sent) => sent,
        Err(outcome) => return Some(outcome),
    };
    let has_buffers = job.host.fidelity() != Fidelity::Disk;
    if has_buffers && job.document().is_some() {
        return None;
    }
    let before = files::rope_hash(&sent.before);
    job.record_intent(&sent, None, &before);
    let expected = (!job.create).then_some(before);
    let written = blocking(job, {
        let text = sent.expected.clone();
        move |job| match job.shape.filter(|_| job.create) {
            Some(shape) => files::create(&job.workspace, &job.located, &text, shape),
            None => files::write(&job.workspace, &job.located, expected.as_deref(), &text),
        }
    })
    .await;
    Some(match written {
        Ok(()) => {
            job.record_outcome("applied", None, &sent.expected);
            Outcome::Applied(job.landed(&sent, None))
        }
        Err(FileError::Open) if has_buffers => {
            job.record_present("refused", &sent.before);
            return None;
        }
        Err(FileError::Changed | FileError::Open) => {
            job.record_present("conflict", &sent.before);
            conflict(job).await
        }
        Err(error) => {
            job.record_present("refused", &sent.before);
            Outcome::Refused {
                reason: error.to_string(),
            }
        }
    })
}

/// The edit of the text on disk, else the outcome.
pub(super) async fn edit_on_disk(job: &Arc<EditJob>) -> Result<Sent, Outcome> {
    let now = match current_content(job).await {
        Ok(_) if job.create => return Err(conflict(job).await),
        Ok(content) => content.rope,
        Err(FileError::Missing) if job.create => Rope::new(),
        Err(FileError::Missing) => return Err(job.conflict(Conflict::Forgotten, Rope::new())),
        Err(error) => {
            return Err(Outcome::Refused {
                reason: error.to_string(),
            });
        }
    };
    let (hunks, _) = rebased_hunks(&job.plan, &now, None)
        .map_err(|conflict| job.conflict(conflict, now.clone()))?;
    let sent = Sent::new(now, None, hunks);
    if sent.hunks.is_empty() && !job.create {
        return Err(Outcome::Applied(job.landed(&sent, None)));
    }
    match job.cancel.is_cancelled() {
        true => Err(Outcome::Cancelled),
        false => Ok(sent),
    }
}

/// The text has changed since it was planned: nothing is sent.
pub(super) async fn conflict(job: &Arc<EditJob>) -> Outcome {
    let now = current_content(job)
        .await
        .map_or_else(|_| Rope::new(), |c| c.rope);
    job.conflict(Conflict::Forgotten, now)
}

pub(super) async fn current_content(job: &Arc<EditJob>) -> Result<Content, FileError> {
    blocking(job, |job| files::read(&job.workspace, &job.located)).await
}

async fn blocking<T: Send + 'static>(
    job: &Arc<EditJob>,
    work: impl FnOnce(&EditJob) -> Result<T, FileError> + Send + 'static,
) -> Result<T, FileError> {
    let job = Arc::clone(job);
    tasks::blocking(move || work(&job))
        .await
        .unwrap_or_else(|error| Err(FileError::Io(std::io::Error::other(error))))
}
