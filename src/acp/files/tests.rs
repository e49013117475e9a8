//! When a client's text is trusted over the disk's.

use super::*;
use crate::workspace::{Root, Uri};

struct Desk {
    files: ClientFiles,
    _folder: tempfile::TempDir,
    file: Located,
}

fn desk(text: &str) -> Desk {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("a.txt");
    std::fs::write(&path, text).unwrap();
    let workspace = Workspace::new();
    let root = Root::new(Uri::from_path(folder.path()), None).unwrap();
    workspace.set_roots(vec![root]);
    let file = beneath::locate_path(&workspace, &path);
    let (peer, _transport) = crate::rpc::channel();
    Desk {
        files: ClientFiles::new(peer, workspace),
        _folder: folder,
        file,
    }
}

impl Desk {
    fn clean(&self, client: &str, disk: Option<&str>) -> bool {
        let disk = disk.map(Rope::from_str);
        let shown = self
            .files
            .compare(&self.file.key(), client.to_owned(), disk);
        shown.clean
    }
}

#[test]
fn a_buffer_that_the_disk_overtook_is_stale_and_an_edited_one_is_not() {
    let desk = desk("one\n");
    assert!(desk.clean("one\n", Some("one\n")));
    assert!(desk.clean("one\n", Some("ONE\n")), "a command changed it");
    assert!(desk.clean("one\n", Some("ONE\n")), "still");
    assert!(!desk.clean("one two\n", Some("ONE\n")), "the user typed");
    assert!(!desk.clean("one two\n", Some("OTHER\n")), "it was dirty");
}

#[test]
fn line_ends_alone_are_no_change() {
    let desk = desk("one\r\n");
    assert!(desk.clean("one\ntwo\n", Some("one\r\ntwo\r\n")));
    assert!(!desk.clean("one\n", None), "there is no file");
}

#[test]
fn a_file_that_the_client_cannot_read_goes_to_disk() {
    let desk = desk("x\n");
    assert!(desk.files.takes(&desk.file));
    desk.files.state.lock().closed.insert(desk.file.key());
    assert!(!desk.files.takes(&desk.file));
    desk.clean("x\n", Some("x\n"));
    assert!(desk.files.takes(&desk.file), "it can now");
}

#[test]
fn paths_are_spelled_as_the_client_spells_its_folder() {
    let desk = desk("x\n");
    let outside = beneath::locate_path(&desk.files.workspace, std::path::Path::new("/etc/hosts"));
    assert_eq!(desk.files.path(&outside), None);
    let path = desk.files.path(&desk.file).unwrap();
    assert!(path.ends_with("/a.txt"), "{path}");
}

proptest::proptest! {
    /// Edits at positions give the text that the offsets give.
    #[test]
    fn edits_by_position_are_edits_by_offset(text in "[a-zé\n\r]{0,40}", at in 0usize..40, len in 0usize..10, new in "[x\n]{0,5}") {
        use crate::workspace::text::position;
        let rope = Rope::from_str(&text);
        let edge = |n: usize| (0..=n.min(text.len())).rev().find(|n| text.is_char_boundary(*n)).unwrap_or(0);
        let (start, end) = (edge(at), edge(at + len));
        let split = |n: usize| n > 0 && n < text.len() && text[..n].ends_with('\r') && text[n..].starts_with('\n');
        proptest::prop_assume!(!split(start) && !split(end));
        let range = crate::workspace::Range {
            start: position(&rope, start, Encoding::Utf8),
            end: position(&rope, end, Encoding::Utf8),
        };
        let edit = TextEdit { range, new_text: new.clone() };
        let wanted = format!("{}{new}{}", &text[..start], &text[end..]);
        proptest::prop_assert_eq!(patched(&rope, &[edit]).map(String::from), Some(wanted));
    }
}

/// A client that never answers reads causes the long wait once, whatever the number of files.
#[test]
fn a_client_that_never_answers_is_waited_for_once() {
    let mut state = State::default();
    assert_eq!(state.patience(), WAIT);
    state.heard(&Err(RpcError::Deadline));
    assert_eq!(state.patience(), AGAIN);
    state.heard(&Err(RpcError::Deadline));
    assert_eq!(state.patience(), AGAIN, "still silent");
    let code = -32002;
    let message = "no such file".to_owned();
    state.heard(&Err(RpcError::Answered { code, message }));
    assert_eq!(state.patience(), WAIT, "an error is an answer");
}
