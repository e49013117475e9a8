//! Plans: todos that the editor shows, and what follows a turn in plan mode.

use serde_json::{Value, json};

use crate::editor::{Editor, LIMIT, Profile, Reaction};
use crate::fixture::Stage;
use crate::model::{Model, Reply};

const TEXT: &str = "//- /a.txt\none\n";

fn todos(rows: &[(&str, &str)]) -> Reply {
    let rows: Vec<Value> = rows
        .iter()
        .map(|(text, status)| json!({ "text": text, "status": status }))
        .collect();
    Reply::call("write_todos", json!({ "todos": rows }))
}

fn planning(stage: &Stage, model: &Model, profile: Profile) -> Editor {
    let mut editor = stage.launch(model).profile(profile).start();
    editor.configure("mode", json!("plan"));
    editor
}

/// ZE-11.
#[test]
fn todos_are_shown_in_full_at_each_change_and_stored_with_the_session() {
    let first = todos(&[("look", "in_progress"), ("cut", "pending")]);
    let model = Model::steps(vec![first, todos(&[("cut", "completed")])]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let turn = editor.run("sew");
    let plans = turn.of("plan");
    assert_eq!(plans[0]["todos"][0]["status"], "in_progress");
    let last = json!([{ "text": "cut", "status": "completed" }]);
    assert_eq!(plans[1]["todos"], last);
    assert_eq!(plans[0]["itemId"], turn.calls()[0]["itemId"]);
    assert!(turn.text().contains("1 completed"), "{}", turn.text());
    let session = editor.session();
    let items = editor.resume(&session)["items"].to_string();
    assert!(items.contains("\"plan\""), "{items}");
}

/// K1, ZE-40.
#[test]
fn the_time_is_a_tool_that_asks_nobody() {
    let model = Model::calls("current_time", json!({}));
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let turn = editor.run("how late is it?");
    assert_eq!(turn.statuses(), ["completed"]);
    assert!(turn.text().contains("day, 20"), "{}", turn.text());
}

/// Plans one todo in plan mode, then writes the file of it.
fn plans_and_writes() -> Model {
    Model::plays(vec![
        todos(&[("write b.txt", "pending")]),
        Reply::text("That is it."),
        Reply::call("write", json!({ "path": "b.txt", "content": "b\n" })),
        Reply::text("done"),
    ])
}

/// ZE-33: the user accepts; mode, journal and a turn of its own follow.
#[test]
fn an_accepted_plan_is_carried_out_in_agent_mode() {
    let model = plans_and_writes();
    let stage = Stage::new(TEXT);
    let mut editor = planning(&stage, &model, Profile::rich());
    editor.reactions(&[Reaction::Says("Carry it out")]);
    let turn = editor.run("plan b.txt");
    let notice = turn.of("notice")[0]["text"].to_string();
    assert!(notice.contains("interline.mode agent"), "{notice}");
    let started = editor.until("the turn that carries it out", |editor| {
        editor.note("interline/turn/started", |it| it["origin"] == "command")
    });
    let id = started["turnId"].as_str().unwrap().to_owned();
    let turn = editor.wait_for_turn(&id, LIMIT);
    assert_eq!(turn.statuses(), ["completed"]);
    let agent = |it: &Value| it["mode"] == "agent";
    assert!(editor.note("interline/session/didChange", agent).is_some());
    let prompt = model.last().appended_text();
    assert!(prompt.contains("Carry out the plan") && prompt.contains("Mode: agent"));
    // In agent mode there is no such question.
    assert_eq!(editor.script.questions.len(), 1);
}

/// ZE-33: whatever else the user says, the session stays in plan mode and waits.
#[test]
fn a_plan_that_is_not_accepted_changes_nothing() {
    for reaction in [
        Reaction::Says("Change it"),
        Reaction::Says("carry it out!"),
        Reaction::Declines,
        Reaction::Error,
    ] {
        let plan = todos(&[("write b.txt", "pending")]);
        let model = Model::plays(vec![plan, Reply::text("That is it."), Reply::text("ok")]);
        let stage = Stage::new(TEXT);
        let mut editor = planning(&stage, &model, Profile::rich());
        editor.reactions(&[reaction]);
        editor.run("plan b.txt");
        editor.until("the question", |editor| {
            editor.script.questions.first().cloned()
        });
        assert_eq!(editor.run("in other words").text(), "ok");
        assert_eq!(model.count(), 3, "{reaction:?}");
        assert!(!model.last().appended_text().contains("Mode: agent"));
    }
}

/// The user's next prompt is an answer too: the question is withdrawn, and a late yes does nothing.
#[test]
fn a_new_prompt_withdraws_the_question_about_the_plan() {
    let plan = todos(&[("write b.txt", "pending")]);
    let model = Model::plays(vec![plan, Reply::text("That is it."), Reply::text("ok")]);
    let stage = Stage::new(TEXT);
    let mut editor = planning(&stage, &model, Profile::rich());
    editor.reactions(&[Reaction::Never]);
    editor.run("plan b.txt");
    let id = editor.until("the question", |editor| editor.held_back.pop());
    editor.run("in other words");
    let taken_back = |params: &Value| params["id"] == id;
    assert!(editor.note("$/cancelRequest", taken_back).is_some());
    let late = json!({ "outcome": "answered", "answer": "Carry it out" });
    editor
        .process
        .send(&json!({ "jsonrpc": "2.0", "id": id, "result": late }));
    editor.settle();
    assert_eq!(editor.status()["sessions"][0]["turns"], 2);
}

/// ZE-33, ZE-88: a plan in prose is distinguished from an answer and ends in the same question.
#[test]
fn a_plan_in_words_ends_in_the_question_too() {
    let model = Model::plays(vec![
        Reply::text("1. Read a.txt\n2. Write b.txt"),
        Reply::text("It has one line."),
    ]);
    let stage = Stage::new(TEXT);
    let mut editor = planning(&stage, &model, Profile::rich());
    editor.reactions(&[Reaction::Says("Not now")]);
    assert_eq!(editor.run("plan b.txt").of("notice").len(), 1);
    let asked = editor.until("the question", |editor| {
        editor.script.questions.first().cloned()
    });
    assert!(
        asked["question"]
            .to_string()
            .contains("Carry out this plan?")
    );
    assert_eq!(editor.run("what is in a.txt?").of("notice").len(), 0);
    editor.settle();
    assert_eq!(editor.script.questions.len(), 1);
}
