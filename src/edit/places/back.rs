//! Lines that an edit removed and that are in the text again: undo, a reload or the user brought
//! them back, and a revert would write them twice. The log says which of the removed lines were
//! nowhere in the text after the edit; no place of it, and nothing of its surroundings, proves more.

use std::collections::HashMap;
use std::ops::Range;

use super::{Logged, Place, SHORTEST, identifies};
use crate::conversation::entry::LoggedHunk;
use crate::edit::lines::is_grown;

/// Comparisons of single lines at most, in one search; beyond, a line that was typed into is not
/// recognised.
const BUDGET: usize = 200_000;

/// Notes for each hunk which of the lines that it changed are nowhere in the text `after` the edit.
pub(super) fn note_vanished(hunks: &mut [LoggedHunk], after: &str) {
    let lines: Vec<Vec<String>> = hunks.iter().map(changed_lines).collect();
    let mut wanted = Wanted::default();
    for (own, lines) in lines.iter().enumerate() {
        for (at, line) in lines.iter().enumerate() {
            wanted.add(line, (own, at));
        }
    }
    let mut left: Vec<Vec<bool>> = lines.iter().map(|it| vec![false; it.len()]).collect();
    wanted.search(after, |_, (own, at)| left[own][at] = true);
    for (own, hunk) in hunks.iter_mut().enumerate() {
        for (at, line) in lines[own].iter().enumerate() {
            if left[own][at] || !identifies(line, SHORTEST) {
                continue;
            }
            match hunk.vanished.last_mut().filter(|(_, end)| *end == at) {
                Some((_, end)) => *end = at + 1,
                None => hunk.vanished.push((at, at + 1)),
            }
        }
    }
}

/// The complete lines that a hunk changed, as they were before.
fn changed_lines(hunk: &LoggedHunk) -> Vec<String> {
    match hunk.old.trim().is_empty() {
        true => Vec::new(),
        false => complete_lines(hunk, &hunk.old),
    }
}

/// The complete lines of `part`, which is what the hunk removed or wrote.
fn complete_lines(hunk: &LoggedHunk, part: &str) -> Vec<String> {
    let head = hunk.lead.rsplit(['\n', '\r']).next().unwrap_or_default();
    let tail = hunk.trail.split(['\n', '\r']).next().unwrap_or_default();
    let whole = part.ends_with(['\n', '\r']) || [head, part].concat().is_empty();
    let text = [head, part, if whole { "" } else { tail }].concat();
    text.lines().map(|line| line.trim().to_owned()).collect()
}

/// Whether each of the places has a line that one of its hunks removed and that is in the text
/// again, where no later edit wrote it.
pub(super) fn brought_back(present: &str, places: &[Place], edits: &[Logged]) -> Vec<bool> {
    let hunk = |(edit, own): (usize, usize)| &edits[edit].hunks[own];
    let mut wanted = Wanted::default();
    let mut lines = Vec::new();
    for (place, it) in places.iter().enumerate().filter(|(_, it)| !it.amended) {
        for at in &it.hunks {
            let changed = match hunk(*at).vanished.is_empty() {
                true => Vec::new(),
                false => changed_lines(hunk(*at)),
            };
            let vanished = hunk(*at).vanished.iter();
            let changed = vanished.filter_map(|(start, end)| changed.get(*start..*end));
            lines.extend(changed.flatten().map(|line| (line.clone(), (place, at.0))));
        }
    }
    for (line, of) in &lines {
        wanted.add(line, *of);
    }
    let mut back = vec![false; places.len()];
    let history = history(edits);
    // A later edit that removed the line again met it: it was back by then.
    for (line, (place, edit)) in &lines {
        let mut later = history.get(line.as_str()).into_iter().flatten();
        let next = later.find(|(other, _)| other > edit);
        back[*place] |= next.is_some_and(|(_, removed)| *removed);
    }
    wanted.search(present, |range, (place, edit)| {
        let line = present[range.clone()].trim();
        let holds = |it: &&Place| it.range.start < range.end && it.range.end > range.start;
        let written = places.iter().filter(holds).any(|it| {
            let later = it.hunks.iter().filter(|at| at.0 > edit);
            later.into_iter().any(|at| writes(hunk(*at), line))
        });
        back[place] |= !written;
    });
    let beside = places.iter().map(|it| stands_beside(present, it, edits));
    back.into_iter().zip(beside).map(|(a, b)| a || b).collect()
}

/// Which edits removed a line, and which wrote it, in their order.
fn history(edits: &[Logged]) -> HashMap<String, Vec<(usize, bool)>> {
    let mut history: HashMap<String, Vec<(usize, bool)>> = HashMap::new();
    for (at, edit) in edits.iter().enumerate() {
        let mut note = |line: String, removed| {
            if identifies(&line, SHORTEST) {
                history.entry(line).or_default().push((at, removed));
            }
        };
        let removed = edit.hunks.iter().flat_map(changed_lines);
        removed.for_each(|line| note(line, true));
        let hunks = edit.hunks.iter().filter(|it| !it.new.trim().is_empty());
        let written = hunks.flat_map(|hunk| complete_lines(hunk, &hunk.new));
        written.for_each(|line| note(line, false));
    }
    history
}

/// Whether the lines that one of its hunks removed stand beside the place again. Also lines of which
/// the text has, or had, more than one.
fn stands_beside(present: &str, place: &Place, edits: &[Logged]) -> bool {
    let now = &present[place.range.clone()];
    let count = place.before.lines().count() + 1;
    let above = present[..place.range.start]
        .split_inclusive('\n')
        .rev()
        .take(count);
    let below = present[place.range.end..].split_inclusive('\n').take(count);
    let (above, below): (Vec<&str>, Vec<&str>) = (above.collect(), below.collect());
    place.hunks.iter().any(|(edit, own)| {
        let hunk = &edits[*edit].hunks[*own];
        let removed = hunk.old.lines().map(str::trim);
        let removed = removed.filter(|line| identifies(line, SHORTEST) && !now.contains(line));
        let removed: Vec<&str> = removed.collect();
        let count = |lines: &[&str], line: &str| {
            let lines = lines
                .iter()
                .filter(|it| it.contains(line) || is_grown(it.trim(), line));
            lines.count()
        };
        // A copy that was there before proves nothing.
        let new = |around: &[&str], beside: &[&str]| {
            let next = &around[..around.len().min(1)];
            let there = |line: &&str| count(beside, line) > count(next, line);
            removed.iter().all(there) && removed.iter().any(|line| count(around, line) == 0)
        };
        let lead: Vec<&str> = hunk.lead.split_inclusive('\n').rev().collect();
        let trail: Vec<&str> = hunk.trail.split_inclusive('\n').collect();
        !removed.is_empty() && (new(&lead, &above) || new(&trail, &below))
    })
}

/// Whether a hunk wrote `line`, or most of it.
fn writes(hunk: &LoggedHunk, line: &str) -> bool {
    let written = complete_lines(hunk, &hunk.new);
    let mut written = written.iter().filter(|_| !hunk.new.trim().is_empty());
    written.any(|it| identifies(it, SHORTEST) && is_grown(line, it))
}

/// Lines to look for in a text.
#[derive(Default)]
struct Wanted<'a, T> {
    lines: HashMap<&'a str, Vec<T>>,
}

impl<'a, T: Copy> Wanted<'a, T> {
    fn add(&mut self, line: &'a str, of: T) {
        if identifies(line, SHORTEST) {
            self.lines.entry(line).or_default().push(of);
        }
    }

    /// Calls `found` with the bytes of each line of `text` that is a wanted one, or one that was
    /// typed into.
    fn search(&self, text: &str, mut found: impl FnMut(&Range<usize>, T)) {
        if self.lines.is_empty() {
            return;
        }
        let count = text.bytes().filter(|it| *it == b'\n').count() + 1;
        let closely = count.saturating_mul(self.lines.len()) <= BUDGET;
        let mut start = 0;
        for line in text.split_inclusive(['\n', '\r']) {
            let range = start..start + line.len();
            start = range.end;
            let line = line.trim();
            if closely {
                let grown = self.lines.iter().filter(|(it, _)| is_grown(line, it));
                grown
                    .flat_map(|(_, of)| of)
                    .for_each(|of| found(&range, *of));
            } else if let Some(of) = self.lines.get(line) {
                of.iter().for_each(|of| found(&range, *of));
            }
        }
    }
}
