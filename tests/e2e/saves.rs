//! `edits.saveAfter`, and formatters that change a text when it is saved.

use serde_json::{Value, json};

use crate::editor::{Editor, Profile, Reaction};
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};

const TEXT: &str = "//- /a.txt\nlet one = 1\nlet two = 2\nlet three = 3\nlet four = 4\n";

fn model() -> Model {
    Model::steps(vec![
        Reply::read("a.txt"),
        Reply::edit("a.txt", "one = 1", "first=eleven"),
        Reply::edit("a.txt", "four = 4", "last=many"),
    ])
}

/// Edits the file; the answer after that waits for the gate.
fn held_after_an_edit() -> (Gate, Model) {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |request| match request.n {
        0 => Reply::read("a.txt"),
        1 => Reply::edit("a.txt", "one = 1", "first=eleven"),
        2 => Reply::text("ok").after(&held),
        _ => Reply::text("ok"),
    });
    (gate, model)
}

fn editor_with(stage: &Stage, model: &Model, save_after: &str) -> Editor {
    let config = stage.folder("config/interline/config.toml");
    std::fs::write(config, format!("edits.saveAfter = \"{save_after}\"\n")).unwrap();
    let mut editor = stage.editor(model);
    editor.open("a.txt");
    editor
}

/// Puts blanks around `=`.
fn blanks(text: &str) -> String {
    text.replace(" = ", "=").replace('=', " = ")
}

fn hunks(editor: &mut Editor) -> Vec<Value> {
    let params = json!({ "sessionId": editor.session() });
    let listed = editor.request("interline/review/list", params);
    listed["hunks"].as_array().unwrap().clone()
}

#[test]
fn what_a_turn_changed_is_saved_once_when_it_ends() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = editor_with(&stage, &model, "always");
    editor.run("change");
    assert_eq!(editor.script.saves.len(), 1);
    assert_eq!(stage.read("a.txt"), editor.text("a.txt"));
    assert!(stage.read("a.txt").contains("first=eleven"));
    assert_eq!(editor.document("a.txt")["dirty"], false);
    assert_eq!(editor.document("a.txt")["file"], "clean");
}

#[test]
fn a_file_that_another_program_changed_is_not_saved_but_reported() {
    let (gate, model) = held_after_an_edit();
    let stage = Stage::new(TEXT);
    let mut editor = editor_with(&stage, &model, "always");
    editor.prompt("change");
    editor.until_asked(&model, 3);
    stage.write("a.txt", "theirs\n");
    gate.open();
    let turn = editor.wait_ended();
    let notice = turn.of("notice").last().unwrap()["text"].to_string();
    assert!(
        notice.contains("Not saved: a.txt, because another program"),
        "{notice}"
    );
    assert_eq!(stage.read("a.txt"), "theirs\n");
    assert_eq!(editor.script.saves.len(), 0);
}

#[test]
fn a_file_that_cannot_be_saved_is_reported() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = editor_with(&stage, &model, "always");
    editor.script.declines_saving = true;
    let turn = editor.run("change");
    let notice = turn.of("notice").last().unwrap()["text"].clone();
    assert_eq!(
        notice,
        "Not saved: a.txt (the disk is full). Save it in the editor."
    );
}

#[test]
fn nothing_is_saved_by_default() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = editor_with(&stage, &model, "never");
    editor.run("change");
    assert_eq!(editor.script.saves.len(), 0);
}

#[test]
fn a_cancelled_turn_saves_nothing() {
    let (gate, model) = held_after_an_edit();
    let stage = Stage::new(TEXT);
    let mut editor = editor_with(&stage, &model, "always");
    editor.prompt("change");
    editor.until_asked(&model, 3);
    editor.cancel();
    editor.wait_ended();
    gate.open();
    assert_eq!(editor.script.saves.len(), 0);
    assert!(editor.text("a.txt").contains("first=eleven"));
}

#[test]
fn a_cancelled_turn_does_not_ask_to_save() {
    let (gate, model) = held_after_an_edit();
    let stage = Stage::new(TEXT);
    let mut editor = editor_with(&stage, &model, "ask");
    editor.prompt("change");
    editor.until_asked(&model, 3);
    editor.cancel();
    editor.wait_ended();
    gate.open();
    editor.run("and now?");
    assert_eq!(editor.script.questions.len(), 0);
}

#[test]
fn the_user_is_asked_once_after_the_turn_and_saves() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = editor_with(&stage, &model, "ask");
    editor.reactions(&[Reaction::Says("Save")]);
    editor.run("change");
    editor.until("the file to be saved", |editor| {
        (stage.read("a.txt") == editor.text("a.txt")).then_some(())
    });
    assert_eq!(editor.script.questions.len(), 1);
    let question = &editor.script.questions[0]["question"];
    assert_eq!(question, "Save what this turn changed: a.txt?");
}

#[test]
fn a_folder_can_not_have_files_saved() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let launch = stage.launch(&model);
    let mut editor = launch
        .setting("edits", json!({ "saveAfter": "always" }))
        .start();
    editor.open("a.txt");
    editor.run("change");
    assert_eq!(editor.script.saves.len(), 0);
}

/// I4, and the user's own text stays: format-on-save is no conflict.
#[test]
fn a_formatter_at_the_save_is_no_conflict_with_a_review() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = editor_with(&stage, &model, "always");
    editor.script.formatter = Some(blanks);
    editor.run("change");
    assert!(editor.text("a.txt").contains("let first = eleven\n"));
    let listed = editor.until("the formatted changes", |editor| {
        let listed = hunks(editor);
        (listed.len() == 2 && listed[0]["author"] == "formatter").then_some(listed)
    });
    assert_eq!(listed[0]["state"], "applied");
    assert_eq!(listed[0]["before"], "one = 1");
    let decisions = json!([{ "hunkId": listed[0]["hunkId"], "decision": "reject" }]);
    let params = json!({ "sessionId": editor.session(), "decisions": decisions });
    let decided = editor.request("interline/review/decide", params);
    assert_eq!(decided["results"][0]["status"], "done", "{decided}");
    assert!(editor.text("a.txt").starts_with("let one = 1\nlet two"));
    let session = editor.session();
    editor.request("interline/turn/revert", json!({ "sessionId": session }));
    assert_eq!(editor.text("a.txt"), TEXT.split_once('\n').unwrap().1);
}

#[test]
fn the_model_hears_that_a_formatter_changed_its_text() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = editor_with(&stage, &model, "always");
    editor.script.formatter = Some(blanks);
    editor.run("change");
    editor.run("and now?");
    let prompt = model.last().raw_text();
    let who = "Changed by a formatter, when the file was saved:";
    assert!(prompt.contains(who), "{prompt}");
}

/// The user saves, and the editor formats: the same, also after a restart.
#[test]
fn a_formatted_change_is_reviewed_after_a_restart() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = editor_with(&stage, &model, "never");
    editor.run("change");
    editor.script.formatter = Some(blanks);
    editor.save("a.txt");
    editor.until("the formatted changes", |editor| {
        (hunks(editor)[0]["author"] == "formatter").then_some(())
    });
    let session = editor.session();
    drop(editor);
    let mut editor = editor_with(&stage, &model, "never");
    editor.resume(&session);
    assert_eq!(hunks(&mut editor)[1]["author"], "formatter");
    editor.request("interline/turn/revert", json!({ "sessionId": session }));
    assert_eq!(editor.text("a.txt"), TEXT.split_once('\n').unwrap().1);
}

/// What the user typed just before saving is the user's.
#[test]
fn typing_before_a_save_is_not_taken_for_a_formatter() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = editor_with(&stage, &model, "never");
    editor.run("change");
    editor.replace("a.txt", "eleven", "twelve");
    editor.save("a.txt");
    editor.settle();
    let listed = hunks(&mut editor);
    assert_eq!(
        (&listed[0]["author"], &listed[0]["state"]),
        (&json!("user"), &json!("amended"))
    );
}

/// A bare client without saving learns which files are unsaved.
#[test]
fn a_client_that_cannot_save_hears_which_files_are_unsaved() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let config = stage.folder("config/interline/config.toml");
    std::fs::write(config, "edits.saveAfter = \"always\"\n").unwrap();
    let mut editor = stage.launch(&model).profile(Profile::bare()).start();
    let uri = editor.open("a.txt");
    editor.command("ask", json!({ "text": "change", "uri": uri }));
    let message = editor.message("Changed: ");
    assert!(message.contains("Unsaved: "), "{message}");
}
