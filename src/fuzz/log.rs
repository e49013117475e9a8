//! Damaged logs: a script writes records that are whole, torn, changed or joined, and any other
//! lines; the store reads them back.

#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use crate::conversation::{Block, Entry, Message, Recorder as _, SessionId, TurnId, Usage};
use crate::session::store::{Header, Log, StoreError, VERSION, read};

/// Only entries of the script have turns that begin like this.
const OWN: &str = "own_";

/// A record of the script, and whether it is undamaged.
struct Written {
    entry: Entry,
    whole: bool,
}

/// Reads `data` as a script. A line that begins with `!` is a record: its kind is a digit, which
/// its damage may follow (`~`: torn, `^`: one bit changed, `.`: the line end is missing). Any other
/// line is written unchanged. The last line has an end only if `data` has.
///
/// # Panics When an undamaged record is not read, a damaged one is read as another, a cut loses
/// more than its line, or a record added afterwards is lost.
pub fn fuzz_log(data: &[u8]) {
    let outcome = check(data);
    assert!(outcome.is_ok(), "{outcome:?}");
}

fn check(data: &[u8]) -> Result<(), StoreError> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("s_1.jsonl");
    let (bytes, written) = log(data)?;
    std::fs::write(&path, &bytes)?;
    let loaded = read(&path)?;
    let lines = bytes.split(|byte| *byte == b'\n').count();
    assert!(
        loaded.entries.len() + loaded.lost < lines,
        "more than lines"
    );
    compare(&written, &loaded.entries);
    continues(&path, &loaded.entries)?;
    let sum: usize = data.iter().map(|byte| usize::from(*byte)).sum();
    cut(&path, &bytes, sum % (bytes.len() + 1), &loaded.entries)
}

/// The bytes of the log that the script describes.
fn log(data: &[u8]) -> io::Result<(Vec<u8>, Vec<Written>)> {
    let header = Header {
        kind: "session".to_owned(),
        version: VERSION,
        session_id: SessionId::from("s_1"),
        created_at: "2026-11-21T10:00:00Z".to_owned(),
        cwd: "/w".to_owned(),
        folders: Vec::new(),
        program: String::new(),
        parent: None,
    };
    let mut bytes = sealed(&serde_json::to_string(&header)?);
    bytes.push(b'\n');
    let mut written: Vec<Written> = Vec::new();
    // This line already contains a record without its line end.
    let mut joined = false;
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        let (line, ended) = match line.strip_suffix(b"\n") {
            Some(line) => (line, true),
            None => (line, false),
        };
        let Some([digit, how @ ..]) = line.strip_prefix(b"!") else {
            if let Some(last) = written.last_mut().filter(|_| joined) {
                last.whole &= line.trim_ascii().is_empty();
            }
            bytes.extend_from_slice(line);
            joined &= !ended;
            if ended {
                bytes.push(b'\n');
            }
            continue;
        };
        let entry = entry(written.len(), *digit);
        let mut record = sealed(&serde_json::to_string(&entry)?);
        let whole = !joined && damage(&mut record, how);
        if let Some(last) = written.last_mut().filter(|_| joined) {
            last.whole = false;
        }
        written.push(Written { entry, whole });
        bytes.extend_from_slice(&record);
        joined = how.first() == Some(&b'.') || !ended;
        if !joined {
            bytes.push(b'\n');
        }
    }
    Ok((bytes, written))
}

/// Damages the record; whether it is unchanged.
fn damage(record: &mut Vec<u8>, how: &[u8]) -> bool {
    let number = how.iter().skip(1).fold(0_usize, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(usize::from(*byte))
    });
    match how.first() {
        Some(b'~') => {
            record.truncate(number % record.len());
            false
        }
        Some(b'^') => {
            let at = number % record.len();
            record[at] ^= 1 << (number / record.len() % 8);
            false
        }
        _ => true,
    }
}

/// The object as a line of the log without its end, independent of the writer.
fn sealed(json: &str) -> Vec<u8> {
    let sum = crc32fast::hash(json.as_bytes());
    let open = &json[..json.len() - 1];
    format!("{open},\"crc\":\"{sum:08x}\"}}").into_bytes()
}

/// The `n`th record of a script, of one of four kinds.
fn entry(n: usize, kind: u8) -> Entry {
    let turn = TurnId::from(format!("{OWN}{n}"));
    match kind % 4 {
        0 => Entry::Message {
            turn,
            message: Message::user(vec![Block::text(format!("fix ü 🦀 \u{2028} {n}"))]),
        },
        1 => Entry::Message {
            turn,
            message: Message::assistant(
                vec![Block::ToolUse {
                    id: format!("t{n}"),
                    name: "read".to_owned(),
                    input: serde_json::json!({"path": "a", "crc": "00000000"}),
                }],
                "a/b",
            ),
        },
        2 => Entry::Usage {
            turn,
            model: "a/b".to_owned(),
            usage: Usage {
                input: n as u64,
                ..Usage::default()
            },
            cost: Some(0.25),
            aside: false,
            child: None,
        },
        _ => Entry::Dequeued { turn },
    }
}

fn is_own(entry: &Entry) -> bool {
    match entry {
        Entry::Message { turn, .. } | Entry::Usage { turn, .. } | Entry::Dequeued { turn } => {
            turn.as_str().starts_with(OWN)
        }
        _ => false,
    }
}

/// Every undamaged record is read, in order; a damaged one as it was or not at all.
fn compare(written: &[Written], entries: &[Entry]) {
    let mut read = entries.iter().filter(|entry| is_own(entry)).peekable();
    for Written { entry, whole } in written {
        let found = read.next_if(|next| *next == entry).is_some();
        assert!(found || !whole, "a whole record is lost: {entry:?}");
    }
    assert_eq!(read.next(), None, "a record that no one wrote");
}

/// A record that is added after opening the log is read, and everything before it.
fn continues(path: &Path, before: &[Entry]) -> Result<(), StoreError> {
    let Some(log) = Log::open(path)? else {
        return Err(io::Error::other("the log is taken").into());
    };
    let added = entry(usize::MAX, 0);
    log.record(added.clone());
    drop(log);
    let after = read(path)?.entries;
    assert_eq!(after.last(), Some(&added), "what was added is lost");
    assert_eq!(after[..after.len() - 1], *before, "the log lost something");
    Ok(())
}

/// A log truncated at any byte has all the lines before it, and at most a part of one more.
fn cut(path: &Path, bytes: &[u8], at: usize, entries: &[Entry]) -> Result<(), StoreError> {
    let read_at = |at: usize| {
        std::fs::write(path, &bytes[..at])?;
        match read(path) {
            Err(StoreError::NoHeader) => Ok(Vec::new()),
            other => other.map(|loaded| loaded.entries),
        }
    };
    let line = bytes[..at].iter().rposition(|byte| *byte == b'\n');
    let whole = read_at(line.map_or(0, |last| last + 1))?;
    let torn = read_at(at)?;
    assert_eq!(whole[..], entries[..whole.len()], "lines before the cut");
    assert_eq!(torn[..whole.len()], whole[..], "lines before the torn one");
    assert!(torn.len() <= whole.len() + 1, "a part of a line is two");
    Ok(())
}
