//! Any bytes as server-sent events, compared with a plain reading of the standard.

use crate::provider::sse::{Event, LIMIT, Parser, TooLong};

use super::splits;

/// Parses `data` in one piece and in many, with the usual limit and a small one.
///
/// # Panics
/// When the pieces change the events, when more is held than the limit allows, or when the events
/// are not those of the standard.
pub fn fuzz_sse(data: &[u8]) {
    for limit in [LIMIT, 96] {
        let whole = parse_all(&[data], limit);
        for pieces in splits(data) {
            let split = parse_all(&pieces, limit);
            assert_eq!(whole, split, "the pieces changed the events");
        }
        if let Ok(events) = &whole {
            assert_eq!(*events, by_the_standard(data), "not what the standard says");
        }
    }
}

/// The events of a stream that arrives in these pieces.
pub fn parse_all(pieces: &[&[u8]], limit: usize) -> Result<Vec<Event>, TooLong> {
    let mut parser = Parser::with_limit(limit);
    let mut out = Vec::new();
    for piece in pieces {
        parser.push(piece, &mut out)?;
        assert!(parser.held() <= limit, "{} bytes held", parser.held());
    }
    parser.finish(&mut out);
    Ok(out)
}

/// The standard word for word, for a complete text. An event without its blank line is delivered.
fn by_the_standard(data: &[u8]) -> Vec<Event> {
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
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
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
                        name: lossy(name),
                        data: lossy(&data.join(&b"\n"[..])),
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
