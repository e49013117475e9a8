//! Taking logged edits back out of a present text: exactly where the text is the one that the
//! edit left, else where what was written stands once between what stood around it. What others
//! changed since is never touched. Pure: what is planned here is sent by [`super::apply`] only.

use ropey::Rope;

use crate::conversation::entry::LoggedHunk;
use crate::conversation::sha256;

/// Lines and bytes around a hunk that are kept to find it again.
const LINES: usize = 3;
const BYTES: usize = 240;

/// Characters that are no blanks and that must stand together for a text to be told apart
/// without looking around it.
const TELLING: usize = 12;

/// One logged edit of a document.
#[derive(Clone, Debug)]
pub struct Logged {
    /// Hash of the text after the edit.
    pub hash: String,
    pub hunks: Vec<LoggedHunk>,
}

/// A text with edits taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub text: String,
    /// What stays, in words for a person, by line.
    pub conflicts: Vec<String>,
}

/// `edits` in the order in which they were made; the last one is taken back first.
pub fn take_back(present: &str, edits: &[Logged]) -> Taken {
    let mut text = present.to_owned();
    let mut kept: Vec<(usize, String)> = Vec::new();
    for edit in edits.iter().rev() {
        let exact = sha256(text.as_bytes()) == edit.hash;
        for (hunk, start) in placed(&edit.hunks).rev() {
            let here = |at: usize| text.get(at..).is_some_and(|it| it.starts_with(&hunk.new));
            let found = match exact && here(start) {
                true => Some(start),
                false => find(&text, hunk),
            };
            match found {
                Some(at) => text.replace_range(at..at + hunk.new.len(), &hunk.old),
                None => kept.push((hunk.line, words(hunk))),
            }
        }
    }
    kept.sort();
    kept.dedup();
    Taken {
        text,
        conflicts: kept.into_iter().map(|(_, words)| words).collect(),
    }
}

/// Each hunk with its place in the text after the edit.
fn placed(hunks: &[LoggedHunk]) -> impl DoubleEndedIterator<Item = (&LoggedHunk, usize)> {
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

/// The one place where the hunk's text stands as it was written: with all that was around it,
/// with the nearest lines, or by itself if it is unmistakable.
fn find(text: &str, hunk: &LoggedHunk) -> Option<usize> {
    let near_lead = hunk.lead.split_inclusive('\n').next_back().unwrap_or("");
    let near_trail = hunk.trail.split_inclusive('\n').next().unwrap_or("");
    let around = [
        (hunk.lead.as_str(), hunk.trail.as_str()),
        (near_lead, near_trail),
        (hunk.lead.as_str(), ""),
        ("", hunk.trail.as_str()),
        ("", ""),
    ];
    for (lead, trail) in around {
        let wanted = format!("{lead}{}{trail}", hunk.new);
        let alone = lead.is_empty() && trail.is_empty();
        // A deletion can only be told by both sides of it.
        let one_side = hunk.new.is_empty() && (lead.is_empty() || trail.is_empty());
        if one_side || !telling(if alone { &hunk.new } else { &wanted }) {
            continue;
        }
        let mut places = text.match_indices(&wanted).map(|(at, _)| at + lead.len());
        match (places.next(), places.next()) {
            (Some(at), None) => return Some(at),
            // There twice: less of what is around it would not help.
            (Some(_), Some(_)) => return None,
            _ => {}
        }
    }
    None
}

fn telling(text: &str) -> bool {
    text.chars().filter(|c| !c.is_whitespace()).count() >= TELLING
}

fn words(hunk: &LoggedHunk) -> String {
    let line = match hunk.line {
        0 => String::new(),
        line => format!("line {line}: "),
    };
    format!("{line}the text was changed since")
}

/// What stands before byte `at`.
pub(super) fn lead(text: &Rope, at: usize) -> String {
    let line = text.byte_to_line(at);
    let from = text.line_to_byte(line.saturating_sub(LINES));
    let from = from.max(at.saturating_sub(BYTES));
    text.slice(text.byte_to_char(from)..text.byte_to_char(at))
        .to_string()
}

/// What stands from byte `at` on.
pub(super) fn trail(text: &Rope, at: usize) -> String {
    let line = text.byte_to_line(at);
    let last = (line + LINES).min(text.len_lines());
    let to = text.line_to_byte(last).min(at + BYTES);
    text.slice(text.byte_to_char(at)..text.byte_to_char(to))
        .to_string()
}

#[cfg(test)]
mod tests;
