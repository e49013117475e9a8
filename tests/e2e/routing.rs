//! A model for each kind of task: chosen by the mode, announced when it changes, and never used
//! where the user chose one.

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::editor::turn::Turn;
use crate::fixture::Stage;
use crate::model::{Model, Reply};

const TEXT: &str = "//- /a.txt\nalpha\n";

/// An editor whose user set models for questions and for work.
fn editor(stage: &Stage, model: &Model) -> Editor {
    let routing = json!({
        "chat": "anthropic/claude-haiku-5-5",
        "code": "anthropic/claude-opus-5-5",
    });
    stage
        .launch(model)
        .setting("model", json!("anthropic/claude-sonnet-5-5"))
        .user_setting("routing", routing)
        .start()
}

fn asked(model: &Model) -> Value {
    model.last().body()["model"].clone()
}

fn notices(turn: &Turn) -> String {
    let notices = turn.of("notice").into_iter();
    notices.map(|it| it["text"].to_string()).collect()
}

/// ZY-94: a task that edits, then a question; the next work goes back.
#[test]
fn zy94_questions_and_work_go_to_the_models_that_are_set_for_them() {
    let model = Model::start(|request| match request.n {
        0 => Reply::read("a.txt"),
        1 => Reply::edit("a.txt", "alpha", "omega"),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(TEXT);
    let mut editor = editor(&stage, &model);
    editor.open("a.txt");
    let turn = editor.run("change it");
    assert_eq!(editor.text("a.txt"), "omega\n");
    assert_eq!(asked(&model), "claude-opus-5-5");
    assert_eq!(turn.of("step")[2]["model"], "anthropic/claude-opus-5-5");
    assert!(notices(&turn).contains("opus-5-5 answers (`routing.code`)"));
    assert_eq!(notices(&editor.run("more")), "");
    model.allow_new_epoch();
    editor.configure("mode", json!("ask"));
    let wanted = |it: &Value| it["mode"] == "ask" && it["model"] == "anthropic/claude-haiku-5-5";
    let state = editor.note("interline/session/didChange", wanted);
    assert!(state.is_some());
    assert!(notices(&editor.run("why?")).contains("haiku-5-5 answers (`routing.chat`)"));
    assert_eq!(asked(&model), "claude-haiku-5-5");
    model.allow_new_epoch();
    editor.configure("mode", json!("agent"));
    editor.run("and now?");
    assert_eq!(asked(&model), "claude-opus-5-5");
}

/// ZY-94: a preview equals what is sent, and a restart changes nothing.
#[test]
fn zy94_previews_and_reopened_sessions_are_routed_too() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut first = editor(&stage, &model);
    let session = first.new_session(json!({"mode": "ask"}));
    let params = first.turn_params("why?");
    let promised = first.preview(&params)["request"]["body"].clone();
    first.start(params);
    first.wait_ended();
    assert_eq!(promised, model.last().raw_text());
    assert_eq!(asked(&model), "claude-haiku-5-5");
    first.quit();
    let mut second = editor(&stage, &model);
    second.resume(&session);
    assert_eq!(notices(&second.run("why?")), "");
    assert_eq!(asked(&model), "claude-haiku-5-5");
    model.allow_new_epoch();
    second.configure("mode", json!("plan"));
    assert!(notices(&second.run("plan it")).contains("sonnet-5-5 answers (`model`)"));
    assert_eq!(asked(&model), "claude-sonnet-5-5");
}

/// ZY-94.
#[test]
fn zy94_a_model_that_was_chosen_for_the_session_stays() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = editor(&stage, &model);
    editor.configure("model", json!("anthropic/claude-sonnet-5-5"));
    editor.configure("mode", json!("ask"));
    assert_eq!(notices(&editor.run("why?")), "");
    assert_eq!(asked(&model), "claude-sonnet-5-5");
    model.allow_new_epoch();
    editor.configure("model", json!(""));
    editor.run("why?");
    assert_eq!(asked(&model), "claude-haiku-5-5");
}

/// ZY-94: no other model takes its place.
#[test]
fn zy94_an_unavailable_model_is_reported_before_the_turn_begins() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let routing = json!({"code": "nonsense"});
    let launch = stage.launch(&model).user_setting("routing", routing);
    let mut editor = launch.start();
    let params = editor.turn_params("work");
    let error = editor.refused("interline/turn/start", params).to_string();
    assert!(error.contains("routing.code") && error.contains("noModel"));
    assert_eq!(model.count(), 0);
}
