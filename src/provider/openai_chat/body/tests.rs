use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::conversation::{History, Message, ModelFacts, SystemBlock, ToolSpec};
use crate::provider::growing;
use crate::provider::openai::history::tests::{any_messages, call, steps};

const MODEL: &str = "openai/m";

fn request(messages: Vec<Message>) -> Request {
    Request {
        unreadable: 0,
        model: "m".to_owned(),
        facts: Arc::new(ModelFacts {
            images: true,
            known: true,
            ..ModelFacts::default()
        }),
        system: Arc::new(vec![SystemBlock {
            text: "system".to_owned(),
            boundary: true,
        }]),
        tools: Arc::new(vec![ToolSpec {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            input_schema: json!({"oneOf": []}).into(),
        }]),
        messages: messages.into(),
    }
}

fn with(messages: Vec<Message>, facts: ModelFacts) -> Request {
    Request {
        facts: Arc::new(facts),
        ..request(messages)
    }
}

fn text_of(request: &Request, parts: Parts) -> String {
    String::from_utf8(write("openai", request, parts).to_vec()).unwrap()
}

fn json_of(request: &Request) -> Value {
    serde_json::from_str(&text_of(request, Parts::default())).unwrap()
}

fn user(text: &str) -> Message {
    Message::user(vec![Block::text(text)])
}

fn thought(text: &str) -> Block {
    Block::Thinking {
        thinking: text.to_owned(),
        signature: String::new(),
    }
}

fn result(id: &str) -> Block {
    Block::ToolResult {
        tool_use_id: id.into(),
        content: "text".into(),
        is_error: false,
    }
}

#[test]
fn the_bytes_have_one_fixed_order() {
    let messages = vec![
        user("hi"),
        Message::assistant(
            vec![
                thought("hm"),
                Block::text("looking"),
                call("c1"),
                call("c2"),
            ],
            MODEL,
        ),
        Message::user(vec![result("c1"), result("c2"), Block::text("and")]),
    ];
    insta::assert_snapshot!(text_of(&request(messages), Parts::default()), @r#"{"model":"m","tools":[{"type":"function","function":{"name":"read","description":"Reads.","parameters":{"properties":{},"type":"object"}}}],"messages":[{"role":"system","content":"system"},{"role":"user","content":"hi"},{"role":"assistant","content":"looking","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},{"id":"c2","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]},{"role":"tool","tool_call_id":"c1","content":"text"},{"role":"tool","tool_call_id":"c2","content":"text"},{"role":"user","content":"and"}],"max_tokens":8192,"stream":true,"stream_options":{"include_usage":true}}"#);
}

#[test]
fn consecutive_user_texts_are_one_message_and_images_are_parts() {
    let image = Block::Image {
        media_type: "image/png".into(),
        data: "AA".into(),
    };
    let value = json_of(&request(vec![user("a"), user("b")]));
    assert_eq!(
        value["messages"][1],
        json!({"role": "user", "content": "a\n\nb"})
    );
    let value = json_of(&request(vec![
        user("a"),
        Message::user(vec![image.clone()]),
    ]));
    assert_eq!(
        value["messages"][1]["content"][1]["image_url"]["url"],
        "data:image/png;base64,AA"
    );
    let blind = with(vec![Message::user(vec![image])], ModelFacts::default());
    let said = json_of(&blind)["messages"][1]["content"].clone();
    assert!(
        said.as_str()
            .is_some_and(|text| text.contains("cannot read images"))
    );
}

#[test]
fn reasoning_is_sent_back_if_the_facts_say_so_even_when_empty() {
    let history = |model: &str| {
        let first = Message::assistant(vec![thought("why"), call("c1")], model);
        let plain = Message::assistant(vec![thought("x"), Block::text("done")], model);
        let second = Message::assistant(vec![call("c2")], model);
        vec![
            user("a"),
            first,
            Message::user(vec![result("c1")]),
            plain,
            user("b"),
            second,
            Message::user(vec![result("c2")]),
        ]
    };
    let reasoning = |model: &str, replays_reasoning: bool, parts: Parts| -> Vec<Value> {
        let facts = ModelFacts {
            replays_reasoning,
            ..ModelFacts::default()
        };
        let text = text_of(&with(history(model), facts), parts);
        let value: Value = serde_json::from_str(&text).unwrap();
        let messages = value["messages"].as_array().unwrap().clone();
        let answers = messages
            .iter()
            .filter(|message| message["role"] == "assistant");
        answers
            .map(|message| message["reasoning_content"].clone())
            .collect()
    };
    let usual = Parts::default();
    let none = [Value::Null, Value::Null, Value::Null];
    assert_eq!(
        reasoning(MODEL, true, usual),
        [json!("why"), Value::Null, json!("")]
    );
    assert_eq!(
        reasoning("openai/other", true, usual),
        [json!(""), Value::Null, json!("")]
    );
    assert_eq!(reasoning(MODEL, false, usual), none);
    let other = Parts {
        other_reasoning: true,
        ..usual
    };
    assert_eq!(reasoning(MODEL, true, other), none);
    assert_eq!(reasoning(MODEL, false, other)[0], "why");
}

#[test]
fn a_routers_reasoning_is_sent_back_to_the_same_model_only() {
    let details = json!([{"type": "reasoning.encrypted", "data": "e", "index": 0}]);
    let value = json!({"type": DETAILS, "details": details});
    let blocks = vec![Block::Opaque { value }, Block::text("x")];
    let sent = |model: &str, parts: Parts| {
        let messages = vec![
            user("a"),
            Message::assistant(blocks.clone(), model),
            user("b"),
        ];
        text_of(&request(messages), parts)
    };
    let usual = Parts::default();
    assert!(sent(MODEL, usual).contains(&details.to_string()));
    assert!(!sent("openai/other", usual).contains("encrypted"));
    assert!(
        !sent(
            MODEL,
            Parts {
                reasoning: false,
                ..usual
            }
        )
        .contains("encrypted")
    );
}

#[test]
fn the_limit_has_the_name_that_the_server_expects() {
    let sent = |known, max_completion_tokens, limit| {
        let facts = ModelFacts {
            known,
            max_completion_tokens,
            ..ModelFacts::default()
        };
        let parts = Parts {
            limit,
            ..Parts::default()
        };
        let text = text_of(&with(vec![user("a")], facts), parts);
        (
            text.contains("\"max_tokens\":8192"),
            text.contains("\"max_completion_tokens\":8192"),
        )
    };
    assert_eq!(sent(false, false, Limit::Known), (false, false));
    assert_eq!(sent(true, false, Limit::Known), (true, false));
    assert_eq!(sent(true, true, Limit::Known), (false, true));
    assert_eq!(sent(true, false, Limit::Completion), (false, true));
    assert_eq!(sent(true, true, Limit::Omitted), (false, false));
}

/// What servers and their templates require of `messages`.
fn check_valid(messages: &[Value]) {
    let mut open: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    assert_eq!(messages[0]["role"], "system");
    assert_eq!(messages[1]["role"], "user");
    for (n, message) in messages.iter().enumerate().skip(1) {
        match message["role"].as_str().unwrap() {
            "user" => {
                assert!(open.is_empty() && messages[n - 1]["role"] != "user");
                let content = &message["content"];
                assert!(content.as_str().is_none_or(|text| !text.is_empty()));
                assert!(content.is_string() || content[0]["type"].is_string());
            }
            "assistant" => {
                assert!(open.is_empty());
                let calls = message["tool_calls"].as_array();
                assert!(calls.is_some() || message["content"].is_string());
                for call in calls.into_iter().flatten() {
                    let id = call["id"].as_str().unwrap();
                    assert!(seen.insert(id) && !id.is_empty());
                    let arguments = call["function"]["arguments"].as_str().unwrap();
                    assert!(
                        serde_json::from_str::<Value>(arguments)
                            .unwrap()
                            .is_object()
                    );
                    open.push(id);
                }
            }
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap();
                let at = open.iter().position(|known| *known == id);
                open.remove(at.unwrap_or_else(|| panic!("an orphan: {messages:#?}")));
                assert!(!message["content"].as_str().unwrap().is_empty());
            }
            other => panic!("a role {other}"),
        }
    }
    assert!(open.is_empty());
    assert_ne!(messages.last().unwrap()["role"], "assistant");
}

fn bytes_of(history: &History) -> Bytes {
    let mut request = request(Vec::new());
    request.messages = history.clone();
    write("openai", &request, Parts::default())
}

#[test]
fn the_next_body_of_a_long_conversation_writes_its_last_messages_only() {
    growing::tests::check_kept(MODEL, bytes_of);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_body_that_continues_an_earlier_one_has_the_same_bytes(messages in any_messages()) {
        growing::tests::check(&messages, bytes_of);
    }

    #[test]
    fn any_prefix_of_any_messages_is_a_valid_request_p36(messages in any_messages()) {
        for end in 1..=messages.len() {
            let value = json_of(&request(messages[..end].to_vec()));
            check_valid(value["messages"].as_array().unwrap());
        }
    }

    #[test]
    fn appending_messages_never_changes_earlier_bytes(
        taken in proptest::collection::vec((0usize..4, any::<bool>()), 1..8),
    ) {
        let mut previous: Option<String> = None;
        for messages in steps(&taken) {
            let text = text_of(&request(messages), Parts::default());
            let (start, _) = text.split_once("],\"max_tokens\"").unwrap();
            if let Some(previous) = &previous {
                prop_assert!(start.starts_with(previous.as_str()));
            }
            previous = Some(start.to_owned());
        }
    }
}

/// OC-60: a server that refuses the parameter is asked without it.
#[test]
fn reasoning_follows_the_users_level() {
    let with = |effort, parts| {
        let mut request = request(vec![user("a")]);
        Arc::make_mut(&mut request.facts).effort = effort;
        let body: Value = serde_json::from_str(&text_of(&request, parts)).unwrap();
        body["reasoning_effort"].clone()
    };
    let without = Parts {
        effort: false,
        ..Parts::default()
    };
    assert_eq!(with(Some(Effort::Medium), Parts::default()), "medium");
    assert!(with(Some(Effort::Off), Parts::default()).is_null());
    assert!(with(Some(Effort::Medium), without).is_null());
    assert!(with(None, Parts::default()).is_null());
}
