//! Limits of totals: an answer's bytes and calls, the requests of a turn with its sub-agents.

use serde_json::json;

use crate::fixture::Stage;
use crate::model::{Model, Reply};

/// An answer on the wire, made of the given blocks.
fn stream(blocks: impl Iterator<Item = (String, String)>, stop: &str) -> Reply {
    let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
    let message = json!({ "id": "m", "type": "message", "role": "assistant", "content": [],
        "model": "x", "stop_reason": null, "stop_sequence": null, "usage": usage });
    let mut out = String::new();
    let mut event = |data: &str| {
        out.push_str("data: ");
        out.push_str(data);
        out.push_str("\n\n");
    };
    event(&json!({ "type": "message_start", "message": message }).to_string());
    for (index, (start, delta)) in blocks.enumerate() {
        event(&format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{start}}}"#
        ));
        event(&format!(
            r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#
        ));
        event(&format!(
            r#"{{"type":"content_block_stop","index":{index}}}"#
        ));
    }
    let delta = json!({ "stop_reason": stop, "stop_sequence": null });
    event(&json!({ "type": "message_delta", "delta": delta, "usage": usage }).to_string());
    event(r#"{"type":"message_stop"}"#);
    Reply::raw(200, "text/event-stream", out.into_bytes())
}

/// R10: the text so far is kept, and the turn says why it ended.
#[test]
fn an_endless_answer_is_stopped_and_its_text_is_kept() {
    let text = "x".repeat(1 << 20);
    let block = (
        r#"{"type":"text","text":""}"#.to_owned(),
        json!({ "type": "text_delta", "text": text }).to_string(),
    );
    let model = Model::start(move |request| match request.n {
        0 => stream(std::iter::repeat_n(block.clone(), 40), "end_turn"),
        _ => Reply::text("again"),
    });
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut editor = stage.editor(&model);
    let turn = editor.run("go");
    assert_eq!(turn.stop_reason(), "error");
    let why = turn.ended["error"]["message"].as_str().expect("words");
    assert!(why.contains("larger than 32 MiB"), "{why}");
    assert!(turn.text().len() >= 31 << 20);
    let log = stage.logs().pop().expect("a log");
    let bytes = std::fs::metadata(log).expect("a log").len();
    assert!(bytes < 80 << 20, "{bytes}");
}

/// Too many calls: the first ones run, the others are answered.
#[test]
fn calls_beyond_the_limit_of_an_answer_are_answered_without_being_run() {
    let call = |n: usize| {
        let start =
            json!({ "type": "tool_use", "id": format!("t{n}"), "name": "list", "input": {} });
        let delta = json!({ "type": "input_json_delta", "partial_json": "{\"path\":\".\"}" });
        (start.to_string(), delta.to_string())
    };
    let model = Model::start(move |request| match request.n {
        0 => stream((0..20_000).map(call), "tool_use"),
        _ => Reply::text("done"),
    });
    let stage = Stage::new("//- /a.txt\nx\n");
    let mut editor = stage.editor(&model);
    let turn = editor.run("go");
    assert_eq!(turn.stop_reason(), "endTurn");
    assert_eq!(turn.statuses(), ["completed"; 256]);
    let next = model.request(1);
    let results = next.messages().last().expect("a message")["content"].as_array();
    let results = results.expect("results");
    let refused = results.iter().filter(|it| it["is_error"] == true).count();
    assert_eq!(refused, 20_000 - 256);
    assert!(
        results[256].to_string().contains("Not run"),
        "{}",
        results[256]
    );
    let notice = turn.of("notice")[0]["text"].to_string();
    assert!(notice.contains("20000 calls"), "{notice}");
}

/// R26: sub-agents share the turn's requests, and leave it the last one.
#[test]
fn the_limit_of_steps_counts_the_requests_of_sub_agents() {
    let model = Model::start(
        |request| match request.tools().contains(&"delegate".to_owned()) {
            true => {
                let call = json!({ "task": "look at it" });
                Reply::call("delegate", call.clone()).and_call("delegate", call)
            }
            false => Reply::call("list", json!({ "path": "." })),
        },
    );
    let stage = Stage::new("//- /a.txt\nx\n");
    let launch = stage
        .launch(&model)
        .setting("limits", json!({ "steps": 5 }));
    let mut editor = launch.start();
    let turn = editor.run("go");
    assert_eq!(turn.stop_reason(), "maxSteps");
    assert_eq!(model.count(), 5);
    let own = model.request(4).tools().contains(&"delegate".to_owned());
    assert!(own, "the last request is the turn's own");
}

/// R26: a sub-agent whose model has no known price cannot evade `limits.cost`.
#[test]
fn a_sub_agent_without_a_price_is_refused_under_a_limit_of_cost() {
    let model = Model::start(|request| match request.step() {
        0 => Reply::call("delegate", json!({ "task": "look", "agent": "cheap" })),
        _ => Reply::text(&request.result()),
    });
    let stage = Stage::new("//- /a.txt\nx\n");
    let agents = stage.folder("config/interline/agents");
    std::fs::create_dir_all(&agents).expect("a folder");
    let agent = "---\nname: cheap\ndescription: looks\nmodel: anthropic/unheard-of\n---\nLook.\n";
    std::fs::write(agents.join("cheap.md"), agent).expect("an agent");
    let mut editor = stage
        .launch(&model)
        .user_setting("limits", json!({ "cost": 1.0 }))
        .start();
    let turn = editor.run("go");
    assert!(
        turn.text().contains("price of its model"),
        "{}",
        turn.text()
    );
    assert_eq!(model.count(), 2);
    drop(editor);
    let mut free = stage.editor(&model);
    free.run("go");
    assert!(model.count() > 4, "without a limit it runs");
}
