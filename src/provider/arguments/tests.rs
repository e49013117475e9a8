use serde_json::json;

use super::*;

fn check_error(text: &str, part: &str) {
    let error = parse(text).unwrap_err();
    assert!(error.contains(part), "{text}: {error}");
}

#[test]
fn an_empty_text_means_no_arguments_and_key_order_stays() {
    assert_eq!(parse(""), Ok(json!({})));
    assert_eq!(parse(" \n"), Ok(json!({})));
    assert_eq!(
        parse(r#"{"z":1,"a":[{"b":2.5}]}"#).unwrap().to_string(),
        r#"{"z":1,"a":[{"b":2.5}]}"#
    );
}

#[test]
fn truncated_arguments_are_an_error_never_a_guess_p22() {
    let whole = r#"{"path":"a\"b","n":[1,{"x":"ü"}]}"#;
    assert!(parse(whole).is_ok());
    for end in 1..whole.len() {
        if whole.is_char_boundary(end) {
            assert!(parse(&whole[..end]).is_err(), "{}", &whole[..end]);
        }
    }
    check_error(r#"{"a":1} {"b":2}"#, "trailing");
}

#[test]
fn a_repeated_key_is_rejected_at_any_depth_p24() {
    check_error(r#"{"path":"a","path":"b"}"#, "`path` comes twice");
    check_error(r#"{"x":[{"k":1,"k":1}]}"#, "`k` comes twice");
    check_error(r#"{"a":1,"\u0061":1}"#, "`a` comes twice");
}

#[test]
fn arguments_that_are_not_an_object_are_named() {
    check_error(r#""{\"path\":\"a\"}""#, "encoded twice");
    check_error("[]", "an array");
    check_error("null", "null");
    check_error("1e999", "not valid JSON");
    check_error(&"[".repeat(100_000), "not valid JSON");
}

#[test]
fn lone_surrogates_become_the_replacement_character_p15() {
    let check = |text: &str, expected: &str| {
        assert_eq!(parse(text).unwrap()["t"], expected, "{text}");
    };
    check(r#"{"t":"\ud83d"}"#, "\u{fffd}");
    check(r#"{"t":"\ude00x"}"#, "\u{fffd}x");
    check(r#"{"t":"\ud83d\ud83d\ude00"}"#, "\u{fffd}😀");
    check(r#"{"t":"\ud83d\ude00"}"#, "😀");
    check(r#"{"t":"\ud83d\n"}"#, "\u{fffd}\n");
    check(r#"{"t":"\\ud83d"}"#, "\\ud83d");
    check(r#"{"t":"\\\ud83d"}"#, "\\\u{fffd}");
}
