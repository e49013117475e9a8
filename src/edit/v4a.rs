//! Patches in the format that GPT models are trained on (V4A): reading them, here, and finding
//! their chunks in a text ([`plan`]). Reads what models really write: without an end marker,
//! wrapped in a heredoc or a fence, with carriage returns. Pure.

mod chunks;

pub use chunks::{ChunkError, Problem, plan};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// As the patch names it.
    pub path: String,
    pub action: Action,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Create the file with this text.
    Add(String),
    Delete,
    Update {
        to: Option<String>,
        chunks: Vec<Chunk>,
    },
}

/// A change of consecutive lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// 1-based line of the patch at which it begins.
    pub line: usize,
    /// The lines after `@@`, outermost first: the change is below them.
    pub headers: Vec<String>,
    /// The lines before the change and after it, each with a line feed.
    pub old: String,
    pub new: String,
    /// `old` is at the end of the file.
    pub at_end: bool,
}

/// Why a text is not a patch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error("the patch changes no file")]
    Empty,
    #[error("line {line} belongs to no file and has none of the signs of a chunk")]
    Unexpected { line: usize, text: String },
    #[error("line {line} begins a section or chunk without lines")]
    NoLines { line: usize },
}

/// Reads a patch. Its sections are in its own order.
pub fn parse(text: &str) -> Result<Vec<Section>, ParseError> {
    let text = text.replace("\r\n", "\n");
    let mut reader = Reader::new(&text)?;
    let mut sections = Vec::new();
    while let Some((number, line)) = reader.next() {
        if let Some(path) = named(line, ADD) {
            let action = Action::Add(reader.added()?);
            sections.push(Section { path, action });
        } else if let Some(path) = named(line, DELETE) {
            let action = Action::Delete;
            sections.push(Section { path, action });
        } else if let Some(path) = named(line, UPDATE) {
            let action = reader.update(number)?;
            sections.push(Section { path, action });
        } else if !blank(line) && !is(line, BEGIN) && !is(line, END) {
            return Err(unexpected(number, line));
        }
    }
    match sections.is_empty() {
        true => Err(ParseError::Empty),
        false => Ok(sections),
    }
}

fn unexpected(line: usize, text: &str) -> ParseError {
    ParseError::Unexpected {
        line,
        text: text.to_owned(),
    }
}

fn is(line: &str, marker: &str) -> bool {
    line.trim_end() == marker
}

fn blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// The path of a line with this marker.
fn named(line: &str, marker: &str) -> Option<String> {
    let path = line.strip_prefix(marker)?.trim();
    (!path.is_empty()).then(|| path.to_owned())
}

/// The lines of a patch, without what wraps it.
struct Reader<'a> {
    lines: Vec<&'a str>,
    next: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Result<Self, ParseError> {
        let mut lines: Vec<&str> = text.split('\n').collect();
        let begins = |line: &&str| {
            let markers = [ADD, DELETE, UPDATE].into_iter();
            line.trim() == BEGIN || markers.into_iter().any(|it| named(line, it).is_some())
        };
        let first = lines.iter().position(begins).unwrap_or(lines.len());
        let mut closers = Vec::new();
        for (at, line) in lines[..first].iter().enumerate() {
            match wrapper(line) {
                Some(closer) => closers.extend(closer),
                None if blank(line) => {}
                None => return Err(unexpected(at + 1, line)),
            }
        }
        while let Some(last) = lines.last() {
            let closes = closers.iter().any(|closer| *closer == last.trim());
            if lines.len() <= first || !(closes || last.is_empty()) {
                break;
            }
            lines.pop();
        }
        // `begins` is lenient about spaces in front.
        let next = first + usize::from(lines.get(first).is_some_and(|it| it.trim() == BEGIN));
        Ok(Self { lines, next })
    }

    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.next).copied()
    }

    /// The next line and its 1-based number.
    fn next(&mut self) -> Option<(usize, &'a str)> {
        let line = self.peek()?;
        self.next += 1;
        Some((self.next, line))
    }

    /// The next line, if it is part of the current section.
    fn in_section(&self) -> Option<&'a str> {
        let sections = [BEGIN, END, ADD, DELETE, UPDATE];
        self.peek()
            .filter(|line| !sections.iter().any(|marker| line.starts_with(marker)))
    }

    /// The text of a new file.
    fn added(&mut self) -> Result<String, ParseError> {
        let mut text = String::new();
        let mut blanks = 0;
        while let Some(line) = self.in_section() {
            self.next += 1;
            if let Some(line) = line.strip_prefix('+') {
                text.push_str(&"\n".repeat(blanks));
                text.push_str(line);
                text.push('\n');
                blanks = 0;
            } else if blank(line) {
                blanks += 1;
            } else if !is(line, END_OF_FILE) {
                return Err(unexpected(self.next, line));
            }
        }
        Ok(text)
    }

    /// The changes of an existing file, whose section began in line `number`.
    fn update(&mut self, number: usize) -> Result<Action, ParseError> {
        let mut to = None;
        let mut chunks = Vec::new();
        while let Some(line) = self.in_section() {
            if chunks.is_empty() && to.is_none() && named(line, MOVE).is_some() {
                self.next += 1;
                to = named(line, MOVE);
            } else if line.is_empty() && !self.continues() {
                self.next += 1;
            } else {
                chunks.push(self.chunk()?);
            }
        }
        match chunks.is_empty() && to.is_none() {
            true => Err(ParseError::NoLines { line: number }),
            false => Ok(Action::Update { to, chunks }),
        }
    }

    /// Whether blank lines are followed by lines of the same chunk.
    fn continues(&self) -> bool {
        let mut rest = self.lines[self.next..].iter();
        rest.find(|line| !line.is_empty())
            .is_some_and(|line| line.starts_with([' ', '+', '-']))
    }

    fn chunk(&mut self) -> Result<Chunk, ParseError> {
        let line = self.next + 1;
        let mut chunk = Chunk {
            line,
            ..Chunk::default()
        };
        while let Some(text) = self.peek() {
            match text.strip_prefix("@@") {
                Some(text) => chunk.headers.extend(header(text)),
                // Between two headers.
                None if text.is_empty() && !self.continues() => {}
                None => break,
            }
            self.next += 1;
        }
        let mut lines = 0;
        while let Some(text) = self.in_section() {
            if text.starts_with("@@") || (text.is_empty() && !self.continues()) {
                break;
            }
            if is(text, END_OF_FILE) {
                self.next += 1;
                chunk.at_end = true;
                break;
            }
            let rest = text.get(1..).unwrap_or_default();
            let (old, new) = match text.bytes().next() {
                // Models leave out the space of an empty line.
                None | Some(b' ') => (true, true),
                Some(b'-') => (true, false),
                Some(b'+') => (false, true),
                Some(_) => return Err(unexpected(self.next + 1, text)),
            };
            for (_, side) in [(old, &mut chunk.old), (new, &mut chunk.new)]
                .into_iter()
                .filter(|(wanted, _)| *wanted)
            {
                side.push_str(rest);
                side.push('\n');
            }
            self.next += 1;
            lines += 1;
        }
        match lines {
            0 => Err(ParseError::NoLines { line }),
            _ => Ok(chunk),
        }
    }
}

/// Whether a line only wraps a patch, and the line that then ends it.
fn wrapper(line: &str) -> Option<Option<&str>> {
    let line = line.trim();
    if line.starts_with("```") {
        return Some(Some("```"));
    }
    let rest = line.strip_prefix("apply_patch").unwrap_or(line).trim();
    if let Some(word) = rest.strip_prefix("<<") {
        return Some(Some(
            word.trim_start_matches('-').trim_matches(['\'', '"', ' ']),
        ));
    }
    (rest.is_empty() && !line.is_empty()).then_some(None)
}

/// The text after `@@`. The line numbers of other formats say nothing.
fn header(text: &str) -> Option<String> {
    let text = text.strip_prefix(' ').unwrap_or(text).trim_end();
    let numbers = |rest: &str| rest.starts_with(|it: char| it.is_ascii_digit());
    if text.strip_prefix('-').is_some_and(numbers) && text.contains("@@") {
        return None;
    }
    let text = text.strip_suffix("@@").unwrap_or(text).trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests;
