//! A command's output on its way to the model: decodes bytes without splitting characters, strips
//! terminal escapes, keeps head and tail, and writes long output to a private file. Memory use is
//! constant (X02).

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::spill::Spill;

#[cfg(test)]
mod tests;

/// Longest escape sequence. An unterminated one must not swallow the text behind it.
const LONGEST_ESCAPE: usize = 4096;

/// Decodes bytes piece by piece: invalid UTF-8 becomes U+FFFD, terminal escapes (CSI, OSC, DCS, …)
/// and control characters are removed, `\r\n` and a lone `\r` become `\n`.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The beginning of a character whose remaining bytes have not arrived yet.
    partial: Vec<u8>,
    state: State,
    length: usize,
    after_return: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    Escape,
    Csi,
    /// An operating system command or a similar string: ends in BEL, ST or a line end.
    Text,
    /// ESC inside [`State::Text`].
    TextEscape,
}

impl Decoder {
    /// The text of the next bytes.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let joined;
        let bytes = if self.partial.is_empty() {
            bytes
        } else {
            joined = [self.partial.as_slice(), bytes].concat();
            self.partial.clear();
            joined.as_slice()
        };
        let mut out = String::with_capacity(bytes.len());
        let mut rest = bytes;
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    self.text(text, &mut out);
                    return out;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    self.text(&String::from_utf8_lossy(valid), &mut out);
                    match error.error_len() {
                        Some(length) => {
                            self.character('\u{fffd}', &mut out);
                            rest = after.get(length..).unwrap_or_default();
                        }
                        None => {
                            self.partial = after.to_vec();
                            return out;
                        }
                    }
                }
            }
        }
    }

    /// The rest, at the end of the input.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        if !std::mem::take(&mut self.partial).is_empty() {
            self.character('\u{fffd}', &mut out);
        }
        out
    }

    fn text(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            // Copy runs of plain text at once: a flood must not cost a step per character.
            let plain = match self.state {
                State::Ground if !self.after_return => plain(rest),
                _ => 0,
            };
            out.push_str(&rest[..plain]);
            rest = &rest[plain..];
            if let Some(character) = rest.chars().next() {
                self.character(character, out);
                rest = &rest[character.len_utf8()..];
            }
        }
    }

    fn character(&mut self, c: char, out: &mut String) {
        if self.state != State::Ground {
            self.length += 1;
            if self.length > LONGEST_ESCAPE {
                self.state = State::Ground;
            }
        }
        match self.state {
            State::Ground => self.ground(c, out),
            State::Escape => match c {
                '[' => self.state = State::Csi,
                ']' | 'P' | 'X' | '^' | '_' => self.state = State::Text,
                ' '..='/' => {}
                '\n' | '\r' => self.end_and(c, out),
                _ => self.state = State::Ground,
            },
            State::Csi => match c {
                ' '..='?' => {}
                '@'..='~' => self.state = State::Ground,
                _ => self.end_and(c, out),
            },
            State::Text => match c {
                '\u{7}' | '\u{9c}' => self.state = State::Ground,
                '\u{1b}' => self.state = State::TextEscape,
                '\n' | '\r' => self.end_and(c, out),
                _ => {}
            },
            State::TextEscape => match c {
                '\\' => self.state = State::Ground,
                _ => {
                    self.state = State::Escape;
                    self.character(c, out);
                }
            },
        }
    }

    fn end_and(&mut self, c: char, out: &mut String) {
        self.state = State::Ground;
        self.ground(c, out);
    }

    fn ground(&mut self, c: char, out: &mut String) {
        let after_return = std::mem::take(&mut self.after_return);
        self.length = 0;
        match c {
            '\n' if after_return => {}
            '\n' | '\t' => out.push(c),
            '\r' => {
                self.after_return = true;
                out.push('\n');
            }
            '\u{1b}' => self.state = State::Escape,
            '\u{9b}' => self.state = State::Csi,
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => self.state = State::Text,
            _ if c.is_control() => {}
            _ => out.push(c),
        }
    }
}

/// Length of the beginning of `text` that is printable ASCII and line feeds only.
fn plain(text: &str) -> usize {
    text.bytes()
        .position(|byte| !(b' '..=b'~').contains(&byte) && byte != b'\n')
        .unwrap_or(text.len())
}

/// The newest bytes of an output. What does not fit is in a private file, with all the rest.
#[derive(Debug)]
pub struct Ring {
    pub bytes: VecDeque<u8>,
    most: usize,
    folder: PathBuf,
    pub spill: Spill,
}

impl Ring {
    /// Holds `most` bytes; the file would be in `folder`.
    pub fn new(most: usize, folder: &Path) -> Self {
        Self {
            bytes: VecDeque::new(),
            most,
            folder: folder.to_owned(),
            spill: Spill::default(),
        }
    }

    /// Adds a piece and returns how many bytes fell out. The file begins with `head`, then the
    /// bytes so far, which are all there were.
    pub fn push(&mut self, head: &str, piece: &[u8]) -> u64 {
        if matches!(self.spill, Spill::None) && self.bytes.len() + piece.len() > self.most {
            self.spill.open(&self.folder);
            self.spill.write(head.as_bytes());
            let (front, back) = self.bytes.as_slices();
            self.spill.write(front);
            self.spill.write(back);
        }
        self.spill.write(piece);
        let (skipped, kept) = piece.split_at(piece.len().saturating_sub(self.most));
        let over = (self.bytes.len() + kept.len()).saturating_sub(self.most);
        self.bytes.drain(..over);
        self.bytes.extend(kept);
        (skipped.len() + over) as u64
    }
}

/// Keeps the head and the tail of a text and counts the bytes between.
#[derive(Debug)]
pub struct Capture {
    head: String,
    head_full: bool,
    tail: Ring,
    /// Bytes between head and tail.
    omitted: u64,
}

/// The result of a [`Capture`].
#[derive(Clone, Debug)]
pub struct Captured {
    pub text: String,
    /// Byte offset in `text` where the omitted bytes were.
    pub cut: usize,
    /// Bytes left out of the middle.
    pub omitted: u64,
    pub spilled: Option<PathBuf>,
}

impl Capture {
    /// Keeps `keep` bytes, half of them from the beginning. Longer output also goes to a file in
    /// `folder`.
    pub fn new(keep: usize, folder: &Path) -> Self {
        Self {
            head: String::new(),
            head_full: false,
            tail: Ring::new((keep / 2).max(4), folder),
            omitted: 0,
        }
    }

    pub fn push(&mut self, piece: &str) {
        let mut rest = piece;
        if !self.head_full {
            let room = self.tail.most - self.head.len();
            let cut = rest.floor_char_boundary(room);
            self.head.push_str(&rest[..cut]);
            self.head_full = cut < rest.len();
            rest = &rest[cut..];
        }
        self.omitted += self.tail.push(&self.head, rest.as_bytes());
    }

    pub fn finish(mut self) -> Captured {
        // The tail may begin inside a character.
        let inside = |byte: &u8| byte & 0xc0 == 0x80;
        let tail = &mut self.tail.bytes;
        while self.omitted > 0 && tail.front().is_some_and(inside) {
            tail.pop_front();
            self.omitted += 1;
        }
        let cut = self.head.len();
        let mut text = self.head;
        text.push_str(&String::from_utf8_lossy(tail.make_contiguous()));
        Captured {
            text,
            cut,
            omitted: self.omitted,
            spilled: self.tail.spill.path().map(Path::to_owned),
        }
    }
}
