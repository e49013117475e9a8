//! The model server against a plain HTTP client: its format, its gates and its checks.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{Gate, Model, Reply};
use crate::fixture::KEY;

fn post(model: &Model, body: &Value) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", model.port)).unwrap();
    let body = body.to_string();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nx-api-key: {KEY}\r\nanthropic-version: 2023-06-01\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut text = String::new();
    let mut buffer = [0; 4096];
    while !text.ends_with("0\r\n\r\n") {
        let n = stream.read(&mut buffer).unwrap_or(0);
        if n == 0 {
            break;
        }
        text.push_str(&String::from_utf8_lossy(&buffer[..n]));
    }
    text
}

fn request(messages: Value) -> Value {
    json!({
        "model": "claude-opus-5-5", "max_tokens": 8, "stream": true,
        "system": [{ "type": "text", "text": "sys", "cache_control": { "type": "ephemeral" } }],
        "tools": [{ "name": "read", "description": "reads", "input_schema": { "type": "object" } }],
        "messages": messages,
    })
}

/// The blocks that the one complete answer to `messages` had.
fn answered(model: &Model) -> Value {
    let state = model.shared.lock();
    let (_, blocks) = state.book.last_answer().unwrap();
    json!(blocks)
}

#[test]
fn an_answer_has_the_events_of_the_api() {
    let model = Model::calls("read", json!({ "path": "a" }));
    let text = post(
        &model,
        &request(json!([{ "role": "user", "content": "hi" }])),
    );
    for part in ["message_start", "tool_use", "partial_json", "message_stop"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[test]
fn an_exact_replay_with_moved_marks_passes() {
    let model = Model::start(|_| Reply::call("read", json!({ "path": "a" })).thinking("hm"));
    let prompt = json!({ "role": "user", "content": [{ "type": "text", "text": "hi",
        "cache_control": { "type": "ephemeral" } }] });
    post(&model, &request(json!([prompt])));
    let blocks = answered(&model);
    let id = blocks[1]["id"].clone();
    let plain = json!({ "role": "user", "content": [{ "type": "text", "text": "hi" }] });
    let result = json!({ "type": "tool_result", "tool_use_id": id, "content": "text" });
    let next = json!([plain, { "role": "assistant", "content": blocks },
        { "role": "user", "content": [result] }]);
    post(&model, &request(next));
    assert_eq!(model.violations(), Vec::<String>::new());
}

#[test]
fn thinking_on_another_prefix_and_a_missing_result_are_violations() {
    let model = Model::start(|_| Reply::call("read", json!({})).thinking("hm"));
    post(
        &model,
        &request(json!([{ "role": "user", "content": "hi" }])),
    );
    let blocks = answered(&model);
    let next = json!([{ "role": "user", "content": "ho" },
        { "role": "assistant", "content": blocks }, { "role": "user", "content": "so?" }]);
    let text = post(&model, &request(next));
    assert!(text.starts_with("HTTP/1.1 400"), "{text}");
    let found = model.violations().join("\n");
    for part in [
        "Invalid `signature`",
        "message 0 changed",
        "calls [\"toolu_0_1\"]",
    ] {
        assert!(found.contains(part), "{part} is missing in {found}");
    }
}

#[test]
fn a_changed_system_text_and_a_changed_answer_are_violations() {
    let model = Model::says("hello");
    post(
        &model,
        &request(json!([{ "role": "user", "content": "hi" }])),
    );
    let mut next = request(json!([{ "role": "user", "content": "hi" },
        { "role": "assistant", "content": "hallo" }, { "role": "user", "content": "more" }]));
    next["system"][0]["text"] = "sys at noon".into();
    post(&model, &next);
    let found = model.violations().join("\n");
    assert!(found.contains("system or parameters changed"), "{found}");
    assert!(found.contains("came back changed"), "{found}");
}

#[test]
fn a_fifth_mark_an_empty_text_and_a_leaked_key_are_violations() {
    let model = Model::says("hello");
    let mark = json!({ "type": "text", "text": "x", "cache_control": { "type": "ephemeral" } });
    let many = json!([mark, mark, mark, mark, { "type": "text", "text": " " },
        { "type": "text", "text": KEY }]);
    post(
        &model,
        &request(json!([{ "role": "user", "content": many }])),
    );
    let found = model.violations().join("\n");
    for part in [
        "5 cache_control marks",
        "empty text",
        "the key is in the body",
    ] {
        assert!(found.contains(part), "{part} is missing in {found}");
    }
}

#[test]
fn a_gate_holds_the_answer_back_and_a_hang_up_is_noticed() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::start(move |_| Reply::text("hello").pausing(&held));
    let stream = TcpStream::connect(("127.0.0.1", model.port)).unwrap();
    let body = request(json!([{ "role": "user", "content": "hi" }])).to_string();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nx-api-key: {KEY}\r\nanthropic-version: 1\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    (&stream).write_all(head.as_bytes()).unwrap();
    model.wait_for(1);
    assert_eq!(model.hung_up(), 0);
    drop(stream);
    model.wait_for_hang_up();
    assert!(!gate.is_open());
}

#[test]
fn a_cut_stream_ends_without_its_last_chunk() {
    let model = Model::plays(vec![Reply::text("hello").cut_after(40)]);
    let text = post(
        &model,
        &request(json!([{ "role": "user", "content": "hi" }])),
    );
    assert!(!text.ends_with("0\r\n\r\n"), "{text}");
}
