//! Closed files that the editor opened with another text than the disk's: whether the edit there
//! is the requested one. Sends nothing.

use std::ops::Range;

use ropey::Rope;

use super::judge::{Verdict, judge};
use super::sent_edit::Sent;
use crate::edit::line_ends::line_feeds;
use crate::edit::{Hunk, with_new_starts};
use crate::host::TextEdit;
use crate::workspace::{Change, Document, Revision, text};

/// The edits requested for a closed file, and the text that the editor opened.
pub(super) struct Opened {
    edits: Vec<TextEdit>,
    encoding: text::Encoding,
    /// The ranges that the model asked to replace, in the text that it saw.
    named: Vec<Range<usize>>,
    /// The text that the editor opened, if it is not the one that the edit was made for, and all
    /// changes since.
    pub text: Option<(Revision, Rope, Vec<Change>)>,
    /// The edit as it landed on that other text.
    pub landed: Option<Sent>,
}

/// What the editor's text shows about the edit.
pub(super) enum Evidence {
    Verdict(Verdict),
    /// The file was opened with a text that could already contain the edit.
    Likely,
}

impl Opened {
    pub(super) fn new(
        edits: Vec<TextEdit>,
        encoding: text::Encoding,
        named: Vec<Range<usize>>,
    ) -> Self {
        Self {
            edits,
            encoding,
            named,
            text: None,
            landed: None,
        }
    }

    /// Judges `document`, whose first text was not `sent.before`.
    pub(super) fn evidence(&mut self, sent: &Sent, document: &Document) -> Evidence {
        let (now, present) = (document.revision, &document.rope);
        let whole = *present == sent.expected;
        if whole || same_lines(present, &sent.expected) && !same_lines(&sent.before, &sent.expected)
        {
            return Evidence::Verdict(Verdict::Shown {
                from: now,
                to: now,
                moved: !whole,
            });
        }
        let Some((at, text, changes)) = self.text.clone() else {
            return Evidence::Verdict(Verdict::Unknown);
        };
        if let Some(hunks) = self.placed(&text, sent) {
            let there = Sent::new(text.clone(), Some(at), hunks);
            match judge(&there, present, now, Some(&changes)) {
                Verdict::Shown { from, to, .. } if self.intact(sent, &text) => {
                    return Evidence::Verdict(Verdict::Shown {
                        from,
                        to,
                        moved: true,
                    });
                }
                Verdict::Shown { .. } => {
                    self.landed = Some(there);
                    return Evidence::Verdict(Verdict::Elsewhere { sure: true });
                }
                Verdict::Undone => return Evidence::Verdict(Verdict::Undone),
                _ => {}
            }
        }
        if self.covered(sent, &text) {
            return Evidence::Likely;
        }
        let sure = self.new_text_is_there(sent, &text);
        Evidence::Verdict(Verdict::Elsewhere { sure })
    }

    /// The edit where the client's positions put it in `text`.
    fn placed(&self, text: &Rope, sent: &Sent) -> Option<Vec<Hunk>> {
        let place = |position| text::offset(text, position, self.encoding).ok();
        let hunks = self.edits.iter().zip(&sent.hunks).map(|(edit, hunk)| {
            Some(Hunk {
                start: place(edit.range.start)?,
                end: place(edit.range.end)?,
                text: hunk.text.clone(),
            })
        });
        let hunks: Vec<Hunk> = hunks.collect::<Option<_>>()?;
        let whole = |offset: usize| text.char_to_byte(text.byte_to_char(offset)) == offset;
        let fits = hunks
            .iter()
            .all(|it| it.start <= it.end && whole(it.start) && whole(it.end));
        fits.then_some(hunks)
    }

    /// The ranges that the model asked to replace, else those that the hunks replace.
    fn named(&self, sent: &Sent) -> Vec<Range<usize>> {
        match self.named.is_empty() {
            true => sent.hunks.iter().map(|it| it.start..it.end).collect(),
            false => self.named.clone(),
        }
    }

    /// Whether the lines that the model named are in `text` where it saw them. A range that spans
    /// the whole text cannot be part of another one.
    fn intact(&self, sent: &Sent, text: &Rope) -> bool {
        let whole = 0..sent.before.len_bytes();
        self.named(sent)
            .into_iter()
            .all(|span| span != whole && same_rows(&sent.before, text, span, 0))
    }

    /// Whether `text` has those lines as the edit leaves them, between the same neighbours.
    fn covered(&self, sent: &Sent, text: &Rope) -> bool {
        self.named(sent).into_iter().all(|span| {
            let sum = |wanted: &dyn Fn(&Hunk) -> bool| -> isize {
                sent.hunks
                    .iter()
                    .filter(|it| wanted(it))
                    .map(Hunk::growth)
                    .sum()
            };
            let before = sum(&|it| it.start < span.start);
            let inside = sum(&|it| it.start >= span.start && it.end <= span.end);
            let start = span.start.saturating_add_signed(before);
            if span == (0..sent.before.len_bytes()) {
                return false;
            }
            let end = span.end.saturating_add_signed(before + inside);
            same_rows(&sent.expected, text, start..end, 1)
        })
    }

    /// Whether some new text is exactly where the edit would put it.
    fn new_text_is_there(&self, sent: &Sent, text: &Rope) -> bool {
        with_new_starts(&sent.hunks).any(|(start, hunk)| {
            let position = text::position(&sent.expected, start, self.encoding);
            let place = text::offset(text, position, self.encoding).ok();
            !hunk.text.is_empty()
                && place
                    .and_then(|at| text.get_byte_slice(at..at + hunk.text.len()))
                    .is_some_and(|found| found == hunk.text.as_str())
        })
    }
}

/// Whether the lines of `span` in `a`, and `around` lines before and after, are the same in `b`.
fn same_rows(a: &Rope, b: &Rope, span: Range<usize>, around: usize) -> bool {
    let first = a.byte_to_line(span.start).saturating_sub(around);
    let last = a.byte_to_line(span.end.max(span.start + 1).min(a.len_bytes() + 1) - 1) + around;
    (first..=last).all(|row| a.get_line(row) == b.get_line(row))
}

/// Whether the texts are equal apart from line ends: some editors unify mixed line ends when they
/// open a file.
fn same_lines(a: &Rope, b: &Rope) -> bool {
    let (a, b) = (String::from(a), String::from(b));
    (a.contains('\r') || b.contains('\r')) && line_feeds(&a) == line_feeds(&b)
}
