//! Judges from the mirror what became of an edit that was sent. Pure: uses texts and recorded
//! changes only, never answers or time.

mod merged;
mod run;

use ropey::Rope;

use super::sent_edit::Sent;
use crate::edit::Hunk;
use crate::edit::rebase::rebase;
use crate::env::order;
use crate::workspace::{Change, Revision};
use merged::{Fate, is_distinctive};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The mirror has not changed.
    Pending,
    /// The edit is in the text, made by the changes in `(from, to]`. `moved`: others changed the
    /// text too.
    Shown {
        from: Revision,
        to: Revision,
        moved: bool,
    },
    /// The edit was in the text, and was undone.
    Undone,
    /// The text has changed without the edit.
    Absent,
    /// Part of the edit is in the text, but not as planned. Not `sure`: it is so short that the
    /// user may have typed it.
    Elsewhere { sure: bool },
    /// The text may or may not contain the edit: the changes are no longer recorded, or rewrote
    /// the place.
    Unknown,
}

/// Judges `present`, the text at revision `now`. `changes`: those since the edit was sent, `None`
/// if they are unknown.
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
        // A difference between texts does not show what happened: only equality proves anything.
        return if *present == sent.expected {
            Verdict::Shown {
                from,
                to: now,
                moved: false,
            }
        } else if *present == sent.before {
            Verdict::Absent
        } else {
            Verdict::Unknown
        };
    };
    if changes.is_empty() {
        return Verdict::Pending;
    }
    let verdict = landed_unmerged(sent, changes, from)
        .unwrap_or_else(|| landed_merged(sent, present, changes, from, now));
    match verdict {
        // Other changes may cancel each other, as those with which Neovim begins an undo step.
        Verdict::Shown { from, to, moved } => Verdict::Shown {
            from,
            to,
            moved: moved && *present != sent.expected,
        },
        verdict => verdict,
    }
}

/// Looks for consecutive changes that are exactly the edit, moved by the changes before them, and
/// for those that undo it.
pub(crate) fn landed_unmerged(sent: &Sent, changes: &[Change], from: Revision) -> Option<Verdict> {
    let mut run = run::find(&sent.before, &sent.hunks, changes)?;
    let mut at = 0;
    let mut verdict = Verdict::Absent;
    for shown in [true, false].into_iter().cycle() {
        verdict = if shown {
            let first = at + run.first;
            Verdict::Shown {
                from: first.checked_sub(1).map_or(from, |at| changes[at].revision),
                to: changes[at + run.end - 1].revision,
                moved: first > 0 || at + run.end < changes.len(),
            }
        } else {
            Verdict::Undone
        };
        at += run.end;
        match run::find(&run.text, &run.inverse, &changes[at..]) {
            Some(next) => run = next,
            None => break,
        }
    }
    Some(verdict)
}

/// Judges changes in which a client merged the edit with the user's typing: Neovim sends one
/// change for all those within its delay.
fn landed_merged(
    sent: &Sent,
    present: &Rope,
    changes: &[Change],
    from: Revision,
    now: Revision,
) -> Verdict {
    let fates = merged::fates(sent, present, changes);
    if fates.iter().all(|fate| *fate == Fate::Shown) {
        let ours: Vec<&Change> = changes
            .iter()
            .filter(|change| {
                sent.hunks
                    .iter()
                    .any(|hunk| !hunk.text.is_empty() && change.inserted.contains(&hunk.text))
            })
            .collect();
        let (from, to) = match (ours.first(), ours.last()) {
            (Some(first), Some(last)) => (revision_before(changes, first, from), last.revision),
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
    let sure = fates.contains(&Fate::Shown)
        || trace(&|hunk, change| is_distinctive(&hunk.text) && adds_text(change, &hunk.text));
    if sure || trace(&|hunk, change| change.inserted == hunk.text || may_add_text(hunk, change)) {
        Verdict::Elsewhere { sure }
    } else if fates.contains(&Fate::Doubt) || trace(&may_add_formatted) {
        Verdict::Unknown
    } else {
        Verdict::Absent
    }
}

fn revision_before(changes: &[Change], change: &Change, from: Revision) -> Revision {
    changes
        .iter()
        .map(|other| other.revision)
        .take_while(|revision| *revision < change.revision)
        .last()
        .unwrap_or(from)
}

/// Hunks in `present` that restore the old text where the edit landed; `None` if the edit cannot
/// be distinguished from what others wrote.
pub(crate) fn inverse(sent: &Sent, present: &Rope, changes: &[Change]) -> Option<Vec<Hunk>> {
    if let Some(run) = run::find(&sent.before, &sent.hunks, changes) {
        return rebase(&run.inverse, &changes[run.end..]).ok();
    }
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
                // It did not land at all, else it cannot be found again.
                rebase(std::slice::from_ref(hunk), changes).ok()?;
            }
            (Some((at, change)), None)
                if change.inserted == hunk.text
                    && is_distinctive(&hunk.text)
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
    order::sort_by_key(&mut back, |hunk| hunk.start);
    let apart = back.windows(2).all(|pair| pair[0].end < pair[1].start);
    let whole = back
        .iter()
        .all(|hunk| text.is_char_boundary(hunk.start) && text.is_char_boundary(hunk.end));
    (!back.is_empty() && apart && whole).then_some(back)
}

/// Whether `change` adds one more occurrence of `text`: Eglot merges an edit that landed beside its
/// place with concurrent typing.
fn adds_text(change: &Change, text: &str) -> bool {
    change.inserted.matches(text).count() > change.removed.matches(text).count()
}

/// How many non-blank characters are not just the beginning of a word.
const SOME: usize = 4;

/// [`adds_text`] for a text that may have been typed.
fn may_add_text(hunk: &Hunk, change: &Change) -> bool {
    without_blanks(&hunk.text).chars().count() >= SOME && adds_text(change, &hunk.text)
}

/// The same for a text that a formatter, whose change the client merged with the edit, may have
/// indented or wrapped.
fn may_add_formatted(hunk: &Hunk, change: &Change) -> bool {
    let text = without_blanks(&hunk.text);
    let count = |part: &str| without_blanks(part).matches(&text).count();
    text.chars().count() >= SOME && count(&change.inserted) > count(&change.removed)
}

fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect()
}

#[cfg(test)]
mod tests;
