use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::conversation::{History, Message, ModelFacts, ToolSpec};
use crate::provider::growing;
use crate::provider::openai::history::tests::{any_messages, call, steps};

const MODEL: &str = "openai/m";

fn request(messages: Vec<Message>) -> Request {
    let block = |text: &str| SystemBlock {
        text: text.to_owned(),
        boundary: true,
    };
    Request {
        unreadable: 0,
        model: "m".to_owned(),
        facts: Arc::new(ModelFacts {
            thinking: Thinking::Adaptive,
            images: true,
            known: true,
            ..ModelFacts::default()
        }),
        system: Arc::new(vec![block("one"), block(" "), block("two")]),
        tools: Arc::new(vec![ToolSpec {
            name: "srv.read".to_owned(),
            description: "Reads.".to_owned(),
            input_schema: json!({"type": "object", "properties": {"z": {}, "a": {}}}).into(),
        }]),
        messages: messages.into(),
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

fn state(value: Value) -> Block {
    Block::Opaque { value }
}

/// Two turns with everything that an answer can contain.
fn conversation(model: &str) -> Vec<Message> {
    vec![
        Message::user(vec![
            Block::text("hi"),
            Block::Image {
                media_type: "image/png".into(),
                data: "AA".into(),
            },
        ]),
        Message::assistant(
            vec![
                state(json!({"type": "reasoning", "summary": [], "encrypted_content": "gA"})),
                state(json!({"type": PHASE, "phase": "commentary"})),
                Block::text("looking"),
                call("c1"),
            ],
            model,
        ),
        Message::user(vec![Block::ToolResult {
            tool_use_id: "c1".into(),
            content: "text".into(),
            is_error: false,
        }]),
    ]
}

#[test]
fn the_bytes_have_one_fixed_order() {
    let mut request = request(conversation(MODEL));
    insta::assert_snapshot!(text_of(&request, Parts::default()), @r#"{"model":"m","instructions":"one\n\ntwo","tools":[{"type":"function","name":"srv_read_7d69a611","description":"Reads.","parameters":{"type":"object","properties":{"z":{},"a":{}}},"strict":false}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"},{"type":"input_image","image_url":"data:image/png;base64,AA","detail":"auto"}]},{"type":"reasoning","summary":[],"encrypted_content":"gA"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"looking"}],"phase":"commentary"},{"type":"function_call","call_id":"c1","name":"read","arguments":"{\"path\":\"a\"}"},{"type":"function_call_output","call_id":"c1","output":"text"}],"store":false,"stream":true,"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"},"max_output_tokens":8192,"prompt_cache_key":"4a29e92604391d54d79fca2b9bb3b523"}"#);
    request.facts = Arc::default();
    let value = json_of(&request);
    assert!(value.get("reasoning").is_none() && value.get("max_output_tokens").is_none());
    assert_eq!(value["input"][0]["content"][1]["type"], "input_text");
}

#[test]
fn another_models_reasoning_and_phase_are_left_out_p33() {
    for model in ["openai/other", "anthropic/m"] {
        let text = text_of(&request(conversation(model)), Parts::default());
        assert!(
            !text.contains("gA") && !text.contains("commentary"),
            "{text}"
        );
        assert!(text.contains("looking") && text.contains("c1"));
    }
}

#[test]
fn each_part_can_be_left_out() {
    let request = request(conversation(MODEL));
    let without = |parts: Parts| text_of(&request, parts);
    let all = Parts::default();
    let bare = without(Parts {
        replay: false,
        ..all
    });
    assert!(!bare.contains("gA") && bare.contains("commentary") && bare.contains("\"c1\""));
    assert!(
        !without(Parts {
            include: false,
            ..all
        })
        .contains("include")
    );
    assert!(
        !without(Parts {
            summary: false,
            ..all
        })
        .contains("\"summary\":\"auto\"")
    );
}

#[test]
fn the_cache_key_belongs_to_the_conversation() {
    let key = |messages: Vec<Message>| json_of(&request(messages))["prompt_cache_key"].clone();
    let long = conversation(MODEL);
    assert_eq!(key(long.clone()), key(long[..1].to_vec()));
    assert_ne!(key(long), key(vec![user("other")]));
}

#[test]
fn state_of_a_chat_server_is_not_an_item() {
    let details = state(json!({"type": "reasoning_details", "details": []}));
    let odd = state(json!({"type": "compaction", "encrypted_content": "c"}));
    let blocks = vec![details, odd, Block::text("x")];
    let value = json_of(&request(vec![user("a"), Message::assistant(blocks, MODEL)]));
    let kinds: Vec<&str> = value["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| i["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["message", "compaction", "message", "message"]);
}

/// What the provider requires of `input`.
fn check_valid(input: &[Value]) {
    let mut open: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    for (n, item) in input.iter().enumerate() {
        assert!(item.get("id").is_none() && item.get("status").is_none());
        match item["type"].as_str().unwrap() {
            "function_call" => {
                let id = item["call_id"].as_str().unwrap();
                assert!(seen.insert(id) && !id.is_empty());
                let arguments: Value =
                    serde_json::from_str(item["arguments"].as_str().unwrap()).unwrap();
                assert!(arguments.is_object());
                open.push(id);
            }
            "function_call_output" => {
                let id = item["call_id"].as_str().unwrap();
                let at = open.iter().position(|known| *known == id);
                open.remove(at.unwrap_or_else(|| panic!("an orphan: {input:#?}")));
            }
            "reasoning" => {
                let next = &input[n + 1];
                let own = next["role"] == "assistant"
                    || next["type"] == "function_call"
                    || next["type"] == "reasoning";
                assert!(own, "reasoning without what follows it: {input:#?}");
            }
            "message" => {
                assert!(item["role"] == "assistant" || open.is_empty());
                let content = item["content"].as_array().unwrap();
                assert!(!content.is_empty());
                assert!(
                    content
                        .iter()
                        .all(|part| part["type"] != "" && !part.is_null())
                );
            }
            other => panic!("an item {other}"),
        }
    }
    assert!(open.is_empty(), "{input:#?}");
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
            check_valid(value["input"].as_array().unwrap());
        }
    }

    #[test]
    fn appending_messages_never_changes_earlier_bytes(
        taken in proptest::collection::vec((0usize..4, any::<bool>()), 1..8),
    ) {
        let mut previous: Option<String> = None;
        for messages in steps(&taken) {
            let text = text_of(&request(messages), Parts::default());
            let (input, rest) = text.split_once("],\"store\"").unwrap();
            prop_assert!(!rest.contains("\"store\""));
            if let Some(previous) = &previous {
                prop_assert!(input.starts_with(previous.as_str()));
            }
            previous = Some(input.to_owned());
        }
    }
}

/// OC-60.
#[test]
fn reasoning_follows_the_users_level() {
    let with = |effort| {
        let mut request = request(vec![user("a")]);
        Arc::make_mut(&mut request.facts).effort = effort;
        json_of(&request)["reasoning"].take()
    };
    assert_eq!(with(None), json!({"summary": "auto"}));
    assert_eq!(
        with(Some(Effort::High)),
        json!({"effort": "high", "summary": "auto"})
    );
    assert_eq!(with(Some(Effort::Off)), json!({"effort": "low"}));
}
