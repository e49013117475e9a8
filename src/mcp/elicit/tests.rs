use serde_json::{Value, json};

use super::{choices, several, typed, usual};

#[test]
fn answers_become_what_the_field_wants() {
    assert_eq!(typed(&json!({"type": "integer"}), " 3 "), Some(json!(3)));
    assert_eq!(typed(&json!({"type": "integer"}), "3.5"), None);
    assert_eq!(typed(&json!({"type": "number", "maximum": 2}), "2.5"), None);
    assert_eq!(typed(&json!({"type": "number"}), "inf"), None);
    assert_eq!(
        typed(&json!({"type": "string", "minLength": 3}), "ab"),
        None
    );
    assert_eq!(typed(&json!({"type": "string"}), "ada"), Some(json!("ada")));
    assert_eq!(
        typed(&json!({"type": "array"}), "a, b,"),
        Some(json!(["a", "b"]))
    );
}

#[test]
fn what_a_server_proposes_and_what_several_are_chosen_of_is_shown() {
    assert_eq!(usual(&json!({"default": "ada"})).as_deref(), Some("ada"));
    assert_eq!(usual(&json!({"default": 3})).as_deref(), Some("3"));
    assert_eq!(usual(&json!({"default": ""})), None);
    let field = json!({"type": "array", "items": {"enum": ["a", "b"]}});
    assert_eq!(several(&field), ["a", "b"]);
    let field = json!({"type": "array", "items": {"anyOf": [{"const": "c", "title": "C"}]}});
    assert_eq!(several(&field), ["c"]);
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
