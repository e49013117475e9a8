//! Collects the matching lines of each text, up to the cap.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

use super::types::{Line, Matches, Query, SearchError};
use super::walk::Entry;
use crate::workspace::text::BOM;
use crate::workspace::{Document, FileError, Located, Workspace, beneath, content};

/// Characters of a line that are shown.
const LINE: usize = 500;
/// Characters kept before the match if the beginning of a line is truncated.
const LEAD: usize = 100;
const CUT: &str = "[…]";

/// A compiled query and what it found so far.
pub(super) struct Collector {
    pub matches: Matches,
    matcher: RegexMatcher,
    searcher: Searcher,
    cap: usize,
}

impl Collector {
    pub fn new(query: &Query) -> Result<Self, SearchError> {
        let matcher = RegexMatcherBuilder::new()
            .multi_line(true)
            .crlf(true)
            .build(&query.pattern)
            .map_err(|error| SearchError::Pattern(error.to_string()))?;
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(query.context)
            .after_context(query.context)
            .build();
        Ok(Self {
            matches: Matches::default(),
            matcher,
            searcher,
            cap: query.cap,
        })
    }

    /// Searches one file, requested by name.
    pub fn search_place(
        &mut self,
        workspace: &Workspace,
        place: &Located,
    ) -> Result<(), SearchError> {
        if let Some(document) = workspace.document_by_key(&place.key()) {
            self.document(&place.path, &document);
            return Ok(());
        }
        let (top, relative) = beneath::base(workspace, place)
            .map_err(|_| io::Error::from(io::ErrorKind::NotFound))?;
        self.file(&place.path, beneath::open_beneath(&top, &relative));
        Ok(())
    }

    /// Searches one file found by a walk, which ends at the cap.
    pub fn search_entry(&mut self, entry: &Entry<'_>) -> ControlFlow<()> {
        match &entry.document {
            Some(document) => self.document(&entry.path, document),
            None => self.file(&entry.path, entry.open()),
        }
        match self.matches.capped {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn document(&mut self, path: &Path, document: &Document) {
        match document.opened {
            true => self.search_text(path, document.rope.to_string().into_bytes()),
            false => self.matches.skipped += 1,
        }
    }

    fn file(&mut self, path: &Path, file: Result<File, FileError>) {
        match file.and_then(|mut file| content::bytes(&mut file, content::LIMIT)) {
            Ok(bytes) => self.search_text(path, bytes),
            // Deleted since the walk saw it, or replaced by a link.
            Err(FileError::Missing | FileError::Escaped | FileError::Special) => {}
            Err(_) => self.matches.skipped += 1,
        }
    }

    fn search_text(&mut self, path: &Path, mut bytes: Vec<u8>) {
        if bytes.contains(&0) {
            return;
        }
        lone_returns_to_newlines(&mut bytes);
        let text = bytes.strip_prefix(BOM).unwrap_or(&bytes);
        let gather = Gather {
            path,
            matcher: &self.matcher,
            matches: &mut self.matches,
            cap: self.cap,
        };
        let searched = self.searcher.search_slice(&self.matcher, text, gather);
        if let Err(error) = searched {
            tracing::warn!(path = %path.display(), %error, "cannot search a file");
            self.matches.skipped += 1;
        }
    }
}

/// A lone `\r` ends a line in the mirror, but the searcher only knows `\n` and `\r\n`. Replacing it
/// keeps the length, and line numbers agree with `read`.
fn lone_returns_to_newlines(bytes: &mut [u8]) {
    if !bytes.contains(&b'\r') {
        return;
    }
    for at in 0..bytes.len() {
        if bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n') {
            bytes[at] = b'\n';
        }
    }
}

struct Gather<'a> {
    path: &'a Path,
    matcher: &'a RegexMatcher,
    matches: &'a mut Matches,
    cap: usize,
}

impl Gather<'_> {
    fn add(&mut self, number: Option<u64>, bytes: &[u8], context: bool) -> bool {
        if self.matches.lines.len() >= self.cap {
            self.matches.capped = true;
            return false;
        }
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
        self.matches.lines.push(Line {
            path: PathBuf::from(self.path),
            number: number.unwrap_or(0),
            text: shorten(bytes, at),
            context,
        });
        true
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
