//! Places that resemble a text that does not occur, for error messages only: similarity never
//! applies an edit.

use std::collections::HashSet;

use super::numbers;
use crate::edit::line_ends::line_feeds;

/// The first difference between a wanted text and a similar place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// 1-based line of the document.
    pub line: usize,
    /// The document's text from shortly before the difference; empty: it ends there.
    pub there: String,
    /// The wanted text at the same place.
    pub wanted: String,
}

/// The most similar places, and the first difference at the first of them.
pub fn places(text: &str, old: &str) -> (Vec<usize>, Option<Difference>) {
    let (text, old) = (line_feeds(text), line_feeds(old));
    let old = numbers::without(&old, "").map_or(old, |(old, _)| old);
    let lines = similar_lines(&text, &old);
    let first = lines.first();
    let differs = first.and_then(|line| difference(&text, *line, &old));
    (lines, differs)
}

/// Up to three 1-based numbers of the lines of `text` most similar to the first line of `old`
/// that is not blank, best first.
fn similar_lines(text: &str, old: &str) -> Vec<usize> {
    // These bounds keep the search below about ten milliseconds even for the largest files.
    const LINES: usize = 200_000;
    const WIDTH: usize = 400;
    const LEAST: f64 = 0.5;
    let Some(wanted) = old.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return Vec::new();
    };
    let wanted = pairs(wanted, WIDTH);
    let mut best: Vec<(f64, usize)> = Vec::new();
    for (index, line) in text.lines().take(LINES).enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let score = likeness(&wanted, &pairs(line, WIDTH));
        if score >= LEAST {
            let at = best.partition_point(|(other, _)| *other >= score);
            best.insert(at, (score, index + 1));
            best.truncate(3);
        }
    }
    best.into_iter().map(|(_, line)| line).collect()
}

/// How `old` first differs from the document at the 1-based `line`, which is similar to the first
/// line of `old` that is not blank.
fn difference(text: &str, line: usize, old: &str) -> Option<Difference> {
    let mut there = text.lines().skip(line - 1);
    let mut wanted = old.lines().skip_while(|line| line.trim().is_empty());
    let (mut here, mut given) = (there.next()?, wanted.next()?);
    let mut line = line;
    // The wanted text may begin inside its first line.
    if here.contains(given) {
        here = given;
    }
    while here == given {
        line += 1;
        given = wanted.next()?;
        here = there.next().unwrap_or_default();
    }
    let same = |(a, b): &(char, char)| a == b;
    let length = here.chars().zip(given.chars()).take_while(same).count();
    Some(Difference {
        line,
        there: excerpt(here, length),
        wanted: excerpt(given, length),
    })
}

/// The part of a line around a character, on one line and with visible tabs and odd spaces.
fn excerpt(line: &str, at: usize) -> String {
    const BEFORE: usize = 12;
    const LENGTH: usize = 48;
    let part = line.chars().skip(at.saturating_sub(BEFORE)).take(LENGTH);
    let visible = part.map(|character| match character {
        ' ' => " ".to_owned(),
        '\t' => "\\t".to_owned(),
        other if other.is_whitespace() || other.is_control() => other.escape_unicode().to_string(),
        other => other.to_string(),
    });
    visible.collect()
}

/// The set of adjacent character pairs of a line, with its ends marked.
fn pairs(line: &str, width: usize) -> HashSet<(char, char)> {
    let mut before = '\n';
    let mut pairs = HashSet::new();
    for character in line.chars().take(width) {
        pairs.insert((before, character));
        before = character;
    }
    pairs.insert((before, '\n'));
    pairs
}

/// Dice coefficient, 0 to 1.
fn likeness(a: &HashSet<(char, char)>, b: &HashSet<(char, char)>) -> f64 {
    let (small, large) = if a.len() < b.len() { (a, b) } else { (b, a) };
    // Lines of very different lengths cannot reach the threshold.
    if small.len() * 3 < large.len() {
        return 0.0;
    }
    let shared = small.iter().filter(|pair| large.contains(*pair)).count();
    2.0 * shared as f64 / (a.len() + b.len()) as f64
}

#[cfg(test)]
mod tests;
