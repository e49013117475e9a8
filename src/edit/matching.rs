//! Where a text occurs in a document: exactly, else with one liberty after another (see
//! [`Strategy`]). A document with carriage returns is searched as if every line end were `\n`, and
//! the ranges are those of the real bytes. Never splits a CRLF. Similarity is used for error
//! messages only, never to edit.

mod loosely;
mod numbers;
mod rewrite;
pub mod similar;

use std::ops::Range;

use super::line_ends::{View, line_feeds, splits_crlf};
use super::lines::{Line, split};
use loosely::{Needle, Rule};

/// How a text was found. Each strategy is tried only if the stricter ones find nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strategy {
    #[default]
    Exact,
    /// The document lacks carriage returns of the wanted text.
    LineEnds,
    /// Spaces and tabs at the ends of lines differ.
    TrailingSpace,
    /// All lines are indented by the same amount more, or less.
    Indentation,
    /// The lines of the wanted text begin with the numbers that `read` prints.
    ReadPrefix,
    /// Quotes, dashes or spaces are typographic on one side and plain on the other.
    Typographic,
}

/// What [`locate`] searches for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    pub old: &'a str,
    pub new: &'a str,
    /// `old` is complete lines that end with line feeds; the document's last line may lack its own.
    pub whole_lines: bool,
}

/// A place to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub range: Range<usize>,
    /// The new text of the range. What the new text keeps of the wanted one is as the document has
    /// it.
    pub new: String,
}

/// The places of `wanted.old`, ascending, by the strictest strategy that finds any.
pub fn locate(text: &str, wanted: Wanted<'_>) -> (Strategy, Vec<Place>) {
    let places = exactly(text, wanted);
    if !places.is_empty() || wanted.old.trim().is_empty() {
        let loose =
            |place: &Place| wanted.old.contains('\r') && text[place.range.clone()] != *wanted.old;
        let strategy = match places.iter().any(loose) {
            true => Strategy::LineEnds,
            false => Strategy::Exact,
        };
        return (strategy, places);
    }
    let lines = split(text);
    let (old, new) = (line_feeds(wanted.old), line_feeds(wanted.new));
    let wanted = Wanted {
        old: &old,
        new: &new,
        ..wanted
    };
    let loosely = |wanted: Wanted<'_>, rule: Rule| loosely_placed(text, &lines, wanted, rule);
    for (strategy, rule) in [
        (Strategy::TrailingSpace, Rule::TRAILING),
        (Strategy::Indentation, Rule::SHIFTED),
    ] {
        let places = loosely(wanted, rule);
        if !places.is_empty() {
            return (strategy, places);
        }
    }
    if let Some((old, new)) = numbers::without(&old, &new) {
        let (old, new) = (old.as_str(), new.as_str());
        let wanted = Wanted { old, new, ..wanted };
        let places = [exactly(text, wanted)]
            .into_iter()
            .chain([Rule::TRAILING, Rule::SHIFTED].map(|rule| loosely(wanted, rule)));
        if let Some(places) = places.into_iter().find(|places| !places.is_empty()) {
            return (Strategy::ReadPrefix, places);
        }
    }
    if !(text.is_ascii() && old.is_ascii()) {
        for rule in [Rule::FOLDED, Rule::FOLDED_AND_SHIFTED] {
            let places = loosely(wanted, rule);
            if !places.is_empty() {
                return (Strategy::Typographic, places);
            }
        }
    }
    (Strategy::Exact, Vec::new())
}

/// The places by [`Strategy::Exact`] or [`Strategy::LineEnds`].
fn exactly(text: &str, wanted: Wanted<'_>) -> Vec<Place> {
    if wanted.whole_lines {
        return loosely_placed(text, &split(text), wanted, Rule::EXACT);
    }
    let place = |range: Range<usize>| {
        // The carriage returns of `old` are not in the document and were matched loosely, so those
        // of `new` mean line ends too.
        let loose = wanted.old.contains('\r') && text[range.clone()] != *wanted.old;
        let new = match loose {
            true => line_feeds(wanted.new),
            false => wanted.new.to_owned(),
        };
        Place { range, new }
    };
    find(text, wanted.old).into_iter().map(place).collect()
}

/// Empty if a place cannot take the new text: it is not indented like the document.
fn loosely_placed(text: &str, lines: &[Line<'_>], wanted: Wanted<'_>, rule: Rule) -> Vec<Place> {
    let needle = Needle::new(wanted.old, wanted.whole_lines);
    let found = loosely::find(lines, &needle, rule);
    let places = found
        .into_iter()
        .map(|found| rewrite::place(text, &needle, wanted.new, found));
    places.collect::<Option<_>>().unwrap_or_default()
}

/// Byte ranges in `text` of all matches of `old`, ascending. They do not overlap, unless there is
/// only one: then a match that overlaps it is included too.
///
/// An `old` with carriage returns is first matched literally; only if that finds nothing, its line
/// ends are matched loosely too.
fn find(text: &str, old: &str) -> Vec<Range<usize>> {
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

#[cfg(test)]
mod tests;
