//! Where a hunk only deleted text: what was before and behind that text now stands together, also if
//! the user typed in one of the lines around it, or between others of them.

use std::ops::Range;

use super::{TELLING, first_lines, has_unique_line, identifies, last_lines, occurrences, tells};
use crate::conversation::entry::LoggedHunk;
use crate::edit::lines::is_grown;

/// The one place of the deletion. `common`: lines that identify nothing; `guessed`: whether what is
/// there was put back for text of others.
pub(super) fn find(
    text: &str,
    hunk: &LoggedHunk,
    common: &[&str],
    guessed: impl Fn(Range<usize>) -> bool,
) -> Option<usize> {
    let (lead, trail) = (hunk.lead.as_str(), hunk.trail.as_str());
    let head = &lead[lead.rfind('\n').map_or(0, |at| at + 1)..];
    let tail = trail.split('\n').next().unwrap_or_default();
    let before = [lead, &hunk.old, trail].concat();
    let forms = [
        (last_lines(lead), first_lines(trail)),
        (last_lines(lead), tail),
        (head, first_lines(trail)),
    ];
    let mut found = None;
    for (first, second) in forms {
        let whole = [first, second].concat();
        let both = identifies(first, 1) && identifies(second, 1);
        // It must not have stood together before the deletion.
        if !both || !identifies(&whole, TELLING) || before.contains(&whole) {
            continue;
        }
        let mut places = occurrences(text, &whole);
        let (Some(at), None) = (places.next(), places.next()) else {
            continue;
        };
        if guessed(at..at + whole.len()) || !has_unique_line(text, &whole, common) {
            continue;
        }
        let at = at + first.len();
        if found.is_some_and(|other| other != at) {
            return None;
        }
        found = Some(at);
    }
    found.or_else(|| below_grown(text, hunk, common, guessed))
}

/// The place of deleted lines of which the line above was typed into since.
fn below_grown(
    text: &str,
    hunk: &LoggedHunk,
    common: &[&str],
    guessed: impl Fn(Range<usize>) -> bool,
) -> Option<usize> {
    let above = hunk.lead.strip_suffix('\n')?.rsplit('\n').next()?.trim();
    let below = hunk.trail.as_str();
    if !tells(above, common) || !identifies(&[above, below].concat(), TELLING) {
        return None;
    }
    let mut places = occurrences(text, below).filter(|at| text[..*at].ends_with('\n'));
    let (Some(at), None) = (places.next(), places.next()) else {
        return None;
    };
    let now = text[..at - 1].rsplit('\n').next()?;
    let unique = has_unique_line(text, below, common) && !guessed(at..at + below.len());
    (unique && is_grown(now.trim(), above)).then_some(at)
}
