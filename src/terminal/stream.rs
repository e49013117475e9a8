//! Markdown that arrives in pieces: which lines can be shown for good, and the line that is still
//! being written. Pure.

use super::markdown::{Block, Look, blocks};
use super::markup::Line;

/// An answer that is being written.
#[derive(Debug, Default)]
pub struct Stream {
    /// The source from the beginning of the block that is being written.
    source: String,
    /// Lines of that block that were shown.
    shown: usize,
    /// An empty line is due before the next line.
    gap: bool,
    /// The look of the current block: a changed width applies from the next one on.
    look: Option<Look>,
}

/// What to show now.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Lines that no longer change.
    pub settled: Vec<Line>,
    /// The line that is being written, in its current state.
    pub live: Option<Line>,
}

/// From this size on, the lines of a code block that were shown are dropped.
const LONG: usize = 4096;

/// How far back an emphasis, a code span or a link may have begun that did not end yet.
const OPEN: usize = 300;

impl Stream {
    /// Adds a piece of text.
    pub fn push(&mut self, text: &str, look: Look) -> Shown {
        self.source.push_str(text);
        let mut shown = Shown::default();
        let look = *self.look.get_or_insert(look);
        let mut found = blocks(&self.source, look);
        let last = found.pop();
        // A part of a line after a table may become its next row.
        let begins = last.as_ref().map_or(0, |last| last.range.start);
        if found.last().is_some_and(Block::is_table) && !self.source[begins..].contains('\n') {
            return shown;
        }
        let complete = !found.is_empty();
        for block in found {
            self.finish(&block.lines, &mut shown.settled);
        }
        let Some(last) = last else {
            return shown;
        };
        if complete {
            let start = self.source[..last.range.start]
                .rfind('\n')
                .map_or(0, |at| at + 1);
            self.source.drain(..start);
            self.look = None;
        }
        self.open(look, &mut shown);
        self.shorten();
        shown
    }

    /// Everything that is left.
    pub fn end(&mut self, look: Look) -> Vec<Line> {
        let look = self.look.unwrap_or(look);
        let mut out = Vec::new();
        for block in blocks(&self.source, look) {
            self.finish(&block.lines, &mut out);
        }
        *self = Self::default();
        out
    }

    fn show(&mut self, lines: &[Line], out: &mut Vec<Line>) {
        let fresh = lines.get(self.shown..).unwrap_or_default();
        if fresh.is_empty() {
            return;
        }
        if std::mem::take(&mut self.gap) {
            out.push(Line::default());
        }
        self.shown = lines.len();
        out.extend_from_slice(fresh);
    }

    /// Shows the rest of a complete block.
    fn finish(&mut self, lines: &[Line], out: &mut Vec<Line>) {
        self.show(lines, out);
        self.gap = self.gap || self.shown > 0;
        self.shown = 0;
    }

    /// The block that is being written.
    fn open(&mut self, look: Look, shown: &mut Shown) {
        let sure = &self.source[..sure(&self.source)];
        // It may become a table.
        if sure.trim_start().starts_with('|') {
            return;
        }
        let mut found = blocks(sure, look);
        let Some(block) = found.pop().filter(|_| found.is_empty()) else {
            return;
        };
        if block.settled > self.shown {
            self.show(&block.lines[..block.settled], &mut shown.settled);
        }
        let live = block.lines.get(block.settled).filter(|_| block.live);
        if self.shown == block.settled {
            if live.is_some() && std::mem::take(&mut self.gap) {
                shown.settled.push(Line::default());
            }
            shown.live = live.cloned();
        }
    }

    /// Keeps the fence and the last line of a long code block.
    fn shorten(&mut self) {
        let fence = self.source.starts_with("```") || self.source.starts_with("~~~");
        if !fence || self.source.len() < LONG {
            return;
        }
        let Some(first) = self.source.find('\n').map(|at| at + 1) else {
            return;
        };
        // The last complete line was not shown yet.
        let end = self.source.trim_end_matches(|c| c != '\n');
        let end = end.strip_suffix('\n').unwrap_or(end);
        let Some(last) = end.rfind('\n').map(|at| at + 1).filter(|at| *at > first) else {
            return;
        };
        let look = self.look.unwrap_or(Look {
            width: 80,
            styles: true,
        });
        let settled = |source: &str| blocks(source, look).pop().map_or(0, |block| block.settled);
        let before = settled(&self.source);
        let mut rest = self.source.clone();
        rest.drain(first..last);
        let gone = before.saturating_sub(settled(&rest));
        if self.shown == before {
            self.source = rest;
            self.shown -= gone;
        }
    }
}

/// The length of the part of a text that more text does not change the marks of: an emphasis, a
/// code span or a link that did not end yet is left out, if it began recently.
fn sure(text: &str) -> usize {
    let paragraph = text.rfind("\n\n").map_or(0, |at| at + 2);
    let from = paragraph.max(text.ceil_char_boundary(text.len().saturating_sub(OPEN)));
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut at = from;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let run = match c {
            '`' | '*' | '_' | '~' => rest.len() - rest.trim_start_matches(c).len(),
            _ => c.len_utf8(),
        };
        let mark = &rest[..run];
        let in_code = open.last().is_some_and(|(mark, _)| mark.starts_with('`'));
        match c {
            '`' if open.last().is_some_and(|(known, _)| *known == mark) => {
                open.pop();
            }
            '`' if !in_code => open.push((mark, at)),
            '*' | '_' | '~' if !in_code => emphasis(&mut open, text, mark, at),
            '[' if !in_code => open.push((mark, at)),
            ']' if !in_code => bracket(&mut open, &rest[run..]),
            ')' if !in_code => close(&mut open, "]("),
            // A new line of a list, a heading or a quote ends what is open.
            '\n' if begins_block(&rest[run..]) => open.clear(),
            _ => {}
        }
        at += run;
    }
    open.first().map_or(text.len(), |(_, at)| *at)
}

fn begins_block(line: &str) -> bool {
    let line = line.trim_start();
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with(['#', '>', '-', '+', '|'])
        || line.starts_with("* ")
        || (number.len() < line.len() && number.starts_with(['.', ')']))
}

/// Closes the mark, with all that was opened after it.
fn close(open: &mut Vec<(&str, usize)>, mark: &str) {
    if let Some(known) = open.iter().rposition(|(known, _)| *known == mark) {
        open.truncate(known);
    }
}

/// Opens or closes an emphasis, by CommonMark's rules for what is next to its mark.
fn emphasis<'a>(open: &mut Vec<(&'a str, usize)>, text: &'a str, mark: &'a str, at: usize) {
    let before = text[..at].chars().next_back().unwrap_or(' ');
    let after = text[at + mark.len()..].chars().next();
    let closes = !before.is_whitespace();
    if closes && open.iter().any(|(known, _)| *known == mark) {
        close(open, mark);
        return;
    }
    let opens = match after {
        // Not known yet.
        None => true,
        Some(after) if after.is_whitespace() => false,
        Some(after) if after.is_alphanumeric() => mark != "_" || !before.is_alphanumeric(),
        Some(_) => !before.is_alphanumeric(),
    };
    if opens && (mark != "~") {
        open.push((mark, at));
    }
}

/// The end of a link's text: its address follows, or it is no link.
fn bracket(open: &mut Vec<(&str, usize)>, after: &str) {
    let Some(known) = open.iter().rposition(|(known, _)| *known == "[") else {
        return;
    };
    let at = open[known].1;
    open.truncate(known);
    if after.is_empty() || after.starts_with('(') {
        open.push(("](", at));
    }
}

#[cfg(test)]
mod tests;
