//! Reverts the edits of a turn, or of a revert, where the text is still as they left it. Uses the
//! same edit driver and journal as any edit, so that it can be reverted itself.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use ropey::Rope;
use tokio_util::sync::CancellationToken;

use super::api::{RevertTurn, RevertedFile, RevertedTurn};
use super::journal::{Edit, FileEdits, Journal, hunk_name, named_hunks};
use super::store::{Log, StoreError};
use crate::agent::Shared;
use crate::agent::calls::proposals::Proposals;
use crate::config::ClosedFiles;
use crate::conversation::entry::Verdict;
use crate::conversation::{
    Entry, Failure, FailureKind, FileShape, ItemId, Recorder as _, SessionId, TurnId,
};
use crate::edit::apply::{DEADLINE, Fate, together};
use crate::edit::matching::Strategy;
use crate::edit::places::{HunkAt, Logged};
use crate::edit::revert::{Part, RevertedText, revert_edits};
use crate::edit::{EditJob, Outcome, Plan};
use crate::env::tasks;
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
    pub journal: JournalCache,
    /// Changes that wait for the user's decisions.
    pub proposals: Arc<Proposals>,
}

/// What was last read of the log about edits, and the log's length then.
pub type JournalCache = Arc<Mutex<Option<(u64, Arc<Journal>)>>>;

/// One file's edits since the first one to revert, in order.
struct Work {
    uri: String,
    /// Their numbers in the journal.
    numbers: Vec<usize>,
    edits: Vec<Logged>,
    /// What each of their hunks is to this revert.
    parts: Vec<Vec<Part>>,
    created: bool,
    /// One of them deleted it.
    deleted: bool,
}

/// What to revert.
struct Task {
    turn: TurnId,
    title: String,
    /// The revert that is reverted.
    of: Option<ItemId>,
    /// Only these hunks are reverted, each group whole or not at all; none: all.
    hunks: Vec<Vec<HunkAt>>,
    files: Vec<Work>,
    /// Files with an edit whose outcome is unknown.
    uncertain: Vec<String>,
    /// Of files that are created again, by key.
    shapes: HashMap<String, FileShape>,
}

pub async fn run(from: &From, ask: &RevertTurn) -> Result<RevertedTurn, Failure> {
    let journal = from.journal().await?;
    let task = choose(&journal, ask)?;
    let item = ItemId(from.shared.env.id("revert"));
    let mut planned = Vec::new();
    for work in &task.files {
        planned.push((work, from.planned(work, &task).await));
    }
    if !ask.preview {
        from.log.record(Entry::Revert {
            item: item.clone(),
            turn: task.turn.clone(),
            of: task.of.clone(),
            hunks: recorded(&task, &planned),
        });
    }
    let mut files = Vec::new();
    for (work, planned) in planned {
        let mut row = RevertedFile {
            uri: work.uri.clone(),
            ..RevertedFile::default()
        };
        match planned {
            Ok(planned) => {
                from.file(&mut row, planned, work, (&task, &item, ask.preview))
                    .await
            }
            Err(reason) => row.conflicts.push(reason),
        }
        files.push(row);
    }
    warn_uncertain(&task.uncertain, ask.uris.as_deref(), &mut files);
    let log = from.log.clone();
    tasks::blocking(move || log.sync());
    Ok(RevertedTurn {
        item_id: item,
        files,
    })
}

/// The names of the hunks that the log has of a revert: none for all of a turn. Where nothing can be
/// reverted, those that were asked for, as none would mean all.
fn recorded(task: &Task, planned: &[(&Work, Result<Planned, String>)]) -> Vec<String> {
    let asked: Vec<String> = task.hunks.concat().into_iter().map(hunk_name).collect();
    let reverted = planned.iter().flat_map(|(work, planned)| {
        let reverted = planned.iter().flat_map(|it| &it.text.reverted);
        reverted.map(|(edit, own)| hunk_name((work.numbers[*edit], *own)))
    });
    let reverted: Vec<String> = reverted.collect();
    if reverted.is_empty() || asked.is_empty() {
        asked
    } else {
        reverted
    }
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
    let mut hunks = hunks_of(journal, ask.hunk_ids.as_deref())?;
    if let Some(item) = ask.item_id.as_ref().filter(|_| hunks.is_empty()) {
        let of_call = journal.hunks_of_call(item).into_iter();
        hunks = of_call.map(|at| vec![at]).collect();
    }
    let of = ask.item_id.clone().filter(|_| hunks.is_empty());
    let whole = of.is_none() && hunks.is_empty();
    let turn = turn_of(journal, ask, &hunks)?;
    let created: &[String] = match of {
        None => journal.created(&turn),
        Some(_) => &[],
    };
    let verdicts = journal.verdicts();
    let rejected = |at: &HunkAt| verdicts.get(at) == Some(&Verdict::Rejected);
    let part = |edit: &Edit, own: usize| {
        let at = (edit.number, own);
        let wanted = match &of {
            Some(item) => edit.item == *item,
            None if whole => edit.turn.as_ref() == Some(&turn),
            None => hunks.iter().any(|group| group.contains(&at)),
        };
        match wanted {
            true if rejected(&at) => Part::Rejected,
            true => Part::Wanted,
            false if rejected(&at) => Part::Reverted,
            false if edit.formatter => Part::Formatter,
            false if edit.turn.is_none() && !edit.amends => Part::Inverse,
            false => Part::Other,
        }
    };
    let files = by_file(
        &journal.files(),
        created,
        ask.uris.as_deref(),
        of.as_ref(),
        part,
    );
    let uncertain: Vec<String> = match whole {
        true => journal.uncertain(&turn).map(str::to_owned).collect(),
        false => Vec::new(),
    };
    if files.is_empty() && uncertain.is_empty() {
        return Err(Failure::invalid(
            "There is nothing to revert: no file was changed there.",
            "Name another turn, or leave `uris` out.",
        ));
    }
    Ok(Task {
        title: journal.title(&turn).to_owned(),
        turn,
        of,
        hunks,
        files,
        uncertain,
        shapes: journal.shapes(),
    })
}

/// The hunks of these names, which must be changes of the agent that landed.
fn hunks_of(journal: &Journal, ids: Option<&[String]>) -> Result<Vec<Vec<HunkAt>>, Failure> {
    let mut hunks = Vec::new();
    for id in ids.unwrap_or_default() {
        let named = named_hunks(id).filter(|named| named.iter().all(|it| journal.has(*it)));
        hunks.push(named.ok_or_else(|| {
            Failure::invalid(
                format!("This session has no hunk {id}."),
                "List the hunks again with interline/review/list.",
            )
        })?);
    }
    Ok(hunks)
}

/// The turn that `ask` is about.
fn turn_of(journal: &Journal, ask: &RevertTurn, hunks: &[Vec<HunkAt>]) -> Result<TurnId, Failure> {
    let invalid = |message: &str, hint: &str| Failure::invalid(message, hint);
    let last = hunks.iter().flatten().max();
    let last = last.and_then(|(edit, _)| journal.edit(*edit));
    if let Some(turn) = last.and_then(|edit| edit.turn.clone()) {
        return Ok(turn);
    }
    match (&ask.item_id, &ask.turn_id) {
        (Some(item), _) => journal.of_revert(item).cloned().ok_or_else(|| {
            invalid(
                "That item is neither a revert nor a tool call that changed files.",
                "Name the item of a revert or a tool call, or a turn.",
            )
        }),
        (None, Some(turn)) if !journal.knows(turn) => Err(Failure::new(
            FailureKind::UnknownTurn,
            "This session has no such turn.",
            "Name a turn from the session's list.",
        )),
        (None, Some(turn)) => Ok(turn.clone()),
        (None, None) => journal.last().cloned().ok_or_else(|| {
            invalid(
                "No turn of this session has changes to revert.",
                "Name a turn, or a revert to restore its changes.",
            )
        }),
    }
}

/// The files with a wanted hunk, and their edits since the first of these. `of`: the revert that is
/// reverted.
fn by_file(
    files: &[FileEdits],
    created: &[String],
    uris: Option<&[String]>,
    of: Option<&ItemId>,
    part: impl Fn(&Edit, usize) -> Part,
) -> Vec<Work> {
    let mut works = Vec::new();
    for file in files {
        if uris.is_some_and(|uris| uris.iter().all(|uri| key(uri) != file.key)) {
            continue;
        }
        let parts = |edit: &Edit| (0..edit.hunks.len()).map(|own| part(edit, own)).collect();
        let wanted = |edit: &&Edit| {
            let parts: Vec<Part> = parts(edit);
            parts.iter().any(|part| part.wanted())
        };
        let Some(first) = file.edits.iter().find(wanted) else {
            continue;
        };
        let created = first.create || created.iter().any(|made| key(made) == file.key);
        let since = file.since(first.number, of);
        works.push(Work {
            uri: file.uri.clone(),
            created,
            deleted: since.edits.iter().any(|edit| edit.delete),
            numbers: since.edits.iter().map(|it| it.number).collect(),
            edits: since.logged(),
            parts: since.edits.iter().map(parts).collect(),
        });
    }
    works
}

/// The file's current text.
pub(super) struct Present {
    pub located: Located,
    pub rope: Rope,
    pub revision: Option<Revision>,
    /// There is no file.
    missing: bool,
}

/// A revert of one file that is not applied yet.
struct Planned {
    present: Present,
    text: RevertedText,
}

impl From {
    /// What the session's log says about edits. Read again only if the log has grown.
    pub(super) async fn journal(&self) -> Result<Arc<Journal>, Failure> {
        let (path, cache) = (self.log.path().to_owned(), self.journal.clone());
        let read = tasks::blocking(move || {
            let length = std::fs::metadata(&path)?.len();
            let mut cache = cache.lock();
            if let Some((_, known)) = cache.as_ref().filter(|(known, _)| *known == length) {
                return Ok(known.clone());
            }
            let journal = Arc::new(Journal::open(&path)?);
            *cache = Some((length, journal.clone()));
            Ok(journal)
        });
        read.await
            .unwrap_or_else(|error| Err(std::io::Error::other(error).into()))
            .map_err(|error| unreadable(&error))
    }

    /// What the file's text is to become; `Err`: why it cannot be read.
    async fn planned(&self, work: &Work, task: &Task) -> Result<Planned, String> {
        let again = task.of.is_some() || work.deleted;
        let present = self.current_text(&work.uri, again).await?;
        let own = |(number, own): &HunkAt| {
            let edit = work.numbers.binary_search(number).ok()?;
            Some((edit, *own))
        };
        let group = |group: &Vec<HunkAt>| group.iter().filter_map(own).collect();
        let groups: Vec<Vec<HunkAt>> = task.hunks.iter().map(group).collect();
        let text = String::from(&present.rope);
        let part = |(edit, own): HunkAt| work.parts[edit][own];
        let text = revert_edits(&text, &work.edits, &groups, part);
        Ok(Planned { present, text })
    }

    /// Applies what is planned, and says so in `row`; in a preview, says only what would change.
    async fn file(
        &self,
        row: &mut RevertedFile,
        Planned { present, text }: Planned,
        work: &Work,
        (task, item, preview): (&Task, &ItemId, bool),
    ) {
        row.conflicts = text.conflicts;
        let plan = Plan {
            base: present.rope.clone(),
            named: text.hunks.iter().map(|it| it.start..it.end).collect(),
            hunks: text.hunks,
            strategy: Strategy::Exact,
        };
        if plan.hunks.is_empty() {
            return;
        }
        // The turn created it, or had deleted it, and it contains nothing by others.
        let emptied = (work.created || work.deleted) && text.text.is_empty();
        if preview {
            let diff = plan.unified(&present.located.display(&self.shared.workspace));
            (row.added, row.removed, row.diff) = (diff.added, diff.removed, diff.text);
            row.deleted = emptied && (self.host.deletes() || present.revision.is_none());
        } else {
            let mut job = self.job(present, plan, task, item);
            job.delete = emptied;
            job.shape = task
                .shapes
                .get(&key(&work.uri))
                .copied()
                .filter(|_| job.create);
            match together(vec![job], &[], item.clone()).await.pop() {
                Some(Fate::Landed { outcome, deleted }) => {
                    if let Outcome::Applied(landed)
                    | Outcome::Rebased(landed)
                    | Outcome::Held(landed) = outcome
                    {
                        (row.added, row.removed) = (landed.added, landed.removed);
                        row.diff = landed.diff;
                    }
                    row.deleted = deleted;
                }
                Some(Fate::Failed(outcome)) => {
                    row.conflicts = vec![reason(outcome)];
                    return;
                }
                // One job that did not fail landed.
                _ => return,
            }
        }
        if emptied && !row.deleted {
            let words = "it is now empty; delete it if you do not need it";
            row.conflicts.push(words.to_owned());
        }
    }

    /// `again`: a missing file may be created again.
    pub(super) async fn current_text(&self, uri: &str, again: bool) -> Result<Present, String> {
        let workspace = self.shared.workspace.clone();
        let located = beneath::locate(&workspace, &self.cwd, uri).map_err(|e| e.to_string())?;
        if let Some(reason) = self.shared.lanes.state(&located.key()).reason() {
            return Err(reason.to_owned());
        }
        let read = tasks::blocking(move || {
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
        let label = format!("Interline: {what} {}", task.title);
        self.edit_job(
            present,
            plan,
            (task.turn.clone(), item.clone()),
            label.trim_end(),
        )
    }

    pub(super) fn edit_job(
        &self,
        present: Present,
        plan: Plan,
        (turn, item): (TurnId, ItemId),
        label: &str,
    ) -> EditJob {
        EditJob {
            session: self.session.clone(),
            turn,
            item,
            label: label.to_owned(),
            located: present.located,
            plan,
            base_revision: present.revision,
            create: present.missing,
            delete: false,
            strict: true,
            shape: None,
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
pub(super) fn reason(outcome: Outcome) -> String {
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
