//! Queries, limits and results of a search.

use std::ffi::OsStr;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What the names in a canonical path allow to show: policy's answer, so that search never shows
/// files that `read` would refuse. [`super::unasked`] and [`super::Shown`] add what is excluded.
pub trait Visibility: Send + Sync {
    fn visible(&self, path: &Path) -> bool;

    /// Excluded places are shown too: the user allowed to search one.
    fn with_excluded(&self) -> bool {
        false
    }

    /// The same answers for the entries of the canonical `folder`, by name.
    fn inside<'a>(&'a self, folder: &Path) -> Entries<'a> {
        let folder = folder.to_owned();
        Box::new(move |name| self.visible(&folder.join(name)))
    }
}

/// Whether the entry of a folder with this name may be shown.
pub type Entries<'a> = Box<dyn Fn(&OsStr) -> bool + Send + Sync + 'a>;

/// Limits of a search besides the number of its results.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'a> {
    pub cancel: &'a AtomicBool,
    /// When it stops with the results so far.
    pub until: Instant,
    /// Most threads that it uses.
    pub threads: usize,
}

/// More threads than this only wait for each other in the file system.
const THREADS: usize = 8;

impl<'a> Bounds<'a> {
    /// Limits a search to `time` from now on.
    pub fn new(cancel: &'a AtomicBool, time: Duration) -> Self {
        let cores = std::thread::available_parallelism();
        Self {
            cancel,
            until: Instant::now() + time,
            threads: cores.map_or(1, NonZero::get).min(THREADS),
        }
    }

    /// An error if the search must stop.
    pub(super) fn check(&self) -> Result<(), Stop> {
        if self.cancel.load(Ordering::Relaxed) {
            Err(Stop::Cancelled)
        } else if Instant::now() >= self.until {
            Err(Stop::LazyText)
        } else {
            Ok(())
        }
    }
}

/// Why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Done,
    LazyText,
    Cancelled,
}

impl From<Stop> for Result<bool, SearchError> {
    /// Whether the time ran out.
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Done => Ok(false),
            Stop::LazyText => Ok(true),
            Stop::Cancelled => Err(SearchError::Cancelled),
        }
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
