//! Reviews the agent's changes by place: lists what is left of them in the current texts, and keeps,
//! rejects or amends them. A rejection is a revert of some hunks, an amendment an edit with the
//! user's text; both take the way of any edit.

pub mod formatted;
mod proposed;

use std::collections::HashMap;

use ropey::Rope;

use super::api::{
    DecidedHunk, DecidedHunks, Decision, DecisionStatus, HunkDecision, HunkState, ListHunks,
    RevertTurn,
};
use super::journal::{Edit, FileEdits, Journal, hunk_name, named_hunks};
use super::revert::{self, From, Present};
use crate::agent::calls::proposals::is_proposed;
use crate::conversation::entry::{Reviewed, Verdict};
use crate::conversation::{Entry, Failure, ItemId, Recorder as _, TurnId};
use crate::edit::matching::Strategy;
use crate::edit::places::{HunkAt, places};
use crate::edit::{Hunk, Outcome, Plan, apply};
use crate::env::order;
use crate::workspace::Uri;

/// The hunks of a file, in the order of its text.
pub struct ReviewedFile {
    pub uri: String,
    pub rope: Rope,
    /// `None`: the file is closed.
    pub version: Option<i32>,
    pub hunks: Vec<ReviewedHunk>,
}

pub struct ReviewedHunk {
    /// Its name on the wire.
    pub id: String,
    /// The agent's logged hunks of this place; none if it is proposed.
    hunks: Vec<HunkAt>,
    /// A formatter changed it since.
    pub formatted: bool,
    pub item: ItemId,
    pub turn: TurnId,
    /// Its bytes in the current text.
    pub range: std::ops::Range<usize>,
    pub before: String,
    pub after: String,
    pub state: HunkState,
}

/// The name of a place on the wire.
fn id_of(hunks: &[HunkAt]) -> String {
    let names = hunks.iter().copied().map(hunk_name);
    names.collect::<Vec<_>>().join("+")
}

const CHANGED: &str = "the text has changed since";
/// An amendment would replace text that the client did not show.
const TYPED: &str = "the text has changed since: list the hunks again";

/// What is left of the session's changes. Files that cannot be read have none.
pub async fn list(from: &From, ask: &ListHunks) -> Result<Vec<ReviewedFile>, Failure> {
    let journal = from.journal().await?;
    let verdicts = journal.verdicts();
    let wanted_file = ask.uri.as_deref().map(|uri| Uri::new(uri).key());
    let wanted = |edit: &Edit| ask.turn_id.is_none() || ask.turn_id == edit.turn;
    let mut listed = Vec::new();
    for file in journal.files() {
        let open = |at: &HunkAt| !kept(&verdicts, at);
        let first = file.first(|edit, at| wanted(edit) && (ask.all || open(&at)));
        let elsewhere = wanted_file.as_ref().is_some_and(|key| *key != file.key);
        let Some(first) = first.filter(|_| !elsewhere) else {
            continue;
        };
        let Ok(present) = from.current_text(&file.uri, false).await else {
            continue;
        };
        let since = file.since(first, None);
        let is_wanted = |at: &HunkAt| since.edit(at.0).is_some_and(&wanted);
        let mut hunks = agents_hunks(&since, &present, &verdicts);
        hunks.retain_mut(|hunk| {
            let is_open = hunk.hunks.iter().any(|at| is_wanted(at) && open(at));
            if !is_open {
                hunk.state = HunkState::Kept;
            }
            is_open || (ask.all && hunk.hunks.iter().any(is_wanted))
        });
        if ask.all {
            hunks.extend(ended_hunks(&file, &present.rope, &verdicts, &hunks, wanted));
            order::sort_by_key(&mut hunks, |hunk| hunk.range.start);
        }
        if hunks.is_empty() {
            continue;
        }
        let document = from.shared.workspace.document(&present.located.uri);
        listed.push(ReviewedFile {
            uri: document
                .as_ref()
                .map_or_else(|| file.uri.clone(), |it| it.uri.to_string()),
            version: document.map(|it| it.version),
            rope: present.rope,
            hunks,
        });
    }
    proposed::add_to(&mut listed, from, ask).await;
    Ok(listed)
}

/// Whether the user kept a hunk. A rejected one may be back, by the editor's undo.
fn kept(verdicts: &HashMap<HunkAt, Verdict>, at: &HunkAt) -> bool {
    matches!(verdicts.get(at), Some(Verdict::Kept | Verdict::Amended))
}

/// The places with changes of the agent.
fn agents_hunks(
    file: &FileEdits,
    present: &Present,
    verdicts: &HashMap<HunkAt, Verdict>,
) -> Vec<ReviewedHunk> {
    let text = String::from(&present.rope);
    let logged = file.logged();
    let found = places(&text, &logged).found.into_iter();
    let rejected = |at: &HunkAt| verdicts.get(at) == Some(&Verdict::Rejected);
    let hunks = found.filter_map(|place| {
        // If what rejected a hunk is not in the text, the user brought the hunk back.
        let undone = |edit: usize| {
            place
                .hunks
                .iter()
                .any(|it| logged[it.0].undoes.contains(&edit))
        };
        let of_agent = place.hunks.iter().filter_map(|at| {
            let hunk = file.agents(*at)?;
            (!rejected(&hunk) || !undone(at.0)).then_some(hunk)
        });
        let hunks: Vec<HunkAt> = of_agent.collect();
        let formatted = place.hunks.iter().any(|at| file.is_formatters(*at));
        let last = file.edit(hunks.last()?.0)?;
        let amended = place.amended || place.hunks.iter().any(|at| file.amends(*at));
        Some(ReviewedHunk {
            id: id_of(&hunks),
            formatted,
            item: last.item.clone(),
            turn: last.turn.clone()?,
            after: text[place.range.clone()].to_owned(),
            range: place.range,
            before: place.before,
            state: match amended {
                true => HunkState::Amended,
                false => HunkState::Applied,
            },
            hunks,
        })
    });
    hunks.collect()
}

/// The logged hunks that are no longer in the text, at the lines where they were written.
fn ended_hunks(
    file: &FileEdits,
    rope: &Rope,
    verdicts: &HashMap<HunkAt, Verdict>,
    present: &[ReviewedHunk],
    wanted: impl Fn(&Edit) -> bool,
) -> Vec<ReviewedHunk> {
    let present: Vec<HunkAt> = present.iter().flat_map(|it| it.hunks.clone()).collect();
    let mut ended = Vec::new();
    for edit in file.edits.iter().filter(|edit| wanted(edit)) {
        for (own, hunk) in edit.hunks.iter().enumerate() {
            let at = (edit.number, own);
            let Some(turn) = edit.turn.clone().filter(|_| !present.contains(&at)) else {
                continue;
            };
            let line = hunk.line.saturating_sub(1).min(rope.len_lines());
            let start = rope.line_to_byte(line);
            ended.push(ReviewedHunk {
                id: hunk_name(at),
                formatted: false,
                hunks: vec![at],
                item: edit.item.clone(),
                turn,
                range: start..start,
                before: hunk.old.clone(),
                after: hunk.new.clone(),
                state: match verdicts.get(&at) {
                    Some(Verdict::Kept | Verdict::Amended) => HunkState::Kept,
                    Some(Verdict::Rejected) => HunkState::Rejected,
                    None => HunkState::Superseded,
                },
            });
        }
    }
    ended
}

/// The places of a file from some edit on.
struct Places {
    file: FileEdits,
    present: Present,
    hunks: Vec<ReviewedHunk>,
}

/// The session's changes, and what was found of them in the texts.
struct Changes {
    files: Vec<FileEdits>,
    verdicts: HashMap<HunkAt, Verdict>,
    /// By the number of their first edit.
    places: HashMap<usize, Places>,
}

/// Carries out the decisions, each whole or not at all. Returns what the user decided about changes
/// in the texts, and the files of proposed changes.
pub async fn decide(
    from: &From,
    decisions: &[HunkDecision],
) -> Result<(DecidedHunks, Vec<Reviewed>, Vec<String>), Failure> {
    let journal = from.journal().await?;
    let mut changes = Changes {
        files: journal.files(),
        verdicts: journal.verdicts(),
        places: HashMap::new(),
    };
    let mut results = Vec::new();
    let mut decided = Vec::new();
    let mut rejected = Vec::new();
    let mut of_proposed = Vec::new();
    for (at, decision) in decisions.iter().enumerate() {
        if is_proposed(&decision.hunk_id) {
            let (result, uri) = proposed::decide(from, decision).await;
            results.push(result);
            of_proposed.extend(uri);
            continue;
        }
        let (status, reason) = match decide_one(from, &journal, &mut changes, decision).await {
            Ok(place) => {
                match place.verdict {
                    Verdict::Rejected => rejected.push((at, place)),
                    Verdict::Kept | Verdict::Amended => decided.push(place),
                }
                (DecisionStatus::Done, None)
            }
            Err((status, reason)) => (status, Some(reason)),
        };
        results.push(DecidedHunk {
            hunk_id: decision.hunk_id.clone(),
            status,
            reason,
        });
    }
    let mut item_id = None;
    if !rejected.is_empty() {
        item_id = Some(reject(from, rejected, &mut results, &mut decided).await?);
    }
    if !decided.is_empty() {
        from.log.record(Entry::Review {
            item: ItemId(from.shared.env.id("review")),
            decided: decided.clone(),
        });
    }
    Ok((DecidedHunks { results, item_id }, decided, of_proposed))
}

/// One decision. Hunks to reject are only checked.
async fn decide_one(
    from: &From,
    journal: &Journal,
    changes: &mut Changes,
    decision: &HunkDecision,
) -> Result<Reviewed, Failed> {
    let (first, own) = find(from, journal, changes, decision).await?;
    let places = &changes.places[&first];
    let hunk = &places.hunks[own];
    let amended = hunk.state == HunkState::Amended;
    let verdict = match decision.decision {
        Decision::Reject if amended => {
            return Err((DecisionStatus::Conflict, CHANGED.to_owned()));
        }
        Decision::Reject => Verdict::Rejected,
        Decision::Keep if !amended => Verdict::Kept,
        Decision::Keep | Decision::Amend => Verdict::Amended,
    };
    let reviewed = Reviewed {
        uri: places.file.uri.clone(),
        hunks: hunk.hunks.iter().copied().map(hunk_name).collect(),
        line: places.present.rope.byte_to_line(hunk.range.start) + 1,
        verdict,
    };
    if let (Decision::Amend, Some(after)) = (decision.decision, &decision.after)
        && *after != hunk.after
        && let Some(mut places) = changes.places.remove(&first)
    {
        let seen = match &decision.listed {
            Some(listed) => *listed == places.hunks[own].after,
            None => !amended,
        };
        if !seen {
            return Err((DecisionStatus::Conflict, TYPED.to_owned()));
        }
        // The text changes: later decisions need the places as they are then.
        changes
            .places
            .retain(|_, other| other.file.key != places.file.key);
        let hunk = places.hunks.swap_remove(own);
        amend(from, places.present, hunk, after)
            .await
            .map_err(|reason| (DecisionStatus::Conflict, reason))?;
    }
    Ok(reviewed)
}

/// Reverts the hunks in one go: one edit, and so one undo step, for each file.
async fn reject(
    from: &From,
    rejected: Vec<(usize, Reviewed)>,
    results: &mut [DecidedHunk],
    decided: &mut Vec<Reviewed>,
) -> Result<ItemId, Failure> {
    let places = rejected.iter().map(|(_, it)| it.hunks.join("+"));
    let hunk_ids = places.collect();
    let ask = RevertTurn {
        session_id: from.session.clone(),
        turn_id: None,
        item_id: None,
        uris: None,
        hunk_ids: Some(hunk_ids),
        preview: false,
    };
    let reverted = revert::run(from, &ask).await?;
    for (at, place) in rejected {
        let key = Uri::new(place.uri.as_str()).key();
        let mut files = reverted.files.iter();
        let row = files.find(|file| Uri::new(file.uri.as_str()).key() == key);
        let changed = row.is_some_and(|file| file.deleted || file.added + file.removed > 0);
        // A created file that could not be deleted has one, too.
        results[at].reason = row.and_then(|file| file.conflicts.first().cloned());
        if changed {
            decided.push(place);
            continue;
        }
        results[at].status = DecisionStatus::Conflict;
        results[at].reason.get_or_insert_with(|| CHANGED.to_owned());
    }
    Ok(reverted.item_id)
}

type Failed = (DecisionStatus, String);

/// Finds a decision's place in the current text: the first edit of its places, and its number.
async fn find(
    from: &From,
    journal: &Journal,
    changes: &mut Changes,
    decision: &HunkDecision,
) -> Result<(usize, usize), Failed> {
    let stale = |reason: &str| (DecisionStatus::Stale, reason.to_owned());
    let conflict = |reason: String| (DecisionStatus::Conflict, reason);
    let unknown = || stale("this session has no such hunk");
    let named = named_hunks(&decision.hunk_id).filter(|it| it.iter().all(|it| journal.has(*it)));
    let named = named.ok_or_else(unknown)?;
    let holds = |file: &&FileEdits| file.edit(named[0].0).is_some();
    let file = changes.files.iter().find(holds).ok_or_else(unknown)?;
    // Those of all open hunks serve most decisions.
    let open = file.first(|_, at| !kept(&changes.verdicts, &at));
    let first = named[0].0.min(open.unwrap_or(usize::MAX));
    if !changes.places.contains_key(&first) {
        let file = file.since(first, None);
        let present = from
            .current_text(&file.uri, false)
            .await
            .map_err(conflict)?;
        let hunks = agents_hunks(&file, &present, &changes.verdicts);
        let places = Places {
            file,
            present,
            hunks,
        };
        changes.places.insert(first, places);
    }
    let hunks = &changes.places[&first].hunks;
    let rejected = |at: &HunkAt| changes.verdicts.get(at) == Some(&Verdict::Rejected);
    let shares = |hunk: &ReviewedHunk| hunk.hunks.iter().any(|at| named.contains(at));
    match hunks.iter().position(|hunk| hunk.hunks == named) {
        Some(own) => Ok((first, own)),
        None if named.iter().any(rejected) => Err(stale("it was rejected before")),
        None if hunks.iter().any(shares) => Err(stale(
            "the agent changed this place again: list the hunks again",
        )),
        None => Err(conflict(CHANGED.to_owned())),
    }
}

/// Puts the user's text in a place.
async fn amend(
    from: &From,
    present: Present,
    hunk: ReviewedHunk,
    after: &str,
) -> Result<(), String> {
    let item = ItemId(from.shared.env.id("review"));
    // Its edit is the user's.
    from.log.record(Entry::Review {
        item: item.clone(),
        decided: Vec::new(),
    });
    let plan = Plan {
        base: present.rope.clone(),
        named: vec![hunk.range.clone()],
        hunks: vec![Hunk {
            start: hunk.range.start,
            end: hunk.range.end,
            text: after.to_owned(),
        }],
        strategy: Strategy::Exact,
    };
    let label = "Interline: change in review";
    match apply(from.edit_job(present, plan, (hunk.turn, item), label)).await {
        Outcome::Applied(_) | Outcome::Rebased(_) | Outcome::Held(_) => Ok(()),
        outcome => Err(revert::reason(outcome)),
    }
}
