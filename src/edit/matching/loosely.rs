//! Lines that are equal but for what a [`Rule`] ignores. Compares line by line and never guesses:
//! every line of the needle has to fit.

use std::ops::Range;

use crate::edit::lines::Line;

/// Most comparisons of two lines: a search gives up beyond, so that no text makes it slow.
const MOST: usize = 4_000_000;

/// What may differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// Spaces and tabs at the ends of lines.
    trimmed: bool,
    /// The indentation, by the same amount in all lines.
    shifted: bool,
    /// Typographic and plain characters.
    folded: bool,
}

impl Rule {
    pub const EXACT: Self = Self {
        trimmed: false,
        shifted: false,
        folded: false,
    };
    pub const TRAILING: Self = Self {
        trimmed: true,
        ..Self::EXACT
    };
    pub const SHIFTED: Self = Self {
        shifted: true,
        ..Self::TRAILING
    };
    pub const FOLDED: Self = Self {
        folded: true,
        ..Self::TRAILING
    };
    pub const FOLDED_AND_SHIFTED: Self = Self {
        shifted: true,
        ..Self::FOLDED
    };
}

/// The wanted text.
pub(super) struct Needle<'a> {
    pub lines: Vec<&'a str>,
    /// Its last line has its end.
    pub complete: bool,
    /// It begins where a line begins.
    whole: bool,
}

/// How much more or less the document is indented.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Shift {
    #[default]
    None,
    Deeper(String),
    Shallower(String),
}

#[derive(Clone, Debug)]
pub(super) struct Found {
    pub range: Range<usize>,
    pub shift: Shift,
    /// It begins inside a line.
    pub inside: bool,
}

impl<'a> Needle<'a> {
    /// `old` has line feeds only.
    pub fn new(old: &'a str, whole: bool) -> Self {
        let (body, complete) = match old.strip_suffix('\n') {
            Some(body) => (body, true),
            None => (old, false),
        };
        Self {
            lines: body.split('\n').collect(),
            complete,
            whole,
        }
    }

    /// Whether line `at` may go on in the document.
    fn open_end(&self, at: usize) -> bool {
        at + 1 == self.lines.len() && !self.complete && trimmed(self.lines[at]) == self.lines[at]
    }

    /// Whether line `at` may begin inside a line of the document.
    fn open_start(&self, at: usize, rule: Rule) -> bool {
        at == 0 && !self.whole && (!rule.shifted || blank(self.lines[at]))
    }
}

/// All places of the needle, ascending. They may overlap.
pub(super) fn find(lines: &[Line<'_>], needle: &Needle<'_>, rule: Rule) -> Vec<Found> {
    let says = needle.lines.iter().any(|line| !blank(line));
    if !says && rule.trimmed {
        return Vec::new();
    }
    if needle.lines.len() == 1 && needle.open_end(0) && needle.open_start(0, rule) {
        return if rule.folded {
            inside(lines, needle)
        } else {
            Vec::new()
        };
    }
    let mut left = MOST;
    let mut found = Vec::new();
    for first in 0..lines.len() {
        let Some(rest) = lines[first..].get(..needle.lines.len()) else {
            break;
        };
        found.extend(fits(rest, needle, rule, &mut left));
        if left == 0 {
            return Vec::new();
        }
    }
    found
}

/// The place of the needle if it is at `lines`, of which there are as many.
fn fits(lines: &[Line<'_>], needle: &Needle<'_>, rule: Rule, left: &mut usize) -> Option<Found> {
    let (mut shift, mut range) = (None, 0..0);
    for (at, (line, old)) in lines.iter().zip(&needle.lines).enumerate() {
        *left = left.saturating_sub(1);
        let (start, end) = (needle.open_start(at, rule), needle.open_end(at));
        let cut = |text| if rule.trimmed { trimmed(text) } else { text };
        let body = if end { line.body } else { cut(line.body) };
        let old = cut(old);
        let matched = if start {
            let length = ends_with(body, old, rule.folded)?;
            body.len() - length..body.len()
        } else if rule.shifted && !blank(old) {
            let (there, here) = (indentation(body), indentation(old));
            let by = difference(there, here)?;
            if *shift.get_or_insert_with(|| by.clone()) != by {
                return None;
            }
            let core = &old[here.len()..];
            let length = starts_with(&body[there.len()..], core, rule.folded)?;
            0..there.len() + length
        } else {
            0..starts_with(body, old, rule.folded)?
        };
        if !end && matched.end != body.len() {
            return None;
        }
        if at == 0 {
            range.start = line.start + matched.start;
        }
        if at + 1 == lines.len() {
            range.end = line.start
                + match (end, needle.complete) {
                    (true, _) => matched.end,
                    (false, false) => line.body.len(),
                    (false, true) => line.body.len() + line.end.len(),
                };
        }
    }
    Some(Found {
        inside: range.start > lines.first()?.start,
        range,
        shift: shift.unwrap_or_default(),
    })
}

/// All places of a part of a line, but for typographic characters.
fn inside(lines: &[Line<'_>], needle: &Needle<'_>) -> Vec<Found> {
    let old: String = needle.lines[0].chars().map(fold).collect();
    let mut found = Vec::new();
    for line in lines {
        if line.body.len() < old.len() {
            continue;
        }
        let body: String = line.body.chars().map(fold).collect();
        let real = |at: usize| {
            let before = body[..at].chars().count();
            let rest = line.body.char_indices().nth(before);
            line.start + rest.map_or(line.body.len(), |(at, _)| at)
        };
        for range in super::exact(&body, &old) {
            found.push(Found {
                range: real(range.start)..real(range.end),
                shift: Shift::None,
                inside: true,
            });
        }
    }
    found
}

/// The length in `text` of `start`, if it begins with it.
fn starts_with(text: &str, start: &str, folded: bool) -> Option<usize> {
    if !folded {
        return text.starts_with(start).then_some(start.len());
    }
    let mut rest = text.chars();
    for wanted in start.chars() {
        if fold(rest.next()?) != fold(wanted) {
            return None;
        }
    }
    Some(text.len() - rest.as_str().len())
}

/// The length in `text` of `end`, if it ends with it.
fn ends_with(text: &str, end: &str, folded: bool) -> Option<usize> {
    if !folded {
        return text.ends_with(end).then_some(end.len());
    }
    let mut rest = text.chars();
    for wanted in end.chars().rev() {
        if fold(rest.next_back()?) != fold(wanted) {
            return None;
        }
    }
    Some(text.len() - rest.as_str().len())
}

/// From the indentation `here`, of the needle, to `there`, of the document.
fn difference(there: &str, here: &str) -> Option<Shift> {
    if there == here {
        return Some(Shift::None);
    }
    let deeper = there.strip_suffix(here).map(str::to_owned);
    deeper.map(Shift::Deeper).or_else(|| {
        let shallower = here.strip_suffix(there)?;
        Some(Shift::Shallower(shallower.to_owned()))
    })
}

pub(super) fn trimmed(line: &str) -> &str {
    line.trim_end_matches([' ', '\t'])
}

pub(super) fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

pub(super) fn blank(line: &str) -> bool {
    trimmed(line).is_empty()
}

/// The plain character that people type for a typographic one.
pub(super) fn fold(character: char) -> char {
    match character {
        '‘' | '’' | '‚' | '‛' | '′' => '\'',
        '“' | '”' | '„' | '‟' | '″' => '"',
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => '-',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}
