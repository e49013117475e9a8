//! Reverts the edits of a turn, or of a revert, where the text is still as they left it. Uses the
//! same edit driver and journal as any edit, so that it can be reverted itself.

use std::path::PathBuf;
use std::sync::Arc;

use ropey::Rope;
use tokio_util::sync::CancellationToken;

use super::api::{RevertTurn, RevertedFile, RevertedTurn};
use super::journal::{Edit, Journal};
use super::store::{Log, StoreError};
use crate::agent::Shared;
use crate::config::ClosedFiles;
use crate::conversation::{Entry, Failure, FailureKind, ItemId, Recorder as _, SessionId, TurnId};
use crate::edit::apply::DEADLINE;
use crate::edit::revert::{Logged, revert_edits};
use crate::edit::{EditJob, Outcome, Plan, apply, lines};
use crate::host::Host;
use crate::workspace::{FileError, Located, Revision, Source, Uri, beneath, files};

/// Everything that a revert works with.
pub struct From {
    pub shared: Arc<Shared>,
    pub host: Arc<dyn Host>,
    pub session: SessionId,
    pub cwd: PathBuf,
    pub closed_files: ClosedFiles,
    pub log: Arc<Log>,
}

/// One file's edits, in order.
struct Work {
    uri: String,
    edits: Vec<Logged>,
    created: bool,
}

/// What to revert.
struct Task {
    turn: TurnId,
    title: String,
    /// The revert that is reverted.
    of: Option<ItemId>,
    files: Vec<Work>,
    /// Files with an edit whose outcome is unknown.
    uncertain: Vec<String>,
}

pub async fn run(from: From, ask: RevertTurn) -> Result<RevertedTurn, Failure> {
    let path = from.log.path().to_owned();
    let read = tokio::task::spawn_blocking(move || Journal::open(&path));
    let journal = read
        .await
        .unwrap_or_else(|error| Err(std::io::Error::other(error).into()))
        .map_err(|error| unreadable(&error))?;
    let task = choose(&journal, &ask)?;
    let item = ItemId(from.shared.env.id("revert"));
    if !ask.preview {
        from.log.record(Entry::Revert {
            item: item.clone(),
            turn: task.turn.clone(),
            of: task.of.clone(),
        });
    }
    let mut files = Vec::new();
    for work in &task.files {
        files.push(from.file(work, &task, &item, ask.preview).await);
    }
    warn_uncertain(&task.uncertain, ask.uris.as_deref(), &mut files);
    let log = from.log.clone();
    tokio::task::spawn_blocking(move || log.sync());
    Ok(RevertedTurn {
        item_id: item,
        files,
    })
}

fn key(uri: &str) -> String {
    Uri::new(uri).key()
}

/// Warns about files with edits whose outcome is unknown.
fn warn_uncertain(uncertain: &[String], wanted: Option<&[String]>, files: &mut Vec<RevertedFile>) {
    const WORDS: &str = "an edit of this turn has no known outcome and was left: check the file";
    for uri in uncertain {
        let this = key(uri);
        if wanted.is_some_and(|wanted| wanted.iter().all(|uri| key(uri) != this)) {
            continue;
        }
        match files.iter_mut().find(|file| key(&file.uri) == this) {
            Some(file) if file.conflicts.iter().any(|known| known == WORDS) => {}
            Some(file) => file.conflicts.push(WORDS.to_owned()),
            None => files.push(RevertedFile {
                uri: uri.clone(),
                conflicts: vec![WORDS.to_owned()],
                ..RevertedFile::default()
            }),
        }
    }
}

fn unreadable(reason: &StoreError) -> Failure {
    Failure::invalid(
        format!("The session's log cannot be read: {reason}"),
        "Undo in the editor; check the state folder's permissions and free space.",
    )
}

fn choose(journal: &Journal, ask: &RevertTurn) -> Result<Task, Failure> {
    let invalid = |message: &str, hint: &str| Failure::invalid(message, hint);
    let (turn, edits) = match (&ask.item_id, &ask.turn_id) {
        (Some(item), _) => journal.of_revert(item).ok_or_else(|| {
            invalid(
                "That item is not a revert in this session.",
                "Name the item of a revert, or a turn.",
            )
        })?,
        (None, Some(turn)) if !journal.knows(turn) => {
            return Err(Failure::new(
                FailureKind::UnknownTurn,
                "This session has no such turn.",
                "Name a turn from the session's list.",
            ));
        }
        (None, Some(turn)) => (turn.clone(), journal.of_turn(turn)),
        (None, None) => {
            let turn = journal.last().ok_or_else(|| {
                invalid(
                    "No turn of this session has changes to revert.",
                    "Name a turn, or a revert to restore its changes.",
                )
            })?;
            (turn.clone(), journal.of_turn(turn))
        }
    };
    let created: &[String] = match ask.item_id {
        None => journal.created(&turn),
        Some(_) => &[],
    };
    let files = by_file(&edits, created, ask.uris.as_deref());
    let uncertain: Vec<String> = match ask.item_id {
        None => journal.uncertain(&turn).map(str::to_owned).collect(),
        Some(_) => Vec::new(),
    };
    if files.is_empty() && uncertain.is_empty() {
        return Err(invalid(
            "There is nothing to revert: no file was changed there.",
            "Name another turn, or leave `uris` out.",
        ));
    }
    Ok(Task {
        title: journal.title(&turn).to_owned(),
        turn,
        of: ask.item_id.clone(),
        files,
        uncertain,
    })
}

/// Edits by file, whichever spelling of its URI they used.
fn by_file(edits: &[&Edit], created: &[String], uris: Option<&[String]>) -> Vec<Work> {
    let mut files: Vec<(String, Work)> = Vec::new();
    for edit in edits {
        let this = key(&edit.uri);
        if uris.is_some_and(|uris| uris.iter().all(|uri| key(uri) != this)) {
            continue;
        }
        let logged = Logged {
            hash: edit.hash.clone(),
            hunks: edit.hunks.clone(),
        };
        match files.iter_mut().find(|(known, _)| *known == this) {
            Some((_, work)) => work.edits.push(logged),
            None => {
                let work = Work {
                    uri: edit.uri.clone(),
                    created: created.iter().any(|made| key(made) == this),
                    edits: vec![logged],
                };
                files.push((this, work));
            }
        }
    }
    files.into_iter().map(|(_, work)| work).collect()
}

/// The file's current text.
struct Present {
    located: Located,
    rope: Rope,
    revision: Option<Revision>,
    /// There is no file.
    missing: bool,
}

impl From {
    async fn file(&self, work: &Work, task: &Task, item: &ItemId, preview: bool) -> RevertedFile {
        let mut row = RevertedFile {
            uri: work.uri.clone(),
            ..RevertedFile::default()
        };
        let present = match self.current_text(&work.uri, task.of.is_some()).await {
            Ok(present) => present,
            Err(reason) => {
                row.conflicts.push(reason);
                return row;
            }
        };
        let text = String::from(&present.rope);
        let taken = revert_edits(&text, &work.edits);
        row.conflicts = taken.conflicts;
        let hunks = lines::difference(&text, &taken.text);
        let plan = Plan {
            base: present.rope.clone(),
            named: hunks.iter().map(|hunk| hunk.start..hunk.end).collect(),
            hunks,
        };
        if plan.hunks.is_empty() {
            return row;
        }
        // The turn created it, and it contains nothing by others.
        let emptied = work.created && taken.text.is_empty();
        if preview {
            let diff = plan.unified(&present.located.display(&self.shared.workspace));
            (row.added, row.removed, row.diff) = (diff.added, diff.removed, diff.text);
            row.deleted = emptied && self.host.deletes();
        } else {
            let job = self.job(present, plan, task, item);
            let (uri, label) = (job.located.uri.clone(), job.label.clone());
            match apply(job).await {
                Outcome::Applied(landed) | Outcome::Rebased(landed) | Outcome::Held(landed) => {
                    let left = landed.text.len_bytes();
                    (row.added, row.removed) = (landed.added, landed.removed);
                    row.diff = landed.diff;
                    row.deleted = emptied && left == 0 && self.host.delete(&uri, &label).await;
                }
                outcome => {
                    row.conflicts = vec![reason(outcome)];
                    return row;
                }
            }
        }
        if emptied && !row.deleted {
            let words = "this turn created the file; it is now empty, delete it if you do not need \
                         it";
            row.conflicts.push(words.to_owned());
        }
        row
    }

    /// `again`: a missing file may be created again.
    async fn current_text(&self, uri: &str, again: bool) -> Result<Present, String> {
        let workspace = self.shared.workspace.clone();
        let located = beneath::locate(&workspace, &self.cwd, uri).map_err(|e| e.to_string())?;
        if let Some(reason) = self.shared.lanes.state(&located.key()).reason() {
            return Err(reason.to_owned());
        }
        let read = tokio::task::spawn_blocking(move || {
            let content = files::read(&workspace, &located);
            (located, content)
        });
        match read.await {
            Ok((located, Ok(content))) => Ok(Present {
                located,
                revision: match content.source {
                    Source::Buffer { .. } => Some(content.revision),
                    Source::Disk => None,
                },
                rope: content.rope,
                missing: false,
            }),
            Ok((located, Err(FileError::Missing))) if again => Ok(Present {
                located,
                revision: None,
                rope: Rope::new(),
                missing: true,
            }),
            Ok((_, Err(error))) => Err(error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn job(&self, present: Present, plan: Plan, task: &Task, item: &ItemId) -> EditJob {
        let what = match task.of {
            Some(_) => "restore",
            None => "revert",
        };
        EditJob {
            session: self.session.clone(),
            turn: task.turn.clone(),
            item: item.clone(),
            label: format!("Interline: {what} {}", task.title)
                .trim_end()
                .to_owned(),
            located: present.located,
            plan,
            base_revision: present.revision,
            create: present.missing,
            closed_files: self.closed_files,
            deadline: DEADLINE,
            workspace: self.shared.workspace.clone(),
            lanes: self.shared.lanes.clone(),
            host: self.host.clone(),
            recorder: self.log.clone(),
            cancel: CancellationToken::new(),
        }
    }
}

/// Why a planned revert did not land, for the user.
fn reason(outcome: Outcome) -> String {
    match outcome {
        Outcome::Refused { reason } | Outcome::Blocked { reason } => reason,
        Outcome::Conflict { .. } => "the text changed at the same moment; try again".to_owned(),
        Outcome::Unknown { .. } => {
            "too much changed at once to know whether this was reverted; check the file".to_owned()
        }
        Outcome::Unconfirmed => {
            "the editor neither showed nor refused the edit, and it is not sent again; check the \
             file"
                .to_owned()
        }
        Outcome::Diverged { restored: true } => {
            "the edit did not land as planned and was undone; try again".to_owned()
        }
        Outcome::Diverged { restored: false } => {
            "the edit did not land as planned; review the file".to_owned()
        }
        Outcome::Cancelled => "cancelled".to_owned(),
        Outcome::Applied(_) | Outcome::Rebased(_) | Outcome::Held(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_an_edit_of_unknown_outcome_is_named_once() {
        let row = |uri: &str| RevertedFile {
            uri: uri.to_owned(),
            added: 1,
            removed: 0,
            diff: String::new(),
            conflicts: vec!["line 2: it changed".to_owned()],
            deleted: false,
        };
        let uncertain = ["file:///w/a%20b", "file:///w/c", "file:///w/a b"].map(str::to_owned);
        let warned = |wanted: Option<&[String]>| {
            let mut files = vec![row("file:///w/a b")];
            warn_uncertain(&uncertain, wanted, &mut files);
            let rows = files.iter().map(|it| (it.uri.clone(), it.conflicts.len()));
            rows.collect::<Vec<_>>()
        };
        let (a, c) = ("file:///w/a b".to_owned(), "file:///w/c".to_owned());
        assert_eq!(warned(None), [(a.clone(), 2), (c.clone(), 1)]);
        assert_eq!(warned(Some(std::slice::from_ref(&a))), [(a.clone(), 2)]);
        assert_eq!(
            warned(Some(&[c.clone(), "file:///w/d".to_owned()])),
            [(a.clone(), 1), (c, 1)]
        );
        assert_eq!(warned(Some(&[])), [(a, 1)]);
    }

    #[test]
    fn what_did_not_land_says_why() {
        for (outcome, part) in [
            (
                Outcome::Refused {
                    reason: "read-only".to_owned(),
                },
                "read-only",
            ),
            (
                Outcome::Blocked {
                    reason: "held".to_owned(),
                },
                "held",
            ),
            (Outcome::Unconfirmed, "neither showed nor refused"),
            (Outcome::Diverged { restored: true }, "was undone"),
            (Outcome::Diverged { restored: false }, "review the file"),
            (Outcome::Cancelled, "cancelled"),
        ] {
            let message = reason(outcome);
            assert!(message.contains(part), "{message}");
        }
    }
}
