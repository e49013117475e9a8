use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::conversation::{History, Message, SystemBlock, ToolSpec};
use crate::provider::growing;

const MODEL: &str = "anthropic/m";

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
        system: Arc::new(vec![
            block("one", true),
            block("", false),
            block("two", true),
        ]),
        tools: Arc::new(vec![ToolSpec {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            input_schema: json!({"type": "object", "properties": {"z": {}, "a": {}}}).into(),
        }]),
        messages: messages.into(),
    }
}

fn text_of(request: &Request) -> String {
    String::from_utf8(body("anthropic", request).bytes.to_vec()).unwrap()
}

fn json_of(request: &Request) -> Value {
    serde_json::from_str(&text_of(request)).unwrap()
}

fn messages_of(messages: Vec<Message>) -> Value {
    let mut value = json_of(&request(messages))["messages"].take();
    for message in value.as_array_mut().unwrap() {
        for block in message["content"].as_array_mut().unwrap() {
            block.as_object_mut().unwrap().remove("cache_control");
        }
    }
    value
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

fn thinking(signature: &str) -> Block {
    Block::Thinking {
        thinking: String::new(),
        signature: signature.to_owned(),
    }
}

#[test]
fn the_bytes_have_one_fixed_order() {
    let request = request(vec![
        user("hi"),
        Message::assistant(vec![thinking("sig"), call("t1")], MODEL),
        Message::user(vec![answer("t1", "text")]),
    ]);
    insta::assert_snapshot!(text_of(&request), @r#"{"model":"m","max_tokens":8192,"system":[{"type":"text","text":"one","cache_control":{"type":"ephemeral"}},{"type":"text","text":"two","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"read","description":"Reads.","input_schema":{"type":"object","properties":{"z":{},"a":{}}}}],"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"sig"},{"type":"tool_use","id":"t1","name":"read","input":{"path":"a"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"text","cache_control":{"type":"ephemeral"}}]}],"thinking":{"type":"adaptive","display":"summarized"},"stream":true}"#);
}

#[test]
fn breakpoints_are_just_after_the_marked_blocks() {
    let request = request(vec![
        user("a"),
        Message::assistant(vec![Block::text("b")], MODEL),
        user("c"),
    ]);
    let body = body("anthropic", &request);
    assert_eq!(body.breakpoints.len(), 4);
    for at in body.breakpoints {
        let before = std::str::from_utf8(&body.bytes[..at]).unwrap();
        assert!(
            before.ends_with(r#""cache_control":{"type":"ephemeral"}}"#),
            "{before}"
        );
    }
}

#[test]
fn only_the_last_two_system_boundaries_are_breakpoints() {
    let mut request = request(vec![user("a")]);
    let blocks = (0..5).map(|n| SystemBlock {
        text: format!("s{n}"),
        boundary: n != 4,
    });
    request.system = Arc::new(blocks.collect());
    let system = json_of(&request)["system"].take();
    let marked: Vec<bool> = (0..5)
        .map(|n| system[n].get("cache_control").is_some())
        .collect();
    assert_eq!(marked, [false, false, true, true, false]);
}

#[test]
fn thinking_follows_the_models_facts() {
    let with = |thinking, max_output| {
        let mut request = request(vec![user("a")]);
        request.facts = Arc::new(ModelFacts {
            thinking,
            max_output,
            ..ModelFacts::default()
        });
        json_of(&request)["thinking"].take()
    };
    assert_eq!(with(Thinking::None, 8192), Value::Null);
    assert_eq!(
        with(Thinking::Adaptive, 8192),
        json!({"type": "adaptive", "display": "summarized"})
    );
    assert_eq!(
        with(Thinking::Budget, 64_000),
        json!({"type": "enabled", "budget_tokens": 16_000})
    );
    assert_eq!(
        with(Thinking::Budget, 4096),
        json!({"type": "enabled", "budget_tokens": 2048})
    );
    assert_eq!(with(Thinking::Budget, 1024), Value::Null);
}

/// OC-60: the user's level replaces the model's default.
#[test]
fn thinking_follows_the_users_level() {
    let with = |thinking, effort| {
        let mut request = request(vec![user("a")]);
        request.facts = Arc::new(ModelFacts {
            thinking,
            max_output: 64_000,
            effort: Some(effort),
            ..ModelFacts::default()
        });
        let body = json_of(&request);
        (
            body["thinking"]["budget_tokens"].clone(),
            body["output_config"]["effort"].clone(),
        )
    };
    assert_eq!(
        with(Thinking::Budget, Effort::Low),
        (json!(4_096), Value::Null)
    );
    assert_eq!(
        with(Thinking::Budget, Effort::High),
        (json!(32_000), Value::Null)
    );
    assert_eq!(
        with(Thinking::Adaptive, Effort::Medium),
        (Value::Null, json!("medium"))
    );
    for thinking in [Thinking::None, Thinking::Adaptive, Thinking::Budget] {
        assert_eq!(with(thinking, Effort::Off), (Value::Null, Value::Null));
    }
}

#[test]
fn thinking_and_opaque_blocks_go_only_to_the_model_that_wrote_them_p33() {
    let opaque = Block::Opaque {
        value: json!({"type": "odd", "x": 1}),
    };
    let blocks = vec![
        thinking("s"),
        Block::RedactedThinking {
            data: "d".to_owned(),
        },
        opaque,
        Block::text("said"),
    ];
    let kinds = |model: &str| {
        let m = messages_of(vec![
            user("a"),
            Message::assistant(blocks.clone(), model),
            user("b"),
        ]);
        let content = m[1]["content"].as_array().unwrap().clone();
        content
            .iter()
            .map(|b| b["type"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        kinds(MODEL),
        ["thinking", "redacted_thinking", "odd", "text"]
    );
    assert_eq!(kinds("anthropic/other"), ["text"]);
    assert_eq!(kinds("other/m"), ["text"]);
}

#[test]
fn unsigned_thinking_is_never_replayed() {
    let m = messages_of(vec![
        user("a"),
        Message::assistant(vec![thinking(""), Block::text("said")], MODEL),
        user("b"),
    ]);
    assert_eq!(m[1]["content"].as_array().unwrap().len(), 1);
}

#[test]
fn a_message_bound_to_its_model_is_sent_back_unchanged() {
    let mut request = request(vec![
        user("a"),
        Message::assistant(vec![thinking("s")], MODEL),
        user("b"),
    ]);
    assert_eq!(json_of(&request)["messages"].as_array().unwrap().len(), 1);
    request.facts = Arc::new(ModelFacts {
        prefix_bound: true,
        ..ModelFacts::default()
    });
    assert_eq!(
        json_of(&request)["messages"][1]["content"][0]["signature"],
        "s"
    );
}

#[test]
fn the_second_request_has_no_thinking_but_requests_it() {
    let request = request(vec![
        user("a"),
        Message::assistant(vec![thinking("sig"), call("t")], MODEL),
        Message::user(vec![answer("t", "x")]),
    ]);
    let bare = body_without_thinking("anthropic", &request).bytes;
    let bare = std::str::from_utf8(&bare).unwrap();
    assert!(!bare.contains("sig") && bare.contains("adaptive"));
}

#[test]
fn arguments_on_the_wire_are_always_an_object() {
    let with = |input| {
        let call = Block::ToolUse {
            id: "t".into(),
            name: "read".into(),
            input,
        };
        let m = messages_of(vec![
            user("a"),
            Message::assistant(vec![call], MODEL),
            Message::user(vec![answer("t", "x")]),
        ]);
        m[1]["content"][0]["input"].clone()
    };
    assert_eq!(
        with(json!({"b": 1, "a": 2})).to_string(),
        r#"{"b":1,"a":2}"#
    );
    assert_eq!(with(json!("{\"pa")), json!({}));
    assert_eq!(with(json!("")), json!({}));
    assert_eq!(with(Value::Null), json!({}));
}

#[test]
fn a_call_without_a_result_gets_one_that_says_so_p36() {
    let m = messages_of(vec![
        user("a"),
        Message::assistant(vec![call("t1"), call("t2")], MODEL),
        Message::user(vec![
            Block::text("next"),
            answer("t2", "x"),
            answer("gone", "y"),
        ]),
    ]);
    let content = &m[2]["content"];
    assert_eq!(content[0]["tool_use_id"], "t2");
    assert_eq!(content[1]["tool_use_id"], "t1");
    assert_eq!(content[1]["is_error"], true);
    assert_eq!(content[2]["text"], "next");
    assert_eq!(content.as_array().unwrap().len(), 3);
}

#[test]
fn ids_that_repeat_are_rekeyed_with_their_results_p25() {
    let turn = |text: &str| {
        [
            Message::assistant(vec![call("same"), call("same")], MODEL),
            Message::user(vec![answer("same", text), answer("same", "second")]),
        ]
    };
    let mut messages = vec![user("a")];
    messages.extend(turn("one"));
    messages.extend(turn("two"));
    let m = messages_of(messages);
    let ids = |n: usize, key: &str| {
        let content = m[n]["content"].as_array().unwrap();
        content
            .iter()
            .map(|b| b[key].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(1, "id"), ["same", "same_2"]);
    assert_eq!(ids(2, "tool_use_id"), ["same", "same_2"]);
    assert_eq!(ids(3, "id"), ["same_3", "same_4"]);
    assert_eq!(ids(4, "tool_use_id"), ["same_3", "same_4"]);
    assert_eq!(m[4]["content"][0]["content"], "two");
}

#[test]
fn a_paused_answer_is_sent_again_unchanged() {
    let paused = Block::Opaque {
        value: json!({"type": "server_tool_use", "id": "s"}),
    };
    let m = messages_of(vec![user("a"), Message::assistant(vec![paused], MODEL)]);
    assert_eq!(m.as_array().unwrap().len(), 2);
    let m = messages_of(vec![
        user("a"),
        Message::assistant(vec![Block::text("b")], MODEL),
    ]);
    assert_eq!(m[2]["role"], "user");
}

#[test]
fn an_image_for_a_model_that_cannot_see_becomes_a_note() {
    let image = Block::Image {
        media_type: "image/png".into(),
        data: "AA".into(),
    };
    let mut request = request(vec![Message::user(vec![image])]);
    assert_eq!(
        json_of(&request)["messages"][0]["content"][0]["source"]["data"],
        "AA"
    );
    request.facts = Arc::default();
    assert_eq!(
        json_of(&request)["messages"][0]["content"][0]["type"],
        "text"
    );
}

fn any_block() -> impl Strategy<Value = Block> {
    let id = prop_oneof![Just("a"), Just("b"), Just("c"), Just(""), Just("ü")];
    prop_oneof![
        prop_oneof![Just(""), Just(" "), Just("text"), Just("\u{0}\u{fffd}")].prop_map(Block::text),
        prop_oneof![Just(""), Just("sig")].prop_map(thinking),
        (
            id.clone(),
            prop_oneof![Just(json!({"x": 1})), Just(json!("{")), Just(Value::Null)]
        )
            .prop_map(|(id, input)| Block::ToolUse {
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
        Just(Block::Opaque {
            value: json!({"type": "odd"})
        }),
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

/// What the provider requires of `messages`.
fn check_valid(body: &Value) {
    let messages = body["messages"].as_array().unwrap();
    let mut seen = HashSet::new();
    let mut open: Vec<String> = Vec::new();
    for (n, message) in messages.iter().enumerate() {
        let role = if n % 2 == 0 { "user" } else { "assistant" };
        assert_eq!(message["role"], role, "{messages:#?}");
        let content = message["content"].as_array().unwrap();
        assert!(!content.is_empty());
        let mut results = Vec::new();
        let mut others = false;
        for block in content {
            match block["type"].as_str().unwrap() {
                "text" => {
                    assert!(!block["text"].as_str().unwrap().trim().is_empty());
                    others = true;
                }
                "tool_result" => {
                    assert!(!others, "results come first");
                    assert!(block.get("is_error").is_none() || block["content"] != "");
                    results.push(block["tool_use_id"].as_str().unwrap().to_owned());
                }
                "tool_use" => {
                    let id = block["id"].as_str().unwrap().to_owned();
                    assert!(block["input"].is_object() && !id.is_empty());
                    assert!(seen.insert(id.clone()), "ids are unique");
                    open.push(id);
                }
                "thinking" => {
                    assert!(block.get("cache_control").is_none() && block["signature"] != "")
                }
                _ => others = true,
            }
        }
        if n % 2 == 0 {
            open.sort();
            results.sort();
            assert_eq!(
                std::mem::take(&mut open),
                results,
                "each call has one result"
            );
        }
    }
    let markers = body.to_string().matches("\"cache_control\"").count();
    assert!(markers <= 4, "{markers}");
}

fn bytes_of(history: &History) -> Bytes {
    let mut request = request(Vec::new());
    request.messages = history.clone();
    body("anthropic", &request).bytes
}

#[test]
fn the_next_body_of_a_long_conversation_writes_its_last_messages_only() {
    growing::tests::check_kept(MODEL, bytes_of);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_body_that_continues_an_earlier_one_has_the_same_bytes(
        messages in proptest::collection::vec(any_message(), 1..12),
    ) {
        growing::tests::check(&messages, bytes_of);
    }

    /// ZY-33, ZY-35, ZY-36-C: roles take turns, no result without its call, nothing empty.
    #[test]
    fn any_prefix_of_any_messages_is_a_valid_request_p36(
        messages in proptest::collection::vec(any_message(), 1..8),
        bound in any::<bool>(),
    ) {
        for end in 1..=messages.len() {
            let mut request = request(messages[..end].to_vec());
            request.facts = Arc::new(ModelFacts { prefix_bound: bound, ..ModelFacts::default() });
            let value = json_of(&request);
            check_valid(&value);
            let last = value["messages"].as_array().unwrap().last().unwrap().clone();
            let paused = last["content"].as_array().unwrap().last().unwrap()["type"] == "odd";
            prop_assert!(last["role"] == "user" || paused);
        }
    }

    /// A conversation as a session writes it: each step's results, then more messages.
    #[test]
    fn appending_messages_never_changes_bytes_before_the_last_breakpoint(
        steps in proptest::collection::vec((0usize..4, any::<bool>()), 1..8),
    ) {
        let mut messages = vec![user("start")];
        let mut previous: Option<Body> = None;
        for (n, (calls, text)) in steps.iter().enumerate() {
            let body = body("anthropic", &request(messages.clone()));
            if let Some(previous) = previous {
                let end = *previous.breakpoints.last().unwrap();
                let before = std::str::from_utf8(&previous.bytes[..end]).unwrap().replace(MARKER, "");
                let after = std::str::from_utf8(&body.bytes).unwrap().replace(MARKER, "");
                prop_assert!(after.starts_with(&before));
                // And the old breakpoint is still marked: that is where the cache was written.
                let kept = body.breakpoints.iter().any(|&at| {
                    std::str::from_utf8(&body.bytes[..at]).unwrap().replace(MARKER, "") == before
                });
                prop_assert!(kept);
            }
            previous = Some(body);
            let mut blocks = vec![thinking("s"), Block::text("x")];
            let ids: Vec<String> = (0..*calls).map(|c| format!("t{n}_{c}")).collect();
            blocks.extend(ids.iter().map(|id| call(id)));
            messages.push(Message::assistant(blocks, MODEL));
            let mut results: Vec<Block> = ids.iter().map(|id| answer(id, "r")).collect();
            if *text || results.is_empty() {
                results.push(Block::text("more"));
            }
            messages.push(Message::user(results));
        }
    }
}
