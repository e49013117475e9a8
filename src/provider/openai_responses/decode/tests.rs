use proptest::prelude::*;

use super::*;
use crate::conversation::{FailureKind, ToolSpec};
use crate::fuzz::{decode_all, fuzz_openai_responses};
use crate::provider::openai::names::wire;

/// Two parallel calls after reasoning and a message, as the API streams them.
pub const STREAM: &str = concat!(
    "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"status\":\"in_progress\",\"output\":[]},\"sequence_number\":0}\n\n",
    "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"half\"}}\n\n",
    "event: response.reasoning_summary_part.added\ndata: {\"type\":\"response.reasoning_summary_part.added\",\"item_id\":\"rs_1\",\"output_index\":0,\"summary_index\":0}\n\n",
    "event: response.reasoning_summary_text.delta\ndata: {\"type\":\"response.reasoning_summary_text.delta\",\"item_id\":\"rs_1\",\"output_index\":0,\"summary_index\":0,\"delta\":\"I lo\u{f6}k\"}\n\n",
    "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"reasoning\",\"id\":\"rs_1\",\"status\":null,\"summary\":[{\"type\":\"summary_text\",\"text\":\"I lo\u{f6}k\"}],\"encrypted_content\":\"gAAA\"}}\n\n",
    "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"phase\":\"commentary\",\"content\":[]}}\n\n",
    "event: response.content_part.added\ndata: {\"type\":\"response.content_part.added\",\"output_index\":1}\n\n",
    "event: response.output_text.delta\r\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":1,\"content_index\":0,\"delta\":\"h\u{e9}\u{1f600}\"}\r\n\r\n",
    "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":{\"type\":\"message\",\"id\":\"msg_1\",\"status\":\"completed\",\"role\":\"assistant\",\"phase\":\"commentary\",\"content\":[{\"type\":\"output_text\",\"text\":\"h\u{e9}\u{1f600}\"}]}}\n\n",
    "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":2,\"item\":{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"call_1\",\"name\":\"read\",\"arguments\":\"\"}}\n\n",
    "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":3,\"item\":{\"type\":\"function_call\",\"id\":\"fc_2\",\"call_id\":\"call_2\",\"name\":\"list\",\"arguments\":\"\"}}\n\n",
    "event: response.function_call_arguments.delta\ndata: {\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"fc_2\",\"output_index\":3,\"delta\":\"{}\"}\n\n",
    "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"output_index\":3,\"item\":{\"type\":\"function_call\",\"id\":\"fc_2\",\"call_id\":\"call_2\",\"name\":\"list\",\"arguments\":\"{}\"}}\n\n",
    "event: response.function_call_arguments.delta\ndata: {\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"fc_1\",\"output_index\":2,\"delta\":\"{\\\"p\\\":\"}\n\n",
    "event: response.function_call_arguments.done\ndata: {\"type\":\"response.function_call_arguments.done\",\"item_id\":\"fc_1\",\"output_index\":2,\"arguments\":\"{\\\"p\\\":1}\"}\n\n",
    "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"output_index\":2,\"item\":{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"call_1\",\"name\":\"read\",\"arguments\":\"{\\\"p\\\":1}\"}}\n\n",
    "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"instructions\":\"echo\",\"usage\":{\"input_tokens\":90,\"input_tokens_details\":{\"cached_tokens\":60},\"output_tokens\":9}}}\n\n",
);

fn decode(stream: &str) -> (Vec<ModelEvent>, Option<ProviderError>) {
    decode_all(Decoder::default(), &[stream.as_bytes()])
}

fn events(all: &[Value]) -> (Vec<ModelEvent>, Option<ProviderError>) {
    let lines: Vec<String> = all
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    decode(&lines.concat())
}

fn added(place: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": place, "item": item})
}

fn done(place: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": place, "item": item})
}

fn piece(kind: &str, place: u64, delta: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": place, "delta": delta})
}

fn call(id: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": "fc", "call_id": id, "name": "read", "arguments": arguments})
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"status": "completed"}})
}

/// The blocks, each with the reason why its arguments are invalid.
fn blocks(events: &[ModelEvent]) -> Vec<(Block, Option<String>)> {
    let block = |event: &ModelEvent| match event {
        ModelEvent::Block { block, invalid, .. } => Some((block.clone(), invalid.clone())),
        _ => None,
    };
    events.iter().filter_map(block).collect()
}

fn tool(id: &str, input: Value) -> Block {
    Block::ToolUse {
        id: id.into(),
        name: "read".into(),
        input,
    }
}

fn retries(error: Option<&ProviderError>) -> bool {
    matches!(error, Some(ProviderError::Retry { .. }))
}

#[test]
fn an_answers_blocks_have_the_order_of_the_output() {
    let (events, error) = decode(STREAM);
    assert!(error.is_none(), "{error:?}");
    let blocks: Vec<Block> = blocks(&events)
        .into_iter()
        .map(|(block, _)| block)
        .collect();
    let state = |value: Value| Block::Opaque { value };
    assert_eq!(
        blocks,
        [
            Block::Thinking {
                thinking: "I lo\u{f6}k".into(),
                signature: String::new()
            },
            state(
                json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "I lo\u{f6}k"}],
                "encrypted_content": "gAAA"})
            ),
            state(json!({"type": PHASE, "phase": "commentary"})),
            Block::text("h\u{e9}\u{1f600}"),
            tool("call_1", json!({"p": 1})),
            Block::ToolUse {
                id: "call_2".into(),
                name: "list".into(),
                input: json!({})
            },
        ]
    );
    let usage = Usage {
        input: 30,
        cache_read: 60,
        output: 9,
        ..Usage::default()
    };
    assert_eq!(
        events[events.len() - 2..],
        [
            ModelEvent::Usage(usage),
            ModelEvent::Stop(StopReason::ToolUse)
        ]
    );
}

#[test]
fn every_split_gives_the_same_events_p13() {
    let whole = decode(STREAM).0;
    for at in 0..STREAM.len() {
        let (first, second) = STREAM.as_bytes().split_at(at);
        assert_eq!(
            decode_all(Decoder::default(), &[first, second]).0,
            whole,
            "{at}"
        );
    }
}

#[test]
fn an_end_at_any_byte_before_the_last_event_is_a_cut_stream_p02_inv_7() {
    let whole = decode(STREAM).0;
    let last = STREAM.rfind("event:").unwrap();
    for at in 0..=last {
        let (events, error) = decode_all(Decoder::default(), &[&STREAM.as_bytes()[..at]]);
        assert!(retries(error.as_ref()), "{at}");
        assert_eq!(events, whole[..events.len()], "{at}");
    }
}

#[test]
fn nothing_at_all_is_an_empty_response_p21() {
    for stream in ["", ": keep-alive\n\n", "data: [DONE]\n\n"] {
        let error = decode(stream).1;
        assert!(error.unwrap().failure().message.contains("empty response"));
    }
}

#[test]
fn arguments_that_do_not_parse_are_reported_and_may_be_missing_p22_p24() {
    for bad in ["{\"p\":", "{\"p\":1,\"p\":2}", "\"{}\"", "[1]"] {
        let (events, error) = events(&[
            added(0, call("c", "")),
            done(0, call("c", bad)),
            completed(),
        ]);
        assert!(error.is_none());
        let all = blocks(&events);
        assert_eq!(all[0].0, tool("c", json!(bad)));
        assert!(all[0].1.is_some(), "{bad}");
    }
    let (events, _) = events(&[added(0, call("c", "")), done(0, call("c", "")), completed()]);
    assert_eq!(blocks(&events), [(tool("c", json!({})), None)]);
}

#[test]
fn ids_that_repeat_or_miss_become_unique_p25() {
    let mut nameless = call("", "{}");
    nameless["id"] = Value::Null;
    let (events, _) = events(&[
        done(0, call("c", "{}")),
        done(1, call("c", "{}")),
        done(2, nameless),
        completed(),
    ]);
    let ids: Vec<String> = blocks(&events)
        .iter()
        .map(|(block, _)| match block {
            Block::ToolUse { id, .. } => id.clone(),
            _ => String::new(),
        })
        .collect();
    assert_eq!(ids, ["c", "c_2", "call_2"]);
}

#[test]
fn pieces_without_a_position_or_a_start_p27() {
    let (events, error) = events(&[piece("output_text", 4, "hi"), completed()]);
    assert!(error.is_none());
    assert_eq!(blocks(&events), [(Block::text("hi"), None)]);
    let stray = [piece("function_call_arguments", 4, "{"), completed()];
    assert!(retries(super::tests::events(&stray).1.as_ref()));
    // Nothing is added to a finished item or a finished answer.
    let late = [
        done(0, call("c", "{}")),
        piece("function_call_arguments", 0, "x"),
        done(0, call("c", "{")),
        completed(),
        piece("output_text", 1, "late"),
    ];
    let (events, error) = super::tests::events(&late);
    assert!(error.is_none() && matches!(events.last(), Some(ModelEvent::Stop(_))));
    assert_eq!(blocks(&events), [(tool("c", json!({})), None)]);
}

#[test]
fn events_without_positions_are_matched_by_their_ids() {
    let item = |id: &str| json!({"type": "function_call", "id": id, "call_id": id, "name": "read"});
    let strip = |mut event: Value| {
        event.as_object_mut().unwrap().remove("output_index");
        event
    };
    let args = |id: &str, delta: &str| {
        json!({
        "type": "response.function_call_arguments.delta", "item_id": id, "delta": delta})
    };
    let (events, error) = events(&[
        strip(added(0, item("a"))),
        strip(added(0, item("b"))),
        args("a", "{\"n\":1}"),
        args("b", "{\"n\":2}"),
        completed(),
    ]);
    assert!(error.is_none());
    let expected = [
        (tool("a", json!({"n": 1})), None),
        (tool("b", json!({"n": 2})), None),
    ];
    assert_eq!(blocks(&events), expected);
}

#[test]
fn an_output_in_the_last_event_only_is_read() {
    let message = json!({"type": "message", "content": [{"type": "output_text", "text": "all"}]});
    let end =
        json!({"type": "response.completed", "response": {"output": [message, call("c", "{}")]}});
    let (events, _) = events(&[end]);
    assert_eq!(
        events[0],
        ModelEvent::TextDelta {
            index: 0,
            text: "all".into()
        }
    );
    assert_eq!(
        blocks(&events),
        [(Block::text("all"), None), (tool("c", json!({})), None)]
    );
}

#[test]
fn errors_come_in_three_shapes_p06() {
    let text = piece("output_text", 0, "half");
    let failed = json!({"type": "response.failed", "response": {
        "error": {"code": "rate_limit_exceeded", "message": "slow"}}});
    let (events, error) = events(&[text.clone(), failed]);
    assert_eq!(
        events,
        [ModelEvent::TextDelta {
            index: 0,
            text: "half".into()
        }]
    );
    assert_eq!(error.unwrap().failure().kind, FailureKind::RateLimited);
    let error = |event: Value| super::tests::events(&[event]).1.unwrap();
    let plain =
        error(json!({"type": "error", "code": "server_error", "message": "oops", "param": null}));
    assert!(retries(Some(&plain)) && plain.failure().message.contains("oops"));
    let nested = error(json!({"error": {"code": "context_length_exceeded", "message": "long"}}));
    assert!(matches!(nested, ProviderError::Overflow(_)));
    let quota = error(json!({"type": "error", "code": "insufficient_quota", "message": "pay"}));
    assert!(matches!(quota, ProviderError::Fatal(_)));
}

#[test]
fn an_incomplete_answer_says_why_and_its_open_call_is_not_run_p29_p30() {
    let stop = |reason: Value| {
        let details = match reason {
            Value::Bool(_) => Value::Null,
            reason => json!({"reason": reason}),
        };
        let end =
            json!({"type": "response.incomplete", "response": {"incomplete_details": details}});
        let (events, error) = events(&[
            added(0, call("c", "")),
            piece("function_call_arguments", 0, "{}"),
            end,
        ]);
        assert!(error.is_none() && blocks(&events)[0].1.is_some());
        events.last().cloned().unwrap()
    };
    assert_eq!(
        stop(json!("max_output_tokens")),
        ModelEvent::Stop(StopReason::MaxTokens)
    );
    assert!(matches!(
        stop(json!("content_filter")),
        ModelEvent::Stop(StopReason::Refusal(Some(_)))
    ));
    assert_eq!(
        stop(json!("steered")),
        ModelEvent::Stop(StopReason::Other("steered".into()))
    );
    for unnamed in [Value::Null, json!(false)] {
        assert_eq!(stop(unnamed), ModelEvent::Stop(StopReason::MaxTokens));
    }
    let failed = json!({"type": "response.done", "response": {"status": "failed", "error": {"code": "server_error"}}});
    assert!(events(&[failed]).1.is_some());
}

/// P29: llama.cpp sends `completed` for a truncated answer, others `incomplete` without a reason.
#[test]
fn an_answer_that_used_up_its_limit_is_truncated_whatever_its_status_p29() {
    let stop = |most: Option<u64>, status: &str, echoed: Value| {
        let usage = json!({"input_tokens": 5, "output_tokens": 64});
        let response = json!({"status": status, "usage": usage, "max_output_tokens": echoed});
        let said = [
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": "and so"}),
            json!({"type": "response.completed", "response": response}),
        ];
        let stream: String = said.iter().map(|it| format!("data: {it}\n\n")).collect();
        let decoder = Decoder::default().with_limit(most);
        let (events, error) = decode_all(decoder, &[stream.as_bytes()]);
        assert!(error.is_none());
        events.last().cloned().unwrap()
    };
    let (cut, end) = (StopReason::MaxTokens, StopReason::EndTurn);
    for (most, status, echoed, expected) in [
        (Some(64), "completed", Value::Null, &cut),
        (None, "completed", json!(64), &cut),
        (None, "incomplete", Value::Null, &cut),
        (Some(65), "completed", json!(1), &end),
        (None, "completed", json!(0), &end),
        (None, "completed", Value::Null, &end),
    ] {
        let expected = ModelEvent::Stop(expected.clone());
        assert_eq!(stop(most, status, echoed), expected, "{most:?} {status}");
    }
}

#[test]
fn a_refusal_is_shown_and_ends_the_turn_p30() {
    let item =
        json!({"type": "message", "content": [{"type": "refusal", "refusal": "I will not"}]});
    let (events, _) = events(&[piece("refusal", 0, "I will"), done(0, item), completed()]);
    assert_eq!(blocks(&events), [(Block::text("I will not"), None)]);
    assert_eq!(
        events.last(),
        Some(&ModelEvent::Stop(StopReason::Refusal(Some(
            "I will not".into()
        ))))
    );
}

#[test]
fn unknown_items_are_kept_and_unknown_events_ignored_p09() {
    let odd = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "c", "x": null});
    let (events, error) = events(&[
        json!({"type": "response.shiny.delta", "delta": {"a": 1}}),
        done(0, odd),
        completed(),
    ]);
    assert!(error.is_none());
    let value = json!({"type": "compaction", "encrypted_content": "c"});
    assert_eq!(blocks(&events), [(Block::Opaque { value }, None)]);
    let (_, error) = decode("event: shiny\ndata: not json\n\n");
    assert!(error.unwrap().failure().message.contains("empty response"));
}

#[test]
fn reasoning_that_cannot_be_sent_back_is_not_kept() {
    let item = json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": null});
    let (events, _) = events(&[done(0, item), completed()]);
    assert!(blocks(&events).is_empty());
    assert_eq!(events.last(), Some(&ModelEvent::Stop(StopReason::EndTurn)));
}

#[test]
fn a_mapped_tool_name_is_mapped_back() {
    let name = "server.tool/with.dots";
    let tool = ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        input_schema: json!({}).into(),
    };
    let mut item = call("c", "{}");
    item["name"] = wire(name).into_owned().into();
    let stream = format!("data: {}\n\ndata: {}\n\n", done(0, item), completed());
    let (events, _) = decode_all(Decoder::new(Names::of(&[tool])), &[stream.as_bytes()]);
    assert!(matches!(&events[0], ModelEvent::ToolStart { name: n, .. } if n == name));
    assert!(matches!(&blocks(&events)[0].0, Block::ToolUse { name: n, .. } if n == name));
}

#[test]
fn three_hundred_parallel_calls_are_decoded() {
    let mut all: Vec<Value> = (0..300)
        .map(|n| added(n, call(&format!("c{n}"), "")))
        .collect();
    all.extend(
        (0..300)
            .rev()
            .map(|n| done(n, call(&format!("c{n}"), "{}"))),
    );
    all.push(completed());
    let (events, error) = events(&all);
    assert!(error.is_none());
    let blocks = blocks(&events);
    assert_eq!(blocks.len(), 300);
    assert!((0..300).all(|n| blocks[n].0 == tool(&format!("c{n}"), json!({}))));
}

fn any_event() -> impl Strategy<Value = Value> {
    let place = 0u64..3;
    let item = prop_oneof![
        Just(call("c", "{}")),
        Just(call("", "{\"a\":")),
        Just(json!({"type": "reasoning", "id": "rs", "encrypted_content": "e"})),
        Just(json!({"type": "message", "phase": "commentary", "content": [{"text": "x"}]})),
        Just(Value::Null),
    ];
    let kinds = prop_oneof![
        Just("output_text"),
        Just("refusal"),
        Just("reasoning_text"),
        Just("function_call_arguments"),
    ];
    prop_oneof![
        4 => (place.clone(), item.clone()).prop_map(|(place, item)| added(place, item)),
        4 => (place.clone(), item).prop_map(|(place, item)| done(place, item)),
        4 => (place, kinds, "[a-z{}\"]{0,3}").prop_map(|(place, kind, text)| piece(kind, place, &text)),
        1 => Just(completed()),
        1 => Just(json!({"type": "response.incomplete", "response": {"incomplete_details": {}}})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_events_in_any_order_hold_what_the_fuzz_target_checks(
        all in proptest::collection::vec(any_event(), 0..14),
    ) {
        let lines: Vec<String> = all.iter().map(|event| format!("data: {event}\n\n")).collect();
        fuzz_openai_responses(lines.concat().as_bytes());
    }

    #[test]
    fn any_chunks_of_a_recorded_stream_give_the_same_events_p13(
        mut cuts in proptest::collection::vec(0..STREAM.len(), 0..12),
    ) {
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut rest = STREAM.as_bytes();
        for (n, cut) in cuts.iter().enumerate() {
            let before = n.checked_sub(1).map_or(0, |n| cuts[n]);
            let (piece, more) = rest.split_at(cut - before);
            pieces.push(piece);
            rest = more;
        }
        pieces.push(rest);
        prop_assert_eq!(decode_all(Decoder::default(), &pieces).0, decode(STREAM).0);
    }

    #[test]
    fn any_bytes_are_harmless(data in proptest::collection::vec(any::<u8>(), 0..200)) {
        fuzz_openai_responses(&data);
    }
}
