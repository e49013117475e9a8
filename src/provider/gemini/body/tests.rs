use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::conversation::{Block, History, Message, ModelFacts, SystemBlock};
use crate::provider::gemini::history::{SKIP, continuation_block, signature_block};
use crate::provider::growing;

const MODEL: &str = "gemini/m";

fn request(messages: Vec<Message>) -> Request {
    let block = |text: &str, boundary| SystemBlock {
        text: text.to_owned(),
        boundary,
    };
    Request {
        unreadable: 0,
        model: "m".to_owned(),
        facts: Arc::new(ModelFacts {
            thinking: Thinking::Adaptive,
            images: true,
            ..ModelFacts::default()
        }),
        system: Arc::new(vec![block("one", true), block("", false)]),
        tools: Arc::new(vec![ToolSpec {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            input_schema: json!({"type": "object", "properties": {"z": {"type": "string"}}, "additionalProperties": false}).into(),
        }]),
        messages: messages.into(),
    }
}

fn text_of(request: &Request) -> String {
    String::from_utf8(body("gemini", request).bytes.to_vec()).unwrap()
}

fn json_of(request: &Request) -> Value {
    serde_json::from_str(&text_of(request)).unwrap()
}

fn user(text: &str) -> Message {
    Message::user(vec![Block::text(text)])
}

fn call(id: &str) -> Block {
    Block::ToolUse {
        id: id.to_owned(),
        name: "read".to_owned(),
        input: json!({"path": "a"}),
    }
}

fn answer(id: &str, text: &str) -> Block {
    Block::ToolResult {
        tool_use_id: id.to_owned(),
        content: text.to_owned(),
        is_error: false,
    }
}

#[test]
fn the_bytes_have_one_fixed_order() {
    let request = request(vec![
        user("hi"),
        Message::assistant(vec![call("t1"), signature_block("Cg")], MODEL),
        Message::user(vec![answer("t1", "text")]),
    ]);
    insta::assert_snapshot!(text_of(&request), @r#"{"systemInstruction":{"parts":[{"text":"one"}]},"tools":[{"functionDeclarations":[{"name":"read","description":"Reads.","parameters":{"type":"object","properties":{"z":{"type":"string"}}}}]}],"generationConfig":{"maxOutputTokens":8192,"thinkingConfig":{"includeThoughts":true}},"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"id":"t1","name":"read","args":{"path":"a"}},"thoughtSignature":"Cg"}]},{"role":"user","parts":[{"functionResponse":{"id":"t1","name":"read","response":{"output":"text"}}}]}]}"#);
}

#[test]
fn empty_parts_are_left_out_and_a_continuation_token_is_sent() {
    let mut request = request(vec![user("a")]);
    request.system = Arc::default();
    request.tools = Arc::default();
    request.facts = Arc::default();
    let half = Message::assistant(vec![Block::text("b"), continuation_block("t")], MODEL);
    request.messages.push(half);
    assert_eq!(
        text_of(&request),
        r#"{"generationConfig":{"maxOutputTokens":8192},"contents":[{"role":"user","parts":[{"text":"a"}]}],"continuationToken":"t"}"#
    );
}

#[test]
fn the_second_request_has_no_signature_of_the_models_own() {
    let request = request(vec![
        user("a"),
        Message::assistant(vec![call("t"), signature_block("Cg==")], MODEL),
        Message::user(vec![answer("t", "x")]),
    ]);
    let bare = body_without_signatures("gemini", &request).bytes;
    let bare = std::str::from_utf8(&bare).unwrap();
    assert!(!bare.contains("Cg==") && bare.contains(SKIP));
}

fn any_block() -> impl Strategy<Value = Block> {
    let id = prop_oneof![Just("a"), Just("b_b"), Just("bb"), Just(""), Just("ü")];
    let input = prop_oneof![Just(json!({"x": 1})), Just(json!("{")), Just(Value::Null)];
    let odd = prop_oneof![
        Just(signature_block("Cg")),
        Just(continuation_block("t")),
        Just(Block::Opaque {
            value: json!({"inlineData": {}})
        }),
        Just(Block::Opaque {
            value: json!({"type": "odd"})
        }),
        Just(Block::Opaque { value: json!(3) }),
    ];
    prop_oneof![
        prop_oneof![Just(""), Just(" "), Just("text"), Just("\u{0}\u{fffd}")].prop_map(Block::text),
        prop_oneof![Just(""), Just("sig")].prop_map(|signature| Block::Thinking {
            thinking: "t".into(),
            signature: signature.into()
        }),
        (id.clone(), input).prop_map(|(id, input)| Block::ToolUse {
            id: id.into(),
            name: "né t".into(),
            input
        }),
        (id, any::<bool>()).prop_map(|(id, is_error)| Block::ToolResult {
            tool_use_id: id.into(),
            content: String::new(),
            is_error,
        }),
        Just(Block::Image {
            media_type: "image/png".into(),
            data: "A".into()
        }),
        odd,
    ]
}

fn any_message() -> impl Strategy<Value = Message> {
    let blocks = proptest::collection::vec(any_block(), 0..5);
    (blocks, any::<bool>(), any::<bool>()).prop_map(|(blocks, user, own)| {
        if user {
            Message::user(blocks)
        } else {
            Message::assistant(blocks, if own { MODEL } else { "anthropic/other" })
        }
    })
}

/// The key of a part that names its kind.
fn of(part: &Value, kind: &str) -> Option<String> {
    Some(part.get(kind)?["id"].as_str().unwrap().to_owned())
}

/// What the provider requires of the contents.
fn check_valid(body: &Value) {
    let contents = body["contents"].as_array().unwrap();
    let mut seen = HashSet::new();
    let mut open: Vec<String> = Vec::new();
    for (n, turn) in contents.iter().enumerate() {
        let role = if n % 2 == 0 { "user" } else { "model" };
        assert_eq!(turn["role"], role, "{contents:#?}");
        let parts = turn["parts"].as_array().unwrap();
        assert!(!parts.is_empty());
        let blank = |part: &Value| part["text"] == "" && part.get("thoughtSignature").is_none();
        assert!(!parts.iter().any(blank), "{parts:?}");
        let answers: Vec<String> = parts
            .iter()
            .filter_map(|it| of(it, "functionResponse"))
            .collect();
        let calls: Vec<String> = parts
            .iter()
            .filter_map(|it| of(it, "functionCall"))
            .collect();
        for id in &calls {
            assert!(!id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric()));
            assert!(seen.insert(id.clone()), "ids are unique");
        }
        assert!(role == "user" || answers.is_empty());
        assert!(role == "model" || calls.is_empty());
        if role == "user" {
            assert_eq!(
                std::mem::take(&mut open),
                answers,
                "answers in order of calls"
            );
            let head = &parts[..answers.len()];
            assert!(head.iter().all(|it| it.get("functionResponse").is_some()));
        }
        open = calls;
    }
    assert!(open.is_empty());
    assert_eq!(contents.last().unwrap()["role"], "user");
}

fn bytes_of(history: &History) -> Bytes {
    let mut request = request(Vec::new());
    request.messages = history.clone();
    body("gemini", &request).bytes
}

#[test]
fn the_next_body_of_a_long_conversation_writes_its_last_messages_only() {
    growing::tests::check_kept(MODEL, bytes_of);
}

#[test]
fn an_answer_that_is_continued_after_all_is_left_out_of_the_body() {
    let answer = vec![Block::text("Half"), history::continuation_block("t")];
    let mut history = History::default();
    history.push(user(" "));
    history.push(Message::assistant(answer, MODEL));
    let unfinished = history.clone();
    history.push(user("Go on."));
    // The body of the longer history, in which the answer stays, is kept.
    bytes_of(&history);
    let body = String::from_utf8(bytes_of(&unfinished).to_vec()).unwrap();
    assert_eq!(body.matches("Continue.").count(), 1, "{body}");
    assert_eq!(
        body,
        String::from_utf8(bytes_of(&unfinished.to_vec().into()).to_vec()).unwrap()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_body_that_continues_an_earlier_one_has_the_same_bytes(
        messages in proptest::collection::vec(any_message(), 1..12),
    ) {
        growing::tests::check(&messages, bytes_of);
    }

    #[test]
    fn any_prefix_of_any_messages_is_a_valid_request_p36(
        messages in proptest::collection::vec(any_message(), 1..8),
    ) {
        for end in 1..=messages.len() {
            let request = request(messages[..end].to_vec());
            let value = json_of(&request);
            if !value["contents"].as_array().unwrap().is_empty() {
                check_valid(&value);
            }
            let bare = body_without_signatures("gemini", &request).bytes;
            let bare: Value = serde_json::from_slice(&bare).unwrap();
            prop_assert!(!bare.to_string().contains("Cg"));
        }
    }

    /// A conversation as a session writes it: each step's results, then more messages.
    #[test]
    fn appending_messages_never_changes_bytes_before_the_breakpoint(
        steps in proptest::collection::vec((0usize..4, any::<bool>(), any::<bool>()), 1..8),
    ) {
        let mut messages = vec![user("start")];
        let mut previous: Option<Body> = None;
        for (n, (calls, text, own)) in steps.iter().enumerate() {
            let body = body("gemini", &request(messages.clone()));
            if let Some(previous) = previous {
                let end = previous.breakpoints[0];
                prop_assert_eq!(&body.bytes[..end], &previous.bytes[..end]);
            }
            previous = Some(body);
            let mut blocks = vec![Block::text("x"), signature_block("Ct")];
            let ids: Vec<String> = (0..*calls).map(|c| format!("t{}_{c}", n % 2)).collect();
            for id in &ids {
                blocks.extend([call(id), signature_block("Cg")]);
            }
            messages.push(Message::assistant(blocks, if *own { MODEL } else { "a/b" }));
            let mut results: Vec<Block> = ids.iter().map(|id| answer(id, "r")).collect();
            if *text || results.is_empty() {
                results.push(Block::text("more"));
            }
            messages.push(Message::user(results));
        }
    }
}

/// OC-60: a level or a budget, as the model expects; a model that cannot stop thinks least.
#[test]
fn thinking_follows_the_users_level() {
    let with = |thinking, effort| {
        let mut request = request(vec![user("a")]);
        request.facts = Arc::new(ModelFacts {
            thinking,
            effort: Some(effort),
            max_output: 64_000,
            ..ModelFacts::default()
        });
        json_of(&request)["generationConfig"]["thinkingConfig"].take()
    };
    assert_eq!(
        with(Thinking::Adaptive, Effort::High),
        json!({"includeThoughts": true, "thinkingLevel": "high"})
    );
    assert_eq!(
        with(Thinking::Adaptive, Effort::Off),
        json!({"includeThoughts": false, "thinkingLevel": "low"})
    );
    assert_eq!(
        with(Thinking::Budget, Effort::Low),
        json!({"includeThoughts": true, "thinkingBudget": 4_096})
    );
    assert_eq!(
        with(Thinking::Budget, Effort::Off),
        json!({"includeThoughts": false, "thinkingBudget": 512})
    );
    assert!(with(Thinking::None, Effort::High).is_null());
}
