//! Reverting logged edits in the current text: at the exact place if the text is the one that the
//! edit left, else where the written text occurs once between its old surroundings. Later changes
//! of others are never touched. Pure: only [`super::apply`] sends the result.

use super::places::{HunkAt, Logged, places};
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
    /// It reverted another.
    Inverse,
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
    /// What could not be reverted, as messages for the user, sorted by line.
    pub conflicts: Vec<String>,
}

/// Reverts the wanted hunks of `edits`, which are all logged edits of the text since the first of
/// these, in the order in which they were made.
pub fn revert_edits(
    present: &str,
    edits: &[Logged],
    part: impl Fn(HunkAt) -> Part,
) -> RevertedText {
    let wanted = |at: &&HunkAt| part(**at).wanted();
    let places = places(present, edits);
    let missing = places.gone.iter().filter(|at| part(**at) == Part::Wanted);
    let mut left: Vec<HunkAt> = missing.copied().collect();
    // Without what it reverted, an inverse must not be undone: that would do the edit once more.
    let unmatched = places.gone.iter().any(|at| part(*at).wanted());
    let mut text = present.to_owned();
    let mut hunks = Vec::new();
    for place in places.found.iter().rev() {
        let stays = place.amended
            || place.hunks.iter().any(|at| match part(*at) {
                Part::Other => true,
                Part::Inverse => unmatched,
                Part::Wanted | Part::Rejected => false,
            });
        let mut of_place = place.hunks.iter().filter(wanted).peekable();
        if of_place.peek().is_some() && !stays {
            text.replace_range(place.range.clone(), &place.before);
            let inverse = lines::difference_in(present, place.range.clone(), &place.before);
            hunks.extend(inverse.into_iter().rev());
        } else {
            left.extend(of_place);
        }
    }
    hunks.reverse();
    let left = left.iter().map(|(edit, own)| &edits[*edit].hunks[*own]);
    let mut conflicts: Vec<_> = left.map(|it| (it.line, conflict_message(it))).collect();
    conflicts.sort();
    conflicts.dedup();
    RevertedText {
        text,
        hunks,
        conflicts: conflicts.into_iter().map(|(_, words)| words).collect(),
    }
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
