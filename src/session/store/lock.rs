//! The lock by which one process at a time writes a log.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use crate::env::private::Place;

/// How often a taken lock is tried again, and after which pause.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// Takes the writer's lock. A process that is just being started holds copies of our files until it
/// runs its program, so that a log closed a moment ago can still look locked.
pub(super) fn lock(file: &File) -> bool {
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
    let file = Place::of(path).and_then(|place| place.read());
    file.is_ok_and(|file| !lock(&file))
}
