//! Styled text for a terminal: spans, lines, wrapping at a width. A span's text never controls the
//! terminal: hidden characters are escaped when it is made, and only [`Line::paint`] adds codes. Pure.

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::visible;

pub const PLAIN: Style = Style::new();
pub const BOLD: Style = Style::new().bold();
pub const DIM: Style = Style::new().dimmed();
pub const CODE: Style = AnsiColor::Cyan.on_default();
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const BAD: Style = AnsiColor::Red.on_default();
pub const WARN: Style = AnsiColor::Yellow.on_default();

/// A text in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub style: Style,
}

impl Span {
    pub fn new(text: &str, style: Style) -> Self {
        Self {
            text: visible::prose(text),
            style,
        }
    }
}

/// One line of output. `verbatim` lines (code, diffs) are not wrapped by us: what is copied from
/// the terminal has the line ends of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub spans: Vec<Span>,
    pub verbatim: bool,
}

impl Line {
    pub fn of(spans: Vec<Span>) -> Self {
        Self {
            spans,
            verbatim: false,
        }
    }

    pub fn verbatim(text: &str, style: Style) -> Self {
        Self {
            spans: vec![Span::new(text, style)],
            verbatim: true,
        }
    }

    /// With another span at its beginning.
    pub fn indented(mut self, by: Span) -> Self {
        if !by.text.is_empty() {
            self.spans.insert(0, by);
        }
        self
    }

    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// At most `width` columns of it.
    pub fn truncated(&self, width: usize) -> Self {
        let mut left = width;
        let mut spans = Vec::new();
        for span in &self.spans {
            let mut text = String::new();
            for c in span.text.chars() {
                let wide = c.width().unwrap_or(0);
                if wide > left {
                    left = 0;
                    break;
                }
                left -= wide;
                text.push(c);
            }
            spans.push(Span {
                text,
                style: span.style,
            });
            if left == 0 {
                break;
            }
        }
        Self {
            spans,
            verbatim: self.verbatim,
        }
    }

    /// The line with the codes of its styles, or without any.
    pub fn paint(&self, styles: bool) -> String {
        let mut out = String::new();
        for Span { text, style } in &self.spans {
            if styles && *style != PLAIN && !text.is_empty() {
                out.push_str(&format!("{style}{text}{style:#}"));
            } else {
                out.push_str(text);
            }
        }
        out
    }
}

/// A text in one style, wrapped; following lines begin below the text of the first.
pub fn wrapped(head: &str, text: &str, style: Style, width: usize) -> Vec<Line> {
    let head = Span::new(head, style);
    let below = Span::new(&" ".repeat(head.text.width()), PLAIN);
    let text = visible::prose(text);
    let mut lines = Vec::new();
    for (index, part) in text.split('\n').enumerate() {
        let first = if index == 0 { &head } else { &below };
        lines.extend(wrap(&[Span::new(part, style)], first, &below, width));
    }
    lines
}

/// The spans as lines of at most `width` columns, broken at blanks. The first line begins with
/// `first`, the others with `rest`. A line end in a span ends the line.
pub fn wrap(spans: &[Span], first: &Span, rest: &Span, width: usize) -> Vec<Line> {
    let mut wrapping = Wrapping {
        rest: rest.clone(),
        width: width.max(rest.text.width() + 8),
        lines: Vec::new(),
        line: Line::default().indented(first.clone()),
        used: first.text.width(),
        empty: true,
    };
    let mut word: Vec<Span> = Vec::new();
    let mut gap: Option<Style> = None;
    for span in spans {
        for piece in pieces(&span.text) {
            match piece {
                "\n" => {
                    wrapping.word(&mut word, gap.take());
                    wrapping.next_line();
                }
                " " => {
                    if !word.is_empty() {
                        wrapping.word(&mut word, gap.take());
                    }
                    gap = Some(span.style);
                }
                text => word.push(Span {
                    text: text.to_owned(),
                    style: span.style,
                }),
            }
        }
    }
    wrapping.word(&mut word, gap);
    wrapping.next_line();
    wrapping.lines
}

/// Words, runs of blanks as one blank, and line ends.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let blank = |c: char| matches!(c, ' ' | '\t');
        let (piece, after) = match first {
            '\n' => rest.split_at(1),
            c if blank(c) => {
                let end = rest.find(|c| !blank(c)).unwrap_or(rest.len());
                (" ", &rest[end..])
            }
            _ => {
                let end = rest.find(|c| c == '\n' || blank(c));
                rest.split_at(end.unwrap_or(rest.len()))
            }
        };
        rest = after;
        Some(piece)
    })
}

struct Wrapping {
    rest: Span,
    width: usize,
    lines: Vec<Line>,
    line: Line,
    used: usize,
    /// The line has nothing but its indent.
    empty: bool,
}

impl Wrapping {
    /// Adds a word, which may have several styles, after a blank in the style `gap`.
    fn word(&mut self, word: &mut Vec<Span>, gap: Option<Style>) {
        if word.is_empty() {
            return;
        }
        let wide: usize = word.iter().map(|span| span.text.width()).sum();
        let gap = gap.filter(|_| !self.empty);
        if !self.empty && self.used + usize::from(gap.is_some()) + wide > self.width {
            self.next_line();
        } else if let Some(style) = gap {
            self.put(" ", style);
        }
        for span in word.drain(..) {
            self.put(&span.text, span.style);
        }
    }

    /// Adds text; a word that is wider than a line is broken.
    fn put(&mut self, text: &str, style: Style) {
        let mut part = String::new();
        for c in text.chars() {
            let wide = c.width().unwrap_or(0);
            if self.used + wide > self.width && !(self.empty && part.is_empty()) {
                self.push(std::mem::take(&mut part), style);
                self.next_line();
            }
            self.used += wide;
            part.push(c);
        }
        self.push(part, style);
    }

    fn push(&mut self, text: String, style: Style) {
        if text.is_empty() {
            return;
        }
        self.empty = false;
        match self.line.spans.last_mut() {
            Some(last) if last.style == style => last.text.push_str(&text),
            _ => self.line.spans.push(Span { text, style }),
        }
    }

    fn next_line(&mut self) {
        let fresh = Line::default().indented(self.rest.clone());
        self.lines.push(std::mem::replace(&mut self.line, fresh));
        self.used = self.rest.text.width();
        self.empty = true;
    }
}

/// The lines of a unified diff, each in the colour of its first character.
pub fn diff(text: &str) -> Vec<Line> {
    let text = visible::exact(text.trim_end());
    let style = |line: &str| match line.as_bytes().first() {
        _ if line.starts_with("+++ ") || line.starts_with("--- ") => BOLD,
        Some(b'+') => GOOD,
        Some(b'-') => BAD,
        Some(b'@') => CODE,
        _ => PLAIN,
    };
    text.lines()
        .map(|line| Line::verbatim(line, style(line)))
        .collect()
}

#[cfg(test)]
mod tests;
