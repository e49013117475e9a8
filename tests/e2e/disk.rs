//! The state of a file: what the editor shows against what is on disk, and who changed which.

use serde_json::Value;

use crate::editor::{Approval, Editor};
use crate::fixture::Stage;
use crate::model::{Model, Reply};
use crate::text::Splice;

const TEXT: &str = "//- /a.txt\nfirst line\nsecond line\nthird line\n";

/// An editor with the file open, after the server compared it with the disk.
fn opened(stage: &Stage, model: &Model) -> Editor {
    let mut editor = stage.editor(model);
    editor.open("a.txt");
    assert_eq!(state(&mut editor), "clean");
    editor
}

fn state(editor: &mut Editor) -> Value {
    editor.document("a.txt")["file"].clone()
}

/// The editor loads the file that changed on disk.
fn load(editor: &mut Editor, stage: &Stage) {
    let uri = editor.uri("a.txt");
    let end = editor.text("a.txt").len();
    let new = stage.read("a.txt");
    editor.change(&uri, &[Splice { start: 0, end, new }]);
    editor.flush_all();
}

fn edits() -> Model {
    Model::steps(vec![
        Reply::read("a.txt"),
        Reply::edit("a.txt", "third", "THIRD"),
    ])
}

#[test]
fn the_status_says_which_side_of_a_file_is_newer() {
    let (model, stage) = (Model::says("hello"), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    editor.replace("a.txt", "first", "1st");
    editor.flush_all();
    assert_eq!(state(&mut editor), "unsaved");
    editor.save("a.txt");
    assert_eq!(state(&mut editor), "clean");
    stage.write("a.txt", "1st line\n2nd line\nthird line\n");
    assert_eq!(state(&mut editor), "outdated");
    assert_eq!(editor.document("a.txt")["dirty"], false);
    editor.replace("a.txt", "third", "3rd");
    editor.flush_all();
    assert_eq!(state(&mut editor), "conflicting");
    load(&mut editor, &stage);
    assert_eq!(state(&mut editor), "clean");
    std::fs::remove_file(stage.path("a.txt")).unwrap();
    assert_eq!(state(&mut editor), "deleted");
    stage.write("a.txt", editor.text("a.txt"));
}

/// I10: an edit of a file that changed on disk waits until the editor has loaded it.
#[test]
fn an_edit_waits_for_the_editor_to_load_what_changed_on_disk() {
    let (model, stage) = (edits(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    stage.write("a.txt", "first line\nnew line\nsecond line\nthird line\n");
    editor.prompt("shout");
    editor.wait_event("the edit", |it| it["tool"] == "edit");
    load(&mut editor, &stage);
    editor.wait_ended();
    let text = "first line\nnew line\nsecond line\nTHIRD line\n";
    assert_eq!(editor.text("a.txt"), text);
    assert_eq!(state(&mut editor), "unsaved");
}

#[test]
fn an_older_text_is_never_edited() {
    let (model, stage) = (edits(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    stage.write("a.txt", "first line\nnew line\n");
    let turn = editor.run("shout");
    assert_eq!(turn.statuses(), ["completed", "failed"]);
    let result = model.last().result();
    assert!(result.contains("a.txt changed on disk"), "{result}");
    assert_eq!(editor.script.edits.len(), 0);
    load(&mut editor, &stage);
}

/// A save before a command would undo what changed on disk.
#[test]
fn a_buffer_that_is_older_than_its_file_is_not_saved_before_a_command() {
    let model = Model::steps(vec![Reply::exec("cat a.txt")]);
    let stage = Stage::new(TEXT);
    let mut editor = opened(&stage, &model);
    stage.write("a.txt", "from git\n");
    editor.approvals(&[Approval::Allow]);
    editor.run("look");
    assert_eq!(editor.script.saves.len(), 0);
    let result = model.last().result();
    assert!(result.contains("from git"), "{result}");
    assert!(!result.contains("unsaved"), "{result}");
    load(&mut editor, &stage);
}

#[test]
fn the_model_hears_who_changed_a_text_it_had_read() {
    let model = Model::steps(vec![Reply::read("a.txt")]);
    let stage = Stage::new(TEXT);
    let mut editor = opened(&stage, &model);
    editor.run("read");
    stage.write("a.txt", "first line\nsecond line\n");
    load(&mut editor, &stage);
    assert_eq!(state(&mut editor), "clean");
    editor.run("and now?");
    let prompt = model.last().raw_text();
    assert!(
        prompt.contains("Changed by another program, on disk:"),
        "{prompt}"
    );
}
