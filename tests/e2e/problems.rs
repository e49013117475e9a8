//! Problems that the editor's language servers report after a step: the model hears of new and
//! fixed ones in the same turn.

use serde_json::{Value, json};

use crate::editor::{Approval, Editor, Profile};
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};

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

/// Waits for the model's request `n`, which comes after all waiting, then reports, and lets the
/// model answer.
fn report_late(editor: &mut Editor, (model, gate): (&Model, &Gate), n: usize, late: Report) {
    editor.until_asked(model, n);
    report(editor, late.0, late.1);
    editor.settle();
    gate.open();
}

type Report<'a> = (i32, &'a [(u32, &'a str)]);

/// These steps, of which those behind a gate are answered once it is open.
fn gated(steps: Vec<(Reply, bool)>) -> (Model, Vec<Gate>) {
    let mut gates = Vec::new();
    let mut replies = vec![Reply::read("a.rs")];
    for (reply, waits) in steps {
        let gate = Gate::default();
        replies.push(if waits { reply.after(&gate) } else { reply });
        gates.extend(waits.then_some(gate));
    }
    (Model::steps(replies), gates)
}

#[test]
fn a_problem_that_is_reported_after_the_wait_is_in_the_result_of_the_next_step_once() {
    let edit = Reply::edit("a.rs", "one", "first");
    let read = || Reply::read("b.txt");
    let (model, gates) = gated(vec![(edit, false), (read(), true), (read(), false)]);
    let stage = Stage::new(TEXT);
    let mut editor = opened(&stage, &model, &[(0, "known")]);
    editor.prompt("rename");
    let late: Report = (2, &[(0, "known"), (1, "no function one")]);
    report_late(&mut editor, (&model, &gates[0]), 3, late);
    editor.wait_ended();
    assert!(!model.request(2).raw_text().contains("no function one"));
    let said =
        "after earlier changes of this turn:\\n```text\\na.rs:2: error: no function one\\n```";
    assert!(model.request(3).raw_text().contains(said));
    let request = model.last().raw_text();
    assert_eq!(request.matches("no function one").count(), 1, "{request}");
}

/// The late report is about the text before the second edit; the one after it is about both.
#[test]
fn a_late_report_of_an_older_version_is_not_the_baseline_of_the_next_step() {
    let edit = |old, new| Reply::edit("a.rs", old, new);
    let (model, gates) = gated(vec![
        (edit("one", "first"), false),
        (edit("two", "second"), true),
    ]);
    let stage = Stage::new(TEXT);
    let mut editor = opened(&stage, &model, &[]);
    editor.before_edit(|_| {});
    editor.before_edit(|editor| report(editor, 3, &[(0, "no one")]));
    editor.prompt("rename");
    let late: Report = (2, &[(0, "no one"), (1, "an old problem")]);
    report_late(&mut editor, (&model, &gates[0]), 3, late);
    editor.wait_ended();
    let request = model.last().raw_text();
    assert!(request.contains("a.rs:1: error: no one"), "{request}");
    assert!(!request.contains("an old problem"), "{request}");
}

/// In a clean project nothing was ever reported before the agent broke something.
#[test]
fn the_first_report_ever_is_new_if_the_turn_changed_its_document() {
    let edit = Reply::edit("a.rs", "one", "first");
    let (model, gates) = gated(vec![(edit, false), (Reply::read("b.txt"), true)]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.open("a.rs");
    editor.prompt("rename");
    let late: Report = (2, &[(0, "no function one")]);
    report_late(&mut editor, (&model, &gates[0]), 3, late);
    editor.wait_ended();
    let request = model.last().raw_text();
    assert!(
        request.contains("a.rs:1: error: no function one"),
        "{request}"
    );
}

/// What the user types in the meantime is not a change of the agent.
#[test]
fn problems_of_what_the_user_types_in_a_reading_step_are_not_reported() {
    let input = json!({ "what": "hover", "path": "a.rs", "line": 1, "symbol": "one" });
    let model = Model::steps(vec![Reply::call("lookup", input), Reply::read("b.txt")]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.launch(&model).profile(Profile::querying()).start();
    editor.notify(
        "interline/languages/didChange",
        json!({ "languages": ["rust"] }),
    );
    editor.open("a.rs");
    report(&mut editor, 1, &[]);
    editor.query(|editor, _| {
        editor.prepend("a.rs", "fn half(\n");
        report(editor, 2, &[(0, "half a function")]);
        Some(json!({ "status": "ok", "items": [{ "contents": "fn one()" }] }))
    });
    editor.run("look");
    let request = model.last().raw_text();
    assert!(!request.contains("half a function"), "{request}");
}
