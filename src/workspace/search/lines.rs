//! Searches the text of one file.

use std::io;
use std::path::{Path, PathBuf};

use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use memchr::memchr;

use super::hits::Hit;
use super::types::{Line, Query, SearchError};
use super::walk::Entry;
use crate::workspace::text::BOM;
use crate::workspace::{Document, FileError, Located, Workspace, beneath, content};

/// Characters of a line that are shown.
const LINE: usize = 500;
/// Characters kept before the match if the beginning of a line is truncated.
const LEAD: usize = 100;
const CUT: &str = "[…]";

/// A compiled query.
pub(super) struct Pattern {
    matcher: RegexMatcher,
    context: usize,
    cap: usize,
}

impl Pattern {
    pub fn new(query: &Query) -> Result<Self, SearchError> {
        let matcher = RegexMatcherBuilder::new()
            .multi_line(true)
            .crlf(true)
            .build(&query.pattern)
            .map_err(|error| SearchError::Pattern(error.to_string()))?;
        Ok(Self {
            matcher,
            context: query.context,
            cap: query.cap,
        })
    }

    /// What one thread needs to search for it.
    pub fn collector(&self) -> Collector {
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(self.context)
            .after_context(self.context)
            .build();
        Collector {
            matcher: self.matcher.clone(),
            searcher,
            most: self.cap.saturating_add(1),
            buffer: Vec::new(),
        }
    }
}

/// Searches one file after another.
pub(super) struct Collector {
    matcher: RegexMatcher,
    searcher: Searcher,
    /// Lines of one file that are kept: one more than the result has room for.
    most: usize,
    buffer: Vec<u8>,
}

impl Collector {
    /// Searches one file, requested by name.
    pub fn search_place(
        &mut self,
        workspace: &Workspace,
        place: &Located,
    ) -> Result<Option<Hit>, SearchError> {
        if let Some(document) = workspace.document_by_key(&place.key()) {
            return Ok(self.search_document(&place.path, &document));
        }
        let (top, relative) = beneath::base(workspace, place)
            .map_err(|_| io::Error::from(io::ErrorKind::NotFound))?;
        let file = beneath::open_beneath(&top, &relative);
        let read = file
            .and_then(|mut file| content::bytes(&mut file, content::LIMIT))
            .map(|bytes| self.buffer = bytes);
        Ok(self.search_read(&place.path, read))
    }

    /// Searches one file found by a walk.
    pub fn search_entry(&mut self, entry: &Entry<'_>) -> Option<Hit> {
        if let Some(document) = entry.document {
            return self.search_document(entry.path, document);
        }
        let read = match (entry.within, entry.path.file_name()) {
            (Some(folder), Some(name)) => {
                content::read_entry(folder, name, content::LIMIT, &mut self.buffer)
            }
            _ => Err(FileError::Missing),
        };
        self.search_read(entry.path, read)
    }

    fn search_document(&mut self, path: &Path, document: &Document) -> Option<Hit> {
        if !document.opened {
            return Some(Hit::Skipped);
        }
        self.buffer.clear();
        for chunk in document.rope.chunks() {
            self.buffer.extend_from_slice(chunk.as_bytes());
        }
        self.search_buffer(path)
    }

    fn search_read(&mut self, path: &Path, read: Result<(), FileError>) -> Option<Hit> {
        match read {
            Ok(()) => self.search_buffer(path),
            // Deleted since the walk saw it, or replaced by a link.
            Err(FileError::Missing | FileError::Escaped | FileError::Special) => None,
            Err(_) => Some(Hit::Skipped),
        }
    }

    fn search_buffer(&mut self, path: &Path) -> Option<Hit> {
        lone_returns_to_newlines(&mut self.buffer);
        let text = self.buffer.strip_prefix(BOM).unwrap_or(&self.buffer);
        let mut lines = Vec::new();
        let gather = Gather {
            path,
            matcher: &self.matcher,
            lines: &mut lines,
            most: self.most,
        };
        let searched = self.searcher.search_slice(&self.matcher, text, gather);
        if let Err(error) = searched {
            tracing::warn!(path = %path.display(), %error, "cannot search a file");
            return Some(Hit::Skipped);
        }
        // Binary files are passed over; most files have no match and need no look at each byte.
        (!lines.is_empty() && memchr(0, &self.buffer).is_none()).then_some(Hit::Lines(lines))
    }
}

/// A lone `\r` ends a line in the mirror, but the searcher only knows `\n` and `\r\n`. Replacing it
/// keeps the length, and line numbers agree with `read`.
fn lone_returns_to_newlines(bytes: &mut [u8]) {
    let mut from = 0;
    while let Some(at) = memchr(b'\r', &bytes[from..]) {
        from += at + 1;
        if bytes.get(from) != Some(&b'\n') {
            bytes[from - 1] = b'\n';
        }
    }
}

struct Gather<'a> {
    path: &'a Path,
    matcher: &'a RegexMatcher,
    lines: &'a mut Vec<Line>,
    most: usize,
}

impl Gather<'_> {
    /// Keeps a line; returns whether there is room for another.
    fn add(&mut self, number: Option<u64>, bytes: &[u8], context: bool) -> bool {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let at = match context {
            true => 0,
            false => self
                .matcher
                .find(bytes)
                .ok()
                .flatten()
                .map_or(0, |found| found.start()),
        };
        self.lines.push(Line {
            path: PathBuf::from(self.path),
            number: number.unwrap_or(0),
            text: shorten(bytes, at),
            context,
        });
        self.lines.len() < self.most
    }
}

/// At most [`LINE`] characters around byte `at`, with a mark where the line was truncated.
fn shorten(bytes: &[u8], at: usize) -> String {
    let text = String::from_utf8_lossy(bytes);
    let count = text.chars().count();
    if count <= LINE {
        return text.into_owned();
    }
    let before = String::from_utf8_lossy(&bytes[..at]).chars().count();
    // A match near the beginning needs no truncation there.
    let first = if before < LINE - LEAD {
        0
    } else {
        (before - LEAD).min(count - LINE)
    };
    let mut out = String::new();
    if first > 0 {
        out.push_str(CUT);
    }
    out.extend(text.chars().skip(first).take(LINE));
    if first + LINE < count {
        out.push_str(CUT);
    }
    out
}

impl Sink for Gather<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        Ok(self.add(found.line_number(), found.bytes(), false))
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> Result<bool, io::Error> {
        Ok(self.add(around.line_number(), around.bytes(), true))
    }
}
