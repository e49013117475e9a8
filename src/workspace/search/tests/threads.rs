//! Several threads find what one thread finds, and all of them stop.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;

use proptest::prelude::*;

use super::*;
use crate::workspace::beneath::Folder;

/// Counts the questions, and does something at one of them.
struct Counts<'a> {
    asked: AtomicUsize,
    at: usize,
    then: &'a (dyn Fn() + Sync),
}

impl<'a> Counts<'a> {
    fn new(at: usize, then: &'a (dyn Fn() + Sync)) -> Self {
        let asked = AtomicUsize::new(0);
        Self { asked, at, then }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Visibility for Counts<'_> {
    fn visible(&self, _: &Path) -> bool {
        if self.asked.fetch_add(1, Ordering::SeqCst) + 1 == self.at {
            (self.then)();
        }
        true
    }
}

/// `folders` folders with `files` files each; each file has two lines that match `x`.
fn many(folders: usize, files: usize) -> Place {
    let place = Place::new(&[]);
    for folder in 0..folders {
        let path = place.repo.join(format!("{folder:03}"));
        fs::create_dir(&path).expect("folder");
        for file in 0..files {
            fs::write(path.join(format!("{file:03}")), "x\n-\nx\n").expect("file");
        }
    }
    place
}

impl Place {
    fn threads(&self, threads: usize) -> Bounds<'_> {
        Bounds {
            threads,
            ..self.bounds()
        }
    }

    fn grep_with(&self, cap: usize, visible: &dyn Visibility, threads: usize) -> Matches {
        let query = Query { cap, ..query("x") };
        let folder = self.locate(".");
        let bounds = self.threads(threads);
        grep(&self.workspace, &folder, &query, visible, &bounds).expect("searched")
    }

    fn glob_with(&self, cap: usize, threads: usize) -> Found {
        let folder = self.locate(".");
        let bounds = self.threads(threads);
        glob(&self.workspace, &folder, "*", &All, cap, &bounds).expect("found")
    }
}

#[test]
fn many_threads_give_the_first_results_in_path_order() {
    let place = many(12, 150);
    fs::File::create(place.repo.join("005/007"))
        .and_then(|file| file.set_len(files_limit() + 1))
        .expect("a file that is skipped");
    place.open("003/0005", "x in a new document");
    place.open("004/005", "x in a changed document");
    let all = place.grep_with(usize::MAX, &All, 1);
    assert_eq!(all.lines.len(), 2 * (12 * 150 - 2) + 2);
    assert_eq!((all.skipped, all.capped), (1, false));
    let mut sorted = all.lines.clone();
    sorted.sort_by(|a, b| (&a.path, a.number).cmp(&(&b.path, b.number)));
    assert_eq!(all.lines, sorted);
    for cap in [
        0, 1, 2, 299, 300, 301, 901, 902, 1516, 1517, 3597, 3598, 3599,
    ] {
        let one = place.grep_with(cap, &All, 1);
        assert_eq!(one.lines, all.lines[..cap.min(all.lines.len())], "{cap}");
        assert_eq!(one.capped, cap < all.lines.len(), "{cap}");
        // The skipped file's neighbours have the lines 1513 to 1516.
        assert_eq!(one.skipped, usize::from(cap >= 1514), "{cap}");
        assert_eq!(place.grep_with(cap, &All, 4), one, "{cap}");
        let found = place.glob_with(cap, 1);
        assert_eq!(found.paths.len(), cap.min(12 * 150 + 1), "{cap}");
        assert_eq!(place.glob_with(cap, 4), found, "{cap}");
    }
}

#[test]
fn a_full_result_ends_the_search() {
    let place = many(20, 200);
    let nothing = Counts::new(0, &|| {});
    let found = place.grep_with(10, &nothing, 1);
    assert!(found.capped);
    assert_eq!(
        nothing.asked(),
        1 + 6,
        "the folder, and files with 11 lines"
    );
}

#[test]
fn a_cancelled_search_ends_all_its_threads() {
    let place = many(20, 100);
    let cancel = || place.cancel.store(true, Ordering::SeqCst);
    let counts = Counts::new(50, &cancel);
    let folder = place.locate(".");
    let bounds = place.threads(4);
    let result = grep(&place.workspace, &folder, &query("none"), &counts, &bounds);
    assert!(matches!(result, Err(SearchError::Cancelled)));
    assert!(counts.asked() < 50 + 4, "{}", counts.asked());
}

#[test]
fn a_thread_that_panics_ends_the_search() {
    let place = many(20, 100);
    for threads in [1, 4] {
        let counts = Counts::new(500, &|| panic!("as the test wants"));
        let search = || place.grep_with(usize::MAX, &counts, threads);
        assert!(catch_unwind(AssertUnwindSafe(search)).is_err());
    }
}

/// The files of a search that finds nothing are asked about once each.
#[test]
fn each_entry_is_visited_once() {
    let place = many(30, 70);
    let seen = parking_lot::Mutex::new(HashSet::new());
    let counts = Twice(&seen);
    let query = query("none");
    let folder = place.locate(".");
    let bounds = place.threads(8);
    grep(&place.workspace, &folder, &query, &counts, &bounds).expect("searched");
    assert_eq!(seen.lock().len(), 30 + 30 * 70);
}

struct Twice<'a>(&'a parking_lot::Mutex<HashSet<PathBuf>>);

impl Visibility for Twice<'_> {
    fn visible(&self, path: &Path) -> bool {
        assert!(self.0.lock().insert(path.to_owned()), "{}", path.display());
        true
    }
}

/// Deeper than one call may name, and than folders stay open; each folder has an entry after its
/// subfolder.
#[test]
fn a_path_that_is_longer_than_any_call_takes_is_searched() {
    let place = Place::new(&[]);
    let long = "d".repeat(200);
    let mut folder = Folder::open(&place.repo, Path::new("")).expect("folder");
    for _ in 0..60 {
        folder = folder.private(long.as_ref()).expect("folder");
        folder.replace("e".as_ref(), b"x\n").expect("file");
    }
    for threads in [1, 4] {
        assert_eq!(place.glob_with(99, threads).paths.len(), 60);
        assert_eq!(place.grep_with(99, &All, threads).lines.len(), 60);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_number_of_threads_changes_nothing(
        tree in same_as_ripgrep::tree(),
        open in prop::collection::vec(prop::sample::select(vec!["a/x", "b/build/x", "c.log", "a"]), 0..3),
        cap in 0_usize..12,
    ) {
        let place = Place::new(&[]);
        for (name, text) in &tree {
            let path = place.repo.join(name);
            if fs::create_dir_all(path.parent().expect("parent")).is_ok() {
                let _ = fs::write(path, format!("{text}x\n"));
            }
        }
        for name in open {
            place.open(name, "x\nx\n");
        }
        let all = place.grep_with(usize::MAX, &All, 1);
        let one = place.grep_with(cap, &All, 1);
        prop_assert_eq!(&one.lines, &all.lines[..cap.min(all.lines.len())]);
        prop_assert_eq!(place.grep_with(cap, &All, 3), one);
        let found = place.glob_with(cap, 1);
        prop_assert_eq!(place.glob_with(cap, 3), found);
    }
}
