//! Failures of providers.

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::editor::turn::Turn;
use crate::fixture::Stage;
use crate::model::{Model, Reply};

const TEXT: &str = "//- /a.txt\nalpha\n";

fn run(stage: &Stage, model: &Model) -> (Editor, Turn) {
    let mut editor = stage.editor(model);
    editor.allow("window/showMessage");
    let turn = editor.run("go");
    (editor, turn)
}

#[test]
fn a_rate_limit_is_waited_out_and_the_turn_continues() {
    let model = Model::plays(vec![Reply::rate_limited("1"), Reply::text("ok")]);
    let stage = Stage::new(TEXT);
    let (_editor, turn) = run(&stage, &model);
    let retry = turn.of("retry")[0];
    assert!(
        retry["inMs"].as_u64().is_some_and(|wait| wait >= 1000),
        "{retry}"
    );
    assert_eq!(retry["reason"], "Anthropic rate limit (429): slow down.");
    assert_eq!(
        (&retry["attempt"], &retry["attempts"]),
        (&json!(2), &json!(10))
    );
    assert_eq!(turn.text(), "ok");
    assert_eq!(model.request(0).raw, model.request(1).raw);
}

#[test]
fn a_wait_for_a_retry_ends_when_the_client_asks() {
    let model = Model::plays(vec![Reply::rate_limited("55"), Reply::text("ok")]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let session = json!({ "sessionId": editor.session() });
    let turn = editor.prompt("go");
    editor.wait_event("the wait", |event| event["type"] == "retry");
    let retried = editor.request("interline/turn/retry", session.clone());
    assert_eq!(retried["retried"], true);
    let limit = std::time::Duration::from_secs(30);
    let turn = editor.wait_for_turn(&turn, limit);
    assert_eq!(turn.text(), "ok");
    let retried = editor.request("interline/turn/retry", session);
    assert_eq!(retried["retried"], false, "nothing waits any more");
}

#[test]
fn a_key_is_tested_with_the_provider_and_not_kept() {
    let model = Model::plays(vec![
        Reply::text("OK"),
        Reply::unauthorized(),
        Reply::rate_limited("9"),
    ]);
    let stage = Stage::new(TEXT);
    let launch = stage.launch(&model).var("ANTHROPIC_API_KEY", "");
    let mut editor = launch.start();
    let mut test = |secret: Value| {
        let params = json!({ "provider": "anthropic", "secret": secret });
        editor.request("interline/auth/test", params)
    };
    assert_eq!(test(json!(crate::fixture::KEY))["outcome"], "accepted");
    let refused = test(json!(crate::fixture::KEY));
    assert_eq!(refused["outcome"], "refused", "{refused}");
    assert_eq!(refused["error"]["kind"], "auth");
    let unknown = test(json!(crate::fixture::KEY));
    assert_eq!(unknown["outcome"], "unknown", "{unknown}");
    assert_eq!(test(Value::Null)["outcome"], "refused", "it was not kept");
    assert_eq!(model.count(), 3);
    assert_eq!(ready(&mut editor, "anthropic"), false);
}

/// Whether the models of a provider have a key.
fn ready(editor: &mut Editor, provider: &str) -> Value {
    let status = editor.request("interline/status", json!({}));
    let rows = status["modelDetails"].as_array().expect("rows");
    assert_eq!(
        rows.len(),
        status["models"].as_array().expect("names").len()
    );
    let row = rows.iter().find(|row| row["provider"] == provider);
    row.expect("a model of the provider")["ready"].clone()
}

#[test]
fn the_list_of_models_says_which_have_a_key() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    assert_eq!(ready(&mut editor, "anthropic"), true);
    assert_eq!(ready(&mut editor, "gemini"), false);
    let key = json!({ "provider": "gemini", "secret": "a-key" });
    editor.request("interline/auth/set", key);
    editor.until("news of the status", |editor| {
        editor.note("interline/status/didChange", |_| true)
    });
    assert_eq!(ready(&mut editor, "gemini"), true);
}

#[test]
fn the_context_window_is_reported_next_to_the_tokens_in_it() {
    let model = Model::plays(vec![Reply::text("ok").counting(30_000)]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let made = editor.request("interline/session/new", json!({}));
    let window = &made["context"]["window"];
    assert!(window.as_u64() > Some(100_000), "{made}");
    assert_eq!(made["context"]["used"], 0);
    let turn = editor.run("hi");
    let context = &turn.of("usage")[0]["context"];
    assert_eq!(&context["window"], window);
    assert!(context["used"].as_u64() >= Some(30_000), "{context}");
    let change = |note: &Value| note["state"] == "idle" && note["context"] == *context;
    editor.until("the session's news", |editor| {
        editor.note("interline/session/didChange", change)
    });
    let session = editor.session();
    let input = json!([{ "type": "text", "text": "hi" }]);
    let preview = editor.preview(&json!({ "sessionId": session, "input": input }));
    let parts = &preview["context"];
    assert_eq!(&parts["window"], window);
    for part in ["system", "tools", "conversation", "prompt"] {
        assert!(parts[part].as_u64() > Some(0), "{part}: {parts}");
    }
}

#[test]
fn an_overload_is_tried_again() {
    let model = Model::plays(vec![Reply::overloaded(), Reply::text("ok")]);
    let stage = Stage::new(TEXT);
    let (_editor, turn) = run(&stage, &model);
    assert_eq!(turn.of("retry").len(), 1);
    assert_eq!(turn.text(), "ok");
}

#[test]
fn a_wrong_key_ends_the_turn_with_what_to_do() {
    let model = Model::plays(vec![Reply::unauthorized()]);
    let stage = Stage::new(TEXT);
    let (mut editor, turn) = run(&stage, &model);
    assert_eq!(turn.stop_reason(), "error");
    assert_eq!(turn.ended["error"]["kind"], "auth");
    let hint = turn.ended["error"]["hint"].as_str().unwrap_or_default();
    assert!(
        hint.contains("ANTHROPIC_API_KEY") || hint.contains("login"),
        "{hint}"
    );
    assert!(!turn.ended.to_string().contains(crate::fixture::KEY));
    editor.settle();
}

/// OC-54.
#[test]
fn a_missing_key_is_an_error_that_names_the_ways_to_give_one() {
    let model = Model::says("never");
    let stage = Stage::new(TEXT);
    let launch = stage
        .launch(&model)
        .no_options()
        .var("ANTHROPIC_API_KEY", "");
    let mut editor = launch.start();
    let id = editor.ask("interline/session/new", json!({}));
    let error = match editor.answer(id) {
        Err(error) => error,
        Ok(made) => {
            let input = json!([{ "type": "text", "text": "hi" }]);
            let params = json!({ "sessionId": made["sessionId"], "input": input });
            editor.refused("interline/turn/start", params)
        }
    };
    assert_eq!(error["data"]["kind"], "noModel", "{error}");
    let hint = error["data"]["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("ANTHROPIC_API_KEY"), "{hint}");
    assert_eq!(model.count(), 0);
}

/// P01, P02: a stream without its terminal event is not a success.
#[test]
fn a_cut_stream_is_retried_and_no_tool_runs_twice() {
    let call = Reply::read("a.txt").thinking("a thought that is cut");
    let whole = call.body().len();
    for bytes in [whole / 3, whole - 60] {
        let model = Model::plays(vec![
            call.clone().cut_after(bytes),
            call.clone(),
            Reply::text("ok"),
        ]);
        let stage = Stage::new(TEXT);
        let (_editor, turn) = run(&stage, &model);
        assert_eq!(turn.text(), "ok", "cut after {bytes}");
        let done = turn
            .statuses()
            .iter()
            .filter(|s| **s == "completed")
            .count();
        assert_eq!(done, 1, "cut after {bytes}");
    }
}

#[test]
fn a_connection_that_closes_before_its_head_is_retried() {
    let model = Model::plays(vec![Reply::text("").cut_before_head(), Reply::text("ok")]);
    let stage = Stage::new(TEXT);
    let (_editor, turn) = run(&stage, &model);
    assert_eq!(turn.text(), "ok");
}

/// P19: a login page is reported, and nothing is sent again.
#[test]
fn a_page_instead_of_a_stream_is_named() {
    let model = Model::plays(vec![Reply::html()]);
    let stage = Stage::new(TEXT);
    let (_editor, turn) = run(&stage, &model);
    assert_eq!(turn.stop_reason(), "error");
    assert!(
        turn.ended["error"].to_string().contains("text/html"),
        "{}",
        turn.ended
    );
}

#[test]
fn an_error_during_the_stream_is_retried() {
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\
                 \"message\":\"Overloaded\"}}\n\n";
    let mut body = Reply::text("half an answer").body();
    body.truncate(body.len() / 2);
    let cut = body
        .windows(2)
        .rposition(|pair| pair == b"\n\n")
        .map_or(0, |at| at + 2);
    body.truncate(cut);
    body.extend_from_slice(error.as_bytes());
    let broken = Reply::raw(200, "text/event-stream", body);
    let model = Model::plays(vec![broken, Reply::text("whole")]);
    let stage = Stage::new(TEXT);
    let (_editor, turn) = run(&stage, &model);
    assert_eq!(turn.stop_reason(), "endTurn");
    assert!(turn.text().ends_with("whole"));
}

/// INV-7: a call truncated by max_tokens is never run.
#[test]
fn a_call_cut_by_the_token_limit_is_not_run() {
    let call = Reply::exec("touch out").stopping("max_tokens");
    let model = Model::start(move |request| match request.n {
        0 => call.clone(),
        _ => Reply::text("ok"),
    });
    let stage = Stage::new(TEXT);
    let (editor, turn) = run(&stage, &model);
    assert!(!turn.statuses().contains(&"completed"));
    assert!(editor.script.asked.is_empty());
}

#[test]
fn a_refusal_ends_the_turn_as_one() {
    let model = Model::plays(vec![Reply::text("I can not").stopping("refusal")]);
    let stage = Stage::new(TEXT);
    let (_editor, turn) = run(&stage, &model);
    assert_eq!(turn.stop_reason(), "refusal");
}

/// The client may open a spare connection while the last one is on its way back to the pool,
/// so the count is not exact; without reuse it is one connection per step.
#[test]
fn connections_serve_many_steps() {
    let model = Model::steps(vec![Reply::read("a.txt"); 12]);
    let stage = Stage::new(TEXT);
    let (_editor, _) = run(&stage, &model);
    assert_eq!(model.count(), 13);
    assert!(model.connections() <= 6, "{}", model.connections());
}

/// INV-10, N06.
#[test]
fn nothing_leaves_the_machine_before_the_first_prompt() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.open("a.txt");
    let params = editor.turn_params("hi");
    editor.preview(&params);
    editor.settle();
    assert_eq!((model.count(), model.connections()), (0, 0));
    assert!(editor.process.children().is_empty());
}
