//! Bytes in, message bodies out: a pure, incremental reader of Content-Length frames and of JSON
//! lines. Any split of the same bytes gives the same frames. It must not parse bodies, trust a
//! header's size for an allocation, or give up: after a bad header it resumes at the next
//! `Content-Length`.

use std::collections::VecDeque;

/// How messages are delimited on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// Lines if the first byte is `{`, else headers.
    #[default]
    Detect,
    /// `Content-Length` headers (LSP).
    Headers,
    /// One JSON text per line (ACP).
    Lines,
}

/// The largest accepted body, in bytes.
pub const MAX_BODY: usize = 256 * 1024 * 1024;

/// A header line longer than this is garbage. Only its end is kept, which may hold the next header.
const MAX_HEADER_LINE: usize = 8 * 1024;

const BOM: &[u8] = b"\xEF\xBB\xBF";
const LENGTH: &[u8] = b"content-length";

/// What is wrong with the framing. The reader has already resumed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("Content-Length is not a number of bytes: {0:?}; the message was skipped")]
    BadLength(String),
    #[error("a message of {0} bytes is over the limit of {MAX_BODY}; it was skipped")]
    TooLarge(String),
    #[error("a header block without Content-Length; the message was skipped")]
    MissingLength,
    #[error("bytes outside of any message were skipped")]
    Garbage,
    #[error("the input ended inside a message")]
    Truncated,
}

/// The incremental reader: [`push`](Self::push) bytes, [`pop`](Self::pop) frames.
pub struct FrameReader {
    state: State,
    /// Bytes of the current line or body.
    buffer: Vec<u8>,
    /// The length from the current header block.
    length: Option<usize>,
    /// The current header block has another header.
    other_header: bool,
    /// An error was reported and no good header came since: further errors are the same incident.
    lost: bool,
    /// The framing was guessed from the first byte; a header may still correct it.
    guessed: bool,
    max_body: usize,
    ready: VecDeque<Result<Vec<u8>, FrameError>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Detect,
    Header,
    Body(usize),
    Line,
    SkipLine,
}

impl FrameReader {
    pub fn new(framing: Framing) -> Self {
        Self {
            state: match framing {
                Framing::Detect => State::Detect,
                Framing::Headers => State::Header,
                Framing::Lines => State::Line,
            },
            buffer: Vec::new(),
            length: None,
            other_header: false,
            lost: false,
            guessed: framing == Framing::Detect,
            max_body: MAX_BODY,
            ready: VecDeque::new(),
        }
    }

    /// Messages come as lines, so answers must as well.
    pub fn lines(&self) -> bool {
        matches!(self.state, State::Line | State::SkipLine)
    }

    /// Consumes the next bytes of the stream.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = match self.state {
                State::Detect => self.detect(bytes),
                State::Header => self.header(bytes),
                State::Body(want) => self.body(want, bytes),
                State::Line => self.line(bytes),
                State::SkipLine => self.skip_line(bytes),
            };
        }
    }

    /// The next complete body, or the error in its place.
    pub fn pop(&mut self) -> Option<Result<Vec<u8>, FrameError>> {
        self.ready.pop_front()
    }

    /// Ends the stream: a last line without a line end is a frame, any other incomplete input an
    /// error.
    pub fn finish(&mut self) {
        let rest = std::mem::take(&mut self.buffer);
        match self.state {
            State::Line if !rest.trim_ascii().is_empty() => self.ready.push_back(Ok(rest)),
            State::Body(_) => self.ready.push_back(Err(FrameError::Truncated)),
            State::Header if !rest.is_empty() || self.length.is_some() => {
                self.ready.push_back(Err(FrameError::Truncated));
            }
            _ => {}
        }
    }

    fn detect<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let first = bytes
            .iter()
            .position(|byte| !byte.is_ascii_whitespace() && !BOM.contains(byte));
        let Some(first) = first else { return &[] };
        self.state = match bytes[first] {
            b'{' => State::Line,
            _ => State::Header,
        };
        &bytes[first..]
    }

    fn header<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (line, rest, ended) = split_line(bytes);
        // In steps that depend on the number of bytes only, so that splits do not matter.
        let mut line = line;
        while !line.is_empty() {
            let room = MAX_HEADER_LINE - self.buffer.len();
            let (now, later) = line.split_at(room.min(line.len()));
            self.buffer.extend_from_slice(now);
            if self.buffer.len() == MAX_HEADER_LINE {
                self.buffer.drain(..MAX_HEADER_LINE / 2);
            }
            line = later;
        }
        if ended {
            let line = std::mem::take(&mut self.buffer);
            self.header_line(&line);
        }
        rest
    }

    fn header_line(&mut self, line: &[u8]) {
        let line = line.strip_prefix(BOM).unwrap_or(line).trim_ascii();
        if line.is_empty() {
            self.header_end();
            return;
        }
        match find_length(line) {
            Some(found) => self.length_header(found),
            None if is_header(line) => self.other_header = true,
            None => self.error(FrameError::Garbage),
        }
    }

    /// Handles a blank line; without any header it is padding between messages.
    fn header_end(&mut self) {
        let other = std::mem::take(&mut self.other_header);
        match self.length.take() {
            Some(want) => {
                self.lost = false;
                if want == 0 {
                    self.ready.push_back(Ok(Vec::new()));
                } else {
                    self.state = State::Body(want);
                }
            }
            None if other => self.error(FrameError::MissingLength),
            None => {}
        }
    }

    fn length_header(&mut self, found: Length<'_>) {
        if found.after_garbage {
            // The rest of a body that was longer than its header said.
            self.other_header = false;
            self.error(FrameError::Garbage);
        }
        let text = || String::from_utf8_lossy(&found.value[..found.value.len().min(40)]).into();
        self.length = None;
        if !is_digits(found.value) {
            self.error(FrameError::BadLength(text()));
            return;
        }
        match parse_digits(found.value).filter(|length| *length <= self.max_body) {
            Some(length) => self.length = Some(length),
            None => self.error(FrameError::TooLarge(text())),
        }
    }

    fn body<'a>(&mut self, want: usize, bytes: &'a [u8]) -> &'a [u8] {
        let (now, rest) = bytes.split_at((want - self.buffer.len()).min(bytes.len()));
        // Grows with the input, at most doubling, and never beyond the body.
        if self.buffer.capacity() - self.buffer.len() < now.len() {
            let room = (want - self.buffer.len()).min(self.buffer.len().max(now.len()));
            self.buffer.reserve_exact(room);
        }
        self.buffer.extend_from_slice(now);
        if self.buffer.len() == want {
            self.ready.push_back(Ok(std::mem::take(&mut self.buffer)));
            self.state = State::Header;
        }
        rest
    }

    fn line<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (line, rest, ended) = split_line(bytes);
        let size = self.buffer.len() + line.len();
        if size > self.max_body {
            self.buffer = Vec::new();
            let text = format!("more than {}", self.max_body);
            self.ready.push_back(Err(FrameError::TooLarge(text)));
            self.state = State::SkipLine;
            return bytes;
        }
        self.buffer.extend_from_slice(line);
        if ended {
            let line = std::mem::take(&mut self.buffer);
            self.line_end(line);
        }
        rest
    }

    fn line_end(&mut self, line: Vec<u8>) {
        // A JSON text cannot end in a header: the guess from the first byte was wrong.
        let header = find_length(line.trim_ascii()).filter(|found| is_digits(found.value));
        if let Some(found) = header.filter(|_| self.guessed) {
            self.state = State::Header;
            self.length_header(found);
        } else if !line.trim_ascii().is_empty() {
            self.ready.push_back(Ok(line));
        }
    }

    fn skip_line<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (_, rest, ended) = split_line(bytes);
        if ended {
            self.state = State::Line;
        }
        rest
    }

    fn error(&mut self, error: FrameError) {
        if !std::mem::replace(&mut self.lost, true) {
            self.ready.push_back(Err(error));
        }
    }
}

/// The bytes before the first LF, those after it, and whether there is one.
fn split_line(bytes: &[u8]) -> (&[u8], &[u8], bool) {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&bytes[..at], &bytes[at + 1..], true),
        None => (bytes, &[], false),
    }
}

#[derive(Clone, Copy)]
struct Length<'a> {
    value: &'a [u8],
    after_garbage: bool,
}

/// The last `Content-Length:` of a line. After garbage only a plain number is accepted.
fn find_length(line: &[u8]) -> Option<Length<'_>> {
    let at = line
        .windows(LENGTH.len())
        .rposition(|window| window.eq_ignore_ascii_case(LENGTH))?;
    let value = line[at + LENGTH.len()..].trim_ascii_start();
    let value = value.strip_prefix(b":")?.trim_ascii();
    let after_garbage = at > 0;
    if after_garbage && !is_digits(value) {
        return None;
    }
    Some(Length {
        value,
        after_garbage,
    })
}

fn is_digits(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

fn parse_digits(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn is_header(line: &[u8]) -> bool {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else {
        return false;
    };
    let name = line[..colon].trim_ascii_end();
    !name.is_empty()
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests;
