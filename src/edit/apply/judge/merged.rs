//! What became of an edit that a client reported in one change with the user's typing. Only places
//! that recorded changes rewrote are compared, and an edit is considered shown only if the text is
//! closer to the one with it than to the one without it: a difference that also fits the unchanged
//! text proves nothing.

use std::ops::Range;

use ropey::Rope;

use crate::edit::apply::sent_edit::Sent;
use crate::edit::{Hunk, lines, with_new_starts};
use crate::workspace::Change;

/// What is known of one hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Shown,
    /// No change touched its place, or the text that it replaces is still there.
    Absent,
    /// Either is possible.
    Doubt,
}

/// A place rewritten by changes.
#[derive(Clone, Debug)]
struct Region {
    /// In the text before the changes.
    old: Range<usize>,
    /// In the text after them.
    new: Range<usize>,
}

/// With more hunks than this in one region, they are compared together, not one by one.
const SINGLY: usize = 48;

/// Texts that are together at most this long, in bytes, are compared by character.
const SHORT: usize = 4 * 1024;

/// The fate of each hunk of `sent` in `present`, to which `changes` led.
pub(super) fn fates(sent: &Sent, present: &Rope, changes: &[Change]) -> Vec<Fate> {
    let before = String::from(&sent.before);
    let present = String::from(present);
    let regions = widened(&before, &present, regions(changes));
    let mut fates = vec![Fate::Absent; sent.hunks.len()];
    for (region, hunks) in groups(&before, &sent.hunks, &regions) {
        let (Some(old), Some(new)) = (before.get(region.old.clone()), present.get(region.new))
        else {
            // An edge is inside a character: nothing can be concluded.
            fates[hunks].fill(Fate::Doubt);
            continue;
        };
        let local: Vec<Hunk> = sent.hunks[hunks.clone()]
            .iter()
            .map(|hunk| Hunk {
                start: hunk.start - region.old.start,
                end: hunk.end - region.old.start,
                text: hunk.text.clone(),
            })
            .collect();
        let brought = |hunk: &Hunk| {
            !hunk.text.is_empty() && changes.iter().any(|it| it.inserted.contains(&hunk.text))
        };
        let found = judge_region(old, new, &local, &brought);
        fates[hunks].copy_from_slice(&found);
    }
    fates
}

fn judge_region(
    old: &str,
    new: &str,
    hunks: &[Hunk],
    brought: &dyn Fn(&Hunk) -> bool,
) -> Vec<Fate> {
    let expected = patched(old, hunks, None);
    let with = alignment(&expected, new);
    let without = alignment(old, new);
    let cost = size(&with);
    let mut fates = Vec::with_capacity(hunks.len());
    for (at, (start, hunk)) in with_new_starts(hunks).enumerate() {
        let end = start + hunk.text.len();
        let lacking = match hunks.len() {
            1 => size(&without),
            2..=SINGLY => size(&alignment(&patched(old, hunks, Some(at)), new)),
            _ => size(&without),
        };
        let typed = is_distinctive(&hunk.text);
        let stands = !uprooted(&with, start, end)
            && with.iter().all(|other| {
                let (low, high) = slides(&expected, other);
                // The user may have typed into the new text within the client's delay.
                let inside = other.start == other.end && typed;
                inside || spares(other, (low, high), (start, end), brought(hunk))
            });
        // A deletion that slides over what the hunk replaces may be the hunk's own.
        let kept = hunk.start < hunk.end
            && without.iter().all(|other| {
                let (low, high) = match other.text.is_empty() {
                    true => slides(old, other),
                    false => (other.start, other.end),
                };
                high <= hunk.start || low >= hunk.end
            });
        // Where text was deleted and other text typed, none of the deleted text remains. Only a
        // comparison by character shows that.
        let replaced = hunk.text.is_empty()
            && lacking == cost + (hunk.end - hunk.start)
            && old.len() + new.len() <= SHORT;
        fates.push(if lacking < cost {
            Fate::Absent
        } else if cost < lacking && (stands || replaced) && !kept {
            Fate::Shown
        } else {
            Fate::Doubt
        });
    }
    fates
}

/// `text` with all hunks but the one at `except`.
fn patched(text: &str, hunks: &[Hunk], except: Option<usize>) -> String {
    let mut out = text.to_owned();
    for (at, hunk) in hunks.iter().enumerate().rev() {
        if except != Some(at) {
            out.replace_range(hunk.start..hunk.end, &hunk.text);
        }
    }
    out
}

/// Differences by character; long texts are first compared by line.
fn alignment(from: &str, to: &str) -> Vec<Hunk> {
    if from.len() + to.len() <= SHORT {
        lines::by_characters(from, to)
    } else {
        lines::fine_difference(from, to)
    }
}

fn size(differences: &[Hunk]) -> usize {
    differences
        .iter()
        .map(|hunk| hunk.end - hunk.start + hunk.text.len())
        .sum()
}

/// Merges the changes into the places that they rewrote, ascending and disjoint. The
/// pieces of one replacement are one place: text that a diff kept between them proves nothing.
fn regions(changes: &[Change]) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    let mut group_start: Option<usize> = None;
    for change in changes {
        let (from, to) = (change.start, change.start + change.removed.len());
        let grown = change.inserted.len().cast_signed() - change.removed.len().cast_signed();
        let first = regions.partition_point(|region| region.new.end < from);
        let last = regions.partition_point(|region| region.new.start <= to);
        // Outside all regions the texts run in parallel.
        let before = first.checked_sub(1).and_then(|at| regions.get(at));
        let offset = before.map_or(0, |it| it.old.end.cast_signed() - it.new.end.cast_signed());
        let touched = &regions[first..last];
        let (head, tail) = (touched.first(), touched.last());
        let new_start = head.map_or(from, |it| it.new.start.min(from));
        let old_start = match head {
            Some(head) if head.new.start <= from => head.old.start,
            _ => from.saturating_add_signed(offset),
        };
        let (old_end, new_end) = match tail {
            Some(tail) if tail.new.end >= to => (tail.old.end, tail.new.end),
            Some(tail) => (tail.old.end + (to - tail.new.end), to),
            None => (to.saturating_add_signed(offset), to),
        };
        let whole = Region {
            old: old_start..old_end,
            new: new_start..new_end.saturating_add_signed(grown),
        };
        regions.splice(first..last, [whole]);
        for region in &mut regions[first + 1..] {
            region.new.start = region.new.start.saturating_add_signed(grown);
            region.new.end = region.new.end.saturating_add_signed(grown);
        }
        let start = group_start.unwrap_or(regions[first].new.start);
        let head = regions.partition_point(|region| region.new.end < start);
        let joined = Region {
            old: regions[head].old.start..regions[first].old.end,
            new: regions[head].new.start..regions[first].new.end,
        };
        regions.splice(head..=first, [joined]);
        group_start = change.continues.then_some(start);
    }
    regions
}

/// The regions, each widened to every place where the same insertion or deletion could have been
/// made: a client that reports a difference chooses one of them.
fn widened(before: &str, present: &str, mut regions: Vec<Region>) -> Vec<Region> {
    for at in 0..regions.len() {
        let Region { old, new } = regions[at].clone();
        let (Some(was), Some(is)) = (before.get(old.clone()), present.get(new.clone())) else {
            continue;
        };
        let same = |(a, b): &(char, char)| a == b;
        let lead = was.chars().zip(is.chars()).take_while(same);
        let lead: usize = lead.map(|(c, _)| c.len_utf8()).sum();
        let trail = was[lead..].chars().rev().zip(is[lead..].chars().rev());
        let trail: usize = trail.take_while(same).map(|(c, _)| c.len_utf8()).sum();
        let hunk = Hunk {
            start: old.start + lead,
            end: old.end - trail,
            text: is[lead..is.len() - trail].to_owned(),
        };
        let (low, high) = slides(before, &hunk);
        let floor = at.checked_sub(1).map_or(0, |at| regions[at].old.end);
        let ceiling = regions.get(at + 1).map_or(before.len(), |it| it.old.start);
        let (low, high) = (low.clamp(floor, old.start), high.clamp(old.end, ceiling));
        regions[at] = Region {
            new: new.start - (old.start - low)..new.end + (high - old.end),
            old: low..high,
        };
    }
    regions
}

/// The regions that touch hunks, each with its hunks, widened to contain every place where the
/// hunks could equally have been made.
fn groups(text: &str, hunks: &[Hunk], regions: &[Region]) -> Vec<(Region, Range<usize>)> {
    let mut groups: Vec<(Region, Range<usize>)> = Vec::new();
    for (at, hunk) in hunks.iter().enumerate() {
        let (low, high) = slides(text, hunk);
        let (mut low, mut high) = (low.min(hunk.start), high.max(hunk.end));
        let touched = |low: usize, high: usize| {
            let first = regions.partition_point(|region| region.old.end < low);
            let last = regions.partition_point(|region| region.old.start <= high);
            first..last.max(first)
        };
        let mut around = touched(low, high);
        let region = loop {
            let touching = &regions[around.clone()];
            let Some((head, tail)) = touching.first().zip(touching.last()) else {
                break None;
            };
            (low, high) = (low.min(head.old.start), high.max(tail.old.end));
            let wider = touched(low, high);
            if wider == around {
                let start = head.new.start - (head.old.start - low);
                let end = tail.new.end + (high - tail.old.end);
                break Some(Region {
                    old: low..high,
                    new: start..end,
                });
            }
            around = wider;
        };
        let Some(region) = region else { continue };
        match groups.last_mut() {
            Some((last, members)) if last.old.end >= low => {
                if low < last.old.start {
                    last.new.start -= last.old.start - low;
                    last.old.start = low;
                }
                if high > last.old.end {
                    last.old.end = high;
                    last.new.end = region.new.end;
                }
                members.end = at + 1;
            }
            _ => groups.push((region, at..at + 1)),
        }
    }
    groups
}

/// From the first to the last place at which the same insertion or deletion could have been made.
fn slides(text: &str, hunk: &Hunk) -> (usize, usize) {
    let bytes = text.as_bytes();
    let (mut low, mut high) = (hunk.start, hunk.end);
    match (hunk.start == hunk.end, hunk.text.is_empty()) {
        (false, true) => {
            let length = hunk.end - hunk.start;
            while low > 0 && bytes[low - 1] == bytes[low + length - 1] {
                low -= 1;
            }
            while high < bytes.len() && bytes[high] == bytes[high - length] {
                high += 1;
            }
        }
        (true, false) => {
            let new = hunk.text.as_bytes();
            let mut turned = 0;
            while low > 0 && bytes[low - 1] == new[new.len() - 1 - turned % new.len()] {
                low -= 1;
                turned += 1;
            }
            turned = 0;
            while high < bytes.len() && bytes[high] == new[turned % new.len()] {
                high += 1;
                turned += 1;
            }
        }
        _ => {}
    }
    while !text.is_char_boundary(low) {
        low += 1;
    }
    while !text.is_char_boundary(high) {
        high -= 1;
    }
    (low, high)
}

/// Whether a difference, wherever it slides, leaves `start..end` of the expected text as planned.
/// `lax`: it may remove the text next to it.
fn spares(
    other: &Hunk,
    (low, high): (usize, usize),
    (start, end): (usize, usize),
    lax: bool,
) -> bool {
    let insertion = other.start == other.end;
    if start < end && (insertion || lax) {
        high <= start || low >= end
    } else {
        high < start || low > end
    }
}

/// Whether the text next to `start..end` of the expected text was replaced on one side and text
/// was added on the other: the same words may now be at another place.
fn uprooted(differences: &[Hunk], start: usize, end: usize) -> bool {
    let left = || differences.iter().filter(|other| other.end == start);
    let right = || differences.iter().filter(|other| other.start == end);
    let replaces = |other: &Hunk| other.start < other.end;
    start < end
        && (left().any(replaces) && right().next().is_some()
            || right().any(replaces) && left().next().is_some())
}

/// Whether `text` is long enough that the user would not type it by chance at the same moment.
pub(super) fn is_distinctive(text: &str) -> bool {
    text.chars().filter(|c| !c.is_whitespace()).count() >= 6
}

#[cfg(test)]
mod tests;
