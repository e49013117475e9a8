//! Several edits that belong together. All are checked before the first is sent; if one fails
//! nevertheless, those that landed are reverted by inverse edits, which keep what others typed
//! since.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::job::{EditJob, Landed, Outcome};
use super::judge::inverse;
use super::{apply, check, delete, disk};
use crate::conversation::{Entry, ItemId};
use crate::edit::matching::Strategy;
use crate::edit::places::{Logged, logged};
use crate::edit::revert::{Part, revert_edits};
use crate::edit::{Hunk, Plan};
use crate::workspace::files;

/// The end of one of the edits.
#[derive(Clone, Debug)]
pub enum Fate {
    /// `Applied`, `Rebased` or `Held`.
    Landed {
        outcome: Outcome,
        /// The file was to be deleted, and is.
        deleted: bool,
    },
    /// Another outcome: because of this one, the others are not made.
    Failed(Outcome),
    /// It was not sent.
    NotSent,
    /// It landed, and was reverted.
    Reverted,
    /// It landed, and could not be reverted.
    Stuck { landed: Landed, reason: String },
}

/// Runs the jobs, of which no two have the same document, in their order. Files are deleted last.
/// `moves`: the numbers of deletions whose text the job before creates elsewhere; `undo`: the item
/// of inverse edits.
pub async fn together(jobs: Vec<EditJob>, moves: &[usize], undo: ItemId) -> Vec<Fate> {
    let jobs: Vec<Arc<EditJob>> = jobs.into_iter().map(Arc::new).collect();
    let mut fates = vec![Fate::NotSent; jobs.len()];
    if jobs.len() > 1 {
        for (job, fate) in jobs.iter().zip(&mut fates) {
            if let Err(outcome) = check(job).await {
                *fate = Fate::Failed(outcome);
            }
        }
        if fates.iter().any(|fate| matches!(fate, Fate::Failed(_))) {
            return fates;
        }
        record(&jobs);
    }
    for at in 0..jobs.len() {
        let outcome = apply(EditJob::clone(&jobs[at])).await;
        let landed = landed(&outcome).is_some();
        fates[at] = match landed {
            true => Fate::Landed {
                outcome,
                deleted: false,
            },
            false => Fate::Failed(outcome),
        };
        if !landed {
            revert(&jobs[..at], &mut fates[..at], &undo).await;
            return fates;
        }
    }
    for (at, (job, fate)) in jobs.iter().zip(&mut fates).enumerate() {
        if let Fate::Landed { outcome, deleted } = fate
            && let Some(landed) = landed(outcome)
            && job.delete
            && landed.text.len_bytes() == 0
        {
            let new = jobs[..at].last().filter(|_| moves.contains(&at));
            let safe = match new {
                Some(new) => save_moved(new).await,
                None => true,
            };
            *deleted = safe && delete::empty_file(job).await;
        }
    }
    fates
}

/// Saves the new file of a move; false: it could not be saved. Otherwise the text would not be on
/// disk once the old file is deleted. Where the client cannot save, the user has to.
async fn save_moved(job: &EditJob) -> bool {
    let document = job.document();
    let unsaved = document.is_some_and(|it| job.workspace.file_state(&it).may_save());
    if !unsaved || !job.host.saves() {
        return true;
    }
    let saved = job
        .host
        .save(vec![job.located.uri.clone()], "a file moves to it");
    saved.await.is_none_or(|all| all.iter().all(|it| it.saved))
}

fn landed(outcome: &Outcome) -> Option<&Landed> {
    match outcome {
        Outcome::Applied(landed) | Outcome::Rebased(landed) | Outcome::Held(landed) => Some(landed),
        _ => None,
    }
}

/// After a crash, the log tells which of them were not sent.
fn record(jobs: &[Arc<EditJob>]) {
    if let Some(first) = jobs.first() {
        first.recorder.record(Entry::EditsTogether {
            item: first.item.clone(),
            uris: jobs.iter().map(|job| job.located.uri.to_string()).collect(),
        });
    }
}

/// Reverts the edits that landed, the last one first.
async fn revert(jobs: &[Arc<EditJob>], fates: &mut [Fate], undo: &ItemId) {
    if let Some(first) = jobs.first() {
        first.recorder.record(Entry::Revert {
            item: undo.clone(),
            turn: first.turn.clone(),
            of: Some(first.item.clone()),
            hunks: Vec::new(),
        });
    }
    for (job, fate) in jobs.iter().zip(fates).rev() {
        if let Fate::Landed { outcome, .. } = &*fate
            && let Some(landed) = landed(outcome)
        {
            *fate = match put_back(job, landed, undo).await {
                Ok(()) => Fate::Reverted,
                Err(reason) => Fate::Stuck {
                    landed: landed.clone(),
                    reason,
                },
            };
        }
    }
}

/// The inverse edit where the changes since are not recorded, or touch it.
fn found_again(text: &str, landed: &Landed) -> Result<Vec<Hunk>, String> {
    let sent = &landed.sent;
    let made = Logged {
        before: files::rope_hash(&sent.before),
        hash: files::rope_hash(&sent.expected),
        hunks: logged(&sent.before, &sent.expected, &sent.hunks),
        undoes: Vec::new(),
    };
    let mut back = revert_edits(text, &[made], &[], |_| Part::Wanted);
    match back.conflicts.pop() {
        Some(reason) => Err(reason),
        None => Ok(back.hunks),
    }
}

/// The inverse edit. What others changed since stays.
async fn put_back(job: &Arc<EditJob>, landed: &Landed, undo: &ItemId) -> Result<(), String> {
    if landed.is_empty() && !job.create {
        return Ok(());
    }
    let document = job.document();
    let rope = match &document {
        Some(document) => document.rope.clone(),
        None => {
            let content = disk::current_content(job).await;
            content.map_err(|error| error.to_string())?.rope
        }
    };
    let recorded = document.as_ref().and_then(|document| {
        let from = landed.sent.revision?;
        let changes = job.workspace.changes_since(&job.located.uri, from)?;
        inverse(&landed.sent, &document.rope, &changes)
    });
    let hunks = match recorded {
        Some(hunks) => hunks,
        None => found_again(&String::from(&rope), landed)?,
    };
    let plan = Plan {
        base: rope,
        named: hunks.iter().map(|hunk| hunk.start..hunk.end).collect(),
        hunks,
        strategy: Strategy::Exact,
    };
    let back = EditJob {
        item: undo.clone(),
        label: format!("Undo: {}", job.label),
        plan,
        base_revision: document.map(|document| document.revision),
        create: false,
        // The turn may be cancelled by now.
        cancel: CancellationToken::new(),
        ..EditJob::clone(job)
    };
    match apply(back).await {
        Outcome::Applied(left) | Outcome::Rebased(left) | Outcome::Held(left) => {
            let gone = !job.create || left.text.len_bytes() > 0 || delete::empty_file(job).await;
            match gone {
                true => Ok(()),
                false => Err("the file is empty again, but still exists".to_owned()),
            }
        }
        Outcome::Refused { reason } | Outcome::Blocked { reason } => Err(reason),
        Outcome::Conflict { .. } => Err("the text changed at the same moment".to_owned()),
        other => Err(format!("the inverse edit is {}", other.log_name())),
    }
}
