//! Finds the comment at a place, in any language: line comments, block comments, and comments after
//! code. Reads only the text around the place, so it is never slow but can be wrong about a marker
//! inside an unusual string. Pure.

mod syntax;

use ropey::Rope;

use crate::workspace::Range;
use syntax::{Syntax, syntax};

/// How many lines above and below the place are read.
const WINDOW: usize = 400;
/// The longest part of a line that is read, in bytes.
const LINE_LIMIT: usize = 4 * 1024;
/// How many possible openers of a block are tried.
const OPENERS: usize = 64;

/// A comment and its lines, 0-based and inclusive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    pub first: u32,
    pub last: u32,
    /// Its text without markers.
    pub text: String,
}

/// The first comment on the lines of `range`. `suffix` is the file's extension or name; it
/// decides where the editor's name of the language is unknown.
pub fn at(text: &Rope, language: &str, suffix: &str, range: Range) -> Option<Comment> {
    let lines = text.len_lines();
    let first = (range.start.line as usize).min(lines.saturating_sub(1));
    let mut last = (range.end.line as usize).clamp(first, lines.saturating_sub(1));
    if last > first && range.end.character == 0 {
        // A selection of whole lines ends before the next one.
        last -= 1;
    }
    let top = first.saturating_sub(WINDOW);
    let end = (last + WINDOW + 1).min(lines);
    let window = Window::new(text, top, end);
    let syntax = syntax(language, suffix);
    (first..=last).take(WINDOW).find_map(|line| {
        let found = window.comment(syntax, line - top)?;
        Some(Comment {
            first: number(found.first + top),
            last: number(found.last + top),
            text: found.text,
        })
    })
}

fn number(line: usize) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

/// Some lines of a document, without their ends.
struct Window {
    lines: Vec<String>,
    /// The window starts at the beginning of the document.
    top: bool,
}

struct Found {
    first: usize,
    last: usize,
    text: String,
}

impl Found {
    fn new(first: usize, last: usize, words: &str) -> Option<Self> {
        let text = words.trim().to_owned();
        let says = text.chars().any(char::is_alphanumeric);
        says.then_some(Self { first, last, text })
    }
}

impl Window {
    fn new(text: &Rope, top: usize, end: usize) -> Self {
        let line = |index: usize| {
            let mut line = String::new();
            for chunk in text.line(index).chunks() {
                line.push_str(chunk);
                if line.len() > LINE_LIMIT {
                    line.truncate(line.floor_char_boundary(LINE_LIMIT));
                    break;
                }
            }
            line.truncate(line.trim_end_matches(['\n', '\r']).len());
            line
        };
        Self {
            lines: (top..end).map(line).collect(),
            top: top == 0,
        }
    }

    fn comment(&self, syntax: &Syntax, line: usize) -> Option<Found> {
        if self.script_line(line) {
            return None;
        }
        self.block(syntax, line)
            .or_else(|| self.whole_lines(syntax, line))
            .or_else(|| self.trailing(syntax, line))
    }

    /// A script's first line, which names its interpreter.
    fn script_line(&self, line: usize) -> bool {
        self.top && line == 0 && self.lines.first().is_some_and(|it| it.starts_with("#!"))
    }

    /// Consecutive lines that contain only a comment.
    fn whole_lines(&self, syntax: &Syntax, line: usize) -> Option<Found> {
        let marker = self.marker(syntax, line)?;
        let alike = |at: &usize| self.marker(syntax, *at) == Some(marker);
        let first = (0..=line).rev().take_while(alike).last()?;
        let last = (line..self.lines.len()).take_while(alike).last()?;
        let words: Vec<&str> = self.lines[first..=last]
            .iter()
            .map(|text| comment_text(text.trim_start(), marker))
            .collect();
        Found::new(first, last, &words.join("\n"))
    }

    /// The marker of a line that contains only a comment.
    fn marker(&self, syntax: &Syntax, line: usize) -> Option<&'static str> {
        let text = self.lines.get(line)?.trim_start();
        if self.script_line(line) {
            return None;
        }
        syntax.line.iter().copied().find(|marker| {
            starts_with(text, marker) && (!syntax.guess || spaced(&text[marker.len()..], marker))
        })
    }

    /// A comment after code.
    fn trailing(&self, syntax: &Syntax, line: usize) -> Option<Found> {
        let text = self.lines.get(line)?;
        let (at, marker) = line_comment(syntax, text)?;
        Found::new(line, line, comment_text(&text[at..], marker))
    }

    fn block(&self, syntax: &Syntax, line: usize) -> Option<Found> {
        syntax
            .block
            .iter()
            .filter_map(|pair| self.block_of(syntax, *pair, line))
            .max_by_key(|found| found.first)
    }

    /// The block between `open` and `close` that covers the line.
    fn block_of(
        &self,
        syntax: &Syntax,
        (open, close): (&'static str, &'static str),
        line: usize,
    ) -> Option<Found> {
        let mut tried = 0;
        for at in (0..=line).rev() {
            let text = self.lines[at].as_str();
            for (column, _) in text.rmatch_indices(open) {
                tried += 1;
                if tried > OPENERS {
                    return None;
                }
                if !opens(syntax, text, column, open) {
                    continue;
                }
                let found = self.closed(at, column + open.len(), close)?;
                let (last, words) = found;
                if last < line {
                    return None;
                }
                return Found::new(at, last, &unframed(&words));
            }
            // Past a line that closes, no opener above covers ours.
            if at < line && text.contains(close) && !text.contains(open) {
                return None;
            }
        }
        None
    }

    /// The line that closes a block, and the text up to it.
    fn closed(&self, line: usize, column: usize, close: &str) -> Option<(usize, String)> {
        let mut words = String::new();
        for at in line..self.lines.len() {
            let text = self.lines[at].as_str();
            let from = if at == line { column } else { 0 };
            let text = &text[from..];
            if let Some(end) = text.find(close) {
                words.push_str(&text[..end]);
                return Some((at, words));
            }
            words.push_str(text);
            words.push('\n');
        }
        None
    }
}

/// Ignores case, for `REM`.
fn starts_with(text: &str, marker: &str) -> bool {
    text.get(..marker.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(marker))
}

/// Whether a blank or nothing follows a marker and its repetitions: in an unknown language,
/// `#include` and `#[x]` are not comments.
fn spaced(rest: &str, marker: &str) -> bool {
    let rest = rest.trim_start_matches(|c| marker.ends_with(c));
    rest.is_empty() || rest.starts_with(char::is_whitespace)
}

/// A line comment's text: `///`, `//!` and `;;;` are markers too.
fn comment_text<'a>(text: &'a str, marker: &str) -> &'a str {
    let rest = &text[marker.len()..];
    let rest = match marker.chars().last() {
        Some(last) if !last.is_alphanumeric() => rest.trim_start_matches([last, '!']),
        _ => rest,
    };
    rest.strip_prefix([' ', '\t']).unwrap_or(rest).trim_end()
}

/// Where a comment begins after code.
fn line_comment(syntax: &Syntax, text: &str) -> Option<(usize, &'static str)> {
    let markers = syntax.line.iter().copied();
    let places = markers.filter_map(|marker| {
        let mut found = text.match_indices(marker).map(|(at, _)| at);
        let at = found.find(|at| {
            let rest = &text[at + marker.len()..];
            let sure = !syntax.guess || spaced(rest, marker);
            sure && apart(text, *at) && !quoted(text, *at)
        })?;
        Some((at, marker))
    });
    places.min_by_key(|(at, _)| *at)
}

/// Whether a block opens there, outside of strings and other comments.
fn opens(syntax: &Syntax, text: &str, at: usize, open: &str) -> bool {
    let hidden = line_comment(syntax, text).is_some_and(|(from, marker)| {
        // `--[[` begins with the marker of a line comment but is not one.
        from < at && !text[from..].starts_with("--[") && from + marker.len() <= at
    });
    // `src/*.rs` is a pattern; `word<!-- x -->` is a comment.
    let apart = !open.starts_with('/') || apart(text, at);
    apart && !quoted(text, at) && !hidden
}

/// At the start of the line, or after a character that cannot be part of a name or path.
fn apart(text: &str, at: usize) -> bool {
    match text[..at].chars().last() {
        None => true,
        Some(before) => before.is_whitespace() || ";,(){}[]>".contains(before),
    }
}

/// Between two quotes of one line. An unpaired apostrophe (`'a`) quotes nothing.
fn quoted(text: &str, at: usize) -> bool {
    ['"', '\'', '`'].iter().any(|quote| {
        let count = |part: &str| {
            let mut escaped = false;
            let unescaped = part.chars().filter(|c| {
                let counts = c == quote && !escaped;
                escaped = *c == '\\' && !escaped;
                counts
            });
            unescaped.count()
        };
        count(&text[..at]) % 2 == 1 && count(&text[at..]) > 0
    })
}

/// A block's text without the surrounding stars.
fn unframed(words: &str) -> String {
    let lines = words.lines().map(|line| {
        let line = line.trim();
        let line = line.trim_start_matches(['*', '!']);
        line.trim_end_matches(['*', '-', '=']).trim()
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
