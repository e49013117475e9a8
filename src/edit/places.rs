//! What is left of logged edits in the current text, as places to review or to revert. Edits on one
//! line are one place, and what others changed elsewhere belongs to none. Pure.

mod anchors;
mod back;
mod common;
mod joined;

use std::ops::Range;

use ropey::Rope;

use self::anchors::Anchors;
use super::{Hunk, with_new_starts};
use crate::conversation::entry::LoggedHunk;
use crate::conversation::sha256;

/// Lines and bytes around a hunk that are logged to find it again.
const LINES: usize = 3;
const BYTES: usize = 240;

/// How many non-blank characters identify a place: around the written text, and together with it.
const AROUND: usize = 8;
const TELLING: usize = 12;

/// How many make a deleted line, or what a hunk wrote, worth looking for.
const SHORTEST: usize = 3;

/// Bytes to which a hunk of a few bytes may have grown.
const MOST_CHANGED: usize = 4_000;

/// One logged edit of a document.
#[derive(Clone, Debug)]
pub struct Logged {
    /// Hashes of the text before and after the edit.
    pub before: String,
    pub hash: String,
    pub hunks: Vec<LoggedHunk>,
    /// Of an inverse, the edits of which it reverts parts, by their numbers in the same list; empty:
    /// unknown.
    pub undoes: Vec<usize>,
}

/// A hunk of several edits: the number of its edit, and its own number in that edit.
pub type HunkAt = (usize, usize);

/// A changed place of the current text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The logged hunks that made it, in the order of the edits.
    pub hunks: Vec<HunkAt>,
    /// Its bytes in the current text.
    pub range: Range<usize>,
    /// What was there before these edits.
    pub before: String,
    /// Others changed what the edits had written.
    pub amended: bool,
}

/// The places of edits in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// In the order of the text; they neither touch nor share a line.
    pub found: Vec<Place>,
    /// Those whose edits cancel each other: they are no change.
    pub even: Vec<Place>,
    /// Hunks that are no longer in the text: replaced by later edits, or undone.
    pub gone: Vec<HunkAt>,
    /// The text without the edits.
    pub before: String,
}

/// Finds the hunks of `edits`, all logged edits of the text since some edit, in the text `present`.
pub fn places(present: &str, edits: &[Logged]) -> Places {
    let mut text = present.to_owned();
    let mut spans = Spans::default();
    let mut gone: Vec<HunkAt> = Vec::new();
    let mut undone: Vec<HunkAt> = Vec::new();
    let untouched = backward(&mut text, edits, &mut undone, |text, hunk, at, known| {
        let found = known
            .exactly
            .or_else(|| find(text, hunk, |range| spans.guessed(range)));
        let place = match found.or(known.anchored) {
            Some(start) => Some((start..start + hunk.new.len(), hunk.old.clone(), false)),
            None => between(text, hunk)
                .filter(|(range, old)| text[range.clone()] != **old)
                .map(|(range, old)| (range, old, true)),
        };
        let Some((range, old, amended)) = place else {
            gone.push(at);
            return None;
        };
        text.replace_range(range.clone(), &old);
        spans.add(&range, old.len(), at, amended);
        Some(Reverted {
            range,
            length: old.len(),
            amended,
        })
    });
    gone.extend(undone);
    gone.sort_unstable();
    let places = spans.places(present, &text).into_iter();
    let (even, mut found): (Vec<_>, Vec<_>) =
        places.partition(|it| present[it.range.clone()] == *it.before);
    if !untouched {
        let back = back::brought_back(present, &found, edits);
        for (place, back) in found.iter_mut().zip(back) {
            place.amended |= back;
        }
    }
    Places {
        found,
        even,
        gone,
        before: text,
    }
}

/// How many of the edits are in the text with the hash `now`. After undo or a reload it is as it was
/// before some edit: then neither that one nor the later ones are searched in it.
fn in_force(now: &str, edits: &[Logged]) -> usize {
    match edits.last() {
        Some(last) if last.hash != now => {
            let undone = edits.iter().rposition(|edit| edit.before == now);
            let after = || edits.iter().rposition(|edit| edit.hash == now);
            undone.or_else(|| after().map(|at| at + 1))
        }
        _ => None,
    }
    .unwrap_or(edits.len())
}

/// A changed part of the text, without the edits that were visited.
struct Span {
    start: usize,
    length: usize,
    /// Its length in the current text.
    present: usize,
    hunks: Vec<HunkAt>,
    amended: bool,
}

impl Span {
    fn end(&self) -> usize {
        self.start + self.length
    }
}

/// In the order of the text.
#[derive(Default)]
struct Spans(Vec<Span>);

impl Spans {
    /// Whether `range` has text that was put back in place of what others wrote.
    fn guessed(&self, range: Range<usize>) -> bool {
        let within = |it: &Span| it.start < range.end && it.end() > range.start;
        self.0.iter().any(|it| it.amended && within(it))
    }

    /// `range` was replaced by `length` bytes.
    fn add(&mut self, range: &Range<usize>, length: usize, hunk: HunkAt, amended: bool) {
        let touches = |span: &Span| span.start <= range.end && span.end() >= range.start;
        let first = self.0.iter().position(touches);
        let at = first.unwrap_or_else(|| self.0.partition_point(|it| it.start < range.start));
        let count = self.0[at..].iter().take_while(|span| touches(span)).count();
        let mut new = Span {
            start: range.start,
            length: range.len(),
            present: 0,
            hunks: vec![hunk],
            amended,
        };
        let mut grown = 0isize;
        for span in self.0.drain(at..at + count) {
            let end = new.end().max(span.end());
            new.start = new.start.min(span.start);
            new.length = end - new.start;
            new.hunks.extend(span.hunks);
            new.amended |= span.amended;
            grown += span.present.cast_signed() - span.length.cast_signed();
        }
        new.present = new.length.saturating_add_signed(grown);
        let shift = length.cast_signed() - range.len().cast_signed();
        new.length = new.length.saturating_add_signed(shift);
        for span in &mut self.0[at..] {
            span.start = span.start.saturating_add_signed(shift);
        }
        self.0.insert(at, new);
    }

    fn places(self, present: &str, before: &str) -> Vec<Place> {
        let mut places: Vec<(Place, Range<usize>)> = Vec::new();
        let mut grown = 0isize;
        for span in self.0 {
            let start = span.start.saturating_add_signed(grown);
            let range = start..start + span.present;
            grown += span.present.cast_signed() - span.length.cast_signed();
            let old = span.start..span.end();
            let same_line = |last: &&mut (Place, Range<usize>)| {
                !present[last.0.range.end..range.start].contains(['\n', '\r'])
            };
            match places.last_mut().filter(same_line) {
                Some((place, last)) => {
                    place.range.end = range.end;
                    last.end = old.end;
                    place.hunks.extend(span.hunks);
                    place.amended |= span.amended;
                }
                None => places.push((
                    Place {
                        hunks: span.hunks,
                        range,
                        before: String::new(),
                        amended: span.amended,
                    },
                    old,
                )),
            }
        }
        let places = places.into_iter().map(|(mut place, old)| {
            place.hunks.sort_unstable();
            before[old].clone_into(&mut place.before);
            place
        });
        places.collect()
    }
}

/// Where a visited hunk is in the text.
struct Known {
    /// The text is the one that its edit left.
    exactly: Option<usize>,
    /// The next edit was made in that text, and is reverted.
    anchored: Option<usize>,
}

/// How a visited hunk was reverted: `length` bytes took the place of `range`.
struct Reverted {
    range: Range<usize>,
    length: usize,
    amended: bool,
}

/// Visits the hunks of `edits`, the last one first, each with what is known of its place. `each`
/// reverts it in the text, in which the next one is searched. Those of edits that are not in force
/// are `undone`. Whether the text is what these edits alone made.
fn backward(
    text: &mut String,
    edits: &[Logged],
    undone: &mut Vec<HunkAt>,
    mut each: impl FnMut(&mut String, &LoggedHunk, HunkAt, Known) -> Option<Reverted>,
) -> bool {
    let mut untouched = true;
    let mut left = edits;
    // The text before the edit that was visited last, whatever others changed since.
    let mut then: Option<&str> = None;
    let mut anchors = Anchors::default();
    loop {
        let now = sha256(text.as_bytes());
        let count = in_force(then.unwrap_or(&now), left).min(in_force(&now, left));
        let (rest, not_there) = left.split_at(count);
        for (at, edit) in not_there.iter().enumerate() {
            undone.extend((0..edit.hunks.len()).map(|own| (rest.len() + at, own)));
        }
        let Some((edit, earlier)) = rest.split_last() else {
            return untouched;
        };
        let exact = now == edit.hash;
        untouched &= exact;
        let followed = then == Some(edit.hash.as_str());
        let mut own_anchors = Anchors::default();
        for (own, (hunk, start)) in placed(&edit.hunks).enumerate().rev() {
            let here = |at: usize| text.get(at..).is_some_and(|it| it.starts_with(&hunk.new));
            let known = Known {
                exactly: (exact && here(start)).then_some(start),
                anchored: match followed {
                    true => anchors.find(text, start, &hunk.new),
                    false => None,
                },
            };
            let Some(reverted) = each(text, hunk, (earlier.len(), own), known) else {
                continue;
            };
            for anchors in [&mut anchors, &mut own_anchors] {
                anchors.shift(&reverted.range, reverted.length);
            }
            if !reverted.amended {
                let old = hunk.start..hunk.start + hunk.old.len();
                own_anchors.add(old, reverted.range.start);
            }
        }
        anchors = own_anchors;
        then = Some(&edit.before);
        left = earlier;
    }
}

/// Each hunk with its place in the text after the edit.
fn placed(
    hunks: &[LoggedHunk],
) -> impl DoubleEndedIterator<Item = (&LoggedHunk, usize)> + ExactSizeIterator {
    let mut grown = 0isize;
    let places: Vec<(&LoggedHunk, usize)> = hunks
        .iter()
        .map(|hunk| {
            let start = hunk.start.saturating_add_signed(grown);
            grown += hunk.new.len().cast_signed() - hunk.old.len().cast_signed();
            (hunk, start)
        })
        .collect();
    places.into_iter()
}

/// The one place where the hunk's text is as it was written: with all its surroundings, with the
/// nearest lines, or with one side. Never the text alone: it may have occurred elsewhere before.
/// `guessed`: whether what is there was put back for text of others, which proves nothing.
fn find(text: &str, hunk: &LoggedHunk, guessed: impl Fn(Range<usize>) -> bool) -> Option<usize> {
    let (lead, trail) = (hunk.lead.as_str(), hunk.trail.as_str());
    let whole = common::whole(hunk);
    let common = common::common_lines(hunk, &whole);
    // Empty surroundings mean the beginning or the end of the text.
    let fits = |start: &usize| {
        let end = start + whole.len();
        (!lead.is_empty() || *start == 0) && (!trail.is_empty() || end == text.len())
    };
    if identifies(&whole, TELLING) && !hunk.repeated {
        let mut places = occurrences(text, &whole).filter(fits);
        match (places.next(), places.next()) {
            (Some(at), None) if !guessed(at..at + whole.len()) => return Some(at + lead.len()),
            // It occurs twice: less context would not help.
            (Some(_), Some(_)) => return None,
            _ => {}
        }
    }
    if hunk.new.is_empty() {
        return joined::find(text, hunk, &common, guessed);
    }
    let around = [
        (last_lines(lead), first_lines(trail)),
        (lead, ""),
        ("", trail),
    ];
    let (mut found, mut telling) = (None, false);
    for (lead, trail) in around {
        // Other text is identified by what is around it, because it may have occurred elsewhere
        // before.
        if !identifies(&format!("{lead}{trail}"), AROUND) {
            continue;
        }
        let wanted = format!("{lead}{}{trail}", hunk.new);
        for at in occurrences(text, &wanted) {
            let at = at + lead.len();
            // What else is like it may be the place, and this one not.
            if found.is_some_and(|other| other != at) {
                return None;
            }
            found = Some(at);
            let range = at - lead.len()..at - lead.len() + wanted.len();
            telling = telling || (!guessed(range) && has_unique_line(text, &wanted, &common));
        }
    }
    found.filter(|_| telling)
}

fn occurrences(text: &str, wanted: &str) -> impl Iterator<Item = usize> {
    text.match_indices(wanted).map(|(start, _)| start)
}

/// Whether one of the lines of a part of `text` is nowhere else in it, and was nowhere else when the
/// edit was made.
fn has_unique_line(text: &str, part: &str, common: &[&str]) -> bool {
    let mut lines = part.lines().map(str::trim);
    lines.any(|line| tells(line, common) && occurrences(text, line).nth(1).is_none())
}

/// Whether a trimmed line, which may be a part of one, is not a `common` one.
fn tells(line: &str, common: &[&str]) -> bool {
    identifies(line, SHORTEST) && !common.iter().any(|other| other.contains(line))
}

/// The place of a hunk whose written text was changed since: what is between its old surroundings,
/// and what was there before the edit. If the rest of its lines changed too, whole lines.
fn between(text: &str, hunk: &LoggedHunk) -> Option<(Range<usize>, String)> {
    let (lead, trail) = (hunk.lead.as_str(), hunk.trail.as_str());
    let lines_before = lead.rfind('\n').map_or("", |at| &lead[..=at]);
    let lines_after = trail.find('\n').map_or("", |at| &trail[at + 1..]);
    let tries = [
        (lead, trail),
        (last_lines(lead), first_lines(trail)),
        (lines_before, lines_after),
    ];
    let whole = common::whole(hunk);
    let common = common::common_lines(hunk, &whole);
    // Where all lines are common, another place may be alike by chance, and this one changed since.
    let telling = |part: &str| part.lines().any(|line| tells(line.trim(), &common));
    tries.into_iter().find_map(|(before, after)| {
        if !common.is_empty() && !telling(before) && !telling(after) {
            return None;
        }
        let range = only_between(text, hunk, before, after)?;
        // What the longer surroundings have belongs to the hunk then.
        let own_start = lead
            .strip_prefix(lines_before)
            .filter(|_| before == lines_before);
        let own_end = trail
            .strip_suffix(lines_after)
            .filter(|_| after == lines_after);
        let old = [own_start.unwrap_or(""), &hunk.old, own_end.unwrap_or("")].concat();
        Some((range, old))
    })
}

/// The text between `before` and `after` if that is one place. At the ends of the text, either may
/// be empty.
fn only_between(text: &str, hunk: &LoggedHunk, before: &str, after: &str) -> Option<Range<usize>> {
    let first = hunk.lead.is_empty();
    let last = hunk.trail.is_empty();
    let missing = (!first && before.is_empty()) || (!last && after.is_empty());
    // A text without surroundings is all that the edit wrote.
    let whole = first && last;
    if missing || !(whole || identifies(&[before, after].concat(), AROUND)) {
        return None;
    }
    let room = MOST_CHANGED.max(4 * (hunk.new.len() + hunk.old.len()));
    let end_from = |start: usize| match last {
        true => (text.len() - start <= room).then_some(text.len()),
        false => text[start..]
            .find(after)
            .filter(|len| *len <= room)
            .map(|len| start + len),
    };
    if first {
        return end_from(0).map(|end| 0..end);
    }
    let starts = text.match_indices(before).map(|(at, _)| at + before.len());
    let mut ranges = starts.filter_map(|start| end_from(start).map(|end| start..end));
    match (ranges.next(), ranges.next()) {
        (Some(range), None) => Some(range),
        _ => None,
    }
}

/// The line in which a hunk begins, and the one before.
fn last_lines(lead: &str) -> &str {
    let mut ends = lead.rmatch_indices('\n').map(|(at, _)| at + 1);
    ends.nth(1).map_or(lead, |at| &lead[at..])
}

/// The rest of the line in which a hunk ends, and the next.
fn first_lines(trail: &str) -> &str {
    let mut ends = trail.match_indices('\n').map(|(at, _)| at + 1);
    ends.nth(1).map_or(trail, |at| &trail[..at])
}

/// Whether what a hunk wrote is worth looking for.
pub fn identifies_itself(hunk: &LoggedHunk) -> bool {
    identifies(&hunk.new, SHORTEST)
}

fn identifies(text: &str, least: usize) -> bool {
    text.chars().filter(|c| !c.is_whitespace()).count() >= least
}

/// The hunks that led from `before` to `after`, each with its surroundings, so that a revert can find
/// it again. A revert goes from the last hunk to the first: the text after a hunk is then the old
/// one, the text before it the new one.
pub fn logged(before: &Rope, after: &Rope, hunks: &[Hunk]) -> Vec<LoggedHunk> {
    let hunks = with_new_starts(hunks).map(|(start, hunk)| LoggedHunk {
        start: hunk.start,
        old: before.byte_slice(hunk.start..hunk.end).to_string(),
        new: hunk.text.clone(),
        line: after.try_byte_to_line(start).map_or(0, |line| line + 1),
        lead: text_before(after, start),
        trail: text_after(before, hunk.end),
        vanished: Vec::new(),
        common: Vec::new(),
        repeated: false,
    });
    let mut hunks: Vec<LoggedHunk> = hunks.collect();
    let text = String::from(after);
    common::note_common(&mut hunks, &text);
    if hunks.iter().any(|hunk| identifies(&hunk.old, SHORTEST)) {
        back::note_vanished(&mut hunks, &text);
    }
    hunks
}

/// The text before byte `at`.
fn text_before(text: &Rope, at: usize) -> String {
    let line = text.byte_to_line(at);
    let from = text.line_to_byte(line.saturating_sub(LINES));
    let from = from.max(at.saturating_sub(BYTES));
    text.slice(text.byte_to_char(from)..text.byte_to_char(at))
        .to_string()
}

/// The text from byte `at` on.
fn text_after(text: &Rope, at: usize) -> String {
    let line = text.byte_to_line(at);
    let last = (line + LINES).min(text.len_lines());
    let to = text.line_to_byte(last).min(at + BYTES);
    text.slice(text.byte_to_char(at)..text.byte_to_char(to))
        .to_string()
}

#[cfg(test)]
pub(super) mod tests;
