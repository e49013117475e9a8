//! Reverting logged edits in the current text: at the exact place if the text is the one that the
//! edit left, else where the written text occurs once between its old surroundings. Later changes
//! of others are never touched. Pure: only [`super::apply`] sends the result.

use std::collections::HashSet;

use super::places::{HunkAt, Logged, Place, Places, identifies_itself, places};
use super::{Hunk, lines};
use crate::conversation::entry::LoggedHunk;

/// What a hunk is to a revert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It is to be reverted.
    Wanted,
    /// The same, but it was reverted before, and may be gone.
    Rejected,
    /// It stays: where it changed the same text, nothing is reverted.
    Other,
    /// It was reverted before. Beside what reverted it, it is no change.
    Reverted,
    /// It reverted another.
    Inverse,
    /// A formatter's: it is reverted with a place, and is no reason for or against that.
    Formatter,
}

impl Part {
    pub fn wanted(self) -> bool {
        matches!(self, Part::Wanted | Part::Rejected)
    }
}

/// A text after a revert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevertedText {
    pub text: String,
    /// What turns the current text into it. Each hunk is inside a place, so that the place shows no
    /// change afterwards, whatever happens to the others.
    pub hunks: Vec<Hunk>,
    /// The logged hunks that are reverted in it.
    pub reverted: Vec<HunkAt>,
    /// What could not be reverted, as messages for the user, sorted by line.
    pub conflicts: Vec<String>,
}

/// Reverts the wanted hunks of `edits`, which are all logged edits of the text since the first of
/// these, in the order in which they were made. The hunks of a group are reverted together or not
/// at all.
pub fn revert_edits(
    present: &str,
    edits: &[Logged],
    groups: &[Vec<HunkAt>],
    part: impl Fn(HunkAt) -> Part,
) -> RevertedText {
    let places = places(present, edits);
    let mut stuck = Vec::new();
    let (mut reverted, left) = loop {
        let (reverted, left) = revert_places(present, &places, edits, &stuck, &part);
        let split = |group: &&Vec<HunkAt>| {
            let any = |of: &[HunkAt]| group.iter().any(|at| of.contains(at));
            any(&reverted.reverted) && any(&left)
        };
        match groups.iter().find(split) {
            Some(group) => stuck.extend(group),
            None => break (reverted, left),
        }
    };
    let left = left.iter().map(|(edit, own)| &edits[*edit].hunks[*own]);
    let mut conflicts: Vec<_> = left.map(|it| (it.line, conflict_message(it))).collect();
    conflicts.sort();
    conflicts.dedup();
    reverted.conflicts = conflicts.into_iter().map(|(_, words)| words).collect();
    reverted
}

/// Reverts the places without `stuck` hunks. Returns also the hunks that could not be reverted.
fn revert_places(
    present: &str,
    places: &Places,
    edits: &[Logged],
    stuck: &[HunkAt],
    part: impl Fn(HunkAt) -> Part,
) -> (RevertedText, Vec<HunkAt>) {
    let written = |(edit, own): HunkAt| identifies_itself(&edits[edit].hunks[own]);
    let wanted = |at: &&HunkAt| part(**at).wanted();
    let missing = places.gone.iter().filter(|at| part(**at) == Part::Wanted);
    let mut left: Vec<HunkAt> = missing.copied().collect();
    let mut reverted = Vec::new();
    let inverted = |place: &Place| place.hunks.iter().any(|at| part(*at) == Part::Inverse);
    let answered = |place: &Place, edit| has_inverse(place, edit, edits, &part);
    // Without what it reverted, an inverse must not be undone: that would do the edit once more.
    let reverted_one = |part: Part| part.wanted() || part == Part::Reverted;
    let unmatched = places.gone.iter().any(|at| reverted_one(part(*at)));
    if unmatched {
        let even = places.even.iter().filter(|place| inverted(place));
        left.extend(
            even.flat_map(|place| &place.hunks)
                .filter(|at| part(**at) == Part::Wanted),
        );
    }
    let torn = |it: &&Place| parted(it, &part) || has_orphan(it, edits, &part);
    let apart: Vec<&Place> = places.found.iter().filter(torn).collect();
    let halves = apart.iter().flat_map(|place| &place.hunks);
    let before = |at: &HunkAt| matches!(part(*at), Part::Rejected | Part::Reverted);
    let lone = |place: &Place| {
        let mut rejected = place.hunks.iter().filter(|at| before(at));
        rejected.any(|at| !answered(place, at.0))
    };
    let unmatched = unmatched || places.found.iter().any(lone);
    // Nor one half of an inverse without the other.
    let torn: HashSet<usize> = halves.chain(&places.gone).map(|at| at.0).collect();
    let mut text = present.to_owned();
    let mut hunks = Vec::new();
    for place in places.found.iter().rev() {
        let stays = place.amended
            || place.hunks.iter().any(|at| match part(*at) {
                Part::Other => true,
                Part::Formatter => false,
                Part::Inverse => unmatched || torn.contains(&at.0),
                Part::Reverted => !answered(place, at.0),
                // What it deleted may be there by the inverse, which was not found.
                Part::Rejected if !(answered(place, at.0) || apart.is_empty() && written(*at)) => {
                    true
                }
                Part::Wanted | Part::Rejected => stuck.contains(at),
            });
        let mut of_place = place.hunks.iter().filter(wanted).peekable();
        if of_place.peek().is_some() && !stays {
            reverted.extend(of_place);
            text.replace_range(place.range.clone(), &place.before);
            let inverse = lines::difference_in(present, place.range.clone(), &place.before);
            hunks.extend(inverse.into_iter().rev());
        } else {
            left.extend(of_place);
        }
    }
    hunks.reverse();
    let reverted = RevertedText {
        text,
        hunks,
        reverted,
        conflicts: Vec::new(),
    };
    (reverted, left)
}

/// Whether a place has an inverse without what it reverted. Then that must not be reverted in another
/// place: it would be reverted twice. An inverse and its own inverse, a restored revert, belong
/// together.
fn parted(place: &Place, part: impl Fn(HunkAt) -> Part) -> bool {
    let (mut reverted, mut alone) = (0usize, 0usize);
    let mut last = None;
    for at in &place.hunks {
        match part(*at) {
            Part::Rejected | Part::Reverted => reverted += 1,
            Part::Inverse if last != Some(at.0) => {
                last = Some(at.0);
                match (reverted, alone) {
                    (1.., _) => reverted -= 1,
                    (0, 1..) => alone -= 1,
                    (0, 0) => alone += 1,
                }
            }
            _ => {}
        }
    }
    alone > 0
}

/// Whether a place has what reverted one of its edits.
fn has_inverse(
    place: &Place,
    edit: usize,
    edits: &[Logged],
    part: impl Fn(HunkAt) -> Part,
) -> bool {
    let mut inverses = place.hunks.iter().filter(|at| part(**at) == Part::Inverse);
    inverses.any(|it| edits[it.0].undoes.is_empty() || edits[it.0].undoes.contains(&edit))
}

/// Whether a place has an inverse, but nothing of the edits that it reverts.
fn has_orphan(place: &Place, edits: &[Logged], part: impl Fn(HunkAt) -> Part) -> bool {
    let mut inverses = place.hunks.iter().filter(|at| part(**at) == Part::Inverse);
    inverses.any(|(edit, _)| {
        let undone = &edits[*edit].undoes;
        !undone.is_empty() && !place.hunks.iter().any(|(other, _)| undone.contains(other))
    })
}

fn conflict_message(hunk: &LoggedHunk) -> String {
    let line = match hunk.line {
        0 => String::new(),
        line => format!("line {line}: "),
    };
    format!("{line}the text has changed since")
}

#[cfg(test)]
mod tests;
