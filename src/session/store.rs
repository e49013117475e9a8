//! The session log: one file a session, one JSON record a line, each with a CRC-32, append-only
//! (INV-6). A torn or corrupt line costs that record only. One writer, by a lock.
//!
//! A line is the record's JSON object with `,"crc":"xxxxxxxx"}` in place of its last brace; the
//! sum covers the object before that. The first line is the header. Lines in
//! the forms of other programs are read too (`foreign`).

mod foreign;

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conversation::{Entry, Recorder, SessionId};
use crate::env::{private_folder, workspace_name};

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
    /// The session that this one works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
}

/// How often and after which pause a taken lock is tried again.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// The version of the log's form that this program writes.
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

/// A log open for appending.
pub struct Log {
    path: PathBuf,
    file: Mutex<Writer>,
}

struct Writer {
    file: File,
    /// The disk refused a record: said once, the turn goes on in memory.
    failing: bool,
}

/// What a log held when it was opened.
#[derive(Debug)]
pub struct Loaded {
    pub header: Header,
    pub entries: Vec<Entry>,
    /// Lines that could not be read.
    pub lost: usize,
}

impl Log {
    /// Creates the log of a new session, locked.
    pub fn create(path: &Path, header: &Header) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent() {
            private_folder(folder)?;
        }
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.try_lock().map_err(std::io::Error::from)?;
        let log = Self {
            path: path.to_owned(),
            file: Mutex::new(Writer {
                file,
                failing: false,
            }),
        };
        log.append(&serde_json::to_string(header).map_err(std::io::Error::from)?)?;
        Ok(log)
    }

    /// Opens an existing log. `None` in place of the log when another process writes it, or a
    /// newer version wrote it: then it is read-only.
    pub fn open(path: &Path) -> Result<(Option<Self>, Loaded), StoreError> {
        let mut file = OpenOptions::new().read(true).append(true).open(path)?;
        let locked = lock(&file);
        let loaded = load(&mut file)?;
        // What a newer version wrote it may read differently from us: nothing is added to it.
        if !locked || loaded.header.version > VERSION {
            return Ok((None, loaded));
        }
        if !ends_with_newline(&mut file)? {
            // A torn last line: what follows starts on a line of its own.
            file.write_all(b"\n")?;
        }
        Ok((
            Some(Self {
                path: path.to_owned(),
                file: Mutex::new(Writer {
                    file,
                    failing: false,
                }),
            }),
            loaded,
        ))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Brings everything written to the disk itself.
    pub fn sync(&self) {
        let writer = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = writer.file.sync_data() {
            tracing::warn!("syncing {}: {error}", self.path.display());
        }
    }

    /// Gives the lock back at once, also while a last `sync` still holds the file.
    pub fn release(&self) {
        let writer = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = writer.file.unlock() {
            tracing::warn!("unlocking {}: {error}", self.path.display());
        }
    }

    fn append(&self, json: &str) -> std::io::Result<()> {
        let mut line = String::with_capacity(json.len() + 24);
        line.push_str(&json[..json.len() - 1]);
        line.push_str(&format!(
            ",\"crc\":\"{:08x}\"}}\n",
            crc32fast::hash(json.as_bytes())
        ));
        let mut writer = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = writer.file.write_all(line.as_bytes());
        match &outcome {
            Ok(()) => writer.failing = false,
            Err(error) if !writer.failing => {
                writer.failing = true;
                tracing::error!(
                    "the session log {} cannot be written ({error}); the session goes on in memory",
                    self.path.display()
                );
            }
            Err(_) => {}
        }
        outcome
    }
}

/// A child that was forked a moment ago still has the file open until its `exec`: closing alone
/// would leave the lock with it.
impl Drop for Log {
    fn drop(&mut self) {
        self.release();
    }
}

impl Recorder for Log {
    fn record(&self, entry: Entry) {
        let durable = matches!(&entry, Entry::EditIntent { version: None, .. });
        match serde_json::to_string(&entry) {
            Ok(json) => {
                // The failure was logged; the conversation lives on in memory.
                let _ = self.append(&json);
            }
            Err(error) => tracing::error!("a log record does not serialise: {error}"),
        }
        if durable {
            self.sync();
        }
    }
}

/// A recorder that keeps nothing (read-only sessions, previews).
pub struct NoLog;

impl Recorder for NoLog {
    fn record(&self, _entry: Entry) {}
}

/// Takes the writer's lock. A process that we are just starting holds copies of our files until
/// it runs its program, so that a log which was closed a moment ago can still look taken.
fn lock(file: &File) -> bool {
    for _ in 0..TRIES {
        if file.try_lock().is_ok() {
            return true;
        }
        std::thread::sleep(PAUSE);
    }
    file.try_lock().is_ok()
}

/// Whether a process writes the log now.
pub fn written(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| !lock(&file))
}

/// Reads a log without locking it.
pub fn read(path: &Path) -> Result<Loaded, StoreError> {
    load(&mut File::open(path)?)
}

/// The sessions of sub-agents of `parent`, whose logs lie in the folder of its own.
pub fn children(path: &Path, parent: &SessionId) -> Vec<(SessionId, PathBuf)> {
    let folder = path.parent().map(std::fs::read_dir);
    let logs = folder.into_iter().flatten().flatten().flatten();
    let headers = logs.filter_map(|entry| Some((header(&entry.path())?, entry.path())));
    let own = headers.filter(|(header, _)| header.parent.as_ref() == Some(parent));
    own.map(|(header, path)| (header.session_id, path))
        .collect()
}

/// The first line of a log.
fn header(path: &Path) -> Option<Header> {
    if path.extension().and_then(|it| it.to_str()) != Some("jsonl") {
        return None;
    }
    let mut line = Vec::new();
    let file = File::open(path).ok()?;
    BufReader::new(file).read_until(b'\n', &mut line).ok()?;
    match parse(line.trim_ascii()) {
        Some(Parsed::Header(header)) => Some(header),
        _ => None,
    }
}

fn load(file: &mut File) -> Result<Loaded, StoreError> {
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::with_capacity(256 * 1024, file);
    let mut header = None;
    let mut entries = Vec::new();
    let mut lost = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match parse(text) {
            Some(Parsed::Header(found)) if header.is_none() => header = Some(found),
            Some(Parsed::Header(_)) => {}
            Some(Parsed::Entry(entry)) => entries.push(*entry),
            Some(Parsed::Unknown) => {}
            None => lost += 1,
        }
    }
    if lost > 0 {
        tracing::warn!("{lost} unreadable lines in a session log were skipped");
    }
    Ok(Loaded {
        header: header.ok_or(StoreError::NoHeader)?,
        entries,
        lost,
    })
}

enum Parsed {
    Header(Header),
    Entry(Box<Entry>),
    /// Whole, but of a kind that this version does not know.
    Unknown,
}

/// The length of `,"crc":"xxxxxxxx"}`.
const CRC_TAIL: usize = 18;

/// One line; `None` when it is torn or corrupt.
fn parse(line: &[u8]) -> Option<Parsed> {
    let text = std::str::from_utf8(line).ok()?;
    let json: Cow<'_, str> = match text.len().checked_sub(CRC_TAIL) {
        Some(at) if text.is_char_boundary(at) && text[at..].starts_with(",\"crc\":\"") => {
            let sum = u32::from_str_radix(text.get(at + 8..at + 16)?, 16).ok()?;
            let mut hasher = crc32fast::Hasher::new();
            hasher.update(&line[..at]);
            hasher.update(b"}");
            if hasher.finalize() != sum {
                return None;
            }
            format!("{}}}", &text[..at]).into()
        }
        _ => text.into(),
    };
    // Most lines are entries, and a long log is read faster without a tree of values between.
    if let Ok(entry) = serde_json::from_str(&json) {
        return Some(Parsed::Entry(Box::new(entry)));
    }
    let value: Value = serde_json::from_str(&json).ok()?;
    if value.get("type").and_then(Value::as_str) == Some("session") {
        return serde_json::from_value(value).ok().map(Parsed::Header);
    }
    let typed = value.get("type").is_some();
    match foreign::entry(&value).or_else(|| serde_json::from_value(value).ok()) {
        Some(entry) => Some(Parsed::Entry(Box::new(entry))),
        None => typed.then_some(Parsed::Unknown),
    }
}

fn ends_with_newline(file: &mut File) -> std::io::Result<bool> {
    let length = file.seek(SeekFrom::End(0))?;
    if length == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::Start(length - 1))?;
    let mut last = [0; 1];
    file.read_exact(&mut last)?;
    Ok(last[0] == b'\n')
}

/// Where a workspace's sessions lie.
pub fn workspace_folder(sessions: &Path, root: &Path) -> PathBuf {
    sessions.join(workspace_name(root))
}

/// The log of a session, searched below all workspaces' folders.
pub fn find(sessions: &Path, id: &SessionId) -> Option<PathBuf> {
    let name = format!("{}.jsonl", id.file_name()?);
    std::fs::read_dir(sessions)
        .ok()?
        .filter_map(Result::ok)
        .map(|folder| folder.path().join(&name))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests;
