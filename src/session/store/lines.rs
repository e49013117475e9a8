//! The lines of a log: each checked by its sum, read forward from a byte on or backward from one.
//! What a reader does not want of a line is passed over without being taken apart.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Header, foreign};
use crate::conversation::event::EnvelopeBody;
use crate::conversation::{Entry, Message, TurnId};

/// What a reader wants whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    All,
    /// What says how the session stands; of what is only shown, the number.
    State,
    /// What says which edits were made and taken back.
    Edits,
    /// What was shown.
    Items,
}

pub enum Parsed {
    Header(Header),
    Entry(Box<Entry>),
    /// An item of which only this is wanted.
    Shown {
        seq: u64,
    },
    /// Whole, but not wanted, or of a kind that this version does not know.
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

/// The text of a line; `None` when it is torn or corrupt. The sum stays in it: as a key of its
/// own it is nothing to a reader of the object.
pub fn checked(line: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(line).ok()?;
    if let Some(at) = text.len().checked_sub(CRC_TAIL)
        && text.is_char_boundary(at)
        && text[at..].starts_with(",\"crc\":\"")
    {
        let sum = u32::from_str_radix(text.get(at + 8..at + 16)?, 16).ok()?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&line[..at]);
        hasher.update(b"}");
        if hasher.finalize() != sum {
            return None;
        }
    }
    Some(text)
}

const ITEM: &str = r#"{"type":"item","#;
const MESSAGE: &str = r#"{"type":"message","turn":"#;
const EVENT: &str = r#"{"kind":"event","event":{"type":""#;

/// One line; `None` when it is torn or corrupt.
pub fn parse(line: &[u8], want: Want) -> Option<Parsed> {
    let text = checked(line)?;
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
    } else if want == Want::Items && text.starts_with(r#"{"type":"#) {
        return Some(Parsed::Other);
    }
    any(text)
}

/// A message's record, read without looking for what it is first.
#[derive(Deserialize)]
struct Said {
    turn: TurnId,
    message: Message,
}

/// An item's record, its body unread.
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
        return Some(Parsed::Shown { seq });
    }
    let body: EnvelopeBody = serde_json::from_str(body).ok()?;
    Some(Parsed::Entry(Box::new(Entry::Item { turn, seq, body })))
}

/// Whether an item says more than what is shown: a turn begins or ends, a skill is started, a
/// file is made. What looks unlike our own lines counts.
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
        Some("toolCall") => event.contains(r#""created":true"#),
        _ => true,
    }
}

fn any(text: &str) -> Option<Parsed> {
    // Most lines are entries, and a long log is read faster without a tree of values between.
    if let Ok(entry) = serde_json::from_str(text) {
        return Some(Parsed::Entry(Box::new(entry)));
    }
    let value: Value = serde_json::from_str(text).ok()?;
    if value.get("type").and_then(Value::as_str) == Some("session") {
        return serde_json::from_value(value).ok().map(Parsed::Header);
    }
    let typed = value.get("type").is_some();
    match foreign::entry(&value).or_else(|| serde_json::from_value(value).ok()) {
        Some(entry) => Some(Parsed::Entry(Box::new(entry))),
        None => typed.then_some(Parsed::Other),
    }
}

/// Reads lines from the byte `from` on and hands each that is not empty to `take`. Gives the byte
/// behind the last line that has its end, and whether there is nothing after it.
pub fn forward(
    file: &mut File,
    from: u64,
    mut take: impl FnMut(&[u8]),
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
        if ended {
            at += read as u64;
        }
        let text = line.trim_ascii();
        if !text.is_empty() {
            take(text);
        }
        if !ended {
            return Ok((at, false));
        }
    }
}

/// Bytes of the first step back; each further one is twice as long.
const STEP: u64 = 64 * 1024;

/// The lines before the byte `end`, the last one first, each with the byte at which it begins,
/// until `take` says that it is enough (`false`).
pub fn backward(
    file: &mut File,
    end: u64,
    mut take: impl FnMut(u64, &[u8]) -> bool,
) -> std::io::Result<()> {
    // `held` has the bytes from `low` on, of which those from `high` on are done.
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
