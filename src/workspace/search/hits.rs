//! What a search has found so far, by path. Threads find things in any order; the result is the
//! first `cap` in path order, whatever the number of threads.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::types::Line;

/// What a search found at one path.
#[derive(Debug)]
pub(super) enum Hit {
    /// The path itself; `true` for a folder.
    Path(bool),
    /// The lines that match.
    Lines(Vec<Line>),
    /// A file that was too large or could not be read.
    Skipped,
}

impl Hit {
    /// How many results it counts for.
    fn weight(&self) -> usize {
        match self {
            Self::Path(_) => 1,
            Self::Lines(lines) => lines.len(),
            Self::Skipped => 0,
        }
    }
}

/// The first results in path order, and at least one more than `cap` if there are more.
pub(super) struct Hits {
    cap: usize,
    kept: Mutex<Kept>,
    /// There are more than `cap`.
    full: AtomicBool,
}

#[derive(Default)]
struct Kept {
    hits: BTreeMap<PathBuf, Hit>,
    weight: usize,
}

impl Hits {
    pub fn new(cap: usize) -> Self {
        Self {
            cap,
            kept: Mutex::default(),
            full: AtomicBool::new(false),
        }
    }

    pub fn add(&self, path: PathBuf, hit: Hit) {
        let mut kept = self.kept.lock();
        let weight = hit.weight();
        // A document that was saved during the walk is found twice.
        let Entry::Vacant(place) = kept.hits.entry(path) else {
            return;
        };
        place.insert(hit);
        kept.weight += weight;
        while let Some(last) = kept.hits.last_entry() {
            let weight = last.get().weight();
            if kept.weight - weight <= self.cap {
                break;
            }
            kept.hits.pop_last();
            kept.weight -= weight;
        }
        self.full.store(kept.weight > self.cap, Ordering::Relaxed);
    }

    /// Whether nothing at `path` or after it can be part of the result.
    pub fn beyond(&self, path: &Path) -> bool {
        self.full.load(Ordering::Relaxed) && {
            let kept = self.kept.lock();
            kept.hits
                .last_key_value()
                .is_some_and(|(last, _)| path > last)
        }
    }

    /// The hits in path order.
    pub fn in_order(self) -> impl Iterator<Item = (PathBuf, Hit)> {
        self.kept.into_inner().hits.into_iter()
    }
}
