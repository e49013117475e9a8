//! The writer of a log. Lines that the disk rejects are held and written with the next record;
//! that, and a log deleted while open, is reported once.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::lines::{self, summed};
use super::lock::lock;
use super::{Header, StoreError, VERSION, header};
use crate::conversation::{Entry, Recorder};
use crate::env::private::Place;

/// Most bytes held for a failing disk.
const HELD: usize = 64 * 1024 * 1024;

type Teller = Box<dyn Fn(String) + Send + Sync>;

/// A log open for appending.
pub struct Log {
    path: PathBuf,
    file: Mutex<Writer>,
    teller: Mutex<Option<Teller>>,
}

struct Writer {
    file: File,
    /// Complete lines that are not in the file yet.
    held: Vec<u8>,
    /// Records that were dropped because too much was held.
    dropped: usize,
    /// The disk rejected the last record, which was reported.
    failing: bool,
    /// Bytes written since [`Log::grown`] last returned them.
    grown: u64,
}

impl Writer {
    fn new(file: File, held: Vec<u8>) -> Self {
        Self {
            file,
            held,
            dropped: 0,
            failing: false,
            grown: 0,
        }
    }

    fn hold(&mut self, line: &[u8]) {
        match self.held.len() + line.len() <= HELD {
            true => self.held.extend_from_slice(line),
            false => self.dropped += 1,
        }
    }

    /// Writes the held lines. A partial line does not stay.
    fn flush(&mut self) -> std::io::Result<()> {
        let length = self.file.metadata()?.len();
        if let Err(error) = self.file.write_all(&self.held) {
            if self.file.set_len(length).is_err() && !self.held.starts_with(b"\n") {
                self.held.insert(0, b'\n');
            }
            return Err(error);
        }
        self.grown += self.held.len() as u64;
        self.held = Vec::new();
        Ok(())
    }

    /// The file was unlinked. It still has its bytes.
    fn deleted(&self) -> bool {
        self.file.metadata().is_ok_and(|data| data.nlink() == 0)
    }

    /// Writes the log again at its path.
    fn restore(&mut self, path: &Path) -> std::io::Result<()> {
        let mut file = create(path)?;
        let copied = self
            .file
            .seek(SeekFrom::Start(0))
            .and_then(|_| std::io::copy(&mut self.file, &mut file));
        if let Err(error) = copied {
            // Half a log would block the next try.
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
        self.file = file;
        Ok(())
    }
}

/// A new log, locked.
fn create(path: &Path) -> std::io::Result<File> {
    let file = Place::made(path)?.create()?;
    file.try_lock()?;
    Ok(file)
}

impl Log {
    /// Creates the log of a new session, locked.
    pub fn create(path: &Path, header: &Header) -> Result<Self, StoreError> {
        let log = Self::of(path, Writer::new(create(path)?, Vec::new()));
        let begun = serde_json::to_string(header)
            .map_err(std::io::Error::from)
            .and_then(|header| log.append(&header));
        if let Err(error) = begun {
            // A log without a header would be a session that cannot be opened.
            let _ = std::fs::remove_file(path);
            return Err(error.into());
        }
        Ok(log)
    }

    /// Opens an existing log. `None` if another process writes it, or if a newer version wrote it:
    /// then it is read-only.
    pub fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        let mut file = Place::of(path)?.append()?;
        let locked = lock(&file);
        let header = header(path).ok_or(StoreError::NoHeader)?;
        // A newer version may read its log differently: nothing is added to it.
        if !locked || header.version > VERSION {
            return Ok(None);
        }
        let held = before(&mut file)?;
        Ok(Some(Self::of(path, Writer::new(file, held))))
    }

    fn of(path: &Path, writer: Writer) -> Self {
        Self {
            path: path.to_owned(),
            file: Mutex::new(writer),
            teller: Mutex::default(),
        }
    }

    /// Sets the callback that reports the log's problems to the user.
    pub fn report_to(&self, teller: impl Fn(String) + Send + Sync + 'static) {
        let mut known = self.teller.lock();
        *known = Some(Box::new(teller));
    }

    fn report(&self, text: String) {
        tracing::error!("{text}");
        let teller = self.teller.lock();
        if let Some(teller) = &*teller {
            teller(text);
        }
    }

    /// The bytes written since the last call that returned them, once they reach `least`.
    pub fn grown(&self, least: u64) -> bool {
        let mut writer = self.file.lock();
        let reached = writer.grown >= least;
        if reached {
            writer.grown = 0;
        }
        reached
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs everything written to the disk.
    pub fn sync(&self) {
        // Not under the lock: meanwhile a turn may write more, and must not wait for the disk.
        let file = self.file.lock().file.try_clone();
        if let Err(error) = file.and_then(|file| file.sync_data()) {
            tracing::warn!("syncing {}: {error}", self.path.display());
        }
    }

    /// Releases the lock at once, even while a last `sync` still holds the file.
    pub fn release(&self) {
        let writer = self.file.lock();
        if let Err(error) = writer.file.unlock() {
            tracing::warn!("unlocking {}: {error}", self.path.display());
        }
    }

    pub(super) fn append(&self, json: &str) -> std::io::Result<()> {
        let mut guard = self.file.lock();
        let writer = &mut *guard;
        writer.hold(summed(json).as_bytes());
        let gone = writer.deleted();
        let restored = if gone {
            writer.restore(&self.path)
        } else {
            Ok(())
        };
        let outcome = restored.and_then(|()| writer.flush());
        let was = std::mem::replace(&mut writer.failing, outcome.is_err());
        let path = self.path.display();
        let text = match &outcome {
            Err(error) if !was => Some(format!(
                "This session cannot be saved: {error}. It continues in memory; make {path} \
                 writable or free space on its disk before you close it."
            )),
            Ok(()) if gone => Some(format!(
                "This session's log was deleted while the session was open. Interline wrote it \
                 again, in full, to {path}."
            )),
            Ok(()) if was => Some(match std::mem::take(&mut writer.dropped) {
                0 => "This session is saved again, completely.".to_owned(),
                dropped => format!(
                    "This session is saved again, but {dropped} of its records are missing in \
                     {path}."
                ),
            }),
            _ => None,
        };
        drop(guard);
        if let Some(text) = text {
            self.report(text);
        }
        outcome
    }
}

/// A child that was forked a moment ago has the file open until its `exec`: closing alone would
/// leave the lock with it.
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
                // The failure was reported; the conversation continues in memory.
                let _ = self.append(&json);
            }
            Err(error) => tracing::error!("a log record does not serialise: {error}"),
        }
        if durable {
            self.sync();
        }
    }
}

/// What is written before the first record, so that a log which is only read stays unchanged: the
/// end of a torn line; and, if no line has a sum, a record that vouches for all of them.
fn before(file: &mut File) -> Result<Vec<u8>, StoreError> {
    let mut held = Vec::new();
    if !ends_with_newline(file)? {
        held.push(b'\n');
    }
    if lines::unsummed(file)? < u64::MAX {
        return Ok(held);
    }
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    bytes.extend_from_slice(&held);
    let vouched = Entry::Vouched {
        bytes: bytes.len() as u64,
        sum: crc32fast::hash(&bytes),
    };
    let json = serde_json::to_string(&vouched).map_err(std::io::Error::from)?;
    held.extend_from_slice(summed(&json).as_bytes());
    Ok(held)
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
