//! A session's state, stored beside its log so that only the end of a long log is read; and pages
//! of the log. The log alone is authoritative: a checkpoint that is missing, torn or of another log
//! costs only time.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;

use serde::{Deserialize, Serialize};

use super::resume::{Replay, Resumed, envelope};
use super::store::{self, Header, Parsed, StoreError, Want};
use crate::conversation::SessionId;
use crate::conversation::event::Envelope;
use crate::env::private::Place;

/// The session's state according to its log.
#[derive(Debug)]
pub struct Recalled {
    pub header: Header,
    pub resumed: Resumed,
}

/// A log that has grown by this many bytes gets a new checkpoint.
pub const DUE: u64 = 16 * 1024 * 1024;

/// So does a log of which this many bytes had to be read.
const WORTH: u64 = 256 * 1024;

/// Changes whenever a replay stores or does something else: a checkpoint with another number is not
/// read.
const FORM: &str = concat!("interline-", env!("CARGO_PKG_VERSION"), "-5");

#[derive(Serialize, Deserialize)]
struct Checkpoint {
    form: String,
    /// The byte of the log up to which it is valid.
    covers: u64,
    /// The sum over all bytes before it: if the log was changed anywhere, it is read from the
    /// start.
    sum: u32,
    header: Header,
    replay: Replay,
}

/// Bytes read at once to compute it.
const CHUNK: usize = 1024 * 1024;

/// Reads the log at `path`, starting at its checkpoint, and writes a new one if that took long.
pub fn recall(path: &Path) -> Result<Recalled, StoreError> {
    recall_worth(path, WORTH)
}

fn recall_worth(path: &Path, worth: u64) -> Result<Recalled, StoreError> {
    let mut file = Place::of(path)?.read()?;
    let (from, mut sum, mut header, mut replay) = match stored(path, &mut file) {
        Some((kept, sum)) => (kept.covers, sum, Some(kept.header), kept.replay),
        None => (0, Hasher::new(), None, Replay::default()),
    };
    let mut any = from > 0;
    let read = store::each(&mut file, from, Want::State, |parsed| match parsed {
        Parsed::Header(found) if header.is_none() => header = Some(found),
        Parsed::Entry(entry) => {
            any = true;
            replay.apply(*entry);
        }
        Parsed::Shown { seq, item } => {
            any = true;
            replay.shown(seq, item.as_ref());
        }
        Parsed::Header(_) | Parsed::Foreign(_) | Parsed::Other => {}
    })?;
    let header = store::settled(header, any, path)?;
    replay.lose(read.lost, read.torn);
    // A line without its end is read again later, in full.
    if read.end.saturating_sub(from) < worth || !read.whole {
        return Ok(Recalled {
            header,
            resumed: replay.finish(),
        });
    }
    sum.combine(&read.sum);
    let checkpoint = Checkpoint {
        form: FORM.to_owned(),
        covers: read.end,
        sum: sum.finalize(),
        header,
        replay,
    };
    if let Err(error) = keep(path, &checkpoint) {
        tracing::debug!("{} has no checkpoint: {error}", path.display());
    }
    Ok(Recalled {
        header: checkpoint.header,
        resumed: checkpoint.replay.finish(),
    })
}

/// The checkpoint of the log at `path`.
fn path_beside(path: &Path) -> PathBuf {
    path.with_extension("checkpoint")
}

/// Removes it with its log.
pub fn remove(path: &Path) {
    match Place::of(&path_beside(path)).and_then(|it| it.remove()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!(
                "the checkpoint of {} could not be removed: {error}",
                path.display()
            );
        }
        _ => {}
    }
}

/// The checkpoint, and the sum over the bytes it covers.
fn stored(path: &Path, log: &mut File) -> Option<(Checkpoint, Hasher)> {
    let mut line = Vec::new();
    let mut file = Place::of(&path_beside(path)).ok()?.read().ok()?;
    file.read_to_end(&mut line).ok()?;
    let text = store::sealed(line.strip_suffix(b"\n")?)?;
    let checkpoint: Checkpoint = serde_json::from_str(text).ok()?;
    if checkpoint.form != FORM {
        return None;
    }
    let sum = sum(log, checkpoint.covers).ok()??;
    (sum.clone().finalize() == checkpoint.sum).then_some((checkpoint, sum))
}

/// Over the bytes before `end`; `None`: the file is shorter.
fn sum(log: &mut File, end: u64) -> std::io::Result<Option<Hasher>> {
    let mut sum = Hasher::new();
    let mut chunk = vec![0; CHUNK];
    log.seek(SeekFrom::Start(0))?;
    let mut log = log.take(end);
    loop {
        match log.read(&mut chunk)? {
            0 => return Ok((log.limit() == 0).then_some(sum)),
            read => sum.update(&chunk[..read]),
        }
    }
}

fn keep(path: &Path, checkpoint: &Checkpoint) -> std::io::Result<()> {
    let line = store::summed(&serde_json::to_string(checkpoint)?);
    Place::of(&path_beside(path))?.replace(line.as_bytes())
}

/// A page of the shown items.
#[derive(Debug, Default)]
pub struct Page {
    /// In order.
    pub items: Vec<Envelope>,
    /// Where the previous page ends, if there is one: a byte of the log.
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
    let mut file = Place::of(path)?.read()?;
    let length = file.metadata()?.len();
    let end = before.map_or(length, |byte| byte.min(length));
    let unsummed = store::unsummed(&mut file)?;
    let mut page = Page::default();
    let mut first = end;
    store::backward(&mut file, end, |start, line| {
        let parsed = store::parse(line, Want::Items).filter(|it| it.summed || start < unsummed);
        let mut items: Vec<Envelope> = match parsed.map(|line| line.parsed) {
            Some(Parsed::Entry(entry)) => envelope(session, *entry).into_iter().collect(),
            Some(Parsed::Foreign(value)) => {
                let entries = store::foreign_entries(&value, start).into_iter();
                let items = entries.filter_map(|entry| envelope(session, entry));
                items.collect()
            }
            _ => Vec::new(),
        };
        if items.is_empty() {
            return true;
        }
        // The items of one line stay together, because the next page begins at a line.
        if page.items.len() + items.len() > limit && (!page.items.is_empty() || limit == 0) {
            page.before = Some(first);
            return false;
        }
        first = start;
        items.reverse();
        page.items.append(&mut items);
        true
    })?;
    page.items.reverse();
    Ok(page)
}

#[cfg(test)]
mod tests;
