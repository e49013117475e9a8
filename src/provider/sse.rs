//! Server-sent events: bytes in, events out, by the rules of the WHATWG standard (CR, LF and
//! CRLF, one BOM, comments, fields without a colon). Works on bytes, so that a character may be
//! split anywhere; invalid UTF-8 is replaced only when an event is complete. Time is linear in
//! the input; an event over the limit is a typed error. Knows nothing of any provider.

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

/// An event grew over the limit; the stream cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("one event is longer than {limit} bytes")]
pub struct TooLong {
    pub limit: usize,
}

/// The parser's state between two pieces of input.
#[derive(Debug)]
pub struct Parser {
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    name: Vec<u8>,
    /// Each `data` line followed by a line feed, as the standard has it.
    data: Vec<u8>,
    /// The last byte was CR: a LF now belongs to it.
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

    /// The input is over. The standard drops an event without its blank line; servers that
    /// forget the last one exist, so it is delivered here and the caller judges whether its
    /// data is whole.
    pub fn finish(&mut self, out: &mut Vec<Event>) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line, out);
        }
        self.dispatch(out);
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

/// For fuzzing: any bytes give the events of a plain reading of the standard, however they are
/// split, and no more is held than the limit allows.
///
/// # Panics
/// When one of these does not hold.
pub fn fuzz_sse(data: &[u8]) {
    for limit in [LIMIT, 96] {
        let whole = parse_all(&[data], limit);
        for pieces in super::fuzz::splits(data) {
            let split = parse_all(&pieces, limit);
            assert_eq!(whole, split, "the pieces changed the events");
        }
        if let Ok(events) = &whole {
            assert_eq!(*events, plain(data), "not what the standard says");
        }
    }
}

fn parse_all(pieces: &[&[u8]], limit: usize) -> Result<Vec<Event>, TooLong> {
    let mut parser = Parser::with_limit(limit);
    let mut out = Vec::new();
    for piece in pieces {
        parser.push(piece, &mut out)?;
        let held = parser.line.len() + parser.data.len();
        assert!(held <= limit && parser.name.len() <= limit, "{held} held");
    }
    parser.finish(&mut out);
    Ok(out)
}

/// The standard word for word, for a text that is whole; an event without its blank line counts.
fn plain(data: &[u8]) -> Vec<Event> {
    let mut rest = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data);
    let mut lines = Vec::new();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
        let end = end.unwrap_or(rest.len());
        lines.push(&rest[..end]);
        let both = rest[end..].starts_with(b"\r\n");
        rest = rest.get(end + 1 + usize::from(both)..).unwrap_or_default();
    }
    lines.push(b"");
    let (mut out, mut name, mut data) = (Vec::new(), &b""[..], Vec::new());
    for line in lines {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let field = parts.next().unwrap_or_default();
        let value = parts.next().unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            _ if line.is_empty() => {
                if !data.is_empty() {
                    out.push(Event {
                        name: lossy(name.to_vec()),
                        data: lossy(data.join(&b"\n"[..])),
                    });
                }
                name = b"";
                data.clear();
            }
            b"data" => data.push(value),
            b"event" => name = value,
            _ => {}
        }
    }
    out
}
