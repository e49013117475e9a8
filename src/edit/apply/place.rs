//! Where a plan's hunks are in a text that has changed since. Pure.

use std::collections::HashMap;

use ropey::Rope;

use crate::edit::lines::is_grown;
use crate::edit::rebase::{Conflict, rebase, rebase_words};
use crate::edit::{Hunk, Plan, line_ends};
use crate::workspace::{Author, Change};

/// The plan's hunks in `now`, and whether `now` differs from the plan's base.
pub(super) fn rebased_hunks(
    plan: &Plan,
    now: &Rope,
    changes: Option<&[Change]>,
) -> Result<(Vec<Hunk>, bool), Conflict> {
    if *now == plan.base {
        return Ok((plan.hunks.clone(), false));
    }
    let changes = changes.ok_or(Conflict::Forgotten)?;
    let hunks = rebase_words(&plan.base, &plan.hunks, changes)?;
    for (index, (then, here)) in plan.hunks.iter().zip(&hunks).enumerate() {
        let same = now
            .get_byte_slice(here.start..here.end)
            .is_some_and(|text| text == plan.base.byte_slice(then.start..then.end));
        if !same || splits(now, here.start) || splits(now, here.end) {
            let by = changes.last().map_or(Author::User, |it| it.author.clone());
            return Err(Conflict::Overlap { hunk: index, by });
        }
    }
    Ok((hunks, true))
}

/// Lines of at most this many bytes are too common to compare.
const SHORTEST: usize = 2;

/// [`rebased_hunks`] of a review: it is a conflict, too, if a change touches a hunk or if a line that
/// a hunk inserts is in the text more often than when it was planned.
pub(super) fn untouched_hunks(
    plan: &Plan,
    now: &Rope,
    changes: Option<&[Change]>,
) -> Result<(Vec<Hunk>, bool), Conflict> {
    let (hunks, moved) = rebased_hunks(plan, now, changes)?;
    let mut here = plan.hunks.clone();
    for change in changes.unwrap_or_default().iter().filter(|_| moved) {
        let end = change.start + change.removed.len();
        let touches = |hunk: &Hunk| change.start <= hunk.end && end >= hunk.start;
        if let Some(hunk) = here.iter().position(touches) {
            let by = change.author.clone();
            return Err(Conflict::Overlap { hunk, by });
        }
        here = rebase(&here, std::slice::from_ref(change))?;
    }
    if !moved {
        return Ok((hunks, moved));
    }
    let (then, there) = (String::from(&plan.base), String::from(now));
    let (then, there) = (telling_lines(&then), telling_lines(&there));
    let newer = there
        .iter()
        .filter(|(line, count)| Some(*count) > then.get(*line));
    let newer: Vec<&str> = newer.map(|(line, _)| *line).collect();
    // The user may have typed into the line after it came back.
    let is_back = |line: &str| line.len() > SHORTEST && newer.iter().any(|it| is_grown(it, line));
    let is_back = |hunk: &Hunk| hunk.text.lines().map(str::trim).any(is_back);
    let by = Author::User;
    match hunks.iter().position(is_back) {
        Some(hunk) => Err(Conflict::Overlap { hunk, by }),
        None => Ok((hunks, moved)),
    }
}

/// How often the lines of a text occur, but for the shortest.
fn telling_lines(text: &str) -> HashMap<&str, usize> {
    let mut lines = HashMap::new();
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| line.len() > SHORTEST)
    {
        *lines.entry(line).or_default() += 1;
    }
    lines
}

/// Whether `offset` is inside a character or a CRLF, where a user's change can move a hunk's edge.
fn splits(text: &Rope, offset: usize) -> bool {
    if text.char_to_byte(text.byte_to_char(offset)) != offset {
        return true;
    }
    let around = offset.saturating_sub(1)..(offset + 1).min(text.len_bytes());
    offset > 0
        && text
            .get_byte_slice(around)
            .is_some_and(|pair| line_ends::splits_crlf(&pair.to_string(), 1))
}

#[cfg(test)]
mod tests;
