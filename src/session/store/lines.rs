//! The lines of a log: each checked by its sum, read forward or backward from a byte. Lines that a
//! reader does not want are skipped without being parsed.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Header, other_formats};
use crate::conversation::event::EnvelopeBody;
use crate::conversation::{Entry, ItemId, Message, TurnId};

/// What a reader wants in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    All,
    /// Entries of the session's state; for shown items, only the number.
    State,
    /// Entries about edits and reverts.
    Edits,
    /// Shown items.
    Items,
}

/// A complete line.
pub struct Line {
    pub parsed: Parsed,
    /// It has a valid sum.
    pub summed: bool,
}

pub enum Parsed {
    Header(Header),
    Entry(Box<Entry>),
    /// A line of another program, for [`other_formats::entries`].
    Foreign(Value),
    /// An item of which only this is wanted.
    Shown {
        seq: u64,
        /// The text or thought that it completes.
        item: Option<ItemId>,
    },
    /// Complete, but not wanted, or of a kind that this version does not know.
    Other,
}

/// The length of `,"crc":"xxxxxxxx"}`.
const CRC_TAIL: usize = 18;

/// `json`, an object, as a line of the log.
pub fn summed(json: &str) -> String {
    let sum = crc32fast::hash(json.as_bytes());
    let mut line = String::with_capacity(json.len() + CRC_TAIL);
    line.push_str(&json[..json.len() - 1]);
    line.push_str(&format!(",\"crc\":\"{sum:08x}\"}}\n"));
    line
}

/// The text of a line, and whether it has a sum; `None` if it is torn or corrupt. The sum stays in
/// it, as an extra key that readers of the object ignore.
fn checked(line: &[u8]) -> Option<(&str, bool)> {
    let text = std::str::from_utf8(line).ok()?;
    let Some(at) = text.len().checked_sub(CRC_TAIL) else {
        return Some((text, false));
    };
    if !text.is_char_boundary(at) || !text[at..].starts_with(",\"crc\":\"") {
        return Some((text, false));
    }
    let sum = u32::from_str_radix(text.get(at + 8..at + 16)?, 16).ok()?;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&line[..at]);
    hasher.update(b"}");
    (hasher.finalize() == sum).then_some((text, true))
}

/// The text of a line that has a sum.
pub fn sealed(line: &[u8]) -> Option<&str> {
    checked(line).filter(|(_, summed)| *summed).map(|it| it.0)
}

/// Up to which byte of a log lines without a sum are valid. If no line has one, all are. Otherwise
/// the first line that has one must vouch for those before it; without that, only the header is
/// valid.
pub fn unsummed(file: &mut File) -> std::io::Result<u64> {
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::new(file);
    let (mut at, mut head, mut line) = (0, 0, Vec::new());
    let mut sum = crc32fast::Hasher::new();
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)? as u64;
        if read == 0 {
            return Ok(u64::MAX);
        }
        if let Some(text) = sealed(line.trim_ascii()) {
            let vouched = matches!(
                serde_json::from_str(text),
                Ok(Entry::Vouched { bytes, sum: known }) if bytes == at && known == sum.finalize()
            );
            return Ok(if vouched { at } else { head });
        }
        if at == 0 && matches!(any(line.trim_ascii()), Some(Parsed::Header(_))) {
            head = read;
        }
        sum.update(&line);
        at += read;
    }
}

const ITEM: &str = r#"{"type":"item","#;
const MESSAGE: &str = r#"{"type":"message","turn":"#;
const EVENT: &str = r#"{"kind":"event","event":{"type":""#;

/// One line; `None` when it is torn or corrupt.
pub fn parse(line: &[u8], want: Want) -> Option<Line> {
    let (text, summed) = checked(line)?;
    let parsed = read(text, want)?;
    Some(Line { parsed, summed })
}

fn read(text: &str, want: Want) -> Option<Parsed> {
    if text.starts_with(ITEM) {
        if let Some(parsed) = item(text, want) {
            return Some(parsed);
        }
    } else if text.starts_with(MESSAGE) {
        if matches!(want, Want::Edits | Want::Items) {
            return Some(Parsed::Other);
        }
        if let Ok(Said { turn, message }) = serde_json::from_str(text) {
            return Some(Parsed::Entry(Box::new(Entry::Message { turn, message })));
        }
    } else if want == Want::Items && text.starts_with(r#"{"type":"#) && !is_foreign(text) {
        return Some(Parsed::Other);
    }
    any(text.as_bytes())
}

/// How another program's typed lines begin; ours of the same types have a turn.
fn is_foreign(text: &str) -> bool {
    let typed = [r#"{"type":"message","#, r#"{"type":"compaction","#];
    typed.iter().any(|typed| text.starts_with(typed)) && !text.contains(r#","crc":""#)
}

/// A message's record, parsed without looking for its type first.
#[derive(Deserialize)]
struct Said {
    turn: TurnId,
    message: Message,
}

/// An item's record, its body unparsed.
#[derive(Deserialize)]
struct Item<'a> {
    turn: TurnId,
    seq: u64,
    #[serde(borrow)]
    body: &'a RawValue,
}

fn item(text: &str, want: Want) -> Option<Parsed> {
    let Item { turn, seq, body } = serde_json::from_str(text).ok()?;
    let body = body.get();
    let wanted = match want {
        Want::All | Want::Items => true,
        Want::State | Want::Edits => counts(body),
    };
    if !wanted {
        let item = completes(body);
        return Some(Parsed::Shown { seq, item });
    }
    let body: EnvelopeBody = serde_json::from_str(body).ok()?;
    Some(Parsed::Entry(Box::new(Entry::Item { turn, seq, body })))
}

/// The text or thought that an item completes.
fn completes(body: &str) -> Option<ItemId> {
    let event = body.strip_prefix(EVENT)?;
    let named = ["text", "thought"].iter().find_map(|kind| {
        let rest = event.strip_prefix(kind)?;
        rest.strip_prefix(r#"","itemId":""#)
    })?;
    let (id, _) = named.split_once('"')?;
    Some(ItemId::from(id))
}

/// Whether an item means more than what is shown: a turn begins or ends, a skill is started, a file
/// is changed. True if the line looks unlike ours.
fn counts(body: &str) -> bool {
    let Some(event) = body.strip_prefix(EVENT) else {
        return true;
    };
    match event.split('"').next() {
        Some(
            "text" | "thought" | "plan" | "notice" | "image" | "file" | "compaction"
            | "approvalResolved",
        ) => false,
        Some("userMessage") => event.contains(r#""type":"skill""#),
        Some("toolCall") => event.contains(r#""files":["#),
        _ => true,
    }
}

fn any(line: &[u8]) -> Option<Parsed> {
    // Most lines are entries, and a long log is read faster without an intermediate value tree.
    if let Ok(entry) = serde_json::from_slice(line) {
        return Some(Parsed::Entry(Box::new(entry)));
    }
    let value: Value = serde_json::from_slice(line).ok()?;
    if value.get("type").and_then(Value::as_str) == Some("session") {
        let own = serde_json::from_value(value.clone()).ok();
        return Some(Parsed::Header(
            own.unwrap_or_else(|| other_formats::header(&value)),
        ));
    }
    if other_formats::is(&value) {
        return Some(Parsed::Foreign(value));
    }
    value.get("type").is_some().then_some(Parsed::Other)
}

/// Reads lines from the byte `from` on and hands each non-empty one, with its position, to `take`.
/// Returns the end of the last complete line, up to which `sum` continues, and whether nothing
/// follows it.
pub fn forward(
    file: &mut File,
    from: u64,
    sum: &mut crc32fast::Hasher,
    mut take: impl FnMut(u64, &[u8]),
) -> std::io::Result<(u64, bool)> {
    file.seek(SeekFrom::Start(from))?;
    let mut reader = BufReader::with_capacity(256 * 1024, file);
    let (mut at, mut line) = (from, Vec::new());
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok((at, true));
        }
        let ended = line.ends_with(b"\n");
        let text = line.trim_ascii();
        if !text.is_empty() {
            take(at, text);
        }
        if !ended {
            return Ok((at, false));
        }
        sum.update(&line);
        at += read as u64;
    }
}

/// Bytes of the first step back; each further one is twice as long.
const STEP: u64 = 64 * 1024;

/// The lines before the byte `end`, the last one first, each with the byte at which it begins,
/// until `take` returns `false`.
pub fn backward(
    file: &mut File,
    end: u64,
    mut take: impl FnMut(u64, &[u8]) -> bool,
) -> std::io::Result<()> {
    // `held` has the bytes from `low` on; those from `high` on are done.
    let (mut low, mut held, mut high, mut step) = (end, Vec::new(), 0, STEP);
    loop {
        let line = held[..high].strip_suffix(b"\n").unwrap_or(&held[..high]);
        match line.iter().rposition(|byte| *byte == b'\n') {
            Some(before) => {
                let start = before + 1;
                if !take(low + start as u64, held[start..high].trim_ascii()) {
                    return Ok(());
                }
                high = start;
            }
            None if low == 0 => {
                if high > 0 {
                    take(0, held[..high].trim_ascii());
                }
                return Ok(());
            }
            None => {
                let size = step.min(low);
                low -= size;
                step = step.saturating_mul(2);
                let mut more = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
                file.seek(SeekFrom::Start(low))?;
                file.read_exact(&mut more)?;
                more.extend_from_slice(&held[..high]);
                held = more;
                high = held.len();
            }
        }
    }
}
