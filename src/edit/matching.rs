//! Exact matching of `old_string` in a text. Only line ends are matched loosely: a text with
//! carriage returns is searched as if every line end were `\n`, and the ranges are those of the
//! real bytes. Never splits a CRLF. Similarity is used for error messages only, never to edit.

use std::collections::HashSet;
use std::ops::Range;

/// Byte ranges in `text` of all matches of `old`, ascending. They do not overlap, unless there is
/// only one: then a match that overlaps it is included too.
///
/// An `old` with carriage returns is first matched literally; only if that finds nothing, its line
/// ends are matched loosely too.
pub fn find(text: &str, old: &str) -> Vec<Range<usize>> {
    if old.is_empty() {
        return Vec::new();
    }
    if !text.contains('\r') && !old.contains('\r') {
        return exact(text, old);
    }
    if old.contains('\r') {
        let literal: Vec<_> = exact(text, old)
            .into_iter()
            .filter(|range| !splits_crlf(text, range.start) && !splits_crlf(text, range.end))
            .collect();
        if !literal.is_empty() {
            return literal;
        }
    }
    let view = View::new(text);
    let old = View::new(old).text;
    exact(&view.text, &old)
        .into_iter()
        .map(|range| view.real(range.start)..view.real(range.end))
        .collect()
}

/// Whether `offset` is between the two bytes of a CRLF.
pub fn splits_crlf(text: &str, offset: usize) -> bool {
    let bytes = text.as_bytes();
    offset > 0 && bytes.get(offset - 1) == Some(&b'\r') && bytes.get(offset) == Some(&b'\n')
}

/// `text` with every line end as `\n`.
pub fn line_feeds(text: &str) -> String {
    View::new(text).text
}

/// Up to three 1-based numbers of the lines of `text` most similar to the first line of `old`
/// that is not blank, best first.
pub fn similar_lines(text: &str, old: &str) -> Vec<usize> {
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

fn exact(text: &str, old: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = text
        .match_indices(old)
        .map(|(start, found)| start..start + found.len())
        .collect();
    if let [only] = found.as_slice() {
        let next = only.start + old.chars().next().map_or(1, char::len_utf8);
        let other = text[next..].find(old).map(|at| next + at);
        found.extend(other.map(|start| start..start + old.len()));
    }
    found
}

/// A text with every line end as `\n`, and the way back to the real bytes.
struct View {
    text: String,
    /// Offsets in `text` of the `\n` that stand for a CRLF, ascending.
    shrunk: Vec<usize>,
}

impl View {
    fn new(real: &str) -> Self {
        let mut text = String::with_capacity(real.len());
        let mut shrunk = Vec::new();
        let mut rest = real;
        while let Some(at) = rest.find('\r') {
            text.push_str(&rest[..at]);
            let crlf = rest[at + 1..].starts_with('\n');
            if crlf {
                shrunk.push(text.len());
            }
            text.push('\n');
            rest = &rest[at + if crlf { 2 } else { 1 }..];
        }
        text.push_str(rest);
        Self { text, shrunk }
    }

    fn real(&self, offset: usize) -> usize {
        offset + self.shrunk.partition_point(|at| *at < offset)
    }
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
