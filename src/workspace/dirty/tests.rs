use std::fs;

use tempfile::TempDir;

use super::*;
use crate::workspace::{ContentChange, Encoding, Uri, Workspace};

fn check(disk: &[u8], buffer: &str, same: bool) {
    assert_eq!(
        same_bytes(disk, &Rope::from_str(buffer)),
        same,
        "{disk:?} {buffer:?}"
    );
}

#[test]
fn encodings_that_editors_convert_are_the_same_text() {
    check(b"a\r\nb", "a\r\nb", true);
    check(b"a\r\nb", "a\nb", false);
    check(b"\xef\xbb\xbfab", "ab", true);
    check(b"\xef\xbb\xbfab", "\u{feff}ab", true);
    check(b"\xff\xfea\x00=\xd8\x00\xde", "a😀", true);
    check(b"\xfe\xff\x00a\xd8=\xde\x00", "a😀", true);
    check(b"\xff\xfea\x00b", "ab", false);
    check(b"caf\xe9", "café", true);
    check(b"caf\xe9", "cafe", false);
    check(b"", "", true);
}

/// B03: by comparison, never from events.
#[test]
fn dirty_is_what_differs_from_the_disk_now() {
    let dir = TempDir::new().expect("folder");
    let path = dir.path().join("a.rs");
    let uri = Uri::from_path(&path);
    let workspace = Workspace::new();
    let dirty = || workspace.dirty(&workspace.document(&uri).expect("open"));
    workspace.did_open(uri.clone(), "rust", 1, "text");
    assert!(dirty(), "no file yet");
    fs::write(&path, "text").expect("write");
    assert!(!dirty());
    assert!(!dirty());
    let change = |version, text: &str| {
        let text = text.to_owned();
        let changes = [ContentChange { range: None, text }];
        workspace.did_change(&uri, version, &changes, Encoding::Utf16);
    };
    change(2, "texT");
    assert!(dirty());
    fs::write(&path, "texT").expect("write");
    assert!(!dirty());
    fs::write(&path, "tex!").expect("write");
    assert!(dirty(), "changed behind the editor's back");
    change(3, "tex!");
    assert!(!dirty());
    fs::remove_file(&path).expect("remove");
    assert!(dirty());
    fs::create_dir(&path).expect("folder");
    assert!(dirty(), "a folder is no text");
}

#[test]
fn an_untitled_document_is_dirty() {
    let workspace = Workspace::new();
    let uri = Uri::new("untitled:1");
    workspace.did_open(uri.clone(), "text", 1, "");
    assert!(workspace.dirty(&workspace.document(&uri).expect("open")));
}

#[test]
fn a_known_verdict_holds_only_for_its_text_and_file() {
    let dir = TempDir::new().expect("folder");
    let path = dir.path().join("a.rs");
    fs::write(&path, "text").expect("write");
    let workspace = Workspace::new();
    let uri = Uri::from_path(&path);
    workspace.did_open(uri.clone(), "rust", 1, "text");
    let document = workspace.document(&uri).expect("open");
    let mut known = Verdict::compare(&path, &document, None).expect("a file");
    assert!(!known.dirty);
    // A wrong verdict shows whether it was used.
    known.dirty = true;
    let again = Verdict::compare(&path, &document, Some(&known)).expect("a file");
    assert!(again.dirty, "nothing moved: not compared again");
    let mut later = document.clone();
    later.revision.0 += 1;
    assert!(
        !Verdict::compare(&path, &later, Some(&known))
            .expect("a file")
            .dirty
    );
    fs::write(&path, "tex").expect("write");
    fs::write(&path, "text").expect("write");
    known.stamp.length += 1;
    assert!(
        !Verdict::compare(&path, &document, Some(&known))
            .expect("a file")
            .dirty
    );
}

/// A write within the same tick of the file system's clock must not be missed.
#[test]
fn a_verdict_on_a_file_written_just_now_is_not_remembered() {
    let dir = TempDir::new().expect("folder");
    let path = dir.path().join("a.rs");
    fs::write(&path, "text").expect("write");
    let workspace = Workspace::new();
    let uri = Uri::from_path(&path);
    workspace.did_open(uri.clone(), "rust", 1, "text");
    let document = workspace.document(&uri).expect("open");
    let verdict = || Verdict::compare(&path, &document, None).expect("a file");
    assert!(!verdict().settled());
    let old = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let file = fs::File::options().append(true).open(&path).expect("open");
    file.set_modified(old).expect("time");
    assert!(verdict().settled());
}
