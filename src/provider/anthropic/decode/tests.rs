use serde_json::json;

use super::*;
use crate::conversation::FailureKind;

fn decode(events: &[Value]) -> (Vec<ModelEvent>, Result<(), ProviderError>) {
    let mut decoder = Decoder::default();
    let mut out = Vec::new();
    for value in events {
        let event = sse::Event {
            name: String::new(),
            data: value.to_string(),
        };
        if let Err(error) = decoder.event(&event, &mut out) {
            return (out, Err(error));
        }
    }
    let end = decoder.finish(&mut out);
    (out, end)
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn json_delta(index: u64, text: &str) -> Value {
    delta(
        index,
        json!({"type": "input_json_delta", "partial_json": text}),
    )
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn tool(index: u64, id: &str) -> Value {
    start(
        index,
        json!({"type": "tool_use", "id": id, "name": "read", "input": {}}),
    )
}

fn end(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ]
}

fn blocks(events: &[ModelEvent]) -> Vec<(Block, Option<String>)> {
    events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::Block { block, invalid, .. } => Some((block.clone(), invalid.clone())),
            _ => None,
        })
        .collect()
}

fn one_tool(pieces: &[&str]) -> (Value, Option<String>) {
    let mut events = vec![tool(0, "t")];
    events.extend(pieces.iter().map(|piece| json_delta(0, piece)));
    events.push(stop(0));
    events.extend(end("tool_use"));
    let (out, result) = decode(&events);
    result.unwrap();
    match &blocks(&out)[..] {
        [(Block::ToolUse { input, .. }, invalid)] => (input.clone(), invalid.clone()),
        other => panic!("{other:?}"),
    }
}

fn a_whole_answer() -> Vec<Value> {
    let mut events = vec![
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 12, "cache_read_input_tokens": 9000, "output_tokens": 1}}}),
        start(
            0,
            json!({"type": "thinking", "thinking": "", "signature": ""}),
        ),
        delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
        delta(0, json!({"type": "signature_delta", "signature": "Eq"})),
        delta(0, json!({"type": "signature_delta", "signature": "=="})),
        stop(0),
        json!({"type": "ping"}),
        start(1, json!({"type": "redacted_thinking", "data": "zz"})),
        stop(1),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": "Hi"})),
        stop(2),
        tool(3, "t1"),
        json_delta(3, ""),
        json_delta(3, "{\"path\":"),
        json_delta(3, "\"a.rs\"}"),
        stop(3),
    ];
    events.extend(end("tool_use"));
    events
}

#[test]
fn text_thinking_and_calls_are_decoded_in_order() {
    let (out, result) = decode(&a_whole_answer());
    result.unwrap();
    let usage = |output| {
        ModelEvent::Usage(Usage {
            input: 12,
            output,
            cache_read: 9000,
            cache_write: 0,
        })
    };
    let block = |index, block| ModelEvent::Block {
        index,
        block,
        invalid: None,
    };
    let text = |text: &str| text.to_owned();
    assert_eq!(
        out,
        [
            usage(1),
            ModelEvent::ThoughtDelta {
                index: 0,
                text: text("hm")
            },
            block(
                0,
                Block::Thinking {
                    thinking: text("hm"),
                    signature: text("Eq==")
                }
            ),
            block(1, Block::RedactedThinking { data: text("zz") }),
            ModelEvent::TextDelta {
                index: 2,
                text: text("Hi")
            },
            block(2, Block::text("Hi")),
            ModelEvent::ToolStart {
                index: 3,
                id: text("t1"),
                name: text("read")
            },
            ModelEvent::ToolInputDelta {
                index: 3,
                text: text("{\"path\":")
            },
            ModelEvent::ToolInputDelta {
                index: 3,
                text: text("\"a.rs\"}")
            },
            block(
                3,
                Block::ToolUse {
                    id: text("t1"),
                    name: text("read"),
                    input: json!({"path": "a.rs"})
                },
            ),
            usage(5),
            ModelEvent::Stop(StopReason::ToolUse),
        ]
    );
}

#[test]
fn empty_arguments_are_an_empty_object_and_bad_ones_are_kept_raw_p22_p24() {
    assert_eq!(one_tool(&[]), (json!({}), None));
    assert_eq!(one_tool(&["", ""]), (json!({}), None));
    for raw in ["{\"path\":\"a", "{\"a\":1,\"a\":2}", "\"{}\"", "[1]"] {
        let (input, invalid) = one_tool(&[raw]);
        assert_eq!(input, json!(raw));
        assert!(invalid.is_some(), "{raw}");
    }
}

#[test]
fn arguments_at_the_start_apply_if_no_delta_follows() {
    let block = json!({"type": "tool_use", "id": "t", "name": "read", "input": {"path": "b"}});
    let mut events = vec![start(0, block), stop(0)];
    events.extend(end("tool_use"));
    let (out, _) = decode(&events);
    assert!(
        matches!(&blocks(&out)[0], (Block::ToolUse { input, .. }, None) if input["path"] == "b")
    );
}

#[test]
fn unknown_blocks_are_kept_unchanged_and_unknown_events_ignored_p09() {
    let mut events = vec![
        json!({"type": "brand_new", "x": 1}),
        start(
            0,
            json!({"type": "server_tool_use", "id": "s", "name": "web", "input": {}}),
        ),
        json_delta(0, "{\"q\":"),
        json_delta(0, "1}"),
        stop(0),
        start(1, json!({"type": "odd", "content": "a"})),
        delta(1, json!({"type": "odd_delta", "content": "b", "more": [1]})),
        stop(1),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "citations_delta", "citation": {}})),
        delta(2, json!({"type": "text_delta", "text": "t"})),
        stop(2),
    ];
    events.extend(end("end_turn"));
    let (out, result) = decode(&events);
    result.unwrap();
    let opaque = |value| (Block::Opaque { value }, None);
    assert_eq!(
        blocks(&out),
        [
            opaque(json!({"type": "server_tool_use", "id": "s", "name": "web", "input": {"q": 1}})),
            opaque(json!({"type": "odd", "content": "ab", "more": [1]})),
            (Block::text("t"), None),
        ]
    );
}

#[test]
fn stop_reasons_are_mapped() {
    let check = |delta: Value, expected: StopReason| {
        let events = [
            json!({"type": "message_delta", "delta": delta}),
            json!({"type": "message_stop"}),
        ];
        let (out, result) = decode(&events);
        result.unwrap();
        assert_eq!(out, [ModelEvent::Stop(expected)]);
    };
    check(json!({"stop_reason": "end_turn"}), StopReason::EndTurn);
    check(json!({"stop_reason": "stop_sequence"}), StopReason::EndTurn);
    check(json!({"stop_reason": "tool_use"}), StopReason::ToolUse);
    check(json!({"stop_reason": "max_tokens"}), StopReason::MaxTokens);
    check(json!({"stop_reason": "pause_turn"}), StopReason::Pause);
    check(
        json!({"stop_reason": "model_context_window_exceeded"}),
        StopReason::ContextWindow,
    );
    check(
        json!({"stop_reason": "new"}),
        StopReason::Other("new".into()),
    );
    let refusal = json!({"stop_reason": "refusal", "stop_details": {"category": "cyber"}});
    check(refusal, StopReason::Refusal(Some("cyber".into())));
    check(json!({}), StopReason::EndTurn);
}

#[test]
fn usage_is_cumulative_and_odd_numbers_saturate_p26() {
    let usage = |value: &str| {
        let data = format!(r#"{{"type":"message_delta","delta":{{}},"usage":{value}}}"#);
        let mut out = Vec::new();
        let event = sse::Event {
            name: String::new(),
            data,
        };
        let mut decoder = Decoder::default();
        decoder.event(&event, &mut out).unwrap();
        decoder.event(&event, &mut out).unwrap();
        match out.last() {
            Some(ModelEvent::Usage(usage)) => *usage,
            _ => panic!(),
        }
    };
    assert_eq!(usage(r#"{"output_tokens":7}"#).output, 7);
    assert_eq!(
        usage(r#"{"output_tokens":99999999999999999999999}"#).output,
        u64::MAX
    );
    assert_eq!(
        usage(r#"{"output_tokens":-4,"input_tokens":null}"#),
        Usage::default()
    );
}

#[test]
fn errors_in_the_stream_are_typed_p06() {
    let failed = |kind: &str, message: &str| {
        let error = json!({"type": "error", "error": {"type": kind, "message": message}});
        let (out, result) = decode(&[start(0, json!({"type": "text", "text": "partial"})), error]);
        assert_eq!(out.len(), 1, "the text before is kept");
        result.unwrap_err()
    };
    let error = failed("overloaded_error", "Overloaded");
    assert!(
        matches!(&error, ProviderError::Retry { failure, .. } if failure.kind == FailureKind::Overloaded)
    );
    assert!(error.failure().message.contains("Overloaded"));
    let error = failed("rate_limit_error", "slow down");
    assert!(
        matches!(&error, ProviderError::Retry { failure, .. } if failure.kind == FailureKind::RateLimited)
    );
    assert!(matches!(
        failed("api_error", "x"),
        ProviderError::Retry { .. }
    ));
    assert!(matches!(
        failed("authentication_error", "x"),
        ProviderError::Auth(_)
    ));
    assert!(matches!(
        failed("invalid_request_error", "prompt is too long: 9 > 1"),
        ProviderError::Overflow(_)
    ));
    assert!(matches!(
        failed("invalid_request_error", "x"),
        ProviderError::Fatal(_)
    ));
    assert!(matches!(
        failed("billing_error", "x"),
        ProviderError::Fatal(_)
    ));
    // An error object inside any event.
    let (_, result) = decode(&[json!({"error": {"message": "boom"}})]);
    assert!(result.unwrap_err().failure().message.contains("boom"));
}

#[test]
fn without_the_terminal_event_there_is_no_stop_p02_inv_7() {
    let mut events = vec![tool(0, "t"), json_delta(0, "{}"), stop(0)];
    events.push(end("tool_use")[0].clone());
    let (out, result) = decode(&events);
    assert!(!out.iter().any(|event| matches!(event, ModelEvent::Stop(_))));
    let error = result.unwrap_err();
    assert!(
        matches!(&error, ProviderError::Retry { failure, .. } if failure.kind == FailureKind::Network)
    );
    assert!(error.failure().message.contains("the stream ended"));
    let (_, result) = decode(&[]);
    assert!(
        result
            .unwrap_err()
            .failure()
            .message
            .contains("empty response")
    );
}

#[test]
fn a_call_that_never_closed_is_invalid_even_if_it_parses_inv_7() {
    let mut events = vec![tool(0, "t"), json_delta(0, "{\"a\":1}")];
    events.extend(end("tool_use"));
    let (out, _) = decode(&events);
    let blocks = blocks(&out);
    assert!(matches!(
        &blocks[0],
        (
            Block::ToolUse {
                input: Value::String(_),
                ..
            },
            Some(_)
        )
    ));
}

#[test]
fn ids_are_made_unique_within_an_answer_p25() {
    let mut events = Vec::new();
    for (index, id) in ["", "x", "x", ""].into_iter().enumerate() {
        events.push(tool(index as u64, id));
        events.push(stop(index as u64));
    }
    events.extend(end("tool_use"));
    let (out, _) = decode(&events);
    let ids: Vec<String> = blocks(&out)
        .into_iter()
        .filter_map(|(block, _)| match block {
            Block::ToolUse { id, .. } => Some(id),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["call_0", "x", "x_2", "call_3"]);
}

#[test]
fn a_repeated_start_continues_the_open_call_p25() {
    let mut events = vec![
        tool(0, "t"),
        json_delta(0, "{\"a\""),
        tool(0, ""),
        json_delta(0, ":1}"),
        stop(0),
    ];
    events.extend(end("tool_use"));
    let (out, _) = decode(&events);
    assert!(
        matches!(&blocks(&out)[0], (Block::ToolUse { input, .. }, None) if *input == json!({"a": 1}))
    );
}

#[test]
fn strays_are_survived_or_typed_p27() {
    let text = delta(4, json!({"type": "text_delta", "text": "lost?"}));
    let mut events = vec![text, stop(4), stop(9)];
    events.extend(end("end_turn"));
    let (out, result) = decode(&events);
    result.unwrap();
    assert_eq!(blocks(&out), [(Block::text("lost?"), None)]);
    let (_, result) = decode(&[json_delta(7, "{}")]);
    assert!(result.unwrap_err().failure().message.contains("malformed"));
    let (_, result) = decode(&[tool(0, "a"), tool(0, "b")]);
    assert!(result.is_err());
}

#[test]
fn whatever_follows_the_end_is_ignored() {
    let mut events = end("end_turn").to_vec();
    events.push(tool(0, "late"));
    events.push(json!({"type": "error", "error": {"type": "api_error"}}));
    let (out, result) = decode(&events);
    result.unwrap();
    assert!(matches!(out.last(), Some(ModelEvent::Stop(_))));
}

#[test]
fn events_that_are_not_json_are_ignored_only_when_nothing_can_be_lost() {
    let with = |name: &str, data: &str| {
        let event = sse::Event {
            name: name.into(),
            data: data.into(),
        };
        Decoder::default().event(&event, &mut Vec::new())
    };
    assert!(with("vendor_note", "hello").is_ok());
    assert!(with("content_block_delta", "{").is_err());
    assert!(with("", "<html>").is_err());
}

#[test]
fn a_lone_surrogate_in_a_text_is_replaced_p15() {
    let mut out = Vec::new();
    let data = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83d"}}"#;
    let event = sse::Event {
        name: String::new(),
        data: data.into(),
    };
    Decoder::default().event(&event, &mut out).unwrap();
    assert_eq!(
        out,
        [ModelEvent::TextDelta {
            index: 0,
            text: "a\u{fffd}".into()
        }]
    );
}

#[test]
fn more_than_a_hundred_parallel_calls_are_decoded() {
    let mut events: Vec<Value> = (0..150).map(|n| tool(n, &format!("t{n}"))).collect();
    events.extend((0..150).map(stop));
    events.extend(end("tool_use"));
    let (out, _) = decode(&events);
    assert_eq!(blocks(&out).len(), 150);
}

/// The fast path for pieces of text and the general one agree.
#[test]
fn both_ways_to_read_pieces_of_text_agree() {
    let rows = [
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\n\"\ud83d\ude00"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x\ud83d"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"","more":[1]},"x":{}}"#,
        r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"no index"}}"#,
        r#"{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"stray"}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"not here"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":null}}"#,
        r#"{"index":0,"delta":{"type":"text_delta","text":"b"},"error":{"type":"overloaded_error"}}"#,
        r#"{"index":0,"delta":{"type":"text_delta","text":"b"},"error":null}"#,
        r#"{"type":"ping","index":0,"delta":{"type":"text_delta","text":"a"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"no_text_delta","text":"a"}}"#,
    ];
    for row in rows {
        let way = |quick: bool| {
            let mut decoder = Decoder::default();
            let mut out = Vec::new();
            for block in [(0, "text"), (1, "thinking")] {
                let data = start(block.0, json!({ "type": block.1 })).to_string();
                let name = String::new();
                decoder.event(&sse::Event { name, data }, &mut out).unwrap();
            }
            let event = sse::Event {
                name: "content_block_delta".to_owned(),
                data: row.to_owned(),
            };
            let result = match quick {
                true => decoder.event(&event, &mut out),
                false => decoder.any_event(&event, &mut out),
            };
            let failed = result.is_err();
            (
                format!("{out:?}"),
                failed,
                format!("{:?}", decoder.open.get(&0)),
            )
        };
        assert_eq!(way(true), way(false), "{row}");
    }
}
