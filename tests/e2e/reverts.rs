//! Reverts: exact, beside the user's own typing, after a restart, and never where the text is no
//! longer the agent's.

use serde_json::{Value, json};

use crate::editor::{Editor, Profile};
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};

const TEXT: &str = "//- /a.txt\none\ntwo\nthree\n//- /b.txt\nalpha\nbeta\n";

/// One turn that changes both files.
fn model() -> Model {
    Model::steps(vec![
        Reply::read("a.txt").and_call("read", json!({ "path": "b.txt" })),
        Reply::edit("a.txt", "two", "the second line"),
        Reply::edit("b.txt", "beta", "the letter beta"),
    ])
}

fn revert(editor: &mut Editor, more: Value) -> Value {
    let mut params = more;
    params["sessionId"] = editor.session().into();
    editor.request("interline/turn/revert", params)
}

fn opened(stage: &Stage, model: &Model) -> Editor {
    let mut editor = stage.editor(model);
    editor.open("a.txt");
    editor.open("b.txt");
    editor
}

#[test]
fn the_last_turn_is_reverted_and_restored() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    editor.run("rename");
    let preview = revert(&mut editor, json!({ "preview": true }));
    assert!(
        preview["files"][0]["diff"]
            .as_str()
            .unwrap()
            .contains("+two")
    );
    assert_eq!(editor.text("a.txt"), "one\nthe second line\nthree\n");
    let reverted = revert(&mut editor, json!({}));
    assert_eq!(reverted["files"][0]["conflicts"], json!([]));
    assert_eq!(reverted["files"][1]["added"], 1);
    assert_eq!(editor.text("a.txt"), "one\ntwo\nthree\n");
    assert_eq!(editor.text("b.txt"), "alpha\nbeta\n");
    let item = reverted["itemId"].clone();
    revert(&mut editor, json!({ "itemId": item }));
    assert_eq!(editor.text("a.txt"), "one\nthe second line\nthree\n");
    assert_eq!(editor.text("b.txt"), "alpha\nthe letter beta\n");
}

/// INV-4: only text that is still the agent's is reverted.
#[test]
fn the_users_typing_stays_and_what_was_changed_since_is_a_conflict() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    editor.run("rename");
    editor.prepend("a.txt", "mine\n");
    editor.replace("b.txt", "letter", "greek letter");
    editor.flush_all();
    let reverted = revert(&mut editor, json!({}));
    assert_eq!(editor.text("a.txt"), "mine\none\ntwo\nthree\n");
    assert_eq!(editor.text("b.txt"), "alpha\nthe greek letter beta\n");
    let conflicts = &reverted["files"][1]["conflicts"];
    assert_eq!(conflicts, &json!(["line 2: the text has changed since"]));
}

#[test]
fn a_revert_works_after_a_restart_from_the_log_alone() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    let session = editor.session();
    editor.run("rename");
    editor.save("a.txt");
    editor.save("b.txt");
    drop(editor);
    let mut editor = opened(&stage, &model);
    editor.resume(&session);
    editor.prepend("a.txt", "mine\n");
    editor.flush_all();
    let only = json!([editor.uri("a.txt")]);
    revert(&mut editor, json!({ "uris": only }));
    assert_eq!(editor.text("a.txt"), "mine\none\ntwo\nthree\n");
    assert_eq!(editor.text("b.txt"), "alpha\nthe letter beta\n");
    drop(editor);
    // A later process informs the model, too.
    let mut editor = opened(&stage, &model);
    editor.resume(&session);
    editor.run("and now?");
    let prompt = model.last().user_text();
    assert!(
        prompt.contains("in these files since your last answer: a.txt."),
        "{prompt}"
    );
}

#[test]
fn the_model_hears_of_a_revert_and_a_running_turn_keeps_its_changes() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |request| match request.n {
        0 => Reply::read("a.txt"),
        1 => Reply::edit("a.txt", "two", "the second line"),
        2 => Reply::text("done").after(&held),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(TEXT);
    let mut editor = opened(&stage, &model);
    editor.prompt("rename");
    editor.until_asked(&model, 3);
    let params = json!({ "sessionId": editor.session() });
    let error = editor.refused("interline/turn/revert", params);
    assert_eq!(error["data"]["kind"], "busy");
    gate.open();
    editor.wait_ended();
    revert(&mut editor, json!({}));
    editor.run("and now?");
    let request_text = model.last().user_text();
    assert!(
        request_text.contains("-the second line\n+two"),
        "{request_text}"
    );
    assert!(
        request_text.contains("reverted changes of yours in these files"),
        "{request_text}"
    );
}

#[test]
fn a_revert_without_changes_says_so_and_does_nothing() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = opened(&stage, &model);
    let session = editor.session();
    let ask = |more: Value| {
        let mut params = more;
        params["sessionId"] = session.clone().into();
        params
    };
    let kinds = [
        (json!({}), "invalid"),
        (json!({ "turnId": "never" }), "unknownTurn"),
        (json!({ "itemId": "never" }), "invalid"),
        (json!({ "hunkIds": ["h"] }), "invalid"),
    ];
    for (more, kind) in kinds {
        let error = editor.refused("interline/turn/revert", ask(more));
        assert_eq!(error["data"]["kind"], kind);
    }
    editor.run("rename");
    revert(&mut editor, json!({}));
    // A second revert by accident reverts nothing else.
    let error = editor.refused("interline/turn/revert", ask(json!({})));
    assert_eq!(error["data"]["kind"], "invalid");
}

/// A file that the turn created is deleted by the editor, and created again when that is reverted.
#[test]
fn a_file_that_the_turn_made_is_deleted_and_comes_back() {
    let model = Model::calls("write", json!({ "path": "new.txt", "content": "hello\n" }));
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.run("make it");
    let reverted = revert(&mut editor, json!({}));
    assert_eq!(reverted["files"][0]["deleted"], true, "{reverted}");
    assert_eq!(reverted["files"][0]["conflicts"], json!([]));
    assert!(!stage.path("new.txt").exists());
    revert(&mut editor, json!({ "itemId": reverted["itemId"] }));
    assert_eq!(editor.text("new.txt"), "hello\n");
}

#[test]
fn a_file_that_the_turn_made_stays_with_the_users_text() {
    let model = Model::calls("write", json!({ "path": "new.txt", "content": "hello\n" }));
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.run("make it");
    editor.prepend("new.txt", "mine\n");
    let reverted = revert(&mut editor, json!({}));
    assert_eq!(reverted["files"][0].get("deleted"), None, "{reverted}");
    assert!(editor.text("new.txt").starts_with("mine\n"));
    assert!(stage.path("new.txt").exists());
}

#[test]
fn an_editor_that_cannot_delete_reports_the_empty_file() {
    let model = Model::calls("write", json!({ "path": "new.txt", "content": "hello\n" }));
    let stage = Stage::new(TEXT);
    let profile = Profile::eglot().captured("eglot 1.17").without_plugin();
    let mut editor = stage.launch(&model).profile(profile).start();
    let uri = editor.open("a.txt");
    editor.command("ask", json!({ "text": "make it", "uri": uri }));
    editor.message("interline.approve");
    editor.command("approve", json!({}));
    editor.message("Changed: ");
    editor.command("revert", json!({}));
    editor.message("it is now empty");
}

/// Clients without our methods revert by command and show the outcome as a message.
#[test]
fn a_bare_client_reverts_the_last_turn_by_command() {
    for profile in [Profile::bare(), Profile::bare().delayed(150)] {
        let (model, stage) = (model(), Stage::new(TEXT));
        let mut editor = stage.launch(&model).profile(profile).start();
        let uri = editor.open("a.txt");
        editor.open("b.txt");
        editor.command("ask", json!({ "text": "rename", "uri": uri }));
        editor.message("Changed: ");
        editor.command("revert", json!({}));
        let shown_message = editor.message("Interline reverted");
        assert!(shown_message.contains("a.txt (+1 −1)"), "{shown_message}");
        assert_eq!(editor.text("a.txt"), "one\ntwo\nthree\n");
        assert_eq!(editor.text("b.txt"), "alpha\nbeta\n");
    }
}

/// A file in which nothing could be reverted is named with the reason, not among the reverted.
#[test]
fn a_bare_client_sees_which_files_a_revert_left_alone() {
    let (model, stage) = (model(), Stage::new(TEXT));
    let mut editor = stage.launch(&model).profile(Profile::bare()).start();
    let uri = editor.open("a.txt");
    editor.open("b.txt");
    editor.command("ask", json!({ "text": "rename", "uri": uri }));
    editor.message("Changed: ");
    editor.replace("b.txt", "letter", "greek letter");
    editor.flush_all();
    editor.command("revert", json!({}));
    let message = editor.message("b.txt: line 2");
    assert!(message.contains("a.txt (+1 −1)"), "{message}");
    assert!(!message.contains("b.txt (+"), "{message}");
    assert_eq!(editor.text("b.txt"), "alpha\nthe greek letter beta\n");
}

/// A file in which lines were only added, or only removed, is named too.
#[test]
fn the_model_learns_of_each_reverted_file() {
    let (first, second) = (
        Reply::edit("a.txt", "two\n", "two\nnew\n"),
        Reply::edit("b.txt", "beta\n", ""),
    );
    let model = Model::start(move |request| match request.n {
        0 => Reply::read("a.txt").and_call("read", json!({ "path": "b.txt" })),
        1 => first.clone(),
        2 => second.clone(),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(TEXT);
    let mut editor = opened(&stage, &model);
    editor.run("rename");
    assert_eq!(editor.text("b.txt"), "alpha\n");
    revert(&mut editor, json!({}));
    editor.run("and now?");
    let prompt = model.last().user_text();
    let note = prompt.split("The user reverted changes of yours").nth(1);
    let note = note.expect("a note").lines().next().unwrap();
    assert!(note.contains("a.txt") && note.contains("b.txt"), "{note}");
}
