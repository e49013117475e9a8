//! Lines: splitting a text into lines with their own ends, and the line diff that reduces a
//! replacement to minimal hunks. Unchanged bytes are never part of a hunk; a hunk never
//! splits a character or a CRLF.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use similar::{DiffTag, DiffableStr as _};

use super::Hunk;
use crate::workspace::diff;

/// After this time the diff may be coarser than necessary, but never wrong.
const BUDGET: Duration = Duration::from_millis(300);

/// Most pieces into which typing may have split a line that has more than doubled.
const PIECES: usize = 3;

/// Most bytes of a line whose pieces are counted, which takes the product of both lengths.
const LONGEST: usize = 1_000;

/// A line and its position in the text.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    pub start: usize,
    /// Without its end.
    pub body: &'a str,
    /// `\n`, `\r\n`, `\r`, or nothing for the last line.
    pub end: &'a str,
}

impl Line<'_> {
    /// The byte after it and its end.
    pub fn stop(&self) -> usize {
        self.start + self.body.len() + self.end.len()
    }
}

/// The lines of a text, without an empty last line after a final line end.
pub fn split(text: &str) -> Vec<Line<'_>> {
    let mut start = 0;
    let mut lines = Vec::new();
    for line in text.tokenize_lines() {
        let body = line.trim_end_matches(['\r', '\n']);
        let end = &line[body.len()..];
        lines.push(Line { start, body, end });
        start += line.len();
    }
    lines
}

/// The end of a line inserted at byte `offset`: that of the line at `offset`, else of the nearest
/// line before it, else after it, else `\n`.
pub fn end_at(text: &str, offset: usize) -> &'static str {
    let bytes = text.as_bytes();
    let offset = offset.min(bytes.len());
    let after = bytes[offset..]
        .iter()
        .position(|byte| matches!(byte, b'\n' | b'\r'))
        .map(|at| end_of(bytes, offset + at));
    after
        .or_else(|| {
            let at = bytes[..offset]
                .iter()
                .rposition(|byte| matches!(byte, b'\n' | b'\r'))?;
            Some(if bytes[at] == b'\n' && at > 0 && bytes[at - 1] == b'\r' {
                "\r\n"
            } else {
                end_of(bytes, at)
            })
        })
        .unwrap_or("\n")
}

fn end_of(bytes: &[u8], at: usize) -> &'static str {
    match (bytes.get(at), bytes.get(at + 1)) {
        (Some(b'\r'), Some(b'\n')) => "\r\n",
        (Some(b'\r'), _) => "\r",
        _ => "\n",
    }
}

/// Minimal hunks that turn `text[range]` into `new`.
///
/// A `new` without carriage returns gets the line ends of the lines that it replaces, else those
/// of their neighbours; one with carriage returns is used literally.
pub fn hunks(text: &str, range: Range<usize>, new: &str) -> Vec<Hunk> {
    let literal = new.contains('\r');
    let hunks = changed(text, range.clone(), new, literal);
    if literal || !merges_line_ends(&text[range.clone()], &hunks, range.start, new) {
        return hunks;
    }
    changed(text, range, new, true)
}

/// In a text that mixes `\r` and `\n`, a hunk can bring an old `\r` and an old `\n` together, which
/// then are one line end instead of two.
fn merges_line_ends(old: &str, hunks: &[Hunk], start: usize, new: &str) -> bool {
    let lone = |(at, _): (usize, &str)| !old[at + 1..].starts_with('\n');
    if !old.match_indices('\r').any(lone) {
        return false;
    }
    let mut result = old.to_owned();
    for hunk in hunks.iter().rev() {
        result.replace_range(hunk.start - start..hunk.end - start, &hunk.text);
    }
    super::line_ends::line_feeds(&result) != new
}

/// Minimal hunks that turn `text` into exactly `new`.
pub fn difference(text: &str, new: &str) -> Vec<Hunk> {
    difference_in(text, 0..text.len(), new)
}

/// Minimal hunks that turn `text[range]` into exactly `new`.
pub fn difference_in(text: &str, range: Range<usize>, new: &str) -> Vec<Hunk> {
    changed(text, range, new, true)
}

/// Like [`difference`], but by character where a line changed in several places.
pub fn fine_difference(text: &str, new: &str) -> Vec<Hunk> {
    // A longer hunk is not typing, and is not refined.
    const LONGEST: usize = 8 * 1024;
    let mut fine = Vec::new();
    for hunk in difference(text, new) {
        if hunk.end - hunk.start + hunk.text.len() > LONGEST {
            fine.push(hunk);
            continue;
        }
        let inside = by_characters(&text[hunk.start..hunk.end], &hunk.text);
        fine.extend(inside.into_iter().map(|inner| Hunk {
            start: hunk.start + inner.start,
            end: hunk.start + inner.end,
            text: inner.text,
        }));
    }
    fine
}

/// Hunks between the words of a text that a formatter made `new`, `None` if the words differ. A line
/// diff would take lines that it indents for moved ones, and undoing a part of it would double them.
pub fn between_words(text: &str, new: &str) -> Option<Vec<Hunk>> {
    /// With more hunks, those on neighbouring lines are one.
    const SINGLY: usize = 256;
    const NEAR: usize = 120;
    let word = |(_, c): &(usize, char)| c.is_alphanumeric() || *c == '_';
    let mut there = new.char_indices().filter(word);
    let (mut old_end, mut new_end) = (0, 0);
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut gap = |(old, new_gap): (Range<usize>, Range<usize>)| {
        hunks.extend(trim(
            text,
            Hunk {
                start: old.start,
                end: old.end,
                text: new[new_gap].to_owned(),
            },
        ));
    };
    for (at, c) in text.char_indices().filter(word) {
        let (to, _) = there.next().filter(|(_, other)| *other == c)?;
        gap((old_end..at, new_end..to));
        (old_end, new_end) = (at + c.len_utf8(), to + c.len_utf8());
    }
    if there.next().is_some() {
        return None;
    }
    gap((old_end..text.len(), new_end..new.len()));
    if hunks.len() > SINGLY {
        hunks.dedup_by(|next, hunk| {
            let near = next.start - hunk.end <= NEAR;
            if near {
                hunk.text.push_str(&text[hunk.end..next.start]);
                hunk.text.push_str(&next.text);
                hunk.end = next.end;
            }
            near
        });
    }
    Some(hunks)
}

/// Minimal hunks by character. For short texts.
pub fn by_characters(text: &str, new: &str) -> Vec<Hunk> {
    let old: Vec<char> = text.chars().collect();
    let new: Vec<char> = new.chars().collect();
    let bytes = |chars: &[char]| chars.iter().map(|c| c.len_utf8()).sum::<usize>();
    let numbers = |chars: &[char]| chars.iter().map(|c| u32::from(*c)).collect::<Vec<_>>();
    let hunks = blocks(&numbers(&old), &numbers(&new))
        .into_iter()
        .map(|(a, b)| {
            let start = bytes(&old[..a.start]);
            Hunk {
                start,
                end: start + bytes(&old[a]),
                text: new[b].iter().collect(),
            }
        });
    hunks.collect()
}

fn changed(text: &str, range: Range<usize>, new: &str, literal: bool) -> Vec<Hunk> {
    let old = &text[range.clone()];
    let old_lines = split(old);
    let new_lines = split(new);
    let mut hunks = Vec::new();
    for (a, b) in differing(&old_lines, &new_lines, literal) {
        let start = old_lines.get(a.start).map_or(old.len(), |line| line.start);
        let stop = if a.is_empty() {
            start
        } else {
            old_lines[a.end - 1].stop()
        };
        let mut inserted = String::new();
        for (offset, line) in new_lines[b].iter().enumerate() {
            inserted.push_str(line.body);
            if literal || line.end.is_empty() {
                inserted.push_str(line.end);
                continue;
            }
            let replaced = old_lines[a.clone()]
                .get(offset)
                .or_else(|| old_lines[a.clone()].last())
                .map_or("", |line| line.end);
            let before = a.start.checked_sub(1).map_or("", |at| old_lines[at].end);
            inserted.push_str(if !replaced.is_empty() {
                replaced
            } else if !before.is_empty() {
                before
            } else {
                end_at(text, range.start + start)
            });
        }
        let hunk = Hunk {
            start: range.start + start,
            end: range.start + stop,
            text: inserted,
        };
        hunks.extend(trim(text, hunk));
    }
    hunks
}

/// The hunk without the bytes that it does not change; `None` if it changes nothing.
pub fn trim(text: &str, mut hunk: Hunk) -> Option<Hunk> {
    let old = &text[hunk.start..hunk.end];
    let new = hunk.text.as_str();
    let mut prefix = old
        .bytes()
        .zip(new.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    while !is_boundary(old, prefix) || !is_boundary(new, prefix) {
        prefix -= 1;
    }
    let (old, new) = (&old[prefix..], &new[prefix..]);
    let mut suffix = old
        .bytes()
        .rev()
        .zip(new.bytes().rev())
        .take_while(|(a, b)| a == b)
        .count();
    while !is_boundary(old, old.len() - suffix) || !is_boundary(new, new.len() - suffix) {
        suffix -= 1;
    }
    let text = new[..new.len() - suffix].to_owned();
    hunk.start += prefix;
    hunk.end -= suffix;
    hunk.text = text;
    (hunk.start < hunk.end || !hunk.text.is_empty()).then_some(hunk)
}

/// Whether `offset` is a character boundary and not inside a CRLF.
fn is_boundary(text: &str, offset: usize) -> bool {
    text.is_char_boundary(offset) && !super::line_ends::splits_crlf(text, offset)
}

fn token<'a>(line: &Line<'a>, literal: bool) -> (&'a str, &'a str) {
    match line.end {
        "" => (line.body, ""),
        end if literal => (line.body, end),
        _ => (line.body, "\n"),
    }
}

/// The ranges of lines that differ, ascending; no two touch. Line ends count if `literal`.
pub(super) fn differing(
    old: &[Line<'_>],
    new: &[Line<'_>],
    literal: bool,
) -> Vec<(Range<usize>, Range<usize>)> {
    /// Equal lines that stay around the rest: among equal lines the diff chooses the best place.
    const MARGIN: usize = 64;
    let same = |(a, b): &(&Line<'_>, &Line<'_>)| token(a, literal) == token(b, literal);
    let above = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (old[above..].iter().rev(), new[above..].iter().rev());
    let below = old_rest.zip(new_rest).take_while(same).count();
    let (first, last) = (above.saturating_sub(MARGIN), below.saturating_sub(MARGIN));
    let mut names = HashMap::new();
    let mut numbered = |end: usize, lines| {
        let lines: &[Line<'_>] = lines;
        let tokens = lines[first..end].iter().map(|line| token(line, literal));
        diff::numbered(tokens, &mut names)
    };
    let (old, new) = (
        numbered(old.len() - last, old),
        numbered(new.len() - last, new),
    );
    let shift = |range: Range<usize>| range.start + first..range.end + first;
    let blocks = blocks(&old, &new).into_iter();
    blocks.map(|(a, b)| (shift(a), shift(b))).collect()
}

/// The ranges that differ, ascending; no two touch.
pub(super) fn blocks(old: &[u32], new: &[u32]) -> Vec<(Range<usize>, Range<usize>)> {
    let ops = diff::operations(old, new, BUDGET);
    let mut blocks: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for op in ops {
        let (tag, a, b) = op.as_tag_tuple();
        if tag == DiffTag::Equal {
            continue;
        }
        match blocks.last_mut() {
            Some((last_a, last_b)) if last_a.end == a.start && last_b.end == b.start => {
                last_a.end = a.end;
                last_b.end = b.end;
            }
            _ => blocks.push((a, b)),
        }
    }
    blocks
}

/// Whether `text` is `line` with nothing or something typed into it: at most as much as the line had,
/// or up to three times as much in a few places.
pub(super) fn is_grown(text: &str, line: &str) -> bool {
    if text.len() < line.len() || text.len() > 4 * line.len() {
        return false;
    }
    let mut rest = text.chars();
    line.chars().all(|wanted| rest.any(|c| c == wanted))
        && (text.len() <= 2 * line.len() || (line.len() <= LONGEST && pieces(text, line) <= PIECES))
}

/// The smallest number of pieces into which `line` can be cut so that `text` has all of them in order.
fn pieces(text: &str, line: &str) -> usize {
    let line: Vec<char> = line.chars().collect();
    let never = usize::MAX;
    // For each prefix of the line: its fewest pieces in the text so far, and its fewest pieces if the
    // last one ends at the current character.
    let mut fewest = vec![never; line.len() + 1];
    let mut ending = vec![never; line.len() + 1];
    fewest[0] = 0;
    for c in text.chars() {
        for at in (0..line.len()).rev() {
            ending[at + 1] = match line[at] == c {
                true => ending[at].min(fewest[at].saturating_add(1)),
                false => never,
            };
            fewest[at + 1] = fewest[at + 1].min(ending[at + 1]);
        }
    }
    fewest[line.len()]
}

#[cfg(test)]
mod tests;
