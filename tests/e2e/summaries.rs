//! What a user without a plugin is notified of outside an answer: unsaved files, earlier sessions,
//! an interrupted turn.

use serde_json::{Value, json};

use crate::editor::{Editor, LIMIT, Pick, Profile};
use crate::fixture::Stage;
use crate::model::{Gate, Model, Reply};

const TEXT: &str = "//- /a.txt\none\ntwo\nthree\n";

fn ask(editor: &mut Editor, text: &str) -> Value {
    let uri = editor.uri("a.txt");
    editor.command("ask", json!({ "text": text, "uri": uri }))
}

/// One prompt, answered, in a process of its own; its session.
fn earlier(stage: &Stage, model: &Model, text: &str) -> String {
    let mut editor = stage.launch(model).profile(Profile::bare()).start();
    let started = ask(&mut editor, text);
    editor.message("ok");
    started["sessionId"].as_str().unwrap().to_owned()
}

#[test]
fn a_turn_that_left_files_unsaved_ends_with_one_message_that_can_save_them() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new(TEXT);
    let profile = Profile::rich().without("events").without("approvals");
    let mut editor = stage.launch(&model).profile(profile).start();
    let uri = editor.open("a.txt");
    editor.script.picks.push_back(Pick::Titled("Save all"));
    ask(&mut editor, "shorten");
    editor.until("the save", |editor| editor.script.saves.first().cloned());
    assert_eq!(editor.script.saves[0]["uris"], json!([uri]));
    let offered = editor.script.offered[0]["message"].as_str().unwrap();
    assert!(offered.contains("Unsaved: "), "{offered}");
    editor.settle();
    assert_eq!(stage.read("a.txt"), "one\n2\nthree\n");
}

#[test]
fn without_saving_the_message_names_the_unsaved_files() {
    let model = Model::edits("a.txt", "two", "2");
    let stage = Stage::new(TEXT);
    let mut editor = stage.launch(&model).profile(Profile::bare()).start();
    editor.open("a.txt");
    ask(&mut editor, "shorten");
    let shown_message = editor.message("Unsaved: ");
    assert!(
        shown_message.contains("a.txt") && !shown_message.contains("saveAll"),
        "{shown_message}"
    );
}

#[test]
fn an_earlier_session_is_picked_and_prompts_go_there() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let first = earlier(&stage, &model, "My colour is teal.");
    earlier(&stage, &model, "My colour is red.");
    let mut editor = stage.launch(&model).profile(Profile::bare()).start();
    editor.script.picks.push_back(Pick::Titled("teal"));
    editor.command("sessions", json!({}));
    editor.message("prompts here now go to that session");
    let titles = editor.script.offered[0]["actions"].to_string();
    assert!(
        titles.contains("1. My colour is red."),
        "newest first: {titles}"
    );
    let started = ask(&mut editor, "Which?");
    assert_eq!(started["sessionId"], first.as_str());
    editor.until_asked(&model, 3);
    assert!(model.last().user_text().contains("teal"));
}

/// Helix clears its status line when a progress ends.
#[test]
fn the_message_at_the_end_comes_after_the_end_of_the_progress() {
    let model = Model::says("all done");
    let stage = Stage::new(TEXT);
    let mut editor = stage.launch(&model).profile(Profile::bare()).start();
    editor.script.slow_progress = true;
    ask(&mut editor, "Hello?");
    editor.until_asked(&model, 1);
    // Only the unanswered progress delays the turn and its message.
    editor.until("the turn's end", |editor| {
        let listed = editor.request("interline/session/list", json!({}));
        let one = &listed["sessions"][0];
        (one["turns"] == 1 && one["state"] == "idle").then_some(())
    });
    let create = editor.held_back.pop().expect("a progress was asked for");
    editor.reply(create, Value::Null);
    editor.message("all done");
    let at = |what: &dyn Fn(&Value) -> bool| editor.notes.iter().position(what);
    let end = at(&|note| note["params"]["value"]["kind"] == "end").expect("a progress ended");
    let said = at(&|note| note["method"] == "window/showMessage").expect("a message");
    assert!(end < said, "{:?}", editor.notes);
}

/// Helix 25.01 answers -32601: the sessions come as a document, and the command takes an id.
#[test]
fn where_no_question_can_be_shown_the_sessions_are_listed_in_a_document() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let first = earlier(&stage, &model, "My colour is teal.");
    let mut editor = stage
        .launch(&model)
        .profile(Profile::bare().showing())
        .start();
    editor.script.picks.push_back(Pick::Error);
    editor.command("sessions", json!({}));
    let shown = editor.until("the list", |editor| editor.script.shown.first().cloned());
    let text = &editor.buffers[&shown].text;
    let command = format!("interline.sessions {{\"sessionId\":\"{first}\"}}");
    assert!(
        text.contains("## My colour is teal.") && text.contains(&command),
        "{text}"
    );
    editor.command("sessions", json!({ "sessionId": first }));
    assert_eq!(ask(&mut editor, "Which?")["sessionId"], first.as_str());
    editor.message("ok");
}

/// A server that is killed during a turn: the next process starts a new session, says so once, and
/// resumes the old one if the user wants.
#[test]
fn an_interrupted_turn_is_reported_once_and_can_be_reopened() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |request| match request.n {
        0 => Reply::text("held").after(&held),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(TEXT);
    let mut editor = stage.launch(&model).profile(Profile::bare()).start();
    let old = ask(&mut editor, "My colour is teal.");
    editor.until_asked(&model, 1);
    editor.process.kill();
    let mut editor = stage.launch(&model).profile(Profile::bare()).start();
    editor.script.picks.push_back(Pick::Titled("Reopen"));
    let fresh = ask(&mut editor, "Hello?");
    editor.until_asked(&model, 2);
    assert_ne!(fresh["sessionId"], old["sessionId"]);
    editor.message("prompts here now go to that session");
    let offered = editor.script.offered[0]["message"].as_str().unwrap();
    assert!(
        offered.contains("My colour is teal.") && offered.contains("was interrupted"),
        "{offered}"
    );
    assert_eq!(ask(&mut editor, "Which?")["sessionId"], old["sessionId"]);
    editor.until_asked(&model, 3);
    assert!(model.last().user_text().contains("teal"));
    assert_eq!(editor.script.offered.len(), 1, "offered once");
    assert!(!gate.is_open());
}

/// An editor that crashes leaves an interrupted turn, not a cancelled one; the next process's
/// events have higher numbers than those before.
#[test]
fn a_turn_whose_editor_is_gone_is_reported_as_interrupted() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |_| Reply::text(&"word ".repeat(50)).pausing(&held));
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    editor.prompt("Take your time.");
    editor.wait_event("a delta", |event| event["type"] == "textDelta");
    let heard = editor
        .notes
        .iter()
        .filter_map(|note| note["params"]["seq"].as_u64());
    let heard = heard.max().expect("a number");
    editor.process.close_stdin();
    editor.process.wait(LIMIT);
    let mut editor = stage.editor(&model);
    let listed = editor.request("interline/session/list", json!({}));
    assert_eq!(listed["sessions"][0]["state"], "interrupted");
    let opened = editor.request("interline/session/open", json!({ "sessionId": session }));
    let last = opened["items"].as_array().unwrap().last().unwrap();
    let error = last["body"]["error"]["message"].to_string();
    assert!(error.contains("interrupted"), "{last}");
    assert!(
        last["seq"].as_u64().unwrap() > heard,
        "{last} after {heard}"
    );
}

/// Deltas are numbered and not logged: after a crash the numbers still go up only.
#[test]
fn event_numbers_continue_above_those_before_a_crash() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |_| {
        let words = "word ".repeat(50);
        Reply::text(&words).in_pieces(40).pausing(&held)
    });
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let session = editor.session();
    let turn = editor.prompt("Take your time.");
    editor.until("several deltas", |editor| {
        let events = editor.events(&turn).into_iter();
        let deltas = events.filter(|event| event["type"] == "textDelta");
        (deltas.count() >= 5).then_some(())
    });
    let numbers = editor.notes.iter();
    let heard = numbers
        .filter_map(|note| note["params"]["seq"].as_u64())
        .max();
    editor.process.kill();
    let mut editor = stage.editor(&model);
    let opened = editor.resume(&session);
    assert!(opened["seq"].as_u64() > heard, "{heard:?} before {opened}");
}

/// A turn that runs in another window is not cut off.
#[test]
fn a_turn_of_another_process_is_running_and_not_interrupted() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |_| Reply::text("held").after(&held));
    let stage = Stage::new(TEXT);
    let mut first = stage.launch(&model).profile(Profile::bare()).start();
    ask(&mut first, "Take your time.");
    first.until_asked(&model, 1);
    let mut second = stage.launch(&model).profile(Profile::bare()).start();
    let listed = second.request("interline/session/list", json!({}));
    assert_eq!(listed["sessions"][0]["state"], "running");
    ask(&mut second, "Hello?");
    second.until_asked(&model, 2);
    gate.open();
    second.message("held");
    first.message("held");
    assert!(second.script.offered.is_empty());
}
