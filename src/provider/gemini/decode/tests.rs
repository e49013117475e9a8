use proptest::prelude::*;

use super::*;
use crate::conversation::FailureKind;
use crate::fuzz::{decode_all, fuzz_gemini};

fn event(data: &str) -> sse::Event {
    sse::Event {
        name: String::new(),
        data: data.to_owned(),
    }
}

fn decode(events: &[Value]) -> (Vec<ModelEvent>, Result<(), ProviderError>) {
    let mut decoder = Decoder::default();
    let mut out = Vec::new();
    for value in events {
        if let Err(error) = decoder.event(&event(&value.to_string()), &mut out) {
            return (out, Err(error));
        }
    }
    let end = decoder.finish(&mut out);
    (out, end)
}

fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}}]})
}

fn end(reason: &str) -> Value {
    json!({"candidates": [{"finishReason": reason}]})
}

#[test]
fn a_mapped_tool_name_is_mapped_back() {
    let name = "server.tool/with slashes";
    let tool = crate::conversation::ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        input_schema: json!({}).into(),
    };
    let wire = crate::provider::gemini::names::wire;
    let mut decoder = Decoder::new(Names::by(&[tool], wire));
    let mut out = Vec::new();
    let call = json!([{"functionCall": {"name": wire(name), "args": {}}}]);
    let said = event(&parts(call).to_string());
    decoder.event(&said, &mut out).unwrap();
    let ours = |it: &ModelEvent| match it {
        ModelEvent::ToolStart { name: n, .. } => n == name,
        ModelEvent::Block {
            block: Block::ToolUse { name: n, .. },
            ..
        } => n == name,
        _ => false,
    };
    assert_eq!(out.iter().filter(|it| ours(it)).count(), 2, "{out:?}");
}

fn call(id: &str, args: Value) -> Value {
    json!({"functionCall": {"id": id, "name": "read", "args": args}})
}

fn blocks(events: &[ModelEvent]) -> Vec<Block> {
    let block = |event: &ModelEvent| match event {
        ModelEvent::Block { block, .. } => Some(block.clone()),
        _ => None,
    };
    events.iter().filter_map(block).collect()
}

fn stop(events: &[ModelEvent]) -> &StopReason {
    match events.last() {
        Some(ModelEvent::Stop(stop)) => stop,
        other => panic!("{other:?}"),
    }
}

fn ids(events: &[ModelEvent]) -> Vec<String> {
    let id = |block: Block| match block {
        Block::ToolUse { id, .. } => Some(id),
        _ => None,
    };
    blocks(events).into_iter().filter_map(id).collect()
}

#[test]
fn thoughts_texts_and_calls_are_decoded_in_order() {
    let (out, result) = decode(&[
        parts(json!([{"text": "hm", "thought": true}])),
        parts(json!([{"text": "He"}])),
        parts(json!([{"text": "y"}, {"text": ""}, {}])),
        parts(json!([
            call("c1", json!({"path": "a"})),
            call("c2", json!({}))
        ])),
        end("STOP"),
    ]);
    result.unwrap();
    let thought = Block::Thinking {
        thinking: "hm".into(),
        signature: String::new(),
    };
    let tool = |id: &str, input: Value| Block::ToolUse {
        id: id.into(),
        name: "read".into(),
        input,
    };
    assert_eq!(
        blocks(&out),
        [
            thought,
            Block::text("Hey"),
            tool("c1", json!({"path": "a"})),
            tool("c2", json!({})),
        ]
    );
    assert_eq!(*stop(&out), StopReason::ToolUse);
    let deltas = out
        .iter()
        .filter(|event| matches!(event, ModelEvent::TextDelta { index: 1, .. }));
    assert_eq!(deltas.count(), 2);
}

#[test]
fn a_signature_is_kept_with_the_part_that_it_came_in() {
    let mut signed = call("c", json!({}));
    signed["thoughtSignature"] = "Cg".into();
    let (out, result) = decode(&[
        parts(json!([{"text": "a"}])),
        parts(json!([{"text": "b", "thoughtSignature": "Ct"}])),
        parts(json!([{"text": "", "thoughtSignature": "Ce"}, signed, call("d", json!({}))])),
        end("STOP"),
    ]);
    result.unwrap();
    let blocks = blocks(&out);
    assert_eq!(blocks[0], Block::text("ab"));
    assert_eq!(blocks[1], signature_block("Ct"));
    let own = json!({"text": "", "thoughtSignature": "Ce"});
    assert_eq!(blocks[2], Block::Opaque { value: own });
    assert!(matches!(&blocks[3], Block::ToolUse { id, .. } if id == "c"));
    assert_eq!(blocks[4], signature_block("Cg"));
    assert!(matches!(&blocks[5], Block::ToolUse { id, .. } if id == "d"));
    assert_eq!(blocks.len(), 6);
}

#[test]
fn ids_that_are_missing_or_repeat_are_made_the_same_way_each_time_p25() {
    let bare = json!({"functionCall": {"name": "read"}});
    let events = [
        parts(json!([
            bare,
            call("x", json!({})),
            call("x", json!({})),
            bare
        ])),
        end("STOP"),
    ];
    let (out, _) = decode(&events);
    assert_eq!(ids(&out), ["call_0", "x", "x_2", "call_3"]);
    assert_eq!(ids(&decode(&events).0), ids(&out));
}

#[test]
fn arguments_that_are_not_an_object_are_kept_raw_with_a_reason_p22_p24() {
    let one = |data: &str| {
        let mut decoder = Decoder::default();
        let mut out = Vec::new();
        decoder.event(&event(data), &mut out).unwrap();
        let found = out.into_iter().find_map(|event| match event {
            ModelEvent::Block {
                block: Block::ToolUse { input, .. },
                invalid,
                ..
            } => Some((input, invalid)),
            _ => None,
        });
        found.unwrap()
    };
    let with = |args: &str| {
        one(&format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"r","args":{args}}}}}]}}}}]}}"#
        ))
    };
    assert_eq!(with(r#"{"a":1}"#), (json!({"a": 1}), None));
    assert_eq!(with("null"), (json!({}), None));
    for (args, why) in [
        (r#""{\"a\":1}""#, "object"),
        ("[1]", "an array"),
        (r#"{"a":1,"a":2}"#, "twice"),
        (r#"{},"willContinue":true"#, "in pieces"),
    ] {
        let (input, invalid) = with(args);
        assert!(input.is_string(), "{args}");
        assert!(invalid.unwrap().contains(why), "{args}");
    }
}

#[test]
fn finish_reasons_are_mapped() {
    let said = parts(json!([{"text": "x"}]));
    let check = |reason: &str, expected: StopReason| {
        let (out, result) = decode(&[said.clone(), end(reason)]);
        result.unwrap();
        assert_eq!(*stop(&out), expected, "{reason}");
    };
    check("STOP", StopReason::EndTurn);
    check("MAX_TOKENS", StopReason::MaxTokens);
    check("CONTINUATION", StopReason::Pause);
    check("NEW", StopReason::Other("NEW".into()));
    for reason in [
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
    ] {
        let words = reason.to_lowercase().replace('_', " ");
        check(reason, StopReason::Refusal(Some(words)));
    }
    for reason in [
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MALFORMED_RESPONSE",
    ] {
        let message =
            json!({"candidates": [{"finishReason": reason, "finishMessage": "call:read{"}]});
        let (out, result) = decode(&[said.clone(), message]);
        let error = result.unwrap_err();
        assert!(matches!(&error, ProviderError::Retry { .. }), "{reason}");
        assert!(error.failure().message.contains("call:read{"));
        assert!(!out.iter().any(|event| matches!(event, ModelEvent::Stop(_))));
    }
}

#[test]
fn calls_after_the_reason_still_run_p28() {
    let (out, result) = decode(&[end("STOP"), parts(json!([call("c", json!({}))]))]);
    result.unwrap();
    assert_eq!(*stop(&out), StopReason::ToolUse);
}

#[test]
fn a_continuation_token_is_kept_at_the_end() {
    let mut last = end("CONTINUATION");
    last["candidates"][0]["continuationToken"] = "tok".into();
    let (out, result) = decode(&[parts(json!([{"text": "x"}])), last]);
    result.unwrap();
    assert_eq!(blocks(&out).last(), Some(&continuation_block("tok")));
}

#[test]
fn a_prompt_that_is_blocked_is_a_refusal_p30() {
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 4}});
    let (out, result) = decode(&[blocked]);
    result.unwrap();
    let reason = StopReason::Refusal(Some("prohibited content".into()));
    assert_eq!(*stop(&out), reason);
}

#[test]
fn without_a_reason_the_stream_was_cut_and_nothing_is_no_answer_p02_p21_inv_7() {
    let message = |events: &[Value]| {
        let (out, result) = decode(events);
        assert!(!out.iter().any(|event| matches!(event, ModelEvent::Stop(_))));
        match result.unwrap_err() {
            ProviderError::Retry { failure, .. } => failure.message,
            other => panic!("{other:?}"),
        }
    };
    assert!(message(&[parts(json!([call("c", json!({}))]))]).contains("stream ended"));
    assert!(message(&[]).contains("empty response"));
    assert!(message(&[end("STOP")]).contains("empty answer"));
    assert!(message(&[json!({"candidates": []})]).contains("stream ended"));
}

#[test]
fn usage_is_a_running_total_and_odd_numbers_are_harmless_p26() {
    let usage = |metadata: &str| {
        let mut decoder = Decoder::default();
        let mut out = Vec::new();
        let data = format!(r#"{{"usageMetadata":{metadata}}}"#);
        decoder.event(&event(&data), &mut out).unwrap();
        decoder.event(&event(&data), &mut out).unwrap();
        match out.last() {
            Some(ModelEvent::Usage(usage)) => *usage,
            other => panic!("{other:?}"),
        }
    };
    let counted = usage(
        r#"{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":4,"thoughtsTokenCount":7,"toolUsePromptTokenCount":2}"#,
    );
    assert_eq!((counted.input, counted.output), (42, 11));
    assert_eq!((counted.cache_read, counted.cache_write), (60, 0));
    let odd = r#"{"candidatesTokenCount":99999999999999999999999,"promptTokenCount":-4,"cachedContentTokenCount":9}"#;
    let odd = usage(odd);
    assert_eq!((odd.output, odd.input, odd.cache_read), (u64::MAX, 0, 0));
    assert_eq!(odd.sane(), Usage::default());
    assert_eq!(usage("{\"promptTokenCount\":\"NaN\"}"), Usage::default());
}

#[test]
fn errors_in_the_stream_are_typed_p06() {
    let failed = |error: Value| {
        let (out, result) = decode(&[parts(json!([{"text": "partial"}])), json!({"error": error})]);
        assert_eq!(out.len(), 1, "the text before is kept");
        result.unwrap_err()
    };
    let kind = |error: &ProviderError| error.failure().kind;
    let error = failed(json!({"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}));
    assert!(matches!(&error, ProviderError::Retry { .. }));
    assert_eq!(kind(&error), FailureKind::Overloaded);
    let error = failed(json!({"code": 429, "message": "slow down"}));
    assert_eq!(kind(&error), FailureKind::RateLimited);
    let error = failed(json!({"code": 403, "message": "no"}));
    assert!(matches!(error, ProviderError::Auth(_)));
    let long = "The input token count (9) exceeds the maximum number of tokens allowed (8).";
    let error = failed(json!({"code": 400, "message": long}));
    assert!(matches!(error, ProviderError::Overflow(_)));
    let error = failed(json!("boom"));
    assert!(error.failure().message.contains("boom"));
}

#[test]
fn unknown_parts_are_kept_unchanged_and_unknown_fields_ignored_p09() {
    let odd = json!({"executableCode": {"code": "1"}, "thoughtSignature": "C"});
    let (out, result) = decode(&[
        json!({"new": 1, "candidates": [{"content": {"parts": [odd, 3, null]}, "x": {}}]}),
        json!({"candidates": [{"content": {"parts": null}}]}),
        json!({"candidates": [{"content": {}}]}),
        end("STOP"),
    ]);
    result.unwrap();
    assert_eq!(blocks(&out), [Block::Opaque { value: odd }]);
}

#[test]
fn text_that_is_not_json_is_a_typed_error_and_done_is_not() {
    let with = |data: &str| Decoder::default().event(&event(data), &mut Vec::new());
    assert!(with("[DONE]").is_ok() && with(" ").is_ok() && with("[]").is_ok());
    let error = with("<html>").unwrap_err();
    assert!(error.failure().message.contains("malformed"));
}

#[test]
fn a_lone_surrogate_in_a_text_is_replaced_p15() {
    let mut out = Vec::new();
    let data = r#"{"candidates":[{"content":{"parts":[{"text":"a\ud83d"}]}}]}"#;
    Decoder::default().event(&event(data), &mut out).unwrap();
    let text = "a\u{fffd}".to_owned();
    assert_eq!(out, [ModelEvent::TextDelta { index: 0, text }]);
}

#[test]
fn more_than_a_hundred_parallel_calls_are_decoded() {
    let calls: Vec<Value> = (0..150).map(|_| call("", json!({}))).collect();
    let (out, _) = decode(&[parts(calls.into()), end("STOP")]);
    let mut found = ids(&out);
    assert_eq!(found.len(), 150);
    found.dedup();
    assert_eq!(found.len(), 150);
}

/// A gateway that does not understand `alt=sse` sends all answers as one list.
#[test]
fn calls_of_a_list_of_answers_run() {
    let all = Value::Array(vec![
        parts(json!([call("c1", json!({"path": "a"}))])),
        end("STOP"),
    ]);
    let (out, result) = decode(&[all]);
    result.unwrap();
    let Some(ModelEvent::Block { block, invalid, .. }) = out
        .iter()
        .find(|event| matches!(event, ModelEvent::Block { .. }))
    else {
        panic!("no call: {out:?}");
    };
    assert_eq!(*invalid, None);
    assert!(matches!(block, Block::ToolUse { input, .. } if *input == json!({"path": "a"})));
    assert_eq!(*stop(&out), StopReason::ToolUse);
}

/// Streams of odd pieces.
fn any_stream() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just(json!({"text": "hé😀"})),
        Just(json!({"text": "t", "thought": true})),
        Just(json!({"text": "", "thoughtSignature": "C"})),
        Just(
            json!({"functionCall": {"name": "read", "args": {"p": "ü"}}, "thoughtSignature": "D"})
        ),
        Just(json!({"functionCall": {"id": "a", "name": "read", "args": "x"}})),
        Just(json!({"inlineData": {"data": "A"}})),
        Just(json!({})),
    ];
    let reason = prop_oneof![
        Just(""),
        Just("STOP"),
        Just("MAX_TOKENS"),
        Just("SAFETY"),
        Just("MALFORMED_RESPONSE")
    ];
    let event = (proptest::collection::vec(part, 0..4), reason, any::<bool>());
    let events = proptest::collection::vec(event, 0..6);
    (events, prop_oneof![Just("\n"), Just("\r\n"), Just("\r")]).prop_map(|(events, line)| {
        let one = |(all, reason, usage): (Vec<Value>, &str, bool)| {
            let mut value = parts(all.into());
            value["candidates"][0]["finishReason"] = reason.into();
            if usage {
                value["usageMetadata"] = json!({"promptTokenCount": 5});
            }
            format!("data: {value}{line}{line}")
        };
        events.into_iter().map(one).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_chunking_changes_the_events_p13(
        stream in any_stream(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let bytes = stream.as_bytes();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
        let (events, error) = decode_all(Decoder::default(), &pieces);
        let (whole, other) = decode_all(Decoder::default(), &[bytes]);
        prop_assert_eq!(events, whole);
        prop_assert_eq!(error.map(|it| it.to_string()), other.map(|it| it.to_string()));
    }

    #[test]
    fn any_bytes_are_survived(data in proptest::collection::vec(any::<u8>(), 0..300)) {
        fuzz_gemini(&data);
    }

    #[test]
    fn any_stream_with_broken_bytes_is_survived(
        stream in any_stream(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = stream.into_bytes();
        fuzz_gemini(&bytes);
        if !bytes.is_empty() {
            let place = place.index(bytes.len());
            bytes[place] = byte;
            fuzz_gemini(&bytes);
        }
    }
}
