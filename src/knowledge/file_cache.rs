//! Values made from files, kept as long as the files are unchanged: each prompt asks for the same
//! skills and memories. Callers pass the files' current stamps; without them, and for files written
//! a moment ago, everything is read again. Holds no text of an open buffer.

use std::collections::HashMap;
use std::fs::File;
use std::hash::Hash;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use crate::workspace::Stamp;

/// Most entries; a full cache starts over.
const MOST: usize = 4_096;

/// Values by key, each with the version of its sources.
pub struct FileCache<K, V, T> {
    now: fn() -> SystemTime,
    entries: Mutex<HashMap<K, (V, Arc<T>)>>,
}

impl<K, V, T> Default for FileCache<K, V, T> {
    fn default() -> Self {
        Self {
            now: SystemTime::now,
            entries: Mutex::default(),
        }
    }
}

/// The state of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Absent,
    Present(Stamp),
}

impl<K: Eq + Hash, V: PartialEq, T> FileCache<K, V, T> {
    /// The value under `key`, if it was made from this version.
    pub(super) fn get(&self, key: &K, version: &V) -> Option<Arc<T>> {
        let entries = self.entries.lock();
        let (known, value) = entries.get(key)?;
        (known == version).then(|| value.clone())
    }

    pub(super) fn put(&self, key: K, version: V, value: Arc<T>) {
        let mut entries = self.entries.lock();
        if entries.len() >= MOST && !entries.contains_key(&key) {
            entries.clear();
        }
        entries.insert(key, (version, value));
    }

    /// The stamp of the regular file at `path`; `None` without one, or when the file can still
    /// change without a new stamp.
    pub(super) fn stamp(&self, path: &Path) -> Option<Stamp> {
        let data = std::fs::symlink_metadata(path).ok()?;
        let stamp = data.is_file().then(|| Stamp::new(&data))?;
        stamp.settled((self.now)()).then_some(stamp)
    }

    /// The state of `path`; `None` when it can still change without a new stamp.
    pub(super) fn mark(&self, path: &Path) -> Option<Mark> {
        let Ok(data) = std::fs::symlink_metadata(path) else {
            return Some(Mark::Absent);
        };
        let stamp = Stamp::new(&data);
        stamp.settled((self.now)()).then_some(Mark::Present(stamp))
    }

    /// [`FileCache::mark`] of an open file. A link is never the same as its target.
    pub(super) fn mark_of(&self, file: &File) -> Option<Mark> {
        let stamp = Stamp::new(&file.metadata().ok()?);
        stamp.settled((self.now)()).then_some(Mark::Present(stamp))
    }

    /// A cache for which every file is an hour older.
    #[cfg(test)]
    pub(super) fn later() -> Self {
        Self {
            now: || SystemTime::now() + std::time::Duration::from_secs(3_600),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests;
