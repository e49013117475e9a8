use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const MODEL: &str = "openai/m";

const TARGET: Target<'static> = Target {
    model: MODEL,
    images: true,
    documents: true,
    short_ids: false,
    unreadable: 0,
};

fn whole<'a>(messages: &'a [Message], target: Target<'_>) -> Vec<Entry<'a>> {
    entries(messages, target, &mut Progress::default())
}

pub fn call(id: &str) -> Block {
    Block::ToolUse {
        id: id.to_owned(),
        name: "read".to_owned(),
        input: json!({"path": "a"}),
    }
}

fn result(id: &str, content: &str) -> Block {
    Block::ToolResult {
        tool_use_id: id.to_owned(),
        content: content.to_owned(),
        is_error: false,
    }
}

fn user(blocks: Vec<Block>) -> Message {
    Message::user(blocks)
}

/// A short form: `u`, `a(calls)`, `o(id=text)`.
fn shape(entries: &[Entry<'_>]) -> Vec<String> {
    let ids = |parts: &[Part<'_>]| -> String {
        let ids = parts.iter().filter_map(|part| match part {
            Part::Call { id, .. } => Some(id.as_str()),
            _ => None,
        });
        ids.collect::<Vec<_>>().join(",")
    };
    let one = |entry: &Entry<'_>| match entry {
        Entry::User(_) => "u".to_owned(),
        Entry::Answer(parts) => format!("a({})", ids(parts)),
        Entry::Output { id, text } => {
            format!("o({id}={})", text.split(' ').next().unwrap_or_default())
        }
    };
    entries.iter().map(one).collect()
}

#[test]
fn outputs_follow_their_answer_whatever_came_between_p36() {
    let messages = [
        user(vec![Block::text("go")]),
        Message::assistant(vec![call("1"), call("2"), call("3")], MODEL),
        user(vec![
            Block::text("wait"),
            result("2", "two"),
            result("gone", "x"),
        ]),
        user(vec![result("2", "again"), result("1", "")]),
        Message::assistant(vec![Block::text("ok")], MODEL),
    ];
    assert_eq!(
        shape(&whole(&messages, TARGET)),
        [
            "u",
            "a(1,2,3)",
            "o(2=two)",
            "o(1=(no)",
            "o(3=This)",
            "u",
            "a()",
            "u"
        ]
    );
}

#[test]
fn ids_that_repeat_are_rekeyed_with_their_outputs_p25() {
    let turn = || {
        [
            Message::assistant(vec![call("s"), call("s"), call("")], MODEL),
            user(vec![
                result("s", "one"),
                result("s", "two"),
                result("", "three"),
            ]),
        ]
    };
    let messages: Vec<Message> = turn().into_iter().chain(turn()).collect();
    assert_eq!(
        shape(&whole(&messages, TARGET)),
        [
            "u",
            "a(s,s_2,call)",
            "o(s=one)",
            "o(s_2=two)",
            "o(call=three)",
            "a(s_3,s_4,call_2)",
            "o(s_3=one)",
            "o(s_4=two)",
            "o(call_2=three)",
        ]
    );
}

#[test]
fn ids_fit_the_wire() {
    let long = "x".repeat(65);
    let ids = |short_ids| -> Vec<String> {
        let names = [long.as_str(), "ab cd", "functions.read:0", "abcdefgh1"];
        let blocks = names.iter().map(|id| call(id)).collect();
        let messages = [Message::assistant(blocks, MODEL)];
        let target = Target {
            short_ids,
            ..TARGET
        };
        let entries = whole(&messages, target);
        let outputs = entries.iter().filter_map(|entry| match entry {
            Entry::Output { id, .. } => Some(id.clone()),
            _ => None,
        });
        outputs.collect()
    };
    let usual = ids(false);
    assert!(usual[0].len() <= 64 && !usual[1].contains(' '));
    assert_eq!(usual[2..], ["functions.read:0", "abcdefgh1"]);
    let short = ids(true);
    assert!(
        short
            .iter()
            .all(|id| id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()))
    );
    assert_eq!(short[3], "abcdefgh1");
}

#[test]
fn state_and_thoughts_are_the_models_own_and_never_last_p33() {
    let state = Block::Opaque {
        value: json!({"type": "reasoning"}),
    };
    let thought = |signature: &str| Block::Thinking {
        thinking: "t".to_owned(),
        signature: signature.to_owned(),
    };
    let kinds = |model: &str, blocks: Vec<Block>| -> Vec<&str> {
        let messages = [Message::assistant(blocks, model)];
        let entries = whole(&messages, TARGET);
        let parts = entries.iter().find_map(|entry| match entry {
            Entry::Answer(parts) => Some(parts.clone()),
            _ => None,
        });
        let kind = |part: &Part<'_>| match part {
            Part::Text(_) => "text",
            Part::Thought(_) => "thought",
            Part::State(_) => "state",
            Part::Unreadable(_) => "unreadable",
            Part::Call { .. } => "call",
        };
        parts.unwrap_or_default().iter().map(kind).collect()
    };
    let blocks = vec![
        thought(""),
        thought("signed"),
        state.clone(),
        call("1"),
        state.clone(),
    ];
    assert_eq!(kinds(MODEL, blocks.clone()), ["thought", "state", "call"]);
    assert_eq!(kinds("openai/other", blocks), ["call"]);
    assert!(kinds(MODEL, vec![thought(""), state, Block::text(" ")]).is_empty());
}

pub fn any_block() -> impl Strategy<Value = Block> {
    let id = prop_oneof![Just("a"), Just("b"), Just("c"), Just(""), Just("ü")];
    let input = prop_oneof![Just(json!({"x": 1})), Just(json!("{")), Just(Value::Null)];
    prop_oneof![
        prop_oneof![Just(""), Just(" "), Just("text"), Just("\u{0}\u{fffd}")].prop_map(Block::text),
        prop_oneof![Just(""), Just("sig")].prop_map(|signature| Block::Thinking {
            thinking: "thought".into(),
            signature: signature.into()
        }),
        (id.clone(), input).prop_map(|(id, input)| Block::ToolUse {
            id: id.into(),
            name: "mcp.né t".into(),
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
        prop_oneof![
            Just(json!({"type": "reasoning", "encrypted_content": "e"})),
            Just(json!({"type": "message_phase", "phase": "commentary"})),
            Just(json!({"type": "reasoning_details", "details": [{"type": "x"}]})),
        ]
        .prop_map(|value| Block::Opaque { value }),
    ]
}

pub fn any_messages() -> impl Strategy<Value = Vec<Message>> {
    let blocks = proptest::collection::vec(any_block(), 0..6);
    let message =
        (blocks, any::<bool>(), any::<bool>()).prop_map(|(blocks, user, own)| match (user, own) {
            (true, _) => Message::user(blocks),
            (false, true) => Message::assistant(blocks, MODEL),
            (false, false) => Message::assistant(blocks, "anthropic/other"),
        });
    proptest::collection::vec(message, 1..8)
}

/// A conversation as a session writes it: `(calls, has text)` for each step.
pub fn steps(steps: &[(usize, bool)]) -> Vec<Vec<Message>> {
    let mut messages = vec![user(vec![Block::text("start")])];
    let mut all = vec![messages.clone()];
    for (n, (calls, more)) in steps.iter().enumerate() {
        let value = json!({"type": "reasoning", "encrypted_content": format!("e{n}")});
        let mut blocks = vec![Block::Opaque { value }, Block::text("x")];
        let ids: Vec<String> = (0..*calls).map(|c| format!("t{n}_{c}")).collect();
        blocks.extend(ids.iter().map(|id| call(id)));
        messages.push(Message::assistant(blocks, MODEL));
        let mut results: Vec<Block> = ids.iter().map(|id| result(id, "r")).collect();
        if *more || results.is_empty() {
            results.push(Block::text("more"));
        }
        messages.push(user(results));
        all.push(messages.clone());
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_history_pairs_each_call_with_one_output_p36(messages in any_messages()) {
        let entries = whole(&messages, TARGET);
        let mut open: Vec<String> = Vec::new();
        let mut seen = HashSet::new();
        for entry in &entries {
            match entry {
                Entry::User(blocks) => prop_assert!(!blocks.is_empty() && open.is_empty()),
                Entry::Output { id, text } => {
                    let at = open.iter().position(|known| known == id);
                    prop_assert!(at.is_some() && !text.is_empty());
                    open.remove(at.unwrap());
                }
                Entry::Answer(parts) => {
                    prop_assert!(open.is_empty() && parts.last().is_some_and(Part::may_be_last));
                    for part in parts {
                        if let Part::Call { id, .. } = part {
                            prop_assert!(seen.insert(id.clone()) && id.len() <= 64);
                            open.push(id.clone());
                        }
                    }
                }
            }
        }
        prop_assert!(open.is_empty());
        prop_assert!(matches!(entries.first(), Some(Entry::User(_))));
        prop_assert!(!matches!(entries.last(), Some(Entry::Answer(_))));
    }
}
