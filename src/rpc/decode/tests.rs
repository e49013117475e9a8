use serde_json::json;

use super::*;

fn read(body: &[u8]) -> Incoming {
    super::decode(body.to_vec())
}

fn bad(body: &[u8]) -> (Value, i64) {
    match read(body) {
        Incoming::Bad { id, code, .. } => (id, code),
        other => panic!("{other:?}"),
    }
}

#[test]
fn lone_surrogates_become_replacement_characters() {
    for (text, expected) in [
        (r"\udc00", "\u{fffd}"),
        (r"\uD83D", "\u{fffd}"),
        (r"a\ud83d\ude00b\ud83d", "a😀b\u{fffd}"),
        (r"\ud83d\ud83d\ude00", "\u{fffd}😀"),
        (r"\\udc00\udc00", "\\udc00\u{fffd}"),
        (r#"\"\\\udc00\n"#, "\"\\\u{fffd}\n"),
        (r"\ude00\ud83d", "\u{fffd}\u{fffd}"),
        (r"\u0041é\udfff漢", "Aé\u{fffd}漢"),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"m","params":["{text}"]}}"#);
        match read(body.as_bytes()) {
            Incoming::Notification { message } => {
                assert_eq!(message["params"], json!([expected]), "{text}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn a_byte_order_mark_and_bad_utf8_are_accepted() {
    let body = b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\xFFb\"}";
    match read(body) {
        Incoming::Request { id, message } => {
            assert_eq!(id, 1);
            assert_eq!(message["method"], "a\u{fffd}b");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn e03_an_invalid_message_gets_its_code_and_id() {
    let deep = format!(
        r#"{{"id":7,"method":"m","params":{}1{}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    for (body, id, code) in [
        ("{", json!(null), PARSE_ERROR),
        ("", json!(null), PARSE_ERROR),
        (
            r#"{"id":7,"method":"m","params":[1e999]}"#,
            json!(7),
            PARSE_ERROR,
        ),
        (deep.as_str(), json!(7), PARSE_ERROR),
        ("[]", json!(null), INVALID_REQUEST),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#,
            json!(null),
            INVALID_REQUEST,
        ),
        ("3", json!(null), INVALID_REQUEST),
        (r#"{"id":7}"#, json!(7), INVALID_REQUEST),
        (
            r#"{"jsonrpc":"1.0","id":"x","method":"m"}"#,
            json!("x"),
            INVALID_REQUEST,
        ),
        (r#"{"id":{},"method":"m"}"#, json!(null), INVALID_REQUEST),
        (r#"{"id":null,"method":"m"}"#, json!(null), INVALID_REQUEST),
        (r#"{"id":1,"method":5}"#, json!(1), INVALID_REQUEST),
    ] {
        assert_eq!(bad(body.as_bytes()), (id, code), "{body}");
    }
}

#[test]
fn answers_are_distinguished_from_requests() {
    let answer = |result| Incoming::Answer {
        id: json!(4),
        result,
    };
    for (body, expected) in [
        (r#"{"id":4,"result":null}"#, Ok(json!(null))),
        (r#"{"id":4,"result":1,"error":null}"#, Ok(json!(1))),
        (
            r#"{"id":4,"error":{"code":-1,"message":"no"}}"#,
            Err((-1, "no".to_owned())),
        ),
        (
            r#"{"id":4,"error":"odd"}"#,
            Err((INTERNAL_ERROR, "error without a message".to_owned())),
        ),
    ] {
        assert_eq!(read(body.as_bytes()), answer(expected), "{body}");
    }
}
