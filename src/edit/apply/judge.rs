//! What a mirror that moved since an edit was sent says about that edit. Pure; concludes from
//! texts and recorded changes only, never from answers or time.

use ropey::Rope;

use crate::edit::plan::patch;
use crate::edit::rebase::{rebase, shift};
use crate::edit::{Hunk, lines};
use crate::workspace::{Change, Revision};

/// An edit on its way.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// The text that the hunks were computed on.
    pub before: Rope,
    /// The mirror's revision of `before`; `None`: the file was closed.
    pub revision: Option<Revision>,
    pub hunks: Vec<Hunk>,
    /// `before` with the hunks.
    pub expected: Rope,
}

impl Sent {
    pub(crate) fn new(before: Rope, revision: Option<Revision>, hunks: Vec<Hunk>) -> Self {
        let expected = patch(&before, &hunks);
        Self {
            before,
            revision,
            hunks,
            expected,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The mirror has not moved.
    Pending,
    /// The edit is there, made by the changes in `(from, to]`. `moved`: others changed the text
    /// too.
    Shown {
        from: Revision,
        to: Revision,
        moved: bool,
    },
    /// It was there, and the text from before it is back.
    Undone,
    /// The text has moved without the edit.
    Absent,
    /// Something of the edit is there, but not as planned. Not `sure`: so short that the user
    /// may have typed it.
    Elsewhere { sure: bool },
}

/// Judges `present`, at revision `now`. `changes`: those since the edit was sent, `None` when
/// they are not known.
pub(crate) fn judge(
    sent: &Sent,
    present: &Rope,
    now: Revision,
    changes: Option<&[Change]>,
) -> Verdict {
    let from = sent.revision.unwrap_or(now);
    if sent.revision == Some(now) {
        return Verdict::Pending;
    }
    let Some(changes) = changes else {
        return if *present == sent.expected {
            Verdict::Shown {
                from,
                to: now,
                moved: false,
            }
        } else if *present == sent.before {
            Verdict::Absent
        } else if same_lines(present, &sent.expected)
            || verdicts(sent, present, &[]).iter().all(|shown| *shown)
        {
            Verdict::Shown {
                from,
                to: now,
                moved: true,
            }
        } else {
            Verdict::Absent
        };
    };
    if changes.is_empty() {
        return Verdict::Pending;
    }
    if let Some(verdict) = in_a_run(sent, changes, from) {
        return verdict;
    }
    merged(sent, present, changes, from, now)
}

/// Looks for consecutive changes that are exactly the edit, moved by the changes before them.
fn in_a_run(sent: &Sent, changes: &[Change], from: Revision) -> Option<Verdict> {
    let mut texts = Vec::with_capacity(changes.len() + 1);
    texts.push(sent.before.clone());
    for change in changes {
        let next = step(texts.last()?, change)?;
        texts.push(next);
    }
    for first in 0..changes.len() {
        // Past a change that touches a hunk no later run can be the edit.
        let hunks = rebase(&sent.hunks, &changes[..first]).ok()?;
        let wanted = patch(&texts[first], &hunks);
        let length = wanted.len_bytes();
        for last in first + 1..texts.len() {
            if texts[last].len_bytes() != length || texts[last] != wanted {
                continue;
            }
            let later = &changes[last..];
            let present = texts.last()?;
            if !later.is_empty() && (*present == sent.before || *present == texts[first]) {
                return Some(Verdict::Undone);
            }
            return Some(Verdict::Shown {
                from: first.checked_sub(1).map_or(from, |at| changes[at].revision),
                to: changes[last - 1].revision,
                moved: first > 0 || !later.is_empty(),
            });
        }
    }
    None
}

/// A client that sends one change for several (Neovim within its delay) merges the edit with
/// the user's typing: the edit counts as shown when all its new text stands at its place and
/// some change made it so.
fn merged(
    sent: &Sent,
    present: &Rope,
    changes: &[Change],
    from: Revision,
    now: Revision,
) -> Verdict {
    let shown = verdicts(sent, present, changes);
    if shown.iter().all(|shown| *shown) {
        let ours: Vec<&Change> = changes
            .iter()
            .filter(|change| {
                sent.hunks
                    .iter()
                    .any(|hunk| !hunk.text.is_empty() && change.inserted.contains(&hunk.text))
            })
            .collect();
        let (from, to) = match (ours.first(), ours.last()) {
            (Some(first), Some(last)) => (before(changes, first, from), last.revision),
            _ => (now, now),
        };
        return Verdict::Shown {
            from,
            to,
            moved: true,
        };
    }
    let trace = |found: &dyn Fn(&Hunk, &Change) -> bool| {
        let inserting = |hunk: &&Hunk| !hunk.text.is_empty();
        let mut hunks = sent.hunks.iter().filter(inserting);
        hunks.any(|hunk| changes.iter().any(|change| found(hunk, change)))
    };
    let sure = shown.iter().any(|shown| *shown)
        || trace(&|hunk, change| telling(&hunk.text) && brings(change, &hunk.text));
    if sure || trace(&|hunk, change| change.inserted == hunk.text || hints(hunk, change)) {
        Verdict::Elsewhere { sure }
    } else {
        Verdict::Absent
    }
}

fn before(changes: &[Change], change: &Change, from: Revision) -> Revision {
    changes
        .iter()
        .map(|other| other.revision)
        .take_while(|revision| *revision < change.revision)
        .last()
        .unwrap_or(from)
}

/// For each hunk, whether `present` shows it at its place.
fn verdicts(sent: &Sent, present: &Rope, changes: &[Change]) -> Vec<bool> {
    let expected = String::from(&sent.expected);
    let differences = lines::fine_difference(&expected, &String::from(present));
    let mut grown = 0isize;
    let mut shown = Vec::with_capacity(sent.hunks.len());
    for hunk in &sent.hunks {
        let start = hunk.start.saturating_add_signed(grown);
        let end = start + hunk.text.len();
        grown += hunk.text.len() as isize - (hunk.end - hunk.start) as isize;
        let evidence = evidence(hunk, changes);
        shown.push(
            evidence != Evidence::Untouched
                && !uprooted(&differences, start, end)
                && differences.iter().all(|other| {
                    // The user may have typed into the new text within the client's delay.
                    let typed = other.start == other.end && telling(&hunk.text);
                    typed || spares(other, start, end, evidence == Evidence::Inserted)
                }),
        );
    }
    shown
}

/// What stood beside `start..end` of the expected text was replaced on one side and something
/// came on the other: the same words may stand at another place.
fn uprooted(differences: &[Hunk], start: usize, end: usize) -> bool {
    let left = || differences.iter().filter(|other| other.end == start);
    let right = || differences.iter().filter(|other| other.start == end);
    let replaces = |other: &Hunk| other.start < other.end;
    start < end
        && (left().any(replaces) && right().next().is_some()
            || right().any(replaces) && left().next().is_some())
}

/// Whether a difference leaves `start..end` of the expected text as planned. `lax`: it may
/// remove what stands beside it.
fn spares(other: &Hunk, start: usize, end: usize, lax: bool) -> bool {
    let insertion = other.start == other.end;
    if start == end {
        other.end < start || other.start > end
    } else if insertion || lax {
        other.end <= start || other.start >= end
    } else {
        other.end < start || other.start > end
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// No change touched the hunk's place: it cannot have landed.
    Untouched,
    Touched,
    /// A change at the place inserted the hunk's whole text.
    Inserted,
}

/// What the changes did at the place of a hunk, following it as long as it is whole.
fn evidence(hunk: &Hunk, changes: &[Change]) -> Evidence {
    if changes.is_empty() {
        return Evidence::Touched;
    }
    let (mut start, mut end) = (hunk.start, hunk.end);
    for change in changes {
        let (from, to) = (change.start, change.start + change.removed.len());
        let near = from <= end && to >= start;
        let moved = shift(start, end, change);
        // Text that appears beside old text that is still whole is not its replacement.
        let replaced = moved.is_none() || near && start == end && !change.inserted.is_empty();
        match moved {
            _ if replaced && !hunk.text.is_empty() && change.inserted.contains(&hunk.text) => {
                return Evidence::Inserted;
            }
            Some(moved) if !replaced => (start, end) = moved,
            _ => return Evidence::Touched,
        }
    }
    Evidence::Untouched
}

/// Hunks in `present` that put back what stood where the edit landed; `None` when what landed
/// cannot be told from what others wrote.
pub(crate) fn inverse(sent: &Sent, present: &Rope, changes: &[Change]) -> Option<Vec<Hunk>> {
    let text = String::from(present);
    let mut back = Vec::new();
    for hunk in &sent.hunks {
        let mut made = changes
            .iter()
            .enumerate()
            .filter(|(_, change)| !hunk.text.is_empty() && change.inserted.contains(&hunk.text));
        let (first, second) = (made.next(), made.next());
        match (first, second) {
            (None, _) => {
                // Not landed at all, else it cannot be found again.
                rebase(std::slice::from_ref(hunk), changes).ok()?;
            }
            (Some((at, change)), None)
                if change.inserted == hunk.text
                    && telling(&hunk.text)
                    && text.matches(&hunk.text).count() == 1 =>
            {
                let landed = Hunk {
                    start: change.start,
                    end: change.start + change.inserted.len(),
                    text: change.removed.clone(),
                };
                back.extend(rebase(&[landed], &changes[at + 1..]).ok()?);
            }
            _ => return None,
        }
    }
    back.sort_by_key(|hunk| hunk.start);
    let apart = back.windows(2).all(|pair| pair[0].end < pair[1].start);
    let whole = back
        .iter()
        .all(|hunk| text.is_char_boundary(hunk.start) && text.is_char_boundary(hunk.end));
    (!back.is_empty() && apart && whole).then_some(back)
}

/// The text stands there once more than before: eglot merges an edit that landed beside its place
/// with what was typed meanwhile.
fn brings(change: &Change, text: &str) -> bool {
    change.inserted.matches(text).count() > change.removed.matches(text).count()
}

/// [`brings`] of a text that may have been typed, but is no single word's beginning.
fn hints(hunk: &Hunk, change: &Change) -> bool {
    const SOME: usize = 4;
    let length = hunk.text.chars().filter(|c| !c.is_whitespace()).count();
    length >= SOME && brings(change, &hunk.text)
}

/// Long enough that a person does not type it by chance in the same moment.
fn telling(text: &str) -> bool {
    text.chars().filter(|c| !c.is_whitespace()).count() >= 6
}

/// Equal but for line ends: some editors unify a file's mixed line ends when they open it.
fn same_lines(a: &Rope, b: &Rope) -> bool {
    let (a, b) = (String::from(a), String::from(b));
    (a.contains('\r') || b.contains('\r'))
        && crate::edit::matching::line_feeds(&a) == crate::edit::matching::line_feeds(&b)
}

/// The text after one recorded change; `None` when the record does not fit the text.
fn step(text: &Rope, change: &Change) -> Option<Rope> {
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

#[cfg(test)]
mod tests;
