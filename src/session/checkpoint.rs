//! How a session stands, kept beside its log so that a long log need only be read from there on;
//! and the log's last page. The log alone says what was: a checkpoint that is missing, torn or of
//! another log costs time, nothing else.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::resume::{Replay, Resumed};
use super::store::{self, Header, Parsed, StoreError, Want};
use crate::conversation::event::Envelope;
use crate::conversation::{Entry, SessionId};

/// What the log says of its session now.
#[derive(Debug)]
pub struct Recalled {
    pub header: Header,
    pub resumed: Resumed,
}

/// A log that has grown by so many bytes since gets a new checkpoint.
pub const DUE: u64 = 16 * 1024 * 1024;

/// A log of which so many bytes had to be read gets one too.
const WORTH: u64 = 256 * 1024;

/// Changes with whatever a replay keeps or does: a checkpoint of another one is not read.
const FORM: &str = concat!("interline-", env!("CARGO_PKG_VERSION"), "-1");

#[derive(Serialize, Deserialize)]
struct Checkpoint {
    form: String,
    /// The byte of the log up to which this is.
    covers: u64,
    /// The sum over the last bytes before it, by which another log is told from this one.
    mark: u32,
    header: Header,
    replay: Replay,
}

/// Bytes that `mark` is over.
const MARKED: u64 = 4096;

/// Reads the log at `path`, from its checkpoint on, and leaves a new one if it took long.
pub fn recall(path: &Path) -> Result<Recalled, StoreError> {
    recall_worth(path, WORTH)
}

fn recall_worth(path: &Path, worth: u64) -> Result<Recalled, StoreError> {
    let mut file = File::open(path)?;
    let (from, mut header, mut replay) = match kept(path, &mut file) {
        Some(kept) => (kept.covers, Some(kept.header), kept.replay),
        None => (0, None, Replay::default()),
    };
    let read = store::each(&mut file, from, Want::State, |parsed| match parsed {
        Parsed::Header(found) if header.is_none() => header = Some(found),
        Parsed::Entry(entry) => replay.apply(*entry),
        Parsed::Shown { seq } => replay.shown(seq),
        Parsed::Header(_) | Parsed::Other => {}
    })?;
    let header = header.ok_or(StoreError::NoHeader)?;
    // A line that has no end yet will be read again, whole.
    if read.end.saturating_sub(from) >= worth && read.whole {
        let checkpoint = Checkpoint {
            form: FORM.to_owned(),
            covers: read.end,
            mark: mark(&mut file, read.end)?,
            header,
            replay,
        };
        if let Err(error) = keep(path, &checkpoint) {
            tracing::debug!("{} has no checkpoint: {error}", path.display());
        }
        return Ok(Recalled {
            header: checkpoint.header,
            resumed: checkpoint.replay.finish(),
        });
    }
    Ok(Recalled {
        header,
        resumed: replay.finish(),
    })
}

/// The checkpoint of the log at `path`.
fn place(path: &Path) -> PathBuf {
    path.with_extension("checkpoint")
}

/// Removes it with its log.
pub fn remove(path: &Path) {
    match std::fs::remove_file(place(path)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!("the checkpoint of {} stays: {error}", path.display());
        }
        _ => {}
    }
}

fn kept(path: &Path, log: &mut File) -> Option<Checkpoint> {
    let line = std::fs::read(place(path)).ok()?;
    let text = store::checked(line.strip_suffix(b"\n")?)?;
    let checkpoint: Checkpoint = serde_json::from_str(text).ok()?;
    let whole = log.metadata().ok()?.len() >= checkpoint.covers;
    let same = whole && mark(log, checkpoint.covers).ok() == Some(checkpoint.mark);
    (same && checkpoint.form == FORM).then_some(checkpoint)
}

fn mark(log: &mut File, end: u64) -> std::io::Result<u32> {
    let size = end.min(MARKED);
    log.seek(SeekFrom::Start(end - size))?;
    let mut bytes = Vec::new();
    log.take(size).read_to_end(&mut bytes)?;
    Ok(crc32fast::hash(&bytes))
}

fn keep(path: &Path, checkpoint: &Checkpoint) -> std::io::Result<()> {
    let line = store::summed(&serde_json::to_string(checkpoint)?);
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(line.as_bytes())?;
    file.persist(place(path)).map_err(|error| error.error)?;
    Ok(())
}

/// A part of what was shown.
#[derive(Debug, Default)]
pub struct Page {
    /// In order.
    pub items: Vec<Envelope>,
    /// Where the page before it ends, if there is one: a byte of the log.
    pub before: Option<u64>,
}

impl Page {
    /// The number of its last item.
    pub fn last(&self) -> u64 {
        self.items.last().map_or(0, |item| item.seq)
    }
}

/// The last `limit` items before the byte `before` of the log, or before its end.
pub fn page(
    path: &Path,
    session: &SessionId,
    before: Option<u64>,
    limit: usize,
) -> Result<Page, StoreError> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let end = before.map_or(length, |byte| byte.min(length));
    let mut page = Page::default();
    let mut first = end;
    store::backward(&mut file, end, |start, line| {
        let Some(Parsed::Entry(entry)) = store::parse(line, Want::Items) else {
            return true;
        };
        let Entry::Item { turn, seq, body } = *entry else {
            return true;
        };
        if page.items.len() == limit {
            page.before = Some(first);
            return false;
        }
        first = start;
        page.items.push(Envelope {
            session_id: session.clone(),
            turn_id: turn,
            seq,
            body,
        });
        true
    })?;
    page.items.reverse();
    Ok(page)
}

#[cfg(test)]
mod tests;
