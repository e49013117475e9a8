//! Changes that are not applied yet, in reviews: their call waits until each place is decided.

use super::{CHANGED, ReviewedFile, ReviewedHunk};
use crate::agent::calls::proposals::Waiting;
use crate::edit::proposal::Choice;
use crate::env::order;
use crate::session::api::{
    DecidedHunk, Decision, DecisionStatus, HunkDecision, HunkState, ListHunks,
};
use crate::session::revert::{From, Present};
use crate::workspace::Uri;

const GONE: &str = "it was decided before, or its call no longer waits";

/// Adds the places that wait for decisions, sorted into those of their file.
pub(super) async fn add_to(listed: &mut Vec<ReviewedFile>, from: &From, ask: &ListHunks) {
    let wanted_file = ask.uri.as_deref().map(|uri| Uri::new(uri).key());
    for waiting in from.proposals.list() {
        let key = waiting.located().key();
        let other_turn = ask
            .turn_id
            .as_ref()
            .is_some_and(|turn| *turn != waiting.proposal.turn);
        if other_turn || wanted_file.as_ref().is_some_and(|wanted| *wanted != key) {
            continue;
        }
        let Ok(present) = present(from, &waiting).await else {
            continue;
        };
        let hunk = hunk(from, &waiting, &present);
        let of_file = |file: &&mut ReviewedFile| Uri::new(file.uri.as_str()).key() == key;
        match listed.iter_mut().find(of_file) {
            Some(file) => {
                file.hunks.push(hunk);
                order::sort_by_key(&mut file.hunks, |hunk| hunk.range.start);
            }
            None => listed.push(ReviewedFile {
                uri: waiting.located().uri.to_string(),
                version: from
                    .shared
                    .workspace
                    .document(&waiting.located().uri)
                    .map(|document| document.version),
                rope: present.rope,
                hunks: vec![hunk],
            }),
        }
    }
}

/// The file's current text; of a file that is to be created, none.
async fn present(from: &From, waiting: &Waiting) -> Result<Present, String> {
    from.current_text(waiting.located().uri.as_str(), true)
        .await
}

fn hunk(from: &From, waiting: &Waiting, present: &Present) -> ReviewedHunk {
    let place = waiting.place();
    let range = waiting.range_in(&from.shared.workspace, &present.rope, present.revision);
    // Others changed the text there: it is shown near by.
    let range = range.unwrap_or_else(|| {
        let start = place.range.start.min(present.rope.len_bytes());
        let line = present.rope.byte_to_line(start);
        let start = present.rope.line_to_byte(line);
        start..start
    });
    ReviewedHunk {
        id: waiting.id(),
        hunks: Vec::new(),
        formatted: false,
        item: waiting.proposal.item.clone(),
        turn: waiting.proposal.turn.clone(),
        range,
        before: place.before.clone(),
        after: place.after.clone(),
        state: HunkState::Proposed,
    }
}

/// Stores a decision about a proposed place, which is applied when all places of its call are
/// decided. Returns the file with it.
pub(super) async fn decide(from: &From, decision: &HunkDecision) -> (DecidedHunk, Option<String>) {
    let mut waiting = from.proposals.list().into_iter();
    let waiting = waiting.find(|it| it.id() == decision.hunk_id);
    let uri = waiting.as_ref().map(|it| it.located().uri.to_string());
    let (status, reason) = match waiting {
        Some(waiting) => status(from, decision, &waiting).await,
        None => (DecisionStatus::Stale, Some(GONE)),
    };
    let decided = DecidedHunk {
        hunk_id: decision.hunk_id.clone(),
        status,
        reason: reason.map(str::to_owned),
    };
    (decided, uri)
}

async fn status(
    from: &From,
    decision: &HunkDecision,
    waiting: &Waiting,
) -> (DecisionStatus, Option<&'static str>) {
    let choice = match (decision.decision, &decision.after) {
        (Decision::Reject, _) => Choice::Reject,
        (Decision::Amend, Some(after)) => Choice::Amend(after.clone()),
        (Decision::Keep | Decision::Amend, _) => Choice::Keep,
    };
    if choice != Choice::Reject {
        let workspace = &from.shared.workspace;
        let fits = present(from, waiting).await.is_ok_and(|present| {
            waiting
                .range_in(workspace, &present.rope, present.revision)
                .is_some()
        });
        if !fits {
            return (DecisionStatus::Conflict, Some(CHANGED));
        }
    }
    match waiting.decide(choice) {
        true => (DecisionStatus::Done, None),
        false => (DecisionStatus::Stale, Some(GONE)),
    }
}
