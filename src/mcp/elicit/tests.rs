use serde_json::{Value, json};

use super::{choices, default_value, multiple_choices, parse_answer};

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
