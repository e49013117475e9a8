//! The session log: one file a session, one JSON record a line, each with a CRC-32, append-only
//! (INV-6). A torn or corrupt line costs that record only. One writer, by a lock (`log`).
//!
//! A line is the record's JSON object with `,"crc":"xxxxxxxx"}` in place of its last brace; the
//! sum covers the object before that. The first line is the header. Logs of other programs, whose
//! lines have no sums, are read too (`foreign`); where some lines have sums, others do not count.

mod lines;
mod lock;
mod log;
mod other_formats;

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::conversation::{Entry, Recorder, SessionId};
use crate::env::private::Place;
use crate::env::workspace_name;

pub use lines::{Line, Parsed, Want, backward, parse, sealed, summed, unsummed};
pub use lock::written;
pub use log::Log;
pub use other_formats::{TURN as FOREIGN_TURN, entries as foreign_entries};

/// The first record of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    #[serde(rename = "type")]
    pub kind: String,
    pub version: u32,
    pub session_id: SessionId,
    /// RFC 3339.
    pub created_at: String,
    pub cwd: String,
    pub folders: Vec<String>,
    #[serde(default)]
    pub program: String,
    /// The parent session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
}

impl Header {
    /// The header of a new session's log.
    pub fn new(session_id: SessionId, created_at: String, cwd: &Path, folders: &[String]) -> Self {
        Self {
            kind: "session".to_owned(),
            version: VERSION,
            session_id,
            created_at,
            cwd: cwd.display().to_string(),
            folders: folders.to_vec(),
            program: PROGRAM.to_owned(),
            parent: None,
        }
    }
}

/// The program that writes a log.
pub const PROGRAM: &str = concat!("interline ", env!("CARGO_PKG_VERSION"));

/// The version of the log format that this program writes.
pub const VERSION: u32 = 3;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no session {0}")]
    Unknown(String),
    #[error("the log has no header")]
    NoHeader,
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// The content of a log when it was opened.
#[derive(Debug)]
pub struct Loaded {
    pub header: Header,
    pub entries: Vec<Entry>,
    /// Unreadable lines.
    pub lost: usize,
}

/// A recorder that stores nothing (read-only sessions, previews).
pub struct NoLog;

impl Recorder for NoLog {
    fn record(&self, _entry: Entry) {}
}

/// Reads a log without locking it.
pub fn read(path: &Path) -> Result<Loaded, StoreError> {
    let (mut header, mut entries) = (None, Vec::new());
    let mut file = Place::of(path)?.read()?;
    let lost = each(&mut file, 0, Want::All, |parsed| match parsed {
        Parsed::Header(found) if header.is_none() => header = Some(found),
        Parsed::Entry(entry) => entries.push(*entry),
        _ => {}
    })?
    .lost;
    Ok(Loaded {
        header: settled(header, !entries.is_empty(), path)?,
        entries,
        lost,
    })
}

/// The sub-agents' sessions of `parent`, whose logs are in its folder.
pub fn children(path: &Path, parent: &SessionId) -> Vec<(SessionId, PathBuf)> {
    let folder = path.parent().map(std::fs::read_dir);
    let logs = folder.into_iter().flatten().flatten().flatten();
    let headers = logs.filter_map(|entry| Some((header(&entry.path())?, entry.path())));
    let own = headers.filter(|(header, _)| header.parent.as_ref() == Some(parent));
    own.map(|(header, path)| (header.session_id, path))
        .collect()
}

/// Bytes of a log without a header that are searched for a meaningful line.
const HEAD: u64 = 1024 * 1024;

/// The first line of a log, or whatever replaces a missing one.
fn header(path: &Path) -> Option<Header> {
    if path.extension().and_then(|it| it.to_str()) != Some("jsonl") {
        return None;
    }
    let file = Place::of(path).ok()?.read().ok()?;
    let mut reader = BufReader::new(file.take(HEAD));
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        let parsed = parse(line.trim_ascii(), Want::All).map(|line| line.parsed);
        match parsed {
            Some(Parsed::Header(header)) => return settled(Some(header), true, path).ok(),
            Some(Parsed::Entry(_) | Parsed::Foreign(_)) => return settled(None, true, path).ok(),
            _ => {}
        }
    }
}

/// The header of the log at `path`. Another program's log has none, or one that names neither
/// session nor folder; one of ours can be damaged. The session is then named after its file.
pub fn settled(header: Option<Header>, entries: bool, path: &Path) -> Result<Header, StoreError> {
    let mut header = match header {
        Some(header) => header,
        None if entries => other_formats::header(&serde_json::Value::Null),
        None => return Err(StoreError::NoHeader),
    };
    if header.session_id.as_str().is_empty() {
        let name = path.file_stem().and_then(|name| name.to_str());
        header.session_id = SessionId::from(name.unwrap_or_default());
    }
    Ok(header)
}

/// How far a log was read.
#[derive(Clone, Debug, Default)]
pub struct Read {
    /// The end of the last complete line.
    pub end: u64,
    /// Nothing follows it.
    pub whole: bool,
    /// Lines that could not be read, or do not apply.
    pub lost: usize,
    /// One of them is the last and incomplete: a write was cut off.
    pub torn: bool,
    /// Over the bytes up to `end`.
    pub sum: crc32fast::Hasher,
}

/// Reads a log from the byte `from` on, which must begin a line.
pub fn each(
    file: &mut File,
    from: u64,
    want: Want,
    mut take: impl FnMut(Parsed),
) -> Result<Read, StoreError> {
    let unsummed = lines::unsummed(file)?;
    let mut read = Read::default();
    let (mut lost, mut torn) = (0, false);
    (read.end, read.whole) = lines::forward(file, from, &mut read.sum, |at, line| {
        torn = false;
        match parse(line, want).filter(|line| line.summed || at < unsummed) {
            Some(Line {
                parsed: Parsed::Foreign(value),
                ..
            }) => {
                for entry in other_formats::entries(&value, at) {
                    take(Parsed::Entry(Box::new(entry)));
                }
            }
            Some(line) => take(line.parsed),
            None => {
                lost += 1;
                torn = true;
            }
        }
    })?;
    if lost > 0 {
        tracing::warn!("{lost} unreadable lines in a session log were skipped");
    }
    read.lost = lost;
    read.torn = torn && !read.whole;
    Ok(read)
}

/// The entries about edits that a session made and reverted, in order.
pub fn edits(path: &Path, mut take: impl FnMut(&Entry)) -> Result<(), StoreError> {
    let take = |parsed| {
        if let Parsed::Entry(entry) = parsed {
            take(&entry);
        }
    };
    each(&mut Place::of(path)?.read()?, 0, Want::Edits, take).map(|_| ())
}

/// Where a workspace's sessions are.
pub fn workspace_folder(sessions: &Path, root: &Path) -> PathBuf {
    sessions.join(workspace_name(root))
}

/// The log of a session, searched in all workspaces' folders.
pub fn find(sessions: &Path, id: &SessionId) -> Option<PathBuf> {
    let name = format!("{}.jsonl", id.file_name()?);
    let folders = std::fs::read_dir(sessions).ok()?.filter_map(Result::ok);
    let below = folders.map(|folder| folder.path().join(&name));
    below
        .chain([sessions.join(&name)])
        .find(|path| std::fs::symlink_metadata(path).is_ok_and(|data| data.is_file()))
}

#[cfg(test)]
pub(in crate::session) mod tests;
