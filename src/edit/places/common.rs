//! Lines that identify no place: when an edit was made, the text had them elsewhere too. If the user
//! changes the place since, the other one is the only one that looks like it.

use std::collections::HashMap;

use super::{BYTES, SHORTEST, identifies};
use crate::conversation::entry::LoggedHunk;

/// Notes for each hunk what of it and of its surroundings is elsewhere in the text `after` the edit.
pub(super) fn note_common(hunks: &mut [LoggedHunk], after: &str) {
    let wholes: Vec<String> = hunks.iter().map(whole).collect();
    let lines = || wholes.iter().map(|it| it.lines().map(str::trim));
    let telling = |line: &&str| identifies(line, SHORTEST);
    let mut counts: HashMap<&str, usize> = HashMap::new();
    counts.extend(lines().flatten().filter(telling).map(|line| (line, 0)));
    for line in after.lines().map(str::trim) {
        if let Some(count) = counts.get_mut(line) {
            *count += 1;
        }
    }
    for ((hunk, whole), own) in hunks.iter_mut().zip(&wholes).zip(lines()) {
        let own: Vec<&str> = own.collect();
        let mut here: HashMap<&str, usize> = HashMap::new();
        own.iter()
            .for_each(|line| *here.entry(line).or_default() += 1);
        let mut identified = false;
        for (at, line) in own.iter().enumerate().filter(|(_, line)| telling(line)) {
            let cut = (at == 0 && hunk.lead.len() >= BYTES)
                || (at + 1 == own.len() && !hunk.trail.is_empty() && !whole.ends_with('\n'));
            if !cut && counts.get(line) <= here.get(line) {
                identified = true;
                continue;
            }
            match hunk.common.last_mut().filter(|(_, end)| *end == at) {
                Some((_, end)) => *end = at + 1,
                None => hunk.common.push((at, at + 1)),
            }
        }
        hunk.repeated = !identified && after.find(whole) != after.rfind(whole);
    }
}

/// What a hunk wrote with its surroundings.
pub(super) fn whole(hunk: &LoggedHunk) -> String {
    [&*hunk.lead, &hunk.new, &hunk.trail].concat()
}

/// The lines of `whole` that were elsewhere, too.
pub(super) fn common_lines<'w>(hunk: &LoggedHunk, whole: &'w str) -> Vec<&'w str> {
    if hunk.common.is_empty() {
        return Vec::new();
    }
    let lines: Vec<&str> = whole.lines().map(str::trim).collect();
    let ranges = hunk.common.iter();
    let ranges = ranges.filter_map(|(start, end)| lines.get(*start..*end));
    ranges.flatten().copied().collect()
}
