//! Edits of open, unsaved and closed files: the user's keys, the file's bytes, conflicts.

use serde_json::json;

use crate::editor::Profile;
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};
use crate::patches;

#[test]
fn an_unsaved_open_buffer_is_read_and_edited() {
    let model = Model::start(|request| match request.step() {
        0 => Reply::read("a.rs"),
        1 if request.result().contains("let unsaved = 2;") => {
            Reply::edit("a.rs", "unsaved = 2", "unsaved = 3")
        }
        1 => Reply::text("the read showed another text"),
        _ => Reply::text("done"),
    });
    let stage = Stage::new("//- /a.rs\nlet saved = 1;\n");
    let mut editor = stage.editor(&model);
    editor.open("a.rs");
    editor.replace("a.rs", "let saved = 1;", "let unsaved = 2;");
    let turn = editor.run("raise it");
    assert_eq!(turn.text(), "done");
    assert_eq!(editor.text("a.rs"), "let unsaved = 3;\n");
    assert_eq!(stage.read("a.rs"), "let saved = 1;\n");
    assert_eq!(turn.ended["files"][0]["uri"], stage.uri("a.rs"));
}

#[test]
fn a_closed_file_is_edited_through_the_editor_and_stays_unsaved() {
    let model = Model::edits("src/b.rs", "old", "new");
    let stage = Stage::new("//- /src/b.rs\nfn old() {}\n");
    let mut editor = stage.editor(&model);
    let turn = editor.run("rename it");
    assert_eq!(turn.statuses(), ["completed", "completed"]);
    assert_eq!(editor.text("src/b.rs"), "fn new() {}\n");
    assert_eq!(stage.read("src/b.rs"), "fn old() {}\n");
}

#[test]
fn line_ends_a_byte_order_mark_and_a_missing_final_newline_stay() {
    let model = Model::edits("a.txt", "two\nthree", "2\n2½\n3");
    let stage = Stage::new("");
    stage.write("a.txt", "\u{feff}one\r\ntwo\r\nthree\r\nfour");
    let mut editor = stage.editor(&model);
    editor.open("a.txt");
    editor.run("shorten");
    assert_eq!(editor.text("a.txt"), "one\r\n2\r\n2½\r\n3\r\nfour");
    editor.save("a.txt");
    assert_eq!(stage.read("a.txt"), "\u{feff}one\r\n2\r\n2½\r\n3\r\nfour");
}

#[test]
fn an_edit_is_minimal_and_one_undo_step() {
    let model = Model::edits("a.txt", "alpha\nbeta\ngamma", "alpha\nBETA\ngamma");
    let stage = Stage::new("//- /a.txt\nalpha\nbeta\ngamma\n");
    let mut editor = stage.launch(&model).profile(Profile::plain()).start();
    editor.open("a.txt");
    editor.run("shout");
    let change = &editor.script.edits[0]["edit"]["documentChanges"][0];
    assert_eq!(change["textDocument"]["version"], 1);
    let start = &change["edits"][0]["range"]["start"];
    assert_eq!(start["line"], 1, "{change}");
    editor.undo("a.txt");
    assert_eq!(editor.text("a.txt"), "alpha\nbeta\ngamma\n");
}

#[test]
fn typing_elsewhere_between_read_and_edit_is_kept() {
    let gate = Gate::default();
    let edit = Reply::edit("a.txt", "two", "2").after(&gate);
    let model = Model::steps(vec![Reply::read("a.txt"), edit]);
    let stage = Stage::new("//- /a.txt\none\ntwo\nthree\n");
    let mut editor = stage.editor(&model);
    editor.open("a.txt");
    editor.prompt("shorten");
    editor.until_asked(&model, 2);
    editor.replace("a.txt", "one\n", "one\nand a half 😀\n");
    editor.settle();
    gate.open();
    assert_eq!(editor.wait_ended().statuses(), ["completed", "completed"]);
    assert_eq!(editor.text("a.txt"), "one\nand a half 😀\n2\nthree\n");
}

#[test]
fn typing_after_the_edit_was_sent_is_kept() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new("//- /a.txt\none\ntwo\nthree\n");
    let mut editor = stage.editor(&model);
    editor.open("a.txt");
    editor.before_edit(|editor| editor.prepend("a.txt", "zero\n"));
    assert_eq!(editor.run("shorten").statuses(), ["completed", "completed"]);
    assert_eq!(editor.text("a.txt"), "zero\none\n2\nthree\n");
}

#[test]
fn typing_into_the_edited_place_is_a_conflict_that_changes_nothing() {
    let gate = Gate::default();
    let edit = Reply::edit("a.txt", "two", "2").after(&gate);
    let model = Model::steps(vec![Reply::read("a.txt"), edit]);
    let stage = Stage::new("//- /a.txt\none\ntwo\nthree\n");
    let mut editor = stage.editor(&model);
    editor.open("a.txt");
    editor.prompt("shorten");
    editor.until_asked(&model, 2);
    editor.replace("a.txt", "two", "twenty-two");
    editor.settle();
    gate.open();
    let turn = editor.wait_ended();
    assert_eq!(turn.statuses(), ["completed", "failed"]);
    assert_eq!(editor.text("a.txt"), "one\ntwenty-two\nthree\n");
    assert!(
        turn.text().contains("twenty-two"),
        "fresh text: {}",
        turn.text()
    );
}

#[test]
fn a_text_that_is_absent_or_twice_there_changes_nothing() {
    let ambiguous = Reply::edit("a.txt", "x", "y").and_call(
        "edit",
        json!({ "path": "a.txt", "old_string": "absent", "new_string": "y" }),
    );
    let model = Model::steps(vec![Reply::read("a.txt"), ambiguous]);
    let stage = Stage::new("//- /a.txt\nx\nx\n");
    let mut editor = stage.editor(&model);
    editor.open("a.txt");
    let turn = editor.run("go");
    assert_eq!(turn.statuses(), ["completed", "failed", "failed"]);
    assert_eq!(editor.text("a.txt"), "x\nx\n");
    assert!(editor.script.edits.is_empty());
}

#[test]
fn two_edits_of_one_message_land_in_order() {
    let edits = Reply::edit("a.txt", "one", "1").and_call(
        "edit",
        json!({ "path": "a.txt", "old_string": "1\ntwo", "new_string": "1\n2" }),
    );
    let model = Model::steps(vec![Reply::read("a.txt"), edits]);
    let stage = Stage::new("//- /a.txt\none\ntwo\n");
    let mut editor = stage.editor(&model);
    editor.open("a.txt");
    let turn = editor.run("digits");
    assert_eq!(turn.statuses(), ["completed"; 3], "{}", turn.text());
    assert_eq!(editor.text("a.txt"), "1\n2\n");
}

#[test]
fn a_new_file_is_written_through_the_editor() {
    let input = json!({ "path": "src/new.rs", "content": "pub fn new() {}\n" });
    let model = Model::calls("write", input);
    let stage = Stage::new("//- /src/lib.rs\n\n");
    let mut editor = stage.launch(&model).profile(Profile::plain()).start();
    assert_eq!(editor.run("add it").statuses(), ["completed"]);
    assert_eq!(editor.text("src/new.rs"), "pub fn new() {}\n");
}

#[test]
fn an_unnamed_buffer_is_read_and_edited() {
    let model = Model::edits("untitled:Untitled-1", "draft", "text");
    let stage = Stage::new("");
    let mut editor = stage.editor(&model);
    editor.open_untitled("untitled:Untitled-1", "a draft\n");
    editor.run("finish it");
    assert_eq!(editor.buffers["untitled:Untitled-1"].text, "a text\n");
}

#[test]
fn text_beyond_the_first_plane_is_edited_in_every_encoding() {
    for encoding in ["utf-8", "utf-16", "utf-32"] {
        let model = Model::edits("a.txt", "é𝄞", "𝄞𝄞é");
        let stage = Stage::new("//- /a.txt\n😀 é𝄞 ß\n");
        let profile = Profile::plain().encodings(&[encoding]);
        let mut editor = stage.launch(&model).profile(profile).start();
        editor.open("a.txt");
        editor.run("swap");
        assert_eq!(editor.text("a.txt"), "😀 𝄞𝄞é ß\n", "{encoding}");
    }
}

/// Every twelfth folder of `tests/fixtures/edits`, of those with one file.
#[test]
fn fixtures_hold_for_the_program_with_an_open_buffer() {
    let all = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/edits");
    let folders = std::fs::read_dir(all).expect("fixtures");
    let folders = folders.map(|entry| entry.expect("a folder").path());
    let mut folders: Vec<_> = folders
        .filter(|path| path.join("input").is_file())
        .collect();
    folders.sort();
    for folder in folders.iter().step_by(12) {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a fixture");
        let wanted: serde_json::Value = serde_json::from_str(&read("call.json")).expect("JSON");
        let tool = wanted["tool"].as_str().expect("a tool");
        let call = Reply::call(tool, wanted["arguments"].clone());
        let unread = wanted["unread"] == true;
        let first = if unread {
            Reply::call("list", json!({}))
        } else {
            Reply::read("file.txt")
        };
        let model = Model::steps(vec![first, call]);
        let stage = patches::stage("");
        stage.write("file.txt", read("input"));
        let mut editor = stage.editor(&model);
        editor.open("file.txt");
        let turn = editor.run("go");
        let refused = folder.join("refused").exists();
        let (status, after) = if refused {
            ("failed", "input")
        } else {
            ("completed", "expected")
        };
        assert_eq!(turn.statuses(), ["completed", status], "{folder:?}");
        assert_eq!(editor.text("file.txt"), read(after), "{folder:?}");
        assert!(
            !refused || turn.text().contains(read("refused").trim_end()),
            "{folder:?}"
        );
    }
}

#[test]
fn an_edit_that_was_found_loosely_says_how_and_keeps_the_files_indentation() {
    let model = Model::edits("a.rs", "if x {\n    y();\n}\n", "if x {\n    z();\n}\n");
    let stage = Stage::new("//- /a.rs\nfn a() {\n    if x {\n        y();\n    }\n}\n");
    let mut editor = stage.editor(&model);
    editor.open("a.rs");
    let turn = editor.run("go");
    let text = "fn a() {\n    if x {\n        z();\n    }\n}\n";
    assert_eq!(editor.text("a.rs"), text);
    assert!(
        turn.text()
            .contains("It was found with another indentation"),
        "{}",
        turn.text()
    );
}
