//! Deleting a file, once an edit has emptied it: what the user typed in the meantime stays, and the
//! text can be reverted.

use std::sync::Arc;

use ropey::Rope;

use super::job::EditJob;
use crate::env::tasks;
use crate::workspace::files;

/// Deletes the job's file, whose text is empty; false: it still exists. The editor deletes it, or
/// else it is deleted on disk if it is not open.
pub(super) async fn empty_file(job: &Arc<EditJob>) -> bool {
    if job.host.deletes() {
        return job.host.delete(&job.located.uri, &job.label).await;
    }
    job.host.refresh_file(&job.session, &job.located).await;
    if job.document().is_some() {
        return false;
    }
    let job = Arc::clone(job);
    let removed = tasks::blocking(move || {
        let expected = files::rope_hash(&Rope::new());
        files::remove(&job.workspace, &job.located, &expected)
    });
    removed.await.is_ok_and(|removed| removed.is_ok())
}
