//! The session log: one file a session, one JSON record a line, each with a CRC-32, append-only
//! (INV-6). A torn or corrupt line costs that record only. One writer, by a lock.
//!
//! A line is the record's JSON object with `,"crc":"xxxxxxxx"}` in place of its last brace; the
//! sum covers the object before that. The first line is the header. Lines in
//! the forms of other programs are read too (`foreign`).

mod foreign;
mod fuzz;
mod lines;

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::conversation::{Entry, Recorder, SessionId};
use crate::env::{private_folder, workspace_name};

pub use fuzz::fuzz_log;
pub use lines::{Parsed, Want, backward, checked, parse, summed};

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
    /// Bytes written since [`Log::grown`] last gave them.
    grown: u64,
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
                grown: 0,
            }),
        };
        log.append(&serde_json::to_string(header).map_err(std::io::Error::from)?)?;
        Ok(log)
    }

    /// Opens an existing log. `None` when another process writes it, or a newer version wrote it:
    /// then it is read-only.
    pub fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        let mut file = OpenOptions::new().read(true).append(true).open(path)?;
        let locked = lock(&file);
        let header = header(path).ok_or(StoreError::NoHeader)?;
        // What a newer version wrote it may read differently from us: nothing is added to it.
        if !locked || header.version > VERSION {
            return Ok(None);
        }
        if !ends_with_newline(&mut file)? {
            // A torn last line: what follows starts on a line of its own.
            file.write_all(b"\n")?;
        }
        Ok(Some(Self {
            path: path.to_owned(),
            file: Mutex::new(Writer {
                file,
                failing: false,
                grown: 0,
            }),
        }))
    }

    /// Bytes written since they reached `least` the last time, if they reach it again.
    pub fn grown(&self, least: u64) -> bool {
        let mut writer = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let reached = writer.grown >= least;
        if reached {
            writer.grown = 0;
        }
        reached
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
        let line = summed(json);
        let mut writer = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = writer.file.write_all(line.as_bytes());
        match &outcome {
            Ok(()) => {
                writer.failing = false;
                writer.grown += line.len() as u64;
            }
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
    match parse(line.trim_ascii(), Want::All) {
        Some(Parsed::Header(header)) => Some(header),
        _ => None,
    }
}

fn load(file: &mut File) -> Result<Loaded, StoreError> {
    let (mut header, mut entries) = (None, Vec::new());
    let lost = each(file, 0, Want::All, |parsed| match parsed {
        Parsed::Header(found) if header.is_none() => header = Some(found),
        Parsed::Entry(entry) => entries.push(*entry),
        Parsed::Header(_) | Parsed::Shown { .. } | Parsed::Other => {}
    })?
    .lost;
    Ok(Loaded {
        header: header.ok_or(StoreError::NoHeader)?,
        entries,
        lost,
    })
}

/// How far a log was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The byte behind the last line that has its end.
    pub end: u64,
    /// Nothing follows it.
    pub whole: bool,
    /// Lines that could not be read.
    pub lost: usize,
}

/// Reads a log from the byte `from` on, which begins a line.
pub fn each(
    file: &mut File,
    from: u64,
    want: Want,
    mut take: impl FnMut(Parsed),
) -> Result<Read, StoreError> {
    let mut lost = 0;
    let (end, whole) = lines::forward(file, from, |line| match lines::parse(line, want) {
        Some(parsed) => take(parsed),
        None => lost += 1,
    })?;
    if lost > 0 {
        tracing::warn!("{lost} unreadable lines in a session log were skipped");
    }
    Ok(Read { end, whole, lost })
}

/// What says which edits a session made and took back, in order.
pub fn edits(path: &Path, mut take: impl FnMut(&Entry)) -> Result<(), StoreError> {
    let take = |parsed| match parsed {
        Parsed::Entry(entry) => take(&entry),
        Parsed::Header(_) | Parsed::Shown { .. } | Parsed::Other => {}
    };
    each(&mut File::open(path)?, 0, Want::Edits, take).map(|_| ())
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
pub(in crate::session) mod tests;
