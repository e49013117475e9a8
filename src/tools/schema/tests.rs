use serde_json::json;

use super::parse;

#[test]
fn p24_a_key_that_occurs_twice_is_refused_at_any_depth() {
    for text in [
        r#"{"path": "a", "path": "b"}"#,
        r#"{"a": [{"x": 1, "x": 1}]}"#,
        "{\"a\": 1, \"\\u0061\": 2}",
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains("occurs twice"), "{error}");
    }
}

#[test]
fn p22_what_was_cut_off_is_no_arguments() {
    for text in ["{", r#"{"path": "a"#, r#"{"path": "a"} x"#, "nope"] {
        assert!(parse(text).is_err(), "{text}");
    }
    assert_eq!(parse(" ").unwrap(), json!({}));
    let text = r#"{"z": [1, -2, 1.5, true, null, "ä"], "a": {}}"#;
    let value = parse(text).unwrap();
    assert_eq!(value, json!({"z": [1, -2, 1.5, true, null, "ä"], "a": {}}));
}
