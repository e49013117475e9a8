use std::sync::Arc;

use futures_util::StreamExt as _;
use serde_json::json;

use super::*;
use crate::conversation::{ModelFacts, SystemBlock, ToolSpec};
use crate::provider::{ModelEvent, StopReason};

const HEADER: &str = r#"{"interline":"replay","version":1,"model":"claude-opus-5-5"}"#;
const OWN: &str = "replay/r";

fn said(text: &str) -> Value {
    json!([
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"}
    ])
}

fn recording(steps: &[Value]) -> Replay {
    let mut text = HEADER.to_owned();
    for step in steps {
        text.push('\n');
        text.push_str(&step.to_string());
    }
    Replay::parse("r", &text).unwrap()
}

fn request(messages: Vec<Message>) -> Request {
    Request {
        unreadable: 0,
        model: "r".into(),
        facts: Arc::new(ModelFacts::default()),
        system: Arc::new(vec![SystemBlock {
            text: "be kind".into(),
            boundary: true,
        }]),
        tools: Arc::new(vec![ToolSpec {
            name: "edit".into(),
            description: String::new(),
            input_schema: json!({}).into(),
        }]),
        messages: messages.into(),
    }
}

fn edited(content: &str, is_error: bool) -> Vec<Message> {
    let call = Block::ToolUse {
        id: "t".into(),
        name: "edit".into(),
        input: json!({}),
    };
    let result = Block::ToolResult {
        tool_use_id: "t".into(),
        content: content.into(),
        is_error,
    };
    vec![
        Message::user(vec![Block::text("please greet")]),
        Message::assistant(vec![call], OWN),
        Message::user(vec![result]),
    ]
}

async fn play(replay: &Replay, request: &Request) -> Result<Vec<ModelEvent>, ProviderError> {
    let body = replay.body(request).bytes;
    let mut stream = replay.stream(request, body).await?;
    let mut events = Vec::new();
    while let Some(batch) = stream.next().await {
        events.extend(batch?);
    }
    Ok(events)
}

async fn failure(replay: &Replay, request: &Request) -> Failure {
    match play(replay, request).await {
        Err(ProviderError::Fatal(failure)) => failure,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn each_request_gets_the_step_of_its_position_even_twice() {
    let replay = recording(&[
        json!({"events": said("one")}),
        json!({"events": said("two"), "comment": "x"}),
    ]);
    for _ in 0..2 {
        let events = play(
            &replay,
            &request(vec![Message::user(vec![Block::text("a")])]),
        )
        .await
        .unwrap();
        assert!(matches!(&events[0], ModelEvent::TextDelta { text, .. } if text == "one"));
        assert_eq!(events.last(), Some(&ModelEvent::Stop(StopReason::EndTurn)));
        let events = play(&replay, &request(edited("ok", false))).await.unwrap();
        assert!(matches!(&events[0], ModelEvent::TextDelta { text, .. } if text == "two"));
    }
}

#[tokio::test]
async fn a_request_after_the_last_step_names_it() {
    let replay = recording(&[json!({"events": said("one")})]);
    let failure = failure(&replay, &request(edited("ok", false))).await;
    assert!(failure.message.contains("no step 2") && failure.message.contains("after 1"));
}

/// Checks `expect` after an edit that succeeded or failed; the error is the failure's message.
async fn check_expect(expect: Value, edit: (&str, bool), parts: &[&str]) {
    let step = json!({"events": said("x"), "expect": expect});
    let replay = recording(&[json!({"events": said("first")}), step]);
    let request = request(edited(edit.0, edit.1));
    if parts.is_empty() {
        play(&replay, &request).await.unwrap();
        return;
    }
    let message = failure(&replay, &request).await.message;
    for part in ["step 2 (line 3)"].iter().chain(parts) {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[tokio::test]
async fn a_failed_check_names_the_step_and_what_was_expected_and_found() {
    let ok = ("applied to a.rs", false);
    let bad = ("old_string was not found", true);
    let of_edit = |key: &str, value: Value| json!({"toolResult": {"name": "edit", key: value}});
    let last = json!({"lastToolResultContains": "applied"});
    let cases: [(Value, (&str, bool), &[&str]); 12] = [
        (of_edit("contains", json!("applied")), ok, &[]),
        (
            of_edit("contains", json!("applied")),
            bad,
            &["\"applied\"", bad.0],
        ),
        (
            of_edit("isError", json!(false)),
            bad,
            &["not to be an error"],
        ),
        (of_edit("isError", json!(true)), ok, &["to be an error"]),
        (of_edit("lacks", json!("a.rs")), ok, &["not to contain"]),
        (
            json!({"toolResults": [{"name": "read"}]}),
            ok,
            &["a result of read"],
        ),
        (last.clone(), ok, &[]),
        (last, bad, &["a tool result"]),
        (
            json!({"lastUserContains": "more"}),
            ok,
            &["the last user message", "(nothing)"],
        ),
        (
            json!({"systemContains": "kind", "offers": ["edit"]}),
            ok,
            &[],
        ),
        (json!({"systemContains": "rude"}), ok, &["the system text"]),
        (json!({"offers": ["exec"]}), ok, &["the tool exec"]),
    ];
    for (expect, edit, parts) in cases {
        check_expect(expect, edit, parts).await;
    }
}

#[tokio::test]
async fn a_recording_may_fail_as_a_provider_does() {
    let cut = json!({"events": [{"type": "message_start"}]});
    let error = json!({"events": [{"type": "error", "error": {"type": "overloaded_error", "message": "o"}}]});
    for step in [cut, error] {
        let first = request(vec![Message::user(vec![Block::text("a")])]);
        let result = play(&recording(&[step]), &first).await;
        assert!(matches!(result, Err(ProviderError::Retry { .. })));
    }
}

#[test]
fn a_broken_recording_names_its_line() {
    let check = |text: &str, part: &str| {
        let failure = Replay::parse("r", text).unwrap_err();
        assert!(failure.message.contains(part), "{}", failure.message);
    };
    check("", "line 1");
    check("{\"version\":1}", "line 1");
    check("{\"interline\":\"replay\",\"version\":9}", "header");
    check(&format!("{HEADER}\n\n{{\"events\":3}}"), "line 3");
    check(
        &format!("{HEADER}\n{{\"events\":[{{}}]}}"),
        "without `type`",
    );
    check(
        &format!("{HEADER}\n{{\"events\":[],\"expect\":{{\"lastUserContain\":\"x\"}}}}"),
        "lastUserContain",
    );
}

#[tokio::test]
async fn the_demo_is_a_valid_recording() {
    let demo = Replay::demo().unwrap();
    assert!(!demo.steps.is_empty());
    for step in &demo.steps {
        let stream = step.answer.play(&request(Vec::new())).unwrap();
        let batches: Vec<Batch> = stream.collect().await;
        let last = batches.last().unwrap().as_ref().unwrap();
        let ended = matches!(last.last(), Some(ModelEvent::Stop(_)));
        assert!(ended, "line {}", step.line);
    }
}

/// The facts are those of the model that the header names; without one, of the first answer.
#[test]
fn the_headers_model_takes_precedence_over_those_of_the_answers() {
    let answer = |n: u64, model: &str| {
        json!({"n": n, "api": "anthropic", "model": format!("anthropic/{model}"),
            "at": {"first": "x", "answers": n}, "expect": {}, "stream": [], "end": "whole"})
    };
    let lines = [answer(0, "one"), answer(1, "two")].map(|it| it.to_string());
    let of = |header: &str| {
        let text = format!("{header}\n{}", lines.join("\n"));
        let replay = Replay::parse("r", &text).unwrap();
        replay.recorded_model().map(str::to_owned)
    };
    assert_eq!(of(HEADER).as_deref(), Some("claude-opus-5-5"));
    let silent = r#"{"interline":"replay","version":1}"#;
    assert_eq!(of(silent).as_deref(), Some("one"));
}
