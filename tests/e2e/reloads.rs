//! Files that commands and other programs change while they are open.

use serde_json::json;

use crate::editor::{Approval, Profile};
use crate::fixture::Stage;
use crate::model::{Model, Reply};
use crate::patches;

const TEXT: &str = "//- /a.txt\none\ntwo\n";

/// Reads the file, rewrites it by a command, edits it; with the next prompt, reads and edits it.
fn rewriting() -> Model {
    Model::start(|request| match request.n {
        0 | 4 => Reply::read("a.txt"),
        1 => Reply::exec("sed -i s/two/2/ a.txt"),
        2 | 5 => Reply::edit("a.txt", "one", "1"),
        _ => Reply::text(&request.result()),
    })
}

#[test]
fn a_file_that_a_command_rewrites_is_reloaded_and_edited_as_it_is_now() {
    let model = Model::steps(vec![
        Reply::read("a.txt"),
        Reply::exec("sed -i s/two/2/ a.txt"),
        Reply::read("a.txt"),
        Reply::edit("a.txt", "one\n2", "1\n2"),
    ]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.script.reloads = true;
    editor.open("a.txt");
    editor.approvals(&[Approval::Allow]);
    let turn = editor.run("shorten");
    assert_eq!(turn.statuses(), ["completed"; 4], "{}", turn.text());
    let words = "the editor has reloaded them: a.txt";
    assert!(model.request(2).result().contains(words));
    assert_eq!(editor.text("a.txt"), "1\n2\n");
}

/// B03: the older text is never edited as if it were current, whether the client can be asked to
/// reload it or not.
#[test]
fn a_text_that_the_editor_did_not_reload_is_not_edited() {
    for profile in [Profile::rich(), Profile::plain()] {
        let (model, stage) = (rewriting(), Stage::new(TEXT));
        let mut editor = stage.launch(&model).profile(profile).start();
        editor.open("a.txt");
        editor.approvals(&[Approval::Allow]);
        let turn = editor.run("shorten");
        assert_eq!(turn.statuses(), ["completed", "completed", "failed"]);
        let words = "still shows their older text: a.txt";
        assert!(model.request(2).result().contains(words));
        assert!(
            turn.text()
                .contains("the editor still shows the older text"),
            "{}",
            turn.text()
        );
        assert_eq!(editor.text("a.txt"), "one\ntwo\n");
        editor.reload("a.txt");
        assert_eq!(editor.run("again").statuses(), ["completed"; 2]);
        assert_eq!(editor.text("a.txt"), "1\n2\n");
    }
}

#[test]
fn what_the_user_typed_is_not_outdated_when_the_file_changes_below_it() {
    let edit = Reply::edit("a.txt", "one", "1");
    let model = Model::steps(vec![Reply::read("a.txt"), edit]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.open("a.txt");
    editor.append(&stage.uri("a.txt"), "three\n");
    stage.write("a.txt", "other\n");
    let turn = editor.run("shorten");
    assert_eq!(turn.statuses(), ["completed"; 2], "{}", turn.text());
    assert_eq!(editor.text("a.txt"), "1\ntwo\nthree\n");
}

/// A change of a file that was never read in the conversation is made on its current text, or the
/// refusal shows that text.
#[test]
fn an_unread_file_is_shown_with_the_refusal_of_a_change() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n-three\n+3\n*** End Patch";
    for (tool, input) in [
        (
            "edit",
            json!({ "path": "a.txt", "old_string": "three", "new_string": "3" }),
        ),
        ("write", json!({ "path": "a.txt", "content": "three\n" })),
        ("apply_patch", json!({ "input": patch })),
    ] {
        let model = Model::calls(tool, input);
        let stage = patches::stage(TEXT);
        let mut editor = stage.editor(&model);
        let turn = editor.run("shorten");
        assert_eq!(turn.statuses(), ["failed"], "{tool}");
        let shown = "a.txt reads:\n1\tone\n2\ttwo";
        assert!(turn.text().contains(shown), "{tool}: {}", turn.text());
        assert_eq!(stage.read("a.txt"), "one\ntwo\n", "{tool}");
    }
}
