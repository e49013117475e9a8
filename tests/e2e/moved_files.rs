//! `apply_patch` moves a file: everything but its place and its changed lines stays as it was.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::editor::{Editor, Profile};
use crate::fixture::Stage;
use crate::model::{Model, Reply};
use crate::patches;

const MOVE: &str = "*** Begin Patch\n*** Update File: run.sh\n*** Move to: bin/go.sh\n@@\n-echo two\n\
                    +echo 2\n*** End Patch";
const SCRIPT: &str = "#!/bin/sh\necho one\necho two\n";
const MOVED: &str = "#!/bin/sh\necho one\necho 2\n";

fn model() -> Model {
    let patch = Reply::call("apply_patch", json!({ "input": MOVE }));
    Model::steps(vec![Reply::read("run.sh"), patch])
}

/// A workspace whose only file has these bytes and permissions.
fn stage(bytes: &str, mode: u32) -> Stage {
    let stage = patches::stage("//- /run.sh\n\n");
    let path = stage.path("run.sh");
    std::fs::write(&path, bytes).expect("written");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("a mode");
    stage
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path)
        .expect("a file")
        .permissions()
        .mode()
        & 0o7777
}

fn revert(editor: &mut Editor, item: Option<&str>) -> String {
    let params = json!({ "sessionId": editor.session(), "itemId": item });
    let reverted = editor.request("interline/turn/revert", params);
    reverted["itemId"].as_str().expect("an item").to_owned()
}

#[test]
fn a_moved_executable_stays_executable_also_after_a_revert_and_its_revert() {
    let (model, stage) = (model(), stage(SCRIPT, 0o755));
    let (old, new) = (stage.path("run.sh"), stage.path("bin/go.sh"));
    let mut editor = stage.editor(&model);
    let turn = editor.run("move it");
    assert_eq!(turn.statuses(), ["completed"; 2], "{}", turn.text());
    assert_eq!((stage.read("bin/go.sh"), mode(&new)), (MOVED.into(), 0o755));
    assert!(!old.exists());
    let item = revert(&mut editor, None);
    assert_eq!((stage.read("run.sh"), mode(&old)), (SCRIPT.into(), 0o755));
    assert!(!new.exists());
    revert(&mut editor, Some(&item));
    assert_eq!((stage.read("bin/go.sh"), mode(&new)), (MOVED.into(), 0o755));
    assert!(!old.exists());
}

#[test]
fn a_moved_file_keeps_its_byte_order_mark_and_its_line_ends() {
    let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let (model, stage) = (model(), stage(&windows(SCRIPT), 0o644));
    let mut editor = stage.editor(&model);
    let turn = editor.run("move it");
    assert_eq!(turn.statuses(), ["completed"; 2], "{}", turn.text());
    assert_eq!(stage.read("bin/go.sh"), windows(MOVED));
    revert(&mut editor, None);
    assert_eq!(stage.read("run.sh"), windows(SCRIPT));
}

/// The unsaved text moves, with what the file has besides it.
#[test]
fn an_open_executable_with_unsaved_text_moves_as_it_is() {
    let (model, stage) = (model(), stage(SCRIPT, 0o700));
    let mut editor = stage.editor(&model);
    editor.open("run.sh");
    editor.replace("run.sh", "one", "1");
    let turn = editor.run("move it");
    assert_eq!(turn.statuses(), ["completed"; 2], "{}", turn.text());
    assert_eq!(stage.read("bin/go.sh"), MOVED.replace("one", "1"));
    assert_eq!(mode(&stage.path("bin/go.sh")), 0o700);
    assert!(!stage.path("run.sh").exists());
}

/// Otherwise the text would be nowhere on disk until the user saves.
#[test]
fn the_new_file_of_a_move_is_saved_before_the_old_one_is_deleted() {
    let (model, stage) = (model(), stage(SCRIPT, 0o644));
    let mut editor = stage.editor(&model);
    let turn = editor.run("move it");
    assert_eq!(turn.statuses(), ["completed"; 2], "{}", turn.text());
    assert_eq!(stage.read("bin/go.sh"), MOVED);
    assert_eq!(editor.text("bin/go.sh"), MOVED);
    assert!(!stage.path("run.sh").exists());
}

/// A usual file is created by the editor, in a buffer that the user can undo.
#[test]
fn a_usual_file_is_moved_by_the_editor() {
    let (model, stage) = (model(), stage(SCRIPT, 0o644));
    let mut editor = stage.launch(&model).profile(Profile::plain()).start();
    editor.run("move it");
    assert_eq!(editor.text("bin/go.sh"), MOVED);
    assert!(!stage.path("run.sh").exists());
}

/// Without an editor's buffers the file is written as it was, too.
#[test]
fn a_file_moved_on_disk_keeps_its_permissions_and_its_byte_order_mark() {
    let (model, stage) = (model(), stage(&format!("\u{feff}{SCRIPT}"), 0o750));
    let closed = json!({ "closedFiles": "disk" });
    let mut editor = stage.launch(&model).user_setting("edits", closed).start();
    let turn = editor.run("move it");
    assert_eq!(turn.statuses(), ["completed"; 2], "{}", turn.text());
    assert_eq!(stage.read("bin/go.sh"), format!("\u{feff}{MOVED}"));
    assert_eq!(mode(&stage.path("bin/go.sh")), 0o750);
}
