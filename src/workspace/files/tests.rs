use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::workspace::beneath::locate;
use crate::workspace::{ContentChange, Encoding, Root, Uri};

struct Place {
    _dir: TempDir,
    base: PathBuf,
    repo: PathBuf,
    workspace: Arc<Workspace>,
}

impl Place {
    fn new() -> Self {
        let dir = TempDir::new().expect("folder");
        let base = dir.path().canonicalize().expect("canonical");
        let repo = base.join("repo");
        fs::create_dir(&repo).expect("folder");
        let workspace = Workspace::new();
        let root = Root::new(Uri::from_path(&repo), None).expect("a folder");
        workspace.set_roots(vec![root]);
        Self {
            _dir: dir,
            base,
            repo,
            workspace,
        }
    }

    fn locate(&self, name: &str) -> Located {
        locate(&self.workspace, &self.repo, name).expect(name)
    }

    fn read(&self, name: &str) -> Result<Content, FileError> {
        read(&self.workspace, &self.locate(name))
    }

    fn write(&self, name: &str, expected: Option<&str>, text: &str) -> Result<(), FileError> {
        let expected = expected.map(|text| rope_hash(&Rope::from_str(text)));
        write(
            &self.workspace,
            &self.locate(name),
            expected.as_deref(),
            &Rope::from_str(text),
        )
    }

    /// Replaces `text` (`None`: nothing) at `name`, asking `still_closed` at the last moment.
    fn replace(
        &self,
        name: &str,
        (expected, text): (Option<&str>, &str),
        still_closed: &dyn Fn() -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        let expected = expected.map(|text| rope_hash(&Rope::from_str(text)));
        let job = replace::Job {
            shape: None,
            expected: expected.as_deref(),
            text: &Rope::from_str(text),
            still_closed,
            leftovers: None,
        };
        job.replace(&self.repo, Path::new(name))
    }

    fn disk(&self, name: &str) -> Vec<u8> {
        fs::read(self.repo.join(name)).expect(name)
    }

    /// Names in the root: no temporary file may stay.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.repo).expect("folder");
        let mut names: Vec<_> = entries
            .map(|entry| {
                entry
                    .expect("entry")
                    .file_name()
                    .into_string()
                    .expect("name")
            })
            .collect();
        names.sort();
        names
    }
}

#[test]
fn the_hash_is_the_one_of_the_whole_text() {
    let text = "añ😀\r\n".repeat(5000);
    let hash = crate::conversation::sha256(text.as_bytes());
    assert_eq!(rope_hash(&Rope::from_str(&text)), hash);
}

/// INV-2.
#[test]
fn an_open_document_is_read_from_its_buffer() {
    let place = Place::new();
    fs::write(place.repo.join("a"), "\u{feff}disk").expect("file");
    let content = place.read("a").expect("text");
    assert_eq!((content.rope, content.bom), ("disk".into(), true));
    assert_eq!(
        (content.source, content.revision),
        (Source::Disk, Revision(0))
    );

    let uri = Uri::from_path(&place.repo.join("a"));
    place.workspace.did_open(uri.clone(), "text", 4, "disk");
    let content = place.read("a").expect("text");
    let clean = Source::Buffer {
        version: 4,
        dirty: false,
    };
    assert_eq!((content.source, content.bom), (clean, true));
    let text = "unsaved".to_owned();
    let changes = [ContentChange { range: None, text }];
    place
        .workspace
        .did_change(&uri, 9, &changes, Encoding::Utf16);
    let content = place.read("a").expect("text");
    let dirty = Source::Buffer {
        version: 9,
        dirty: true,
    };
    assert_eq!((content.rope, content.source), ("unsaved".into(), dirty));
    let document = place.workspace.document(&uri).expect("open");
    assert_eq!(content.revision, document.revision);
    place.workspace.did_close(&uri);
    assert_eq!(place.read("a").expect("text").rope, "disk");
}

/// E10: neither a stale text from disk nor an empty one is presented as the editor's.
#[test]
fn a_document_whose_text_is_unknown_is_not_read() {
    let place = Place::new();
    fs::write(place.repo.join("a"), "disk").expect("file");
    let uri = Uri::from_path(&place.repo.join("a"));
    place.workspace.did_change(&uri, 9, &[], Encoding::Utf16);
    assert!(matches!(place.read("a"), Err(FileError::OutOfSync(_))));
}

/// B05, B08.
#[test]
fn what_is_no_text_is_refused_by_its_kind() {
    let place = Place::new();
    fs::write(place.repo.join("latin"), b"caf\xe9").expect("file");
    fs::write(place.repo.join("utf16"), b"\xff\xfea\x00").expect("file");
    fs::write(place.repo.join("nul"), b"a\x00b").expect("file");
    for name in ["latin", "utf16", "nul"] {
        assert!(
            matches!(place.read(name), Err(FileError::NotText)),
            "{name}"
        );
    }
    super::super::beneath::tests::fifo(&place.repo.join("pipe"));
    assert!(matches!(place.read("pipe"), Err(FileError::Special)));
    assert!(matches!(place.read("."), Err(FileError::Directory)));
    assert!(matches!(place.read("missing"), Err(FileError::Missing)));
    let large = fs::File::create(place.repo.join("large")).expect("file");
    large.set_len(LIMIT + 1).expect("sparse");
    let bytes = LIMIT + 1;
    assert!(matches!(place.read("large"), Err(FileError::TooLarge { bytes: b, .. }) if b == bytes));
}

/// Policy decides about places outside the roots; reading them works.
#[test]
fn a_place_outside_the_roots_is_read_and_never_written() {
    let place = Place::new();
    fs::write(place.base.join("other"), "text").expect("file");
    assert_eq!(place.read("../other").expect("text").rope, "text");
    let result = place.write("../other", Some("text"), "new");
    assert!(matches!(result, Err(FileError::Escaped)));
    let result = place.write("../fresh", None, "new");
    assert!(matches!(result, Err(FileError::Escaped)));
    assert!(!place.base.join("fresh").exists());
}

#[test]
fn a_file_is_replaced_with_its_mode_and_mark() {
    let place = Place::new();
    let path = place.repo.join("run");
    fs::write(&path, "\u{feff}old\r\n").expect("file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o754)).expect("mode");
    let before = fs::metadata(&path).expect("file");
    place
        .write("run", Some("old\r\n"), "new\r\n")
        .expect("written");
    let after = fs::metadata(&path).expect("file");
    assert_eq!(place.disk("run"), "\u{feff}new\r\n".as_bytes());
    assert_eq!(after.mode(), before.mode());
    assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
    assert_ne!(
        after.ino(),
        before.ino(),
        "a rename, never a half-written file"
    );
    assert_eq!(place.names(), ["run"]);
}

#[test]
fn a_new_file_gets_its_folders() {
    let place = Place::new();
    place.write("a/b/c.rs", None, "new").expect("written");
    assert_eq!(place.disk("a/b/c.rs"), b"new");
    let reference = place.repo.join("reference");
    fs::write(&reference, "").expect("file");
    let mode = |path: &Path| fs::metadata(path).expect("file").mode();
    assert_eq!(
        mode(&place.repo.join("a/b/c.rs")),
        mode(&reference),
        "the umask's"
    );
}

/// I03: a refused write changes nothing, not even the time of the file.
#[test]
fn a_text_that_is_not_the_expected_one_is_left_alone() {
    let place = Place::new();
    fs::write(place.repo.join("a"), "present").expect("file");
    let before = fs::metadata(place.repo.join("a")).expect("file");
    for expected in [Some("other"), None] {
        let result = place.write("a", expected, "new");
        assert!(matches!(result, Err(FileError::Changed)), "{expected:?}");
    }
    let result = place.write("gone", Some("text"), "new");
    assert!(matches!(result, Err(FileError::Changed)));
    let result = place.write("new/gone", Some("text"), "new");
    assert!(matches!(result, Err(FileError::Changed)));
    let after = fs::metadata(place.repo.join("a")).expect("file");
    assert_eq!(place.disk("a"), b"present");
    assert_eq!(
        (after.mtime_nsec(), after.ino()),
        (before.mtime_nsec(), before.ino())
    );
    assert_eq!(place.names(), ["a"], "no temporary file, no empty folder");
}

/// INV-2, also when the editor opens the file at the last moment.
#[test]
fn a_file_that_the_editor_has_open_is_not_written() {
    let place = Place::new();
    fs::write(place.repo.join("a"), "text").expect("file");
    let uri = Uri::from_path(&place.repo.join("a"));
    place.workspace.did_open(uri.clone(), "text", 1, "text");
    let result = place.write("a", Some("text"), "new");
    assert!(matches!(result, Err(FileError::Open)));
    let asked = std::cell::Cell::new(0);
    let late = || {
        asked.set(asked.get() + 1);
        Err(FileError::Open)
    };
    let result = place.replace("a", (Some("text"), "new"), &late);
    assert!(matches!(result, Err(FileError::Open)));
    assert_eq!(asked.get(), 1, "asked after the temporary file was written");
    assert_eq!(place.disk("a"), b"text");
    assert_eq!(place.names(), ["a"]);
}

/// The last check is made just before the rename.
#[test]
fn a_change_while_the_new_text_is_written_is_seen() {
    let place = Place::new();
    let path = place.repo.join("a");
    fs::write(&path, "text").expect("file");
    let meddle = || {
        fs::write(&path, "theirs").expect("file");
        Ok(())
    };
    let result = place.replace("a", (Some("text"), "ours"), &meddle);
    assert!(matches!(result, Err(FileError::Changed)));
    assert_eq!(place.disk("a"), b"theirs");
    let create = || {
        fs::write(place.repo.join("b"), "theirs").expect("file");
        Ok(())
    };
    let result = place.replace("b", (None, "ours"), &create);
    assert!(matches!(result, Err(FileError::Changed)));
    assert_eq!(place.disk("b"), b"theirs");
    assert_eq!(place.names(), ["a", "b"]);
}

/// R25: the folder is locked from the last check to the rename, and only then.
#[test]
fn a_folder_is_locked_from_the_check_to_the_rename() {
    use rustix::fs::{FlockOperation, flock};
    let place = Place::new();
    fs::write(place.repo.join("a"), "text").expect("file");
    let locked = || {
        let folder = File::open(&place.repo).expect("folder");
        flock(&folder, FlockOperation::NonBlockingLockExclusive).is_err()
    };
    let check = || {
        assert!(locked());
        Ok(())
    };
    let result = place.replace("a", (Some("text"), "new"), &check);
    assert!(result.is_ok() && !locked(), "{result:?}");
}

/// R25: like two processes, which share only the folder.
#[test]
fn two_writers_of_one_file_lose_nothing_that_they_call_done() {
    let place = Place::new();
    fs::write(place.repo.join("a"), "").expect("file");
    let add = |word: &str| {
        let mut done = 0;
        for _ in 0..300 {
            let present = String::from_utf8(place.disk("a")).expect("text");
            let new = format!("{present}{word}");
            match place.replace("a", (Some(&present), &new), &|| Ok(())) {
                Ok(()) => done += 1,
                Err(FileError::Changed) => {}
                Err(error) => panic!("{error}"),
            }
        }
        done
    };
    let done = std::thread::scope(|scope| {
        let other = scope.spawn(|| add("x"));
        let own: usize = add("y");
        own + other.join().expect("the other one")
    });
    assert_eq!(place.disk("a").len(), done);
}

/// A13, A15, B05, B06.
#[test]
fn links_special_and_read_only_files_are_not_written() {
    let place = Place::new();
    fs::write(place.base.join("outside"), "text").expect("file");
    fs::hard_link(place.base.join("outside"), place.repo.join("hard")).expect("link");
    let result = place.write("hard", Some("text"), "new");
    assert!(matches!(result, Err(FileError::HardLinked { links: 2 })));
    fs::write(place.repo.join("fixed"), "text").expect("file");
    let mode = fs::Permissions::from_mode(0o444);
    fs::set_permissions(place.repo.join("fixed"), mode).expect("mode");
    let result = place.write("fixed", Some("text"), "new");
    assert!(matches!(result, Err(FileError::ReadOnly)));
    super::super::beneath::tests::fifo(&place.repo.join("pipe"));
    let result = place.write("pipe", Some("text"), "new");
    assert!(matches!(result, Err(FileError::Special)));
    assert!(matches!(
        place.write(".", None, "new"),
        Err(FileError::Directory)
    ));

    // Located first, then replaced.
    let located = place.locate("swapped");
    symlink(place.base.join("outside"), place.repo.join("swapped")).expect("link");
    for expected in [None, Some(rope_hash(&Rope::from_str("text")))] {
        let result = write(
            &place.workspace,
            &located,
            expected.as_deref(),
            &"new".into(),
        );
        assert!(matches!(result, Err(FileError::Escaped)));
    }
    let located = place.locate("dir/a");
    fs::create_dir(place.base.join("elsewhere")).expect("folder");
    symlink(place.base.join("elsewhere"), place.repo.join("dir")).expect("link");
    let result = write(&place.workspace, &located, None, &"new".into());
    assert!(matches!(result, Err(FileError::Escaped)));
    assert!(!place.base.join("elsewhere/a").exists());
    assert_eq!(fs::read(place.base.join("outside")).expect("file"), b"text");
    let result = place.write("fixed/a", None, "new");
    assert!(
        matches!(result, Err(FileError::Special)),
        "a file is no folder"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// B09, I07: what was read and is written back is the same bytes.
    #[test]
    fn reading_and_writing_back_keeps_every_byte(
        words in proptest::collection::vec(
            prop_oneof![Just("a "), Just("\n"), Just("\r\n"), Just("\r"), Just("é"), Just("😀"), Just("\u{2028}")],
            0..40,
        ),
        mark in any::<bool>(),
    ) {
        let place = Place::new();
        let bytes = format!("{}{}", if mark { "\u{feff}" } else { "" }, words.concat());
        fs::write(place.repo.join("a"), &bytes).expect("file");
        let content = place.read("a").expect("text");
        let located = place.locate("a");
        write(&place.workspace, &located, Some(&content.hash()), &content.rope).expect("written");
        prop_assert_eq!(place.disk("a"), bytes.as_bytes());
    }
}
