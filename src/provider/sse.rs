//! Server-sent events: bytes in, events out, by the rules of the WHATWG standard (CR, LF and
//! CRLF, one BOM, comments, fields without a colon). Works on bytes, so that a character may be
//! split anywhere; invalid UTF-8 is replaced only when an event is complete. Time is linear in
//! the input; an event over the limit is a typed error. Knows nothing about providers.

#[cfg(test)]
mod tests;

/// Most bytes of one event (P16).
pub const LIMIT: usize = 32 << 20;

/// One event. `name` is empty when the server gave none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub name: String,
    pub data: String,
}

/// An event exceeded the limit; the rest of the stream cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("one event is longer than {limit} bytes")]
pub struct TooLong {
    pub limit: usize,
}

/// The parser's state between two pieces of input.
#[derive(Debug)]
pub struct Parser {
    /// The beginning of a line whose end has not arrived.
    line: Vec<u8>,
    name: Vec<u8>,
    /// Each `data` line followed by a line feed, as the standard has it.
    data: Vec<u8>,
    /// The last byte was CR: an LF now belongs to it.
    after_cr: bool,
    /// No line has been seen, so a BOM may come.
    first: bool,
    limit: usize,
}

impl Default for Parser {
    fn default() -> Self {
        Self::with_limit(LIMIT)
    }
}

impl Parser {
    pub fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            after_cr: false,
            first: true,
            limit,
        }
    }

    /// Takes the next bytes, appends the events that they complete.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<Event>) -> Result<(), TooLong> {
        while let Some(&next) = bytes.first() {
            if self.after_cr {
                self.after_cr = false;
                if next == b'\n' {
                    bytes = &bytes[1..];
                    continue;
                }
            }
            let Some(end) = bytes.iter().position(|&b| b == b'\n' || b == b'\r') else {
                self.check(bytes.len())?;
                self.line.extend_from_slice(bytes);
                return Ok(());
            };
            self.after_cr = bytes[end] == b'\r';
            self.check(end)?;
            if self.line.is_empty() {
                self.take_line(&bytes[..end], out);
            } else {
                self.line.extend_from_slice(&bytes[..end]);
                let line = std::mem::take(&mut self.line);
                self.take_line(&line, out);
            }
            bytes = &bytes[end + 1..];
        }
        Ok(())
    }

    /// Ends the input. The standard drops an event without its blank line, but some servers omit
    /// the last one, so the event is delivered and the caller decides whether its data is complete.
    pub fn finish(&mut self, out: &mut Vec<Event>) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line, out);
        }
        self.dispatch(out);
    }

    /// The most bytes that a part of the open event takes.
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn held(&self) -> usize {
        (self.line.len() + self.data.len()).max(self.name.len())
    }

    fn check(&self, more: usize) -> Result<(), TooLong> {
        if self.line.len() + self.data.len() + more > self.limit {
            return Err(TooLong { limit: self.limit });
        }
        Ok(())
    }

    fn take_line(&mut self, mut line: &[u8], out: &mut Vec<Event>) {
        if std::mem::take(&mut self.first) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(out);
            return;
        }
        let (field, value) = match line.iter().position(|&b| b == b':') {
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &b""[..]),
        };
        match field {
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            // Comments (empty field), `id`, `retry`, unknown fields.
            _ => {}
        }
    }

    fn dispatch(&mut self, out: &mut Vec<Event>) {
        let name = std::mem::take(&mut self.name);
        let mut data = std::mem::take(&mut self.data);
        if data.pop().is_some() {
            out.push(Event {
                name: lossy(name),
                data: lossy(data),
            });
        }
    }
}

/// UTF-8, each maximal invalid part as U+FFFD (P13, P14); no copy when it is valid.
fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
