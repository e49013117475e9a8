use tempfile::TempDir;

use super::*;
use crate::workspace::text::{Position, Range};
use crate::workspace::{SyncState, uri::path_key};

fn range(start: (u32, u32), end: (u32, u32)) -> Option<Range> {
    let at = |(line, character)| Position { line, character };
    Some(Range {
        start: at(start),
        end: at(end),
    })
}

fn part(start: (u32, u32), end: (u32, u32), text: &str) -> ContentChange {
    ContentChange {
        range: range(start, end),
        text: text.to_owned(),
    }
}

fn full(text: &str) -> ContentChange {
    ContentChange {
        range: None,
        text: text.to_owned(),
    }
}

/// One open document `untitled:a` with version 1.
struct One {
    workspace: Arc<Workspace>,
    uri: Uri,
}

impl One {
    fn new(text: &str) -> Self {
        let one = Self {
            workspace: Workspace::new(),
            uri: Uri::new("untitled:a"),
        };
        one.workspace.did_open(one.uri.clone(), "rust", 1, text);
        one
    }

    fn change(&self, version: i32, changes: &[ContentChange]) -> &Self {
        self.workspace
            .did_change(&self.uri, version, changes, Encoding::Utf16);
        self
    }

    fn document(&self) -> Document {
        self.workspace.document(&self.uri).expect("open")
    }

    fn text(&self) -> String {
        self.document().rope.to_string()
    }

    /// The reason for being out of sync.
    fn lost(&self) -> String {
        match self.document().sync {
            SyncState::OutOfSync(reason) => reason,
            SyncState::InSync => panic!("in sync"),
        }
    }

    fn since(&self, revision: Revision) -> Option<Vec<(usize, String, String)>> {
        let changes = self.workspace.changes_since(&self.uri, revision)?;
        Some(
            changes
                .into_iter()
                .map(|change| (change.start, change.removed, change.inserted))
                .collect(),
        )
    }
}

fn record(start: usize, removed: &str, inserted: &str) -> (usize, String, String) {
    (start, removed.to_owned(), inserted.to_owned())
}

#[test]
fn changes_apply_in_order_and_versions_may_jump() {
    let one = One::new("fn a() {}\n");
    one.change(7, &[part((0, 3), (0, 4), "b"), part((0, 4), (0, 4), "c")]);
    one.change(43, &[part((1, 0), (1, 0), "// end")]);
    assert_eq!(one.text(), "fn bc() {}\n// end");
    assert_eq!(one.document().version, 43);
    assert_eq!(one.document().sync, SyncState::InSync);
}

/// Neovim's first didOpen.
#[test]
fn the_first_version_may_be_zero_or_negative() {
    let one = One::new("");
    for first in [0, -5] {
        one.workspace.did_open(one.uri.clone(), "rust", first, "a");
        one.change(first + 1, &[part((0, 1), (0, 1), "b")]);
        assert_eq!(one.text(), "ab");
        assert_eq!(one.document().sync, SyncState::InSync);
    }
}

/// E10.
#[test]
fn a_version_that_is_not_greater_is_out_of_sync_until_a_full_text_heals() {
    for version in [1, 0] {
        let one = One::new("abc");
        one.change(version, &[part((0, 0), (0, 1), "X")]);
        assert!(one.lost().contains(&format!("version {version}")));
        assert_eq!(one.text(), "abc", "stays readable");
        one.change(9, &[part((0, 0), (0, 1), "X")]);
        assert_eq!(one.text(), "abc", "nothing is applied while out of sync");
        one.change(10, &[full("xyz"), part((0, 3), (0, 3), "!")]);
        assert_eq!(one.text(), "xyz!");
        assert_eq!(one.document().sync, SyncState::InSync);
    }
}

/// E11.
#[test]
fn what_names_no_place_is_out_of_sync_and_changes_nothing() {
    let wrong = [
        part((9, 0), (9, 0), "x"),
        part((0, 0), (3, 1), "x"),
        part((0, 2), (0, 1), "x"),
        part((1, 0), (0, 0), "x"),
        part((0, 2), (0, 3), "x"),
    ];
    for change in wrong {
        let one = One::new("a😀\nb");
        one.change(2, &[part((1, 0), (1, 0), "kept back"), change]);
        assert!(!one.lost().is_empty());
        assert_eq!(one.text(), "a😀\nb");
        one.workspace.did_open(one.uri.clone(), "rust", 1, "new");
        assert_eq!(one.document().sync, SyncState::InSync);
        assert_eq!(one.text(), "new");
    }
}

#[test]
fn the_end_of_a_whole_document_replacement_may_lie_one_line_after_the_last() {
    let one = One::new("a\nb");
    one.change(2, &[part((0, 0), (2, 0), "a\nc")]);
    assert_eq!(one.text(), "a\nc");
    assert_eq!(one.document().sync, SyncState::InSync);
}

/// E10.
#[test]
fn a_change_without_open_is_shown_as_out_of_sync_and_a_full_text_opens_it() {
    let workspace = Workspace::new();
    let uri = Uri::new("untitled:never-opened");
    workspace.did_change(&uri, 3, &[part((0, 0), (0, 0), "x")], Encoding::Utf16);
    let document = workspace.documents().remove(0);
    assert_eq!((document.uri, document.opened), (uri.clone(), false));
    assert!(matches!(document.sync, SyncState::OutOfSync(_)));
    workspace.did_change(&uri, 4, &[full("text")], Encoding::Utf16);
    let document = workspace.document(&uri).expect("open");
    assert!(document.opened);
    assert_eq!(document.sync, SyncState::InSync);
    assert_eq!(document.rope, "text");
    workspace.did_close(&uri);
    assert!(workspace.documents().is_empty());
}

#[test]
fn incremental_changes_are_recorded_one_by_one_in_bytes() {
    let one = One::new("é\nabc\n");
    let start = one.document().revision;
    one.change(2, &[part((0, 1), (0, 1), "x"), part((1, 0), (1, 1), "")]);
    assert_eq!(
        one.since(start),
        Some(vec![record(2, "", "x"), record(4, "a", "")])
    );
    assert_eq!(one.since(one.document().revision), Some(vec![]));
}

#[test]
fn a_full_text_is_recorded_as_what_differs() {
    let one = One::new("one\r\ntwo\r\nthree\r\n");
    let start = one.document().revision;
    one.change(2, &[full("one\r\n2\r\nthree\r\n")]);
    assert_eq!(one.since(start), Some(vec![record(5, "two", "2")]));
    let second = one.document().revision;
    one.change(3, &[part((0, 0), (4, 0), "1\r\n2\r\nthree\r\n")]);
    assert_eq!(one.since(second), Some(vec![record(0, "one", "1")]));
    let third = one.document().revision;
    one.change(4, &[full("1\r\n2\r\nthree\r\n")]);
    assert_eq!(one.document().revision, third, "nothing changed");
    one.workspace
        .did_open(one.uri.clone(), "rust", 1, "1\r\n2\r\nfour\r\n");
    assert_eq!(one.since(third), Some(vec![record(6, "three", "four")]));
}

#[test]
fn the_ring_forgets_and_says_so() {
    let one = One::new("");
    let mut revisions = vec![one.document().revision];
    let piece = "x".repeat(512 * 1024);
    for version in 2..12 {
        one.change(version, &[part((0, 0), (0, 0), &piece)]);
        revisions.push(one.document().revision);
    }
    assert_eq!(one.since(revisions[0]), None);
    assert_eq!(one.since(revisions[2]), None);
    assert_eq!(
        one.since(revisions[3]).map(|changes| changes.len()),
        Some(7)
    );
    assert_eq!(one.since(Revision(0)), None, "from disk");
    let future = Revision(one.document().revision.0 + 1);
    assert_eq!(one.since(future), None, "not of this document");
}

/// The record is bounded in bytes, not in the number of changes.
#[test]
fn thousands_of_small_changes_are_remembered() {
    let one = One::new("");
    let start = one.document().revision;
    let burst: Vec<_> = (0..5_000).map(|_| part((0, 0), (0, 0), "x")).collect();
    one.change(2, &burst);
    assert_eq!(one.since(start).map(|changes| changes.len()), Some(5_000));
}

#[test]
fn a_huge_change_is_not_remembered() {
    let one = One::new("a");
    let start = one.document().revision;
    one.change(2, &[part((0, 0), (0, 0), &"x".repeat(1024 * 1024 + 1))]);
    assert_eq!(one.since(start), None);
    let after = one.document().revision;
    one.change(3, &[part((0, 0), (0, 0), "y")]);
    assert_eq!(one.since(after), Some(vec![record(0, "", "y")]));
}

#[test]
fn closing_forgets_changes_and_revisions_are_never_reused() {
    let one = One::new("a");
    let start = one.document().revision;
    one.change(2, &[part((0, 0), (0, 0), "x")]);
    let last = one.document().revision;
    one.workspace.did_close(&one.uri);
    assert!(one.workspace.document(&one.uri).is_none());
    assert_eq!(one.since(start), None);
    one.workspace.did_open(one.uri.clone(), "rust", 1, "a");
    assert!(one.document().revision > last);
    assert_eq!(one.since(start), None);
}

#[test]
fn attributed_changes_have_their_author_and_mark_the_document() {
    let one = One::new("");
    let start = one.document().revision;
    one.change(2, &[part((0, 0), (0, 0), "a")]);
    let middle = one.document().revision;
    one.change(3, &[part((0, 0), (0, 0), "b")]);
    assert!(!one.document().agent_touched);
    let session = Author::Session("s_1".to_owned());
    let last = one.document().revision;
    one.workspace
        .attribute(&one.uri, middle, last, session.clone());
    let changes = one.workspace.changes_since(&one.uri, start).expect("kept");
    let authors: Vec<_> = changes.into_iter().map(|change| change.author).collect();
    assert_eq!(authors, [Author::User, session]);
    assert!(one.document().agent_touched);
}

#[test]
fn a_saved_text_that_differs_proves_the_mirror_wrong() {
    let one = One::new("a");
    one.workspace.did_save(&one.uri, Some("a"));
    one.workspace.did_save(&one.uri, None);
    assert_eq!(one.document().sync, SyncState::InSync);
    one.workspace.did_save(&one.uri, Some("b"));
    assert!(one.lost().contains("saved"));
}

#[test]
fn signals_count_and_work_before_the_document_is_open() {
    let workspace = Workspace::new();
    let uri = Uri::new("untitled:later");
    let mut signals = workspace.watch(&uri);
    assert!(!signals.has_changed().expect("alive"));
    workspace.did_open(uri.clone(), "text", 1, "");
    assert_eq!(*signals.borrow_and_update(), 1);
    workspace.did_change(&uri, 2, &[full("x")], Encoding::Utf16);
    workspace.did_save(&uri, None);
    workspace.did_close(&uri);
    assert_eq!(*signals.borrow_and_update(), 4);
    workspace.did_open(Uri::new("untitled:other"), "text", 1, "");
    assert!(!signals.has_changed().expect("alive"));
}

#[tokio::test]
async fn waiting_for_a_version_ends_when_it_or_a_later_one_comes() {
    let workspace = Workspace::new();
    let uri = Uri::new("untitled:later");
    let long = Duration::from_secs(30);
    let (arrived, ()) = tokio::join!(workspace.wait_for_version(&uri, 5, long), async {
        workspace.did_open(uri.clone(), "text", 1, "");
        tokio::task::yield_now().await;
        workspace.did_change(&uri, 7, &[full("x")], Encoding::Utf16);
    });
    assert!(arrived);
    assert!(!workspace.wait_for_version(&uri, 8, Duration::ZERO).await);
}

#[test]
fn a_file_uri_without_a_path_is_not_mirrored() {
    let workspace = Workspace::new();
    for text in ["file://", "file:///", "file:", ""] {
        let uri = Uri::new(text);
        workspace.did_open(uri.clone(), "text", 0, "x");
        workspace.did_change(&uri, 5, &[full("y")], Encoding::Utf16);
        assert!(workspace.documents().is_empty(), "{text}");
    }
}

/// B10, B11: one document per file, answered with the client's own spelling.
#[test]
fn every_spelling_of_a_file_is_one_document() {
    let dir = TempDir::new().expect("folder");
    let base = dir.path().canonicalize().expect("canonical");
    std::fs::create_dir(base.join("real")).expect("folder");
    std::fs::write(base.join("real/a b.rs"), "x").expect("file");
    std::os::unix::fs::symlink(base.join("real"), base.join("link")).expect("link");
    let workspace = Workspace::new();
    let uri = Uri::new(format!("file://{}/link/a%20b.rs", base.display()));
    workspace.did_open(uri.clone(), "rust", 1, "x");
    for spelling in [
        format!("file://{}/real/a%20b.rs", base.display()),
        format!("file://{}/real/%61%20b.rs", base.display()),
        format!("file://localhost{}/link/../real/./a%20b.rs", base.display()),
        base.join("real/a b.rs").display().to_string(),
    ] {
        let document = workspace.document(&Uri::new(spelling)).expect("same");
        assert_eq!(document.uri, uri);
        assert_eq!(document.key, path_key(&base.join("real/a b.rs")));
    }
    let other = Uri::new(format!("file://{}/real/a%20b.rs", base.display()));
    workspace.did_change(&other, 2, &[full("xy")], Encoding::Utf16);
    assert_eq!(workspace.document(&uri).expect("open").rope, "xy");
    workspace.did_close(&other);
    assert!(workspace.documents().is_empty());
}

/// With two buffers on one file, the later one is mirrored, and changes of the other are never
/// applied to its text.
#[test]
fn two_buffers_on_one_file_are_never_mixed() {
    let dir = TempDir::new().expect("folder");
    let base = dir.path().canonicalize().expect("canonical");
    std::fs::write(base.join("a"), "").expect("file");
    std::os::unix::fs::symlink(base.join("a"), base.join("b")).expect("link");
    let [first, second] = ["a", "b"].map(|name| Uri::from_path(&base.join(name)));
    let workspace = Workspace::new();
    workspace.did_open(first.clone(), "text", 1, "first");
    workspace.did_open(second.clone(), "text", 1, "second");
    assert_eq!(workspace.documents().len(), 1);
    workspace.did_change(&second, 2, &[part((0, 0), (0, 1), "S")], Encoding::Utf16);
    assert_eq!(workspace.document(&first).expect("open").rope, "Second");
    workspace.did_change(&first, 9, &[part((0, 0), (0, 1), "F")], Encoding::Utf16);
    let document = workspace.document(&first).expect("open");
    assert_eq!(document.rope, "Second");
    assert!(matches!(document.sync, SyncState::OutOfSync(_)));
    workspace.did_close(&second);
    let document = workspace.document(&first).expect("still one buffer");
    assert_eq!(document.uri, first);
    workspace.did_change(&first, 10, &[full("First")], Encoding::Utf16);
    let document = workspace.document(&first).expect("open");
    assert_eq!(
        (document.rope, document.sync),
        ("First".into(), SyncState::InSync)
    );
    workspace.did_close(&first);
    assert!(workspace.documents().is_empty());
}

/// INV-1: the key of an open document is known without asking the file system.
#[test]
fn a_change_does_not_ask_the_file_system() {
    let dir = TempDir::new().expect("folder");
    let base = dir.path().canonicalize().expect("canonical");
    std::fs::create_dir(base.join("real")).expect("folder");
    std::fs::write(base.join("real/a"), "").expect("file");
    std::os::unix::fs::symlink(base.join("real"), base.join("link")).expect("link");
    let uri = Uri::from_path(&base.join("link/a"));
    let workspace = Workspace::new();
    workspace.did_open(uri.clone(), "text", 1, "");
    let key = workspace.key(&uri);
    std::fs::remove_dir_all(&base).expect("removed");
    assert_ne!(uri.key(), key, "the file system answers otherwise by now");
    workspace.did_change(&uri, 2, &[part((0, 0), (0, 0), "x")], Encoding::Utf16);
    assert_eq!(workspace.document_by_key(&key).expect("open").rope, "x");
    workspace.did_close(&uri);
    assert!(workspace.documents().is_empty());
}

/// B10: a hard link stands in for a file system that ignores case.
#[test]
fn case_variants_are_one_document_where_they_are_one_file() {
    let dir = TempDir::new().expect("folder");
    let base = dir.path().canonicalize().expect("canonical");
    for name in ["one.rs", "two.rs", "TWO.rs"] {
        std::fs::write(base.join(name), "").expect("file");
    }
    if !base.join("ONE.rs").exists() {
        std::fs::hard_link(base.join("one.rs"), base.join("ONE.rs")).expect("link");
    }
    let workspace = Workspace::new();
    let uri = |name: &str| Uri::from_path(&base.join(name));
    workspace.did_open(uri("one.rs"), "rust", 1, "text");
    workspace.did_open(uri("two.rs"), "rust", 1, "text");
    let found = workspace.document(&uri("ONE.rs")).expect("same file");
    assert_eq!(found.uri, uri("one.rs"));
    let other = workspace.document(&uri("TWO.rs"));
    let same = super::same_file(&base.join("two.rs"), &base.join("TWO.rs"));
    assert_eq!(other.is_some(), same);
}

#[test]
fn documents_that_cannot_be_edited_are_mirrored_and_never_dirty() {
    let workspace = Workspace::new();
    for text in [
        "git:/w/a.rs?x",
        "output:tasks",
        "vscode-userdata:/settings.json",
    ] {
        let uri = Uri::new(text);
        workspace.did_open(uri.clone(), "text", 1, "x");
        let document = workspace.document(&uri).expect("mirrored");
        assert!(uri.read_only());
        assert!(!workspace.dirty(&document));
    }
    for text in ["untitled:a", "file:///a", "vscode-remote://ssh/a"] {
        assert!(!Uri::new(text).read_only(), "{text}");
    }
}

#[test]
fn the_innermost_root_is_the_paths_root() {
    let dir = TempDir::new().expect("folder");
    let base = dir.path().canonicalize().expect("canonical");
    for name in ["repo/inner/src", "repo-evil"] {
        std::fs::create_dir_all(base.join(name)).expect("folder");
    }
    let workspace = Workspace::new();
    let root = |name: &str| Root::new(Uri::from_path(&base.join(name)), None).expect("root");
    workspace.set_roots(vec![root("repo"), root("repo/inner")]);
    let name = |path: &str| workspace.root_for(&base.join(path)).map(|root| root.name);
    assert_eq!(name("repo/a/b.rs").as_deref(), Some("repo"));
    assert_eq!(name("repo/inner/src").as_deref(), Some("inner"));
    assert_eq!(name("repo").as_deref(), Some("repo"));
    // A12.
    assert_eq!(name("repo-evil/x"), None);
    assert_eq!(name("repo/../repo-evil"), None);
}

#[test]
fn a_comparison_is_remembered_only_when_the_file_has_settled() {
    let dir = TempDir::new().expect("folder");
    let path = dir.path().join("a.rs");
    std::fs::write(&path, "text").expect("write");
    let workspace = Workspace::new();
    let uri = Uri::from_path(&path);
    workspace.did_open(uri.clone(), "rust", 1, "text");
    let document = workspace.document(&uri).expect("open");
    assert!(!workspace.dirty(&document));
    assert!(
        workspace.state.lock().verdicts.is_empty(),
        "written just now"
    );
    let old = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let file = std::fs::File::options().append(true).open(&path);
    file.expect("open").set_modified(old).expect("time");
    assert!(!workspace.dirty(&document));
    assert!(workspace.state.lock().verdicts.contains_key(&document.key));
    workspace.did_close(&uri);
    assert!(workspace.state.lock().verdicts.is_empty());
}
