//! Reverting logged edits in the current text: at the exact place if the text is the one that the
//! edit left, else where the written text occurs once between its old surroundings. Later changes
//! of others are never touched. Pure: only [`super::apply`] sends the result.

use ropey::Rope;

use crate::conversation::entry::LoggedHunk;
use crate::conversation::sha256;

/// Lines and bytes around a hunk that are logged to find it again.
const LINES: usize = 3;
const BYTES: usize = 240;

/// How many non-blank characters identify a place: around the written text, and together with it.
const AROUND: usize = 8;
const TELLING: usize = 12;

/// One logged edit of a document.
#[derive(Clone, Debug)]
pub struct Logged {
    /// Hash of the text after the edit.
    pub hash: String,
    pub hunks: Vec<LoggedHunk>,
}

/// A text after a revert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevertedText {
    pub text: String,
    /// What could not be reverted, as messages for the user, sorted by line.
    pub conflicts: Vec<String>,
}

/// `edits` in the order in which they were made; the last one is reverted first.
pub fn revert_edits(present: &str, edits: &[Logged]) -> RevertedText {
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
                None => kept.push((hunk.line, conflict_message(hunk))),
            }
        }
    }
    kept.sort();
    kept.dedup();
    RevertedText {
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

/// The one place where the hunk's text is as it was written: with all its surroundings, with the
/// nearest lines, or with one side. Never the text alone: it may have occurred elsewhere before.
fn find(text: &str, hunk: &LoggedHunk) -> Option<usize> {
    let (lead, trail) = (hunk.lead.as_str(), hunk.trail.as_str());
    let around = [
        (lead, trail),
        (last_lines(lead), first_lines(trail)),
        (lead, ""),
        ("", trail),
    ];
    for (at, (lead, trail)) in around.into_iter().enumerate() {
        let all = at == 0;
        // Only all of its surroundings identify a deletion. Other text is identified by what is
        // around it, because it may have occurred elsewhere before.
        let identifies = match all {
            true => identifies(&format!("{lead}{}{trail}", hunk.new), TELLING),
            false => !hunk.new.is_empty() && identifies(&format!("{lead}{trail}"), AROUND),
        };
        if !identifies {
            continue;
        }
        let wanted = format!("{lead}{}{trail}", hunk.new);
        let fits = |start: &usize| {
            let end = start + wanted.len();
            // Empty surroundings mean the beginning or the end of the text.
            !all || ((!lead.is_empty() || *start == 0) && (!trail.is_empty() || end == text.len()))
        };
        let places = text.match_indices(&wanted).map(|(start, _)| start);
        let mut places = places.filter(fits).map(|start| start + lead.len());
        match (places.next(), places.next()) {
            (Some(at), None) => return Some(at),
            // It occurs twice: less context would not help.
            (Some(_), Some(_)) => return None,
            _ => {}
        }
    }
    None
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

fn identifies(text: &str, least: usize) -> bool {
    text.chars().filter(|c| !c.is_whitespace()).count() >= least
}

fn conflict_message(hunk: &LoggedHunk) -> String {
    let line = match hunk.line {
        0 => String::new(),
        line => format!("line {line}: "),
    };
    format!("{line}the text has changed since")
}

/// The text before byte `at`.
pub(super) fn text_before(text: &Rope, at: usize) -> String {
    let line = text.byte_to_line(at);
    let from = text.line_to_byte(line.saturating_sub(LINES));
    let from = from.max(at.saturating_sub(BYTES));
    text.slice(text.byte_to_char(from)..text.byte_to_char(at))
        .to_string()
}

/// The text from byte `at` on.
pub(super) fn text_after(text: &Rope, at: usize) -> String {
    let line = text.byte_to_line(at);
    let last = (line + LINES).min(text.len_lines());
    let to = text.line_to_byte(last).min(at + BYTES);
    text.slice(text.byte_to_char(at)..text.byte_to_char(to))
        .to_string()
}

#[cfg(test)]
mod tests;
