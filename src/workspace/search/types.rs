//! Queries, limits and results of a search.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What may be shown: policy's answer for a canonical path, so that search never shows files that
/// `read` would refuse.
pub trait Visibility: Send + Sync {
    fn visible(&self, path: &Path) -> bool;
}

/// Limits of a search besides the number of its results.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'a> {
    pub cancel: &'a AtomicBool,
    /// When it stops with the results so far.
    pub until: Instant,
}

impl<'a> Bounds<'a> {
    /// Limits a search to `time` from now on.
    pub fn new(cancel: &'a AtomicBool, time: Duration) -> Self {
        let until = Instant::now() + time;
        Self { cancel, until }
    }

    pub(super) fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    pub(super) fn late(&self) -> bool {
        Instant::now() >= self.until
    }
}

/// The absolute paths found, in path order; `capped` if there were more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub paths: Vec<(PathBuf, bool)>,
    pub capped: bool,
    /// The time ran out before everything was searched.
    pub late: bool,
}

impl Found {
    pub(super) fn add(&mut self, path: PathBuf, folder: bool, cap: usize) -> ControlFlow<()> {
        if self.paths.len() >= cap {
            self.capped = true;
            return ControlFlow::Break(());
        }
        self.paths.push((path, folder));
        ControlFlow::Continue(())
    }
}

/// One line of a search result; `context` marks the lines around a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub path: PathBuf,
    /// 1-based.
    pub number: u64,
    pub text: String,
    pub context: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    pub lines: Vec<Line>,
    pub capped: bool,
    /// The number of files that were too large or could not be read, without binary files.
    pub skipped: usize,
    /// The time ran out before everything was searched.
    pub late: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error("invalid pattern: {0}")]
    Pattern(String),
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("cancelled")]
    Cancelled,
}

/// What to search for.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Regular expression (Rust syntax).
    pub pattern: String,
    /// Only files whose relative path matches.
    pub glob: Option<String>,
    /// Lines before and after each match.
    pub context: usize,
    /// Most lines returned.
    pub cap: usize,
}
