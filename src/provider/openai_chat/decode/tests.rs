use proptest::prelude::*;

use super::*;
use crate::conversation::FailureKind;
use crate::fuzz::{decode_all, fuzz_openai_chat};

/// Thought, text and two calls, with the comments, nulls and line ends of several servers.
pub const STREAM: &str = concat!(
    ": OPENROUTER PROCESSING\n\n",
    "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null,\"tool_calls\":null,\"refusal\":null},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null,\"error\":null}\n\n",
    "data:{\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"w\u{f6}nder\",\"content\":\"\"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"h\u{e9}\u{1f600}\"}}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\n",
    ": keep-alive\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"p\\\":1}\"}},{\"index\":1,\"id\":\"c2\",\"function\":{\"name\":\"list\",\"arguments\":\"\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4,\"prompt_tokens_details\":{\"cached_tokens\":5}}}\n\n",
    "data: [DONE]\n\n",
);

fn decode(stream: &str) -> (Vec<ModelEvent>, Option<ProviderError>) {
    decode_all(Decoder::default(), &[stream.as_bytes()])
}

/// Chunks with these deltas, a finish reason, and `[DONE]`.
fn answer(deltas: &[Value], finish: Value) -> (Vec<ModelEvent>, Option<ProviderError>) {
    let mut stream = String::new();
    for delta in deltas {
        let chunk = json!({"choices": [{"delta": delta, "finish_reason": null}]});
        stream.push_str(&format!("data: {chunk}\n\n"));
    }
    let chunk = json!({"choices": [{"delta": {}, "finish_reason": finish}]});
    decode(&format!("{stream}data: {chunk}\n\ndata: [DONE]\n\n"))
}

fn blocks(events: &[ModelEvent]) -> Vec<Block> {
    let block = |event: &ModelEvent| match event {
        ModelEvent::Block { block, .. } => Some(block.clone()),
        _ => None,
    };
    events.iter().filter_map(block).collect()
}

fn thought(text: &str) -> Block {
    Block::Thinking {
        thinking: text.into(),
        signature: String::new(),
    }
}

fn tool(id: &str, name: &str, input: Value) -> Block {
    Block::ToolUse {
        id: id.into(),
        name: name.into(),
        input,
    }
}

fn call(arguments: &str) -> Value {
    json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "read", "arguments": arguments}}]})
}

fn stop(events: &[ModelEvent]) -> StopReason {
    match events.last() {
        Some(ModelEvent::Stop(reason)) => reason.clone(),
        other => panic!("{other:?}"),
    }
}

fn retries(error: Option<&ProviderError>) -> bool {
    matches!(error, Some(ProviderError::Retry { .. }))
}

#[test]
fn an_answer_is_read_p18() {
    let (events, error) = decode(STREAM);
    assert!(error.is_none(), "{error:?}");
    let expected = [
        thought("w\u{f6}nder"),
        Block::text("h\u{e9}\u{1f600}"),
        tool("c1", "read", json!({"p": 1})),
        tool("c2", "list", json!({})),
    ];
    assert_eq!(blocks(&events), expected);
    let usage = |event: &&ModelEvent| matches!(event, ModelEvent::Usage(_));
    let last = Usage {
        input: 4,
        cache_read: 5,
        output: 4,
        ..Usage::default()
    };
    assert_eq!(events.iter().rfind(usage), Some(&ModelEvent::Usage(last)));
    assert_eq!(stop(&events), StopReason::ToolUse);
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
fn an_end_before_a_reason_or_done_is_a_cut_stream_p02_inv_7() {
    let finish = STREAM
        .find("data: {\"choices\":[{\"index\":0,\"delta\":{},")
        .unwrap();
    for at in 0..finish {
        let (events, error) = decode_all(Decoder::default(), &[&STREAM.as_bytes()[..at]]);
        assert!(retries(error.as_ref()), "{at}");
        let calls = blocks(&events)
            .iter()
            .any(|block| matches!(block, Block::ToolUse { .. }));
        assert!(!calls, "a call before the end: {at}");
    }
    // Either of the two is an end.
    let whole = blocks(&decode(STREAM).0);
    let mark = STREAM.find("data: [DONE]").unwrap();
    assert_eq!(blocks(&decode(&STREAM[..mark]).0), whole);
    let unfinished = format!("{}{}", &STREAM[..finish], "data: [DONE]\n\n");
    assert_eq!(blocks(&decode(&unfinished).0), whole);
}

#[test]
fn nothing_at_all_is_an_empty_response_p21() {
    for stream in ["", ": PROCESSING\n\n", "data: [DONE]\n\n", "data:\n\n"] {
        let error = decode(stream).1.unwrap();
        assert!(
            error.failure().message.contains("empty response"),
            "{stream:?}"
        );
    }
}

#[test]
fn an_unknown_reason_does_not_hang_p28() {
    let check = |deltas: &[Value], finish: Value, expected: StopReason| {
        let (events, error) = answer(deltas, finish.clone());
        assert!(error.is_none(), "{error:?}");
        assert_eq!(stop(&events), expected, "{finish}");
    };
    check(&[call("{}")], json!("stop"), StopReason::ToolUse);
    check(&[call("{}")], json!("eos"), StopReason::ToolUse);
    check(
        &[json!({"content": "x"})],
        json!("tool_calls"),
        StopReason::EndTurn,
    );
    check(&[json!({"content": "x"})], Value::Null, StopReason::EndTurn);
    check(&[json!({"content": "x"})], json!(""), StopReason::EndTurn);
    check(&[], json!("stop"), StopReason::EndTurn);
}

#[test]
fn a_truncated_call_is_not_run_p29() {
    for (arguments, finish) in [
        ("{}", "length"),
        ("{\"p\":", "length"),
        ("{}", "content_filter"),
    ] {
        let (events, _) = answer(&[call(arguments)], json!(finish));
        let invalid = events.iter().any(|event| {
            matches!(
                event,
                ModelEvent::Block {
                    invalid: Some(_),
                    ..
                }
            )
        });
        assert!(invalid, "{arguments} {finish}");
    }
    assert_eq!(
        stop(&answer(&[call("{")], json!("length")).0),
        StopReason::MaxTokens
    );
}

#[test]
fn arguments_that_do_not_parse_are_reported_p22_p24() {
    for bad in ["{\"p\":", "{\"p\":1,\"p\":2}", "\"{}\""] {
        let (events, error) = answer(&[call(bad)], json!("tool_calls"));
        assert!(error.is_none());
        assert_eq!(blocks(&events), [tool("c", "read", json!(bad))]);
    }
}

#[test]
fn deltas_after_the_reason_apply_until_done() {
    let chunk = |text: &str, finish: Value| {
        let choice = json!({"delta": {"content": text}, "finish_reason": finish});
        format!("data: {}\n\n", json!({ "choices": [choice] }))
    };
    let stream = [
        chunk("a", json!("stop")),
        chunk("b", Value::Null),
        "data: [DONE]\n\n".to_owned(),
        chunk("c", json!("stop")),
    ];
    let (events, error) = decode(&stream.concat());
    assert!(error.is_none());
    assert_eq!(blocks(&events), [Block::text("ab")]);
}

#[test]
fn errors_come_in_many_shapes_p06() {
    let failed = |chunk: Value| {
        let stream = format!(
            "data: {}\n\ndata: {chunk}\n\n",
            json!({"choices": [{"delta": {"content": "x"}}]})
        );
        let (events, error) = decode(&stream);
        assert_eq!(events.len(), 1);
        error.unwrap()
    };
    let kind = |error: &ProviderError| error.failure().kind;
    let routed = failed(json!({"error": {"code": 429, "message": "slow"}, "choices": []}));
    assert_eq!(kind(&routed), FailureKind::RateLimited);
    let inner = failed(
        json!({"choices": [{"error": {"code": 502, "message": "down"}, "finish_reason": "error"}]}),
    );
    assert!(retries(Some(&inner)) && inner.failure().message.contains("down"));
    assert!(retries(Some(&failed(
        json!({"choices": [{"delta": {}, "finish_reason": "error"}]})
    ))));
    assert!(
        failed(json!({"error": "plain words"}))
            .failure()
            .message
            .contains("plain words")
    );
    let bare = failed(json!({"object": "error", "message": "inside out", "code": 40303}));
    assert!(bare.failure().message.contains("inside out"));
    let poor = failed(json!({"error": {"code": 402, "message": "no credit"}}));
    assert!(matches!(poor, ProviderError::Fatal(_)));
    assert!(
        decode("data: {\"error\":\"\",\"choices\":[]}\n\ndata: [DONE]\n\n")
            .1
            .is_none()
    );
    assert!(retries(decode("data: <html>\n\n").1.as_ref()));
    let (_, busy) = answer(&[], json!("insufficient_system_resource"));
    assert_eq!(kind(&busy.unwrap()), FailureKind::Overloaded);
}

#[test]
fn thoughts_have_many_field_names() {
    for delta in [
        json!({"reasoning_content": "t", "reasoning": "t"}),
        json!({"reasoning": "t", "content": null}),
        json!({"thinking": "t", "content": ""}),
        json!({"content": "<think>t</think>\n"}),
        json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}]}),
    ] {
        let text = json!({"content": [{"type": "text", "text": "so"}]});
        let (events, _) = answer(&[delta.clone(), text], json!("stop"));
        assert_eq!(
            blocks(&events),
            [thought("t"), Block::text("so")],
            "{delta}"
        );
    }
    // Nothing but thoughts is an answer too.
    let (events, error) = answer(&[json!({"content": "<think>t"})], json!("stop"));
    assert!(error.is_none());
    assert_eq!(
        (blocks(&events), stop(&events)),
        (vec![thought("t")], StopReason::EndTurn)
    );
}

#[test]
fn a_routers_reasoning_is_assembled_and_kept() {
    let detail = |value: Value| json!({"reasoning_details": [value]});
    let (events, _) = answer(
        &[
            detail(json!({"type": "reasoning.text", "index": 0, "text": "a", "signature": null})),
            detail(json!({"type": "reasoning.text", "index": 0, "text": "b", "signature": "s"})),
            detail(json!({"type": "reasoning.encrypted", "index": 1, "data": "e"})),
            json!({"content": "x"}),
        ],
        json!("stop"),
    );
    let value = json!({"type": DETAILS, "details": [
        {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"},
        {"type": "reasoning.encrypted", "index": 1, "data": "e"},
    ]});
    assert_eq!(blocks(&events), [Block::text("x"), Block::Opaque { value }]);
}

#[test]
fn a_refusal_is_shown_and_ends_the_turn_p30() {
    let (events, _) = answer(
        &[json!({"content": "I "}), json!({"refusal": "will not"})],
        json!("stop"),
    );
    assert_eq!(blocks(&events), [Block::text("I will not")]);
    assert_eq!(stop(&events), StopReason::Refusal(Some("will not".into())));
    let (events, _) = answer(&[json!({"content": "x"})], json!("content_filter"));
    assert!(matches!(stop(&events), StopReason::Refusal(Some(_))));
}

#[test]
fn other_choices_and_a_complete_message_p09() {
    let other =
        json!({"choices": [{"index": 1, "delta": {"content": "no"}}, "odd", null], "x": {}});
    let whole = json!({"choices": [{"message": {"content": "yes", "tool_calls": [
        {"id": "c", "function": {"name": "read", "arguments": {}}}]}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": NAN_MARK, "completion_tokens": 3}});
    let stream =
        format!("data: {other}\n\ndata: {whole}\n\n").replace(&format!("\"{NAN_MARK}\""), "NaN");
    let (events, error) = decode(&stream);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(
        blocks(&events),
        [Block::text("yes"), tool("c", "read", json!({}))]
    );
    let usage = Usage {
        output: 3,
        ..Usage::default()
    };
    assert!(events.contains(&ModelEvent::Usage(usage)));
}

const NAN_MARK: &str = "not a number";

#[test]
fn a_hundred_and_fifty_parallel_calls_are_decoded() {
    let all: Vec<Value> = (0..150)
        .map(|n| json!({"index": n, "id": format!("c{n}"), "function": {"name": "read", "arguments": "{}"}}))
        .collect();
    let (events, _) = answer(&[json!({ "tool_calls": all })], json!("tool_calls"));
    assert_eq!(blocks(&events).len(), 150);
}

fn any_chunk() -> impl Strategy<Value = Value> {
    let index = prop_oneof![Just(Value::Null), Just(json!(0)), Just(json!(1))];
    let id = prop_oneof![
        Just(Value::Null),
        Just(json!("")),
        Just(json!("a")),
        Just(json!("b"))
    ];
    let name = prop_oneof![Just(Value::Null), Just(json!("read")), Just(json!("list"))];
    let arguments = prop_oneof![
        Just(Value::Null),
        Just(json!("")),
        Just(json!("{\"p\"")),
        Just(json!(":1}")),
        Just(json!("{}")),
        Just(json!({"o": 1})),
    ];
    let call = (index, id, name, arguments).prop_map(|(index, id, name, arguments)| json!({
        "tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": arguments}}]}));
    let texts = prop_oneof![
        Just("<think>"),
        Just("</think>"),
        Just("a"),
        Just(" "),
        Just("<thi"),
        Just("nk>"),
        Just(""),
    ];
    let fields = prop_oneof![Just("content"), Just("reasoning_content"), Just("refusal")];
    let delta = prop_oneof![
        3 => call,
        3 => (fields, texts).prop_map(|(field, text)| json!({ field: text })),
        1 => Just(json!({"reasoning_details": [{"type": "t", "index": 0, "text": "x"}]})),
    ];
    let finish = prop_oneof![
        6 => Just(Value::Null), 1 => Just(json!("stop")), 1 => Just(json!("length")),
    ];
    (delta, finish)
        .prop_map(|(delta, finish)| json!({"choices": [{"delta": delta, "finish_reason": finish}]}))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_chunks_in_any_order_hold_what_the_fuzz_target_checks(
        all in proptest::collection::vec(any_chunk(), 0..14),
        ends in any::<bool>(),
    ) {
        let mut stream: String = all.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        if ends {
            stream.push_str("data: [DONE]\n\n");
        }
        fuzz_openai_chat(stream.as_bytes());
    }

    #[test]
    fn any_pieces_of_a_recorded_stream_give_the_same_events_p13(size in 1usize..90, first in 0usize..90) {
        let (head, rest) = STREAM.as_bytes().split_at(first);
        let pieces: Vec<&[u8]> = std::iter::once(head).chain(rest.chunks(size)).collect();
        prop_assert_eq!(decode_all(Decoder::default(), &pieces).0, decode(STREAM).0);
    }

    #[test]
    fn any_bytes_are_harmless(data in proptest::collection::vec(any::<u8>(), 0..200)) {
        fuzz_openai_chat(&data);
    }
}
