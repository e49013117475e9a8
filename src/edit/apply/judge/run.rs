//! Consecutive recorded changes that are exactly an edit, or exactly its inverse.

use ropey::Rope;

use crate::edit::plan::patch;
use crate::edit::rebase::shift;
use crate::edit::{Hunk, with_new_starts};
use crate::workspace::Change;

/// Where a run of changes made an edit.
pub(super) struct Run {
    /// The changes before it.
    pub first: usize,
    /// The changes up to and including its last one.
    pub end: usize,
    /// The hunks that undo it, in the text after it.
    pub inverse: Vec<Hunk>,
    /// The text after it.
    pub text: Rope,
}

/// The text as it would be if the edit had landed before the change `first`.
struct Candidate {
    first: usize,
    wanted: Rope,
    hunks: Vec<Hunk>,
    before: Rope,
}

/// How many starting points are compared at a time. There are more only if the user types right at
/// the edge of a hunk.
const CANDIDATES: usize = 64;

/// The first run of `changes` on `text` that is exactly `hunks`, moved by the changes before it.
pub(super) fn find(text: &Rope, hunks: &[Hunk], changes: &[Change]) -> Option<Run> {
    let mut text = text.clone();
    let mut moving = Some(hunks.to_vec());
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut continued = false;
    for (at, change) in changes.iter().enumerate() {
        if let Some(hunks) = &moving {
            if !continued && hunks.iter().any(|hunk| near(hunk, change)) {
                candidates.push(Candidate {
                    first: at,
                    wanted: patch(&text, hunks),
                    hunks: hunks.clone(),
                    before: text.clone(),
                });
                if candidates.len() > CANDIDATES {
                    candidates.remove(0);
                }
            }
            // After a change that touches a hunk, no later run can be the edit.
            moving = moved(hunks, change);
        }
        if moving.is_none() && candidates.is_empty() {
            return None;
        }
        text = step(&text, change)?;
        let length = text.len_bytes();
        let found = candidates
            .iter()
            .find(|it| it.wanted.len_bytes() == length && it.wanted == text);
        continued = change.continues;
        if let Some(found) = found.filter(|_| !continued) {
            return Some(Run {
                first: found.first,
                end: at + 1,
                inverse: inverse(&found.before, &found.hunks),
                text,
            });
        }
    }
    None
}

fn near(hunk: &Hunk, change: &Change) -> bool {
    change.start <= hunk.end && change.start + change.removed.len() >= hunk.start
}

fn moved(hunks: &[Hunk], change: &Change) -> Option<Vec<Hunk>> {
    let hunks = hunks.iter().map(|hunk| {
        let (start, end) = shift(hunk.start, hunk.end, change)?;
        Some(Hunk {
            start,
            end,
            text: hunk.text.clone(),
        })
    });
    hunks.collect()
}

/// The hunks that turn `before` with `hunks` back into `before`.
pub(super) fn inverse(before: &Rope, hunks: &[Hunk]) -> Vec<Hunk> {
    let back = with_new_starts(hunks).map(|(start, hunk)| Hunk {
        start,
        end: start + hunk.text.len(),
        text: before.byte_slice(hunk.start..hunk.end).to_string(),
    });
    back.collect()
}

/// The text after one recorded change; `None` if the record does not fit the text.
pub(super) fn step(text: &Rope, change: &Change) -> Option<Rope> {
    let end = change.start + change.removed.len();
    text.get_byte_slice(change.start..end)
        .is_some_and(|old| old == change.removed.as_str())
        .then(|| {
            patch(
                text,
                &[Hunk {
                    start: change.start,
                    end,
                    text: change.inserted.clone(),
                }],
            )
        })
}
