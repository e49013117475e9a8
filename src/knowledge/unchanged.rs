//! What was made of files, for as long as these are unchanged: a prompt asks for the same skills
//! and memories each time. Whoever asks brings the files' present stamps; without them, and for
//! files written a moment ago, everything is read again. Holds no text of an open buffer.

use std::collections::HashMap;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::git::Project;
use super::memory::Remembered;
use super::skills::Known;
use crate::workspace::Stamp;

/// Most things of one kind; then it begins anew.
const MOST: usize = 4_096;

/// What a process holds.
pub struct Unchanged {
    now: fn() -> SystemTime,
    /// Somebody gathered before.
    used: AtomicBool,
    /// By the path of a `SKILL.md`.
    pub(super) skills: Made<PathBuf, Stamp, Known>,
    /// By the folders of the scopes.
    pub(super) memories: Made<Vec<PathBuf>, Vec<(PathBuf, Stamp)>, Remembered>,
    /// By a session's directory.
    pub(super) projects: Made<PathBuf, (), Project>,
}

impl Default for Unchanged {
    fn default() -> Self {
        Self {
            now: SystemTime::now,
            used: AtomicBool::new(false),
            skills: Made::default(),
            memories: Made::default(),
            projects: Made::default(),
        }
    }
}

impl Unchanged {
    /// Nothing can be held yet; once.
    pub fn first(&self) -> bool {
        !self.used.swap(true, Ordering::Relaxed)
    }

    /// The stamp of the regular file at `path`; `None` when there is none, or when it can change
    /// again without its stamp.
    pub(super) fn stamp(&self, path: &Path) -> Option<Stamp> {
        let data = std::fs::symlink_metadata(path).ok()?;
        let stamp = data.is_file().then(|| Stamp::of(&data))?;
        stamp.settled((self.now)()).then_some(stamp)
    }

    /// What is at `path`; `None` when it can change again without another mark.
    pub(super) fn mark(&self, path: &Path) -> Option<Mark> {
        let Ok(data) = std::fs::symlink_metadata(path) else {
            return Some(Mark::Absent);
        };
        let stamp = Stamp::of(&data);
        stamp.settled((self.now)()).then_some(Mark::There(stamp))
    }

    /// To which every file is an hour older.
    #[cfg(test)]
    pub(super) fn later() -> Self {
        Self {
            now: || SystemTime::now() + std::time::Duration::from_secs(3_600),
            ..Self::default()
        }
    }
}

/// How a path was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Absent,
    There(Stamp),
}

/// Things by key, each with what it was made of.
pub(super) struct Made<K, F, T>(Mutex<HashMap<K, (F, Arc<T>)>>);

impl<K, F, T> Default for Made<K, F, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, F: PartialEq, T> Made<K, F, T> {
    /// What was made under `key`, if it was made of exactly this.
    pub fn get(&self, key: &K, of: &F) -> Option<Arc<T>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, made) = held.get(key)?;
        (known == of).then(|| made.clone())
    }

    pub fn put(&self, key: K, of: F, made: Arc<T>) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() >= MOST && !held.contains_key(&key) {
            held.clear();
        }
        held.insert(key, (of, made));
    }
}

#[cfg(all(test, unix))]
mod tests;
