//! The threads of a walk. Each takes the part that is first in path order, so that a search whose
//! result is full has read little beyond it.

use std::collections::BinaryHeap;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{Builder, Scope};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::tour::{Hand, Opened, Part, Place, Tour};
use super::types::{SearchError, Stop};
use super::walk::{Walk, io};

/// The entries of a place from `at` on.
struct Job<'a> {
    /// The path of the first of them.
    first: PathBuf,
    place: Arc<Place<'a>>,
    at: usize,
}

impl Ord for Job<'_> {
    /// The heap's greatest job is the one whose path comes first.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.first.cmp(&self.first)
    }
}

impl PartialOrd for Job<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Job<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.first == other.first
    }
}

impl Eq for Job<'_> {}

struct Crew<'t, 'a> {
    tour: &'t Tour<'a>,
    most: usize,
    state: Mutex<State<'a>>,
    change: Condvar,
}

struct State<'a> {
    jobs: BinaryHeap<Job<'a>>,
    threads: usize,
    idle: usize,
    stop: Option<Stop>,
}

/// Visits each entry below the walk's folder. Returns whether it stopped because the time ran out.
pub(super) fn run<'a>(walk: &'a Walk<'a>) -> Result<bool, SearchError> {
    let (top, folder, rules) = walk.begin()?;
    let tour = Tour::new(walk, top);
    if let Err(stop) = tour.check() {
        return stop.into();
    }
    let mut hand = tour.hand();
    let first = tour.begin(&mut hand, folder, rules).map_err(io)?;
    let crew = Crew {
        tour: &tour,
        most: if walk.shallow { 1 } else { walk.bounds.threads },
        state: Mutex::new(State {
            jobs: BinaryHeap::new(),
            threads: 1,
            idle: 0,
            stop: None,
        }),
        change: Condvar::new(),
    };
    std::thread::scope(|scope| crew.work(scope, hand, Some(first)));
    crew.state.into_inner().stop.unwrap_or(Stop::Done).into()
}

impl<'a> Crew<'_, 'a> {
    fn work<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        mut hand: Hand<'_>,
        mut opened: Option<Opened<'a>>,
    ) {
        let _unwinding = Unwinding(self);
        loop {
            let part = match opened.take() {
                Some(opened) => self.part_of(scope, opened),
                None => self.next(scope),
            };
            match part.map(|part| self.tour.visit_part(&mut hand, part)) {
                Some(Ok(entered)) => opened = entered,
                Some(Err(stop)) => return self.stop(stop),
                None => return,
            }
        }
    }

    /// The first part of a place that this thread just opened; leaves the rest to all.
    fn part_of<'s>(&'s self, scope: &'s Scope<'s, '_>, opened: Opened<'a>) -> Option<Part<'a>> {
        let (place, folder) = opened;
        let place = Arc::new(place);
        let mut state = self.state.lock();
        if state.stop.is_some() {
            return None;
        }
        let part = state.take(place, 0);
        self.help(scope, state);
        Some(Part { folder, ..part })
    }

    /// The part that is first in path order; `None` at the end of the walk.
    fn next<'s>(&'s self, scope: &'s Scope<'s, '_>) -> Option<Part<'a>> {
        let mut state = self.state.lock();
        while state.stop.is_none() {
            match state.jobs.pop() {
                Some(job) if self.tour.beyond(&job.first) => state.jobs.clear(),
                Some(job) => {
                    let part = state.take(job.place, job.at);
                    self.help(scope, state);
                    return Some(part);
                }
                None => {
                    state.idle += 1;
                    if state.idle == state.threads {
                        state.stop = Some(Stop::Done);
                        self.change.notify_all();
                    } else {
                        self.change.wait(&mut state);
                    }
                    state.idle -= 1;
                }
            }
        }
        None
    }

    /// Wakes or starts another thread if there is something for it to do.
    fn help<'s>(&'s self, scope: &'s Scope<'s, '_>, mut state: MutexGuard<'_, State<'a>>) {
        if state.jobs.is_empty() {
            return;
        }
        if state.idle > 0 {
            self.change.notify_one();
            return;
        }
        if state.threads >= self.most {
            return;
        }
        state.threads += 1;
        drop(state);
        let work = || self.work(scope, self.tour.hand(), None);
        let started = Builder::new()
            .name("search".to_owned())
            .spawn_scoped(scope, work);
        if let Err(error) = started {
            tracing::debug!(%error, "cannot start a search thread");
            self.state.lock().threads -= 1;
        }
    }

    fn stop(&self, stop: Stop) {
        self.state.lock().stop.get_or_insert(stop);
        self.change.notify_all();
    }
}

impl<'a> State<'a> {
    /// The part of `place` at `at`; its rest is another job.
    fn take(&mut self, place: Arc<Place<'a>>, at: usize) -> Part<'a> {
        let range = place.part(at);
        if let Some(first) = place.entry(range.end) {
            self.jobs.push(Job {
                first,
                place: Arc::clone(&place),
                at: range.end,
            });
        }
        Part {
            place,
            range,
            folder: None,
        }
    }
}

/// Ends the other threads when one panics, so that none waits for it.
struct Unwinding<'s, 't, 'a>(&'s Crew<'t, 'a>);

impl Drop for Unwinding<'_, '_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop(Stop::Done);
        }
    }
}
