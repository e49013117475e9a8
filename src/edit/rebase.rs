//! Moves hunks through recorded changes. It does not matter who made a change. A hunk that a change
//! touches is a conflict and is never moved (INV-4).

use ropey::Rope;

use super::Hunk;
use crate::workspace::{Author, Change};

/// How many non-blank characters make an insertion worth looking for in a larger one.
const SHORTEST: usize = 3;

/// Why hunks cannot be moved. Nothing is sent then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// A change touches the bytes of a hunk, is strictly inside it, continues its word, or
    /// inserted the same text.
    Overlap { hunk: usize, by: Author },
    /// The changes since the model saw the text are no longer recorded.
    Forgotten,
    /// The user kept typing for as long as an edit may wait.
    Busy,
}

/// Maps hunks through `changes`, oldest first. The user's insertion exactly at a hunk's edge is
/// kept and comes first.
pub fn rebase(hunks: &[Hunk], changes: &[Change]) -> Result<Vec<Hunk>, Conflict> {
    let mut moved = hunks.to_vec();
    for change in changes {
        for (index, hunk) in moved.iter_mut().enumerate() {
            let overlap = || Conflict::Overlap {
                hunk: index,
                by: change.author.clone(),
            };
            if repeats(hunk, change) {
                return Err(overlap());
            }
            (hunk.start, hunk.end) = shift(hunk.start, hunk.end, change).ok_or_else(overlap)?;
        }
    }
    Ok(moved)
}

/// Like [`rebase`] for hunks in `base`, but a change that touches a hunk within a word is a
/// conflict too: a `5` that became `55` must not become `65`.
pub fn rebase_words(
    base: &Rope,
    hunks: &[Hunk],
    changes: &[Change],
) -> Result<Vec<Hunk>, Conflict> {
    let edges: Vec<Edges> = hunks.iter().map(|hunk| Edges::new(base, hunk)).collect();
    let mut moved = hunks.to_vec();
    for change in changes {
        for (index, hunk) in moved.iter().enumerate() {
            if edges[index].joins(hunk, change) {
                let by = change.author.clone();
                return Err(Conflict::Overlap { hunk: index, by });
            }
        }
        moved = rebase(&moved, std::slice::from_ref(change))?;
    }
    Ok(moved)
}

/// Whether the old or the new text of a hunk begins, and ends, with a word character.
struct Edges {
    first: bool,
    last: bool,
}

impl Edges {
    fn new(base: &Rope, hunk: &Hunk) -> Self {
        let old = base.byte_slice(hunk.start..hunk.end);
        let last = old
            .len_chars()
            .checked_sub(1)
            .and_then(|at| old.get_char(at));
        Self {
            first: word(old.get_char(0)) || word(hunk.text.chars().next()),
            last: word(last) || word(hunk.text.chars().next_back()),
        }
    }

    /// Whether `change` touches the hunk and continues its word.
    fn joins(&self, hunk: &Hunk, change: &Change) -> bool {
        let end = change.start + change.removed.len();
        let sides = [change.removed.as_str(), change.inserted.as_str()];
        let before = end == hunk.start
            && self.first
            && sides.iter().any(|text| word(text.chars().next_back()));
        let behind = change.start == hunk.end
            && self.last
            && sides.iter().any(|text| word(text.chars().next()));
        // An insertion at the place of an insertion comes first: it touches the beginning only.
        let both = hunk.start == hunk.end && change.start == end;
        before || behind && !both
    }
}

fn word(character: Option<char>) -> bool {
    character.is_some_and(|it| it.is_alphanumeric() || it == '_')
}

/// Whether `change` inserted what the hunk inserts, or whole lines of what it writes: an undo that
/// came first. The same insertion has several places: ` b\n` before ` c` is `b\n ` after its space.
/// One change may hold more than it.
fn repeats(hunk: &Hunk, change: &Change) -> bool {
    let end = change.start + change.removed.len();
    let text = &hunk.text;
    let inserted = &change.inserted;
    let turned = |by: usize| Some([text.get(by..)?, text.get(..by)?].concat());
    let slid = match hunk.start {
        at if at < change.start => turned(change.start - at),
        at if at > end => text.len().checked_sub(at - end).and_then(turned),
        _ => Some(text.clone()),
    };
    let telling = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count() >= SHORTEST;
    // A difference between texts lacks the line end that stays.
    let holds = |text: &str, part: &str| telling(part) && text.contains(part.trim());
    let whole = slid.is_some_and(|it| it == *inserted || holds(inserted, &it));
    let touches = |at| (change.start..=end).contains(&at);
    let lines = || {
        (touches(hunk.start) || touches(hunk.end))
            && inserted.contains('\n')
            && holds(text, inserted)
    };
    !text.trim().is_empty() && (hunk.start == hunk.end && whole || lines())
}

/// The range `start..end` after `change`; `None` if the change touches it.
pub fn shift(start: usize, end: usize, change: &Change) -> Option<(usize, usize)> {
    let (from, to) = (change.start, change.start + change.removed.len());
    let by = |offset: usize| offset - change.removed.len() + change.inserted.len();
    if to <= start {
        // Also an insertion at the start: the user's text comes first.
        Some((by(start), by(end)))
    } else if from >= end {
        Some((start, end))
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
