use std::collections::HashSet;

use super::*;

const MODEL: &str = "gemini/m";

fn whole<'a>(messages: &'a [Message], target: Target<'_>) -> Contents<'a> {
    turns(messages, target, &mut Progress::default())
}

fn wire_turns(messages: &[Message], signatures: bool) -> Value {
    let target = Target {
        model: MODEL,
        images: true,
        unreadable: if signatures { 0 } else { usize::MAX },
    };
    serde_json::to_value(whole(messages, target).turns).unwrap()
}

fn call(id: &str) -> Block {
    Block::ToolUse {
        id: id.to_owned(),
        name: "read".to_owned(),
        input: json!({"p": 1}),
    }
}

fn answer(id: &str, text: &str) -> Block {
    Block::ToolResult {
        tool_use_id: id.to_owned(),
        content: text.to_owned(),
        is_error: false,
    }
}

fn user(text: &str) -> Message {
    Message::user(vec![Block::text(text)])
}

#[test]
fn signatures_go_back_in_the_part_that_they_came_in() {
    let own = Block::Opaque {
        value: json!({"text": "", "thoughtSignature": "Ce"}),
    };
    let thought = |signature: &str| Block::Thinking {
        thinking: "hm".into(),
        signature: signature.into(),
    };
    let blocks = vec![
        thought(""),
        thought("Ch"),
        Block::text("said"),
        signature_block("Ct"),
        own,
        call("a"),
        signature_block("Ca"),
        call("b"),
    ];
    let results = vec![answer("b", "B"), answer("a", "A")];
    let history = [
        user("go"),
        Message::assistant(blocks, MODEL),
        Message::user(results),
    ];
    let sent = wire_turns(&history, true);
    let call = |id: &str| json!({"id": id, "name": "read", "args": {"p": 1}});
    assert_eq!(
        sent[1]["parts"],
        json!([
            {"text": "hm", "thought": true, "thoughtSignature": "Ch"},
            {"text": "said", "thoughtSignature": "Ct"},
            {"text": "", "thoughtSignature": "Ce"},
            {"functionCall": call("a"), "thoughtSignature": "Ca"},
            {"functionCall": call("b")},
        ])
    );
    let reply = |id: &str, output: &str| json!({"functionResponse": {"id": id, "name": "read", "response": {"output": output}}});
    assert_eq!(sent[2]["parts"], json!([reply("a", "A"), reply("b", "B")]));
}

#[test]
fn another_models_history_and_the_repair_carry_the_sentinel_once_a_step_p33() {
    let blocks = vec![call("a"), signature_block("Ca"), call("b")];
    let history = |model: &str| {
        [
            user("go"),
            Message::assistant(blocks.clone(), model),
            Message::user(vec![answer("a", ""), answer("b", "")]),
        ]
    };
    let given = |sent: &Value, n: usize| sent[1]["parts"][n]["thoughtSignature"].clone();
    let check = |sent: Value| {
        assert_eq!(given(&sent, 0), SKIP);
        assert_eq!(given(&sent, 1), Value::Null);
        assert_eq!(sent[1]["parts"].as_array().unwrap().len(), 2);
    };
    check(wire_turns(&history("anthropic/c"), true));
    check(wire_turns(&history("gemini/other"), true));
    check(wire_turns(&history(MODEL), false));
    assert_eq!(given(&wire_turns(&history(MODEL), true), 0), "Ca");
}

#[test]
fn ids_are_letters_and_digits_and_unique_with_their_answers_p25() {
    let ids = ["toolu_1-x", "toolu1x", "ü", ""];
    let calls = || ids.iter().map(|id| call(id)).collect();
    let results = || ids.iter().map(|id| answer(id, id)).collect();
    let history = [
        user("go"),
        Message::assistant(calls(), "a/b"),
        Message::user(results()),
        Message::assistant(calls(), "a/b"),
        Message::user(results()),
    ];
    let sent = wire_turns(&history, true);
    let at = |turn: usize, part: usize, kind: &str| sent[turn]["parts"][part][kind].clone();
    let mut seen = HashSet::new();
    for turn in [1, 3] {
        for (n, id) in ids.iter().enumerate() {
            let (call, reply) = (
                at(turn, n, "functionCall"),
                at(turn + 1, n, "functionResponse"),
            );
            assert_eq!(call["id"], reply["id"]);
            assert_eq!(reply["response"]["output"], *id);
            let id = call["id"].as_str().unwrap().to_owned();
            assert!(id.chars().all(|c| c.is_ascii_alphanumeric()), "{id}");
            assert!(seen.insert(id));
        }
    }
    assert_eq!(at(1, 0, "functionCall")["id"], "toolu1x");
}

#[test]
fn calls_without_a_result_get_one_and_results_without_a_call_are_dropped_p36() {
    let history = [
        Message::assistant(vec![call("a"), call("b")], MODEL),
        Message::user(vec![
            Block::text("next"),
            answer("b", "B"),
            answer("gone", "x"),
        ]),
        Message::assistant(vec![Block::text(" ")], MODEL),
        Message::assistant(vec![call("c")], MODEL),
    ];
    let sent = wire_turns(&history, true);
    let roles: Vec<&Value> = sent
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["role"])
        .collect();
    assert_eq!(roles, ["user", "model", "user", "model", "user"]);
    let parts = sent[2]["parts"].as_array().unwrap();
    let response = |n: usize, kind: &str| parts[n]["functionResponse"]["response"][kind].clone();
    assert_eq!(response(0, "error"), INTERRUPTED);
    assert_eq!(response(1, "output"), "B");
    assert_eq!(parts[2]["text"], "next");
    assert_eq!(parts.len(), 3);
    assert_eq!(sent[0]["parts"][0]["text"], CONTINUE);
    assert_eq!(
        sent[4]["parts"][0]["functionResponse"]["response"]["error"],
        INTERRUPTED
    );
}

#[test]
fn an_unfinished_answer_continues_with_its_token_and_later_is_in_the_history() {
    let target = Target {
        model: MODEL,
        images: true,
        unreadable: 0,
    };
    let half = |text: &str, token: &str| {
        Message::assistant(vec![Block::text(text), continuation_block(token)], MODEL)
    };
    let history = [user("go"), half("a", "t1"), half("b", "t2"), user("then")];
    let contents = whole(&history[..3], target);
    assert_eq!(contents.continuation, Some("t2"));
    assert_eq!(contents.turns, whole(&history[..1], target).turns);
    let contents = whole(&history, target);
    assert_eq!(contents.continuation, None);
    let sent = serde_json::to_value(&contents.turns).unwrap();
    assert_eq!(sent[1]["parts"], json!([{"text": "a"}, {"text": "b"}]));
    let other = Target {
        model: "gemini/other",
        ..target
    };
    assert_eq!(whole(&history[..3], other).continuation, None);
}

#[test]
fn images_and_names_have_the_form_of_the_wire() {
    let image = Block::Image {
        media_type: "image/png".into(),
        data: "AA".into(),
    };
    let history = [Message::user(vec![image])];
    let sent = wire_turns(&history, true);
    assert_eq!(
        sent[0]["parts"][0],
        json!({"inlineData": {"mimeType": "image/png", "data": "AA"}})
    );
    let blind = Target {
        model: MODEL,
        images: false,
        unreadable: 0,
    };
    let parts = &whole(&history, blind).turns[0].parts;
    assert_eq!(*parts, [Part::text(IMAGE_LEFT_OUT)]);
    let named = |name: &str| {
        let input = json!({});
        let (id, name) = ("c".to_owned(), name.to_owned());
        let call = Block::ToolUse { id, name, input };
        let history = [user("go"), Message::assistant(vec![call], MODEL)];
        let sent = wire_turns(&history, true);
        let name = |at: usize, kind: &str| sent[at]["parts"][0][kind]["name"].clone();
        assert_eq!(name(1, "functionCall"), name(2, "functionResponse"));
        name(1, "functionCall").as_str().unwrap().to_owned()
    };
    assert_eq!(named("read"), "read");
    assert_eq!(named("a/b"), names::wire("a/b"));
    assert_eq!(named(""), "unknown");
}
