use serde_json::{Value, json};

use super::{ask, choices, default_value, multiple_choices, parse_answer};
use crate::host::QuestionAnswer;
use crate::tools::tests::bench::Bench;

#[test]
fn answers_are_converted_to_the_fields_type() {
    assert_eq!(
        parse_answer(&json!({"type": "integer"}), " 3 "),
        Some(json!(3))
    );
    assert_eq!(parse_answer(&json!({"type": "integer"}), "3.5"), None);
    assert_eq!(
        parse_answer(&json!({"type": "number", "maximum": 2}), "2.5"),
        None
    );
    assert_eq!(parse_answer(&json!({"type": "number"}), "inf"), None);
    assert_eq!(
        parse_answer(&json!({"type": "string", "minLength": 3}), "ab"),
        None
    );
    assert_eq!(
        parse_answer(&json!({"type": "string"}), "ada"),
        Some(json!("ada"))
    );
    assert_eq!(
        parse_answer(&json!({"type": "array"}), "a, b,"),
        Some(json!(["a", "b"]))
    );
}

#[test]
fn defaults_and_multiple_choices_are_shown() {
    assert_eq!(
        default_value(&json!({"default": "ada"})).as_deref(),
        Some("ada")
    );
    assert_eq!(default_value(&json!({"default": 3})).as_deref(), Some("3"));
    assert_eq!(default_value(&json!({"default": ""})), None);
    let field = json!({"type": "array", "items": {"enum": ["a", "b"]}});
    assert_eq!(multiple_choices(&field), ["a", "b"]);
    let field = json!({"type": "array", "items": {"anyOf": [{"const": "c", "title": "C"}]}});
    assert_eq!(multiple_choices(&field), ["c"]);
}

#[test]
fn choices_are_shown_by_their_titles() {
    let pairs = |field: Value| -> Vec<(String, Value)> { choices(&field) };
    assert_eq!(pairs(json!({"type": "boolean"})).len(), 2);
    let named = pairs(json!({"oneOf": [{"const": "r", "title": "Red\u{202e}"}]}));
    assert_eq!(named, [("Red\\u{202e}".to_owned(), json!("r"))]);
    let plain = pairs(json!({"enum": ["a", "b"], "enumNames": ["First"]}));
    assert_eq!(plain[0], ("First".to_owned(), json!("a")));
    assert_eq!(plain[1], ("b".to_owned(), json!("b")));
    assert!(pairs(json!({"type": "string"})).is_empty());
}

#[test]
fn an_answer_at_a_bound_is_within_it() {
    for (field, answer, fits) in [
        (
            json!({"type": "integer", "minimum": 3, "maximum": 5}),
            "3",
            true,
        ),
        (
            json!({"type": "integer", "minimum": 3, "maximum": 5}),
            "5",
            true,
        ),
        (
            json!({"type": "integer", "minimum": 3, "maximum": 5}),
            "2",
            false,
        ),
        (
            json!({"type": "integer", "minimum": 3, "maximum": 5}),
            "6",
            false,
        ),
        (json!({"type": "number", "minimum": 0.5}), "0.5", true),
        (json!({"type": "number", "minimum": 0.5}), "0.4", false),
        (
            json!({"type": "string", "minLength": 2, "maxLength": 3}),
            "ab",
            true,
        ),
        (
            json!({"type": "string", "minLength": 2, "maxLength": 3}),
            "äöü",
            true,
        ),
        (
            json!({"type": "string", "minLength": 2, "maxLength": 3}),
            "abcd",
            false,
        ),
        (
            json!({"type": "string", "minLength": 2, "maxLength": 3}),
            "a",
            false,
        ),
    ] {
        assert_eq!(
            parse_answer(&field, answer).is_some(),
            fits,
            "{field} {answer}"
        );
    }
}

/// The question that the user sees, with its options, and what the server gets.
async fn asked(params: Value, answer: QuestionAnswer) -> (String, Vec<String>, Value) {
    let bench = Bench::new();
    *bench.editor.answer.lock().unwrap() = Some(answer);
    let params = serde_json::from_value(params).unwrap();
    let result = ask(&bench.cx, "s", &params).await;
    let asked = bench.editor.asked.lock().unwrap();
    let (question, options) = asked.last().map_or_else(Default::default, |it| {
        (it.question.clone(), it.options.clone())
    });
    (question, options, serde_json::to_value(result).unwrap())
}

fn form(fields: Value, required: Value) -> Value {
    json!({ "mode": "form", "message": "Who?", "requestedSchema": {
        "type": "object", "properties": fields, "required": required,
    } })
}

#[tokio::test]
async fn a_form_is_asked_field_by_field() {
    let yes = |text: &str| QuestionAnswer::answered(text);
    let name = json!({ "name": { "type": "string", "title": "Your name", "description": "the full one", "default": "ada" } });
    let begin = "The MCP server s asks: Who?\n\n";
    for (fields, required, answer, question, options, got) in [
        (
            name.clone(),
            json!(["name"]),
            yes("bob"),
            "Your name: the full one",
            json!(["ada"]),
            json!({ "action": "accept", "content": { "name": "bob" } }),
        ),
        (
            name.clone(),
            json!([]),
            yes("(leave out)"),
            "Your name: the full one",
            json!(["ada", "(leave out)"]),
            json!({ "action": "accept", "content": {} }),
        ),
        (
            json!({ "sure": { "type": "boolean" } }),
            json!(["sure"]),
            yes("yes"),
            "sure",
            json!(["yes", "no", "Decline"]),
            json!({ "action": "accept", "content": { "sure": true } }),
        ),
        (
            json!({ "of": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] } } }),
            json!(["of"]),
            yes("a, b"),
            "of\nOne or more of these, separated by commas: a, b",
            json!([]),
            json!({ "action": "accept", "content": { "of": ["a", "b"] } }),
        ),
        (
            name.clone(),
            json!(["name"]),
            QuestionAnswer::declined(),
            "Your name: the full one",
            json!(["ada"]),
            json!({ "action": "decline" }),
        ),
        (
            name,
            json!(["name"]),
            QuestionAnswer::cancelled(),
            "Your name: the full one",
            json!(["ada"]),
            json!({ "action": "cancel" }),
        ),
    ] {
        let shown = asked(form(fields, required), answer).await;
        assert_eq!(shown.0, format!("{begin}{question}"));
        assert_eq!(json!(shown.1), options);
        assert_eq!(shown.2, got);
    }
    let number = json!({ "n": { "type": "integer" } });
    let (question, _, got) = asked(form(number, json!(["n"])), yes("many")).await;
    assert!(
        question.starts_with("That is not a valid answer. "),
        "{question}"
    );
    assert_eq!(got, json!({ "action": "cancel" }));
    let (_, options, got) = asked(form(json!({}), json!([])), yes("Agree")).await;
    assert_eq!(options, ["Agree", "Decline"]);
    assert_eq!(got, json!({ "action": "accept", "content": {} }));
}

#[tokio::test]
async fn an_address_is_shown_and_opened_by_the_user() {
    let at =
        |url: &str| json!({ "mode": "url", "message": "Pay", "url": url, "elicitationId": "e" });
    let done = || QuestionAnswer::answered("Done");
    let (question, options, got) = asked(at("https://pay.test/x?y"), done()).await;
    assert!(
        question.contains("\n\nhttps://pay.test/x?y\n\n"),
        "{question}"
    );
    assert!(
        question.contains("goes to https://pay.test. "),
        "{question}"
    );
    assert_eq!(options, ["Done", "Decline"]);
    assert_eq!(got, json!({ "action": "accept" }));
    let no = QuestionAnswer::answered("Decline");
    assert_eq!(
        asked(at("https://pay.test"), no).await.2,
        json!({ "action": "decline" })
    );
    for odd in [
        "file:///etc/passwd",
        "https://u@pay.test",
        "https://u:p@pay.test",
        "pay",
    ] {
        let (question, _, got) = asked(at(odd), done()).await;
        assert_eq!(
            (question.as_str(), got),
            ("", json!({ "action": "decline" })),
            "{odd}"
        );
    }
}
