//! The new text of a place that was found loosely: lines and words that it shares with the wanted
//! text stay as the document has them, other lines are indented like the document.

use std::collections::HashMap;

use super::Place;
use super::loosely::{Found, Needle, Shift, blank, indentation, trimmed};
use crate::edit::line_ends::line_feeds;
use crate::edit::lines::{Line, blocks, differing, split};
use crate::workspace::diff;

/// `None` if the new text lacks the indentation that the document lacks too.
pub(super) fn place(text: &str, needle: &Needle<'_>, new: &str, found: Found) -> Option<Place> {
    let region = &text[found.range.clone()];
    let mut there: Vec<&str> = split(region).iter().map(|line| line.body).collect();
    // An empty last line is none for `split`.
    there.resize(needle.lines.len(), "");
    let old = needle.lines.join("\n") + if needle.complete { "\n" } else { "" };
    let (old, lines) = (split(&old), split(new));
    let mut out = String::new();
    let (mut here, mut next) = (0, 0);
    let end = (old.len()..old.len(), lines.len()..lines.len());
    for (a, b) in differing(&old, &lines, false).into_iter().chain([end]) {
        for (there, line) in there[here..].iter().zip(&lines[next..b.start]) {
            out.push_str(there);
            out.push_str(line.end);
        }
        let there = &there[a.clone()];
        let kept = kept(&old[a.clone()], there, &lines[b.clone()]);
        for (at, (line, kept)) in (b.start..).zip(lines[b.clone()].iter().zip(kept)) {
            let shifted = match at == 0 && found.inside {
                true => line.body.to_owned(),
                false => found.shift.of(line.body)?,
            };
            if !blank(&shifted) {
                out.push_str(indentation(&shifted));
            }
            out.push_str(&kept);
            out.push_str(line.end);
        }
        (here, next) = (a.end, b.end);
    }
    // The document's last line may lack its end.
    let ended = line_feeds(region).ends_with('\n');
    if needle.complete && !ended && out.ends_with('\n') {
        out.pop();
    }
    Some(Place {
        range: found.range,
        new: out,
    })
}

impl Shift {
    fn of(&self, line: &str) -> Option<String> {
        match self {
            _ if blank(line) => Some(line.to_owned()),
            Self::None => Some(line.to_owned()),
            Self::Deeper(by) => Some(format!("{by}{line}")),
            Self::Shallower(by) => line.strip_prefix(by.as_str()).map(str::to_owned),
        }
    }
}

/// A word, another character, or the spaces at the end of a line. Indentation is apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Token<'a> {
    Part(&'a str),
    End(&'a str),
}

/// The `new` lines without their indentation. The characters and trailing spaces that they share
/// with the `old` ones are those of the document's lines `there`.
fn kept(old: &[Line<'_>], there: &[&str], new: &[Line<'_>]) -> Vec<String> {
    /// With more tokens it is another text, not a changed one.
    const MOST: usize = 20_000;
    let (old_tokens, new_tokens) = (all_tokens(old), all_tokens(new));
    let mut names = HashMap::new();
    let numbers =
        [&old_tokens, &new_tokens].map(|tokens| diff::numbered(tokens.iter().copied(), &mut names));
    let mut shared: Vec<Option<String>> = vec![None; new_tokens.len()];
    if old_tokens.len() + new_tokens.len() <= MOST {
        let there = pieces(&old_tokens, there);
        let end = (numbers[0].len()..0, numbers[1].len()..0);
        let (mut a, mut b) = (0, 0);
        for (old, new) in blocks(&numbers[0], &numbers[1]).into_iter().chain([end]) {
            let same = there[a..old.start].iter().cloned().map(Some);
            shared.splice(b..new.start, same);
            (a, b) = (old.end, new.end);
        }
    }
    let mut lines = Vec::new();
    let mut line = String::new();
    for (token, shared) in new_tokens.iter().zip(shared) {
        let (Token::Part(own) | Token::End(own)) = token;
        line.push_str(shared.as_deref().unwrap_or(own));
        if matches!(token, Token::End(_)) {
            lines.push(std::mem::take(&mut line));
        }
    }
    lines
}

fn all_tokens<'a>(lines: &[Line<'a>]) -> Vec<Token<'a>> {
    let mut tokens = Vec::new();
    for line in lines {
        let text = match blank(line.body) {
            true => line.body,
            false => &line.body[indentation(line.body).len()..],
        };
        let core = trimmed(text);
        let mut rest = core;
        while let Some(first) = rest.chars().next() {
            let word = |c: char| c.is_alphanumeric() || c == '_';
            let length = match word(first) {
                true => rest.find(|c| !word(c)).unwrap_or(rest.len()),
                false => first.len_utf8(),
            };
            tokens.push(Token::Part(&rest[..length]));
            rest = &rest[length..];
        }
        tokens.push(Token::End(&text[core.len()..]));
    }
    tokens
}

/// The document's text for each token of the wanted one, from its lines `there`.
fn pieces(tokens: &[Token<'_>], there: &[&str]) -> Vec<String> {
    let mut pieces = Vec::new();
    let of_lines = tokens.split_inclusive(|token| matches!(token, Token::End(_)));
    for (tokens, there) in of_lines.zip(there) {
        let core = trimmed(there);
        let length = |token: &Token<'_>| match token {
            Token::Part(text) => text.chars().count(),
            Token::End(_) => 0,
        };
        // What is before the wanted characters is indentation.
        let known: usize = tokens.iter().map(length).sum();
        let skipped = core.chars().count().saturating_sub(known);
        let mut rest = core.chars().skip(skipped);
        for token in tokens {
            pieces.push(match token {
                Token::Part(_) => rest.by_ref().take(length(token)).collect(),
                Token::End(_) => there[core.len()..].to_owned(),
            });
        }
    }
    pieces
}
