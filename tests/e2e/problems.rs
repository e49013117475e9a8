//! Problems that the editor's language servers report after a step: the model hears of new and
//! fixed ones in the same turn.

use serde_json::{Value, json};

use crate::editor::{Approval, Editor};
use crate::fixture::Stage;
use crate::model::{Model, Reply};

const TEXT: &str = "//- /a.rs\nfn one() {}\nfn two() {}\n//- /b.txt\nalpha\n";

/// Each at its line, 0-based.
fn report(editor: &mut Editor, version: i32, problems: &[(u32, &str)]) {
    let uri = editor.uri("a.rs");
    let diagnostics: Vec<Value> = problems
        .iter()
        .map(|(line, message)| {
            let at = json!({ "line": line, "character": 0 });
            json!({ "range": { "start": at, "end": at }, "severity": 1, "message": message })
        })
        .collect();
    let params = json!({ "uri": uri, "version": version, "diagnostics": diagnostics });
    editor.notify("interline/diagnostics/didChange", params);
}

fn opened(stage: &Stage, model: &Model, known: &[(u32, &str)]) -> Editor {
    let mut editor = stage.editor(model);
    editor.open("a.rs");
    editor.open("b.txt");
    report(&mut editor, 1, known);
    editor
}

#[test]
fn new_and_fixed_problems_follow_the_edit_in_the_same_turn() {
    let model = Model::edits("a.rs", "fn one() {}\n", "// first\nfn first() {}\n");
    let stage = Stage::new(TEXT);
    let mut editor = opened(
        &stage,
        &model,
        &[(1, "two is unused"), (0, "one is unused")],
    );
    // Reported before the edit is answered, as fast servers do.
    editor.before_edit(|editor| {
        report(editor, 2, &[(2, "two is unused"), (1, "no function one")]);
    });
    editor.run("rename");
    let result = model.last().result();
    assert!(result.contains("Changed a.rs"), "{result}");
    let request = model.last().raw_text();
    let new = "The editor reports new problems after these changes:\n```text\na.rs:2: error: no function one\n```";
    assert!(request.contains(&new.replace('\n', "\\n")), "{request}");
    let fixed = "Problems that these changes fixed:\\n```text\\na.rs:1: error: one is unused\\n```";
    assert!(request.contains(fixed), "{request}");
    assert!(!request.contains("2: error: two is unused"), "{request}");
}

/// A report about an older text than the edited one is no news.
#[test]
fn a_report_of_an_older_version_is_not_reported_as_new() {
    let model = Model::edits("a.rs", "one", "first");
    let stage = Stage::new(TEXT);
    let mut editor = opened(&stage, &model, &[]);
    editor.before_edit(|editor| report(editor, 1, &[(0, "an old problem")]));
    editor.run("rename");
    assert!(!model.last().raw_text().contains("an old problem"));
}

/// Nothing is waited for and said about files for which no server reports.
#[test]
fn an_edit_of_a_file_without_reports_says_nothing_about_problems() {
    let model = Model::steps(vec![
        Reply::read("b.txt"),
        Reply::edit("b.txt", "alpha", "beta"),
    ]);
    let stage = Stage::new(TEXT);
    let mut editor = opened(&stage, &model, &[(0, "known")]);
    editor.run("rename");
    let request = model.last().raw_text();
    assert!(!request.contains("new problems"), "{request}");
}

/// A command rewrites an open file, and the editor loads it.
#[test]
fn problems_after_a_command_that_rewrites_an_open_file_are_reported() {
    let model = Model::steps(vec![Reply::exec("printf 'fn first() {}\\n' > a.rs")]);
    let stage = Stage::new(TEXT);
    let mut editor = opened(&stage, &model, &[]);
    editor.approvals(&[Approval::Allow]);
    editor.prompt("rewrite it");
    editor.until("the command", |_| {
        (stage.read("a.rs") == "fn first() {}\n").then_some(())
    });
    editor.replace("a.rs", "fn one() {}\nfn two() {}\n", "fn first() {}\n");
    report(&mut editor, 2, &[(0, "nobody calls first")]);
    editor.wait_ended();
    let request = model.last().raw_text();
    assert!(
        request.contains("1: error: nobody calls first"),
        "{request}"
    );
}
