//! Positions through recorded changes. Who made a change does not matter here; a hunk that a
//! change touched is never moved, it is a conflict (INV-4).

use super::Hunk;
use crate::workspace::Change;

/// Why hunks cannot be moved: nothing is sent then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// A change touches the bytes of a hunk, or lies strictly inside it.
    Overlap { hunk: usize },
    /// The changes since the model saw the text are no longer recorded.
    Forgotten,
    /// The user did not stop typing for as long as an edit may wait.
    Busy,
}

/// Maps hunks through `changes`, oldest first. An insertion exactly at a hunk's edge stays the
/// user's and comes first.
pub fn rebase(hunks: &[Hunk], changes: &[Change]) -> Result<Vec<Hunk>, Conflict> {
    let mut moved = hunks.to_vec();
    for change in changes {
        for (index, hunk) in moved.iter_mut().enumerate() {
            let (start, end) =
                shift(hunk.start, hunk.end, change).ok_or(Conflict::Overlap { hunk: index })?;
            hunk.start = start;
            hunk.end = end;
        }
    }
    Ok(moved)
}

/// The range `start..end` after `change`; `None` when the change touches it.
pub fn shift(start: usize, end: usize, change: &Change) -> Option<(usize, usize)> {
    let (from, to) = (change.start, change.start + change.removed.len());
    let by = |offset: usize| offset - change.removed.len() + change.inserted.len();
    if from == to {
        // A pure insertion: before or at the start it pushes the range on, so the user's text
        // comes first; at the end of a range it stays behind it.
        if from <= start {
            Some((by(start), by(end)))
        } else if from >= end {
            Some((start, end))
        } else {
            None
        }
    } else if to <= start {
        Some((by(start), by(end)))
    } else if from >= end {
        Some((start, end))
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
