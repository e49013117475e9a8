//! `rename_symbol` and `code_action`: the edit of a language server, made by the agent's own means:
//! rebased over typing, one undo step for each file, all files or none.

use serde_json::{Value, json};

use crate::editor::{Approval, Editor, Profile};
use crate::fixture::Stage;
use crate::model::{Model, Reply};

const TEXT: &str = "//- /a.rs\nfn parse() {}\n//- /b.rs\nparse();\n//- /.env\nparse=1\n";

fn rename() -> Reply {
    let input = json!({ "path": "a.rs", "line": 1, "symbol": "parse", "new_name": "scan" });
    Reply::call("rename_symbol", input)
}

fn started(stage: &Stage, model: &Model) -> Editor {
    let mut editor = stage.launch(model).profile(Profile::querying()).start();
    let params = json!({ "languages": ["rust"] });
    editor.notify("interline/languages/didChange", params);
    editor
}

/// A replacement of five characters.
fn edit(line: u32, from: u32) -> Value {
    let place = |character: u32| json!({ "line": line, "character": character });
    json!({ "range": { "start": place(from), "end": place(from + 5) }, "newText": "scan" })
}

fn part(uri: &str, version: Option<i32>, edits: &[Value]) -> Value {
    json!({ "textDocument": { "uri": uri, "version": version }, "edits": edits })
}

fn renamed(parts: &[Value]) -> Value {
    json!({ "status": "ok", "items": [], "edit": { "documentChanges": parts } })
}

/// The user types in both files while the language server and the edit are under way.
#[test]
fn a_rename_across_two_files_keeps_what_the_user_types_meanwhile() {
    let stage = Stage::new(TEXT);
    let model = Model::steps(vec![rename()]);
    let mut editor = started(&stage, &model);
    let (a, b) = (editor.open("a.rs"), editor.open("b.rs"));
    editor.prepend("b.rs", "// unsaved\n");
    editor.query(move |editor, query| {
        assert_eq!(query["newName"], "scan");
        let answer = renamed(&[
            part(&a, Some(1), &[edit(0, 3)]),
            part(&b, Some(2), &[edit(1, 0)]),
        ]);
        editor.prepend("a.rs", "// typed\n");
        editor.prepend("b.rs", "// too\n");
        Some(answer)
    });
    editor.before_edit(|editor| editor.prepend("b.rs", "// later\n"));
    let turn = editor.run("call it scan");
    assert_eq!(editor.text("a.rs"), "// typed\nfn scan() {}\n");
    let b = "// later\n// too\n// unsaved\nscan();\n";
    assert_eq!(editor.text("b.rs"), b);
    assert_eq!(turn.calls()[0]["files"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        editor.script.edits.len(),
        2,
        "one request, and so one undo step, a file"
    );
}

#[test]
fn a_closed_file_is_renamed_too_and_the_turn_can_be_reverted() {
    let stage = Stage::new(TEXT);
    let model = Model::steps(vec![rename()]);
    let mut editor = started(&stage, &model);
    let a = editor.open("a.rs");
    let b = editor.uri("b.rs");
    editor.query(move |_, _| {
        let parts = [
            part(&a, Some(1), &[edit(0, 3)]),
            part(&b, None, &[edit(0, 0)]),
        ];
        Some(renamed(&parts))
    });
    editor.run("call it scan");
    assert_eq!(editor.text("b.rs"), "scan();\n");
    let session = editor.session();
    let params = json!({ "sessionId": session });
    editor.request("interline/turn/revert", params);
    assert_eq!(editor.text("a.rs"), "fn parse() {}\n");
    assert_eq!(editor.text("b.rs"), "parse();\n");
}

/// The user sees the whole difference, and decides on all of it.
#[test]
fn a_rename_asks_once_with_the_whole_diff_and_changes_nothing_if_refused() {
    let stage = Stage::new(TEXT);
    let model = Model::steps(vec![rename()]);
    let launch = stage.launch(&model).profile(Profile::querying());
    let mut editor = launch.setting("approvals", json!("ask")).start();
    let (a, b) = (editor.open("a.rs"), editor.open("b.rs"));
    editor.query(move |_, _| {
        let parts = [
            part(&a, Some(1), &[edit(0, 3)]),
            part(&b, Some(1), &[edit(0, 0)]),
        ];
        Some(renamed(&parts))
    });
    editor.approvals(&[Approval::Reject]);
    let turn = editor.run("call it scan");
    assert_eq!(turn.statuses(), ["rejected"]);
    let asked = &editor.script.asked[0];
    let diff = asked["subject"]["diff"].as_str().unwrap_or_default();
    assert!(
        diff.contains("+fn scan() {}") && diff.contains("+scan();"),
        "{diff}"
    );
    assert_eq!(editor.script.edits, Vec::<Value>::new());
}

#[test]
fn an_edit_that_cannot_be_made_as_a_whole_is_refused_with_the_reason() {
    let stage = Stage::new(TEXT);
    let model = Model::steps(vec![rename(), rename(), rename(), rename()]);
    let mut editor = started(&stage, &model);
    let a = editor.open("a.rs");
    let secret = editor.uri(".env");
    let mine = move || part(&a, Some(1), &[edit(0, 3)]);
    let (m1, m2, m3, m4) = (mine(), mine(), mine(), mine());
    editor.query(move |_, _| Some(renamed(&[m1, part(&secret, None, &[edit(0, 0)])])));
    let outside = "file:///etc/passwd";
    editor.query(move |_, _| Some(renamed(&[m2, part(outside, None, &[edit(0, 0)])])));
    let created = json!({ "kind": "create", "uri": "file:///tmp/x" });
    editor.query(move |_, _| Some(renamed(&[m3, created])));
    editor.query(move |_, _| {
        let mut twice = m4;
        twice["edits"] = json!([edit(0, 3), edit(0, 5)]);
        Some(renamed(&[twice]))
    });
    editor.run("call it scan");
    let reasons = [
        ".env, which is ignored or protected",
        "outside the workspace",
        "create a file",
    ];
    for (n, reason) in (1..).zip(reasons) {
        let result = model.request(n).result();
        assert!(result.contains(reason), "{result}");
    }
    assert!(model.last().result().contains("overlap"));
    assert_eq!(editor.text("a.rs"), "fn parse() {}\n");
}

/// A document that changed in the same place since: nothing is changed anywhere.
#[test]
fn a_rename_that_conflicts_in_one_file_changes_none() {
    let stage = Stage::new(TEXT);
    let model = Model::steps(vec![rename()]);
    let mut editor = started(&stage, &model);
    let (a, b) = (editor.open("a.rs"), editor.open("b.rs"));
    editor.query(move |editor, _| {
        editor.replace("b.rs", "parse", "parsed");
        let parts = [
            part(&a, Some(1), &[edit(0, 3)]),
            part(&b, Some(1), &[edit(0, 0)]),
        ];
        Some(renamed(&parts))
    });
    let turn = editor.run("call it scan");
    assert_eq!(turn.statuses(), ["failed"]);
    assert_eq!(editor.text("a.rs"), "fn parse() {}\n");
    assert_eq!(editor.text("b.rs"), "parsed();\n");
}

#[test]
fn a_code_action_is_applied_by_its_title() {
    let stage = Stage::new(TEXT);
    let input = |title: &str| json!({ "path": "a.rs", "line": 1, "title": title });
    let model = Model::steps(vec![
        Reply::call(
            "lookup",
            json!({ "what": "codeActions", "path": "a.rs", "line": 1 }),
        ),
        Reply::call("code_action", input("Fix nothing")),
        Reply::call("code_action", input("Scan it")),
    ]);
    let mut editor = started(&stage, &model);
    let a = editor.open("a.rs");
    for _ in 0..3 {
        let edit = json!({ "documentChanges": [part(&a, Some(1), &[edit(0, 3)])] });
        editor.query(move |_, query| {
            assert_eq!(query["range"]["end"]["character"], 13);
            let item = json!({ "title": "Scan it", "edit": edit });
            Some(json!({ "status": "ok", "items": [item] }))
        });
    }
    editor.run("fix it");
    assert!(model.request(1).result().ends_with("1. Scan it"));
    assert!(
        model.request(2).result().ends_with("Scan it"),
        "{}",
        model.request(2).result()
    );
    assert_eq!(editor.text("a.rs"), "fn scan() {}\n");
}
