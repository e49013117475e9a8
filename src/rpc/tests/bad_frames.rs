use serde_json::{Value, json};

use crate::rpc::tests::client::*;

const GOOD: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"x"}"#;

fn with_length(length: &str) -> Vec<u8> {
    let mut out = format!("Content-Length: {length}\r\n\r\n").into_bytes();
    out.extend_from_slice(GOOD);
    out
}

fn with_header(header: &str) -> Vec<u8> {
    let mut out = header.replace("LEN", &GOOD.len().to_string()).into_bytes();
    out.extend_from_slice(GOOD);
    out
}

fn text(body: &str) -> Vec<u8> {
    framed(body.as_bytes())
}

/// Each of these ended or blocked tower-lsp's own server.
fn bad_frames() -> Vec<(&'static str, Vec<u8>)> {
    let mut all = bad_bodies();
    all.extend(bad_headers());
    all
}

fn bad_bodies() -> Vec<(&'static str, Vec<u8>)> {
    let nested = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{}{}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    vec![
        ("malformed JSON", text("{\"jsonrpc\":")),
        ("empty body", text("")),
        ("blank body", text("  \r\n ")),
        ("not an object", text("42")),
        ("no JSON-RPC object", text("{\"hello\":1}")),
        (
            "wrong version",
            text(r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#),
        ),
        ("batch", text(r#"[{"jsonrpc":"2.0","id":1,"method":"x"}]"#)),
        ("empty batch", text("[]")),
        (
            "method is a number",
            text(r#"{"jsonrpc":"2.0","id":1,"method":1}"#),
        ),
        (
            "bad UTF-8",
            framed(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\xfe\"}"),
        ),
        ("bad UTF-8 outside strings", framed(b"\xff{}")),
        (
            "lone low surrogate",
            text(r#"{"jsonrpc":"2.0","method":"\udc00"}"#),
        ),
        (
            "lone high surrogate",
            text(r#"{"jsonrpc":"2.0","id":1,"method":"\ud83d"}"#),
        ),
        (
            "unfinished escape",
            text(r#"{"jsonrpc":"2.0","method":"\ud8"}"#),
        ),
        ("NUL in a string", framed(b"{\"method\":\"\0\"}")),
        (
            "byte order mark in the body",
            text("\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"x\"}"),
        ),
        (
            "float id",
            text(r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#),
        ),
        (
            "null id",
            text(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#),
        ),
        ("nested 200 deep", text(&nested)),
        (
            "1e999",
            text(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[1e999]}"#),
        ),
    ]
}

fn bad_headers() -> Vec<(&'static str, Vec<u8>)> {
    let long = GOOD.len() + 7;
    vec![
        ("length too small", with_length("10")),
        ("length too big", with_length(&long.to_string())),
        ("length negative", with_length("-1")),
        ("length not a number", with_length("abc")),
        ("length empty", with_length("")),
        ("length a float", with_length("12.0")),
        ("length 10^14", with_length("100000000000000")),
        ("no length", with_header("X-Header: 1\r\n\r\n")),
        ("lower case", with_header("content-length: LEN\r\n\r\n")),
        (
            "type without charset",
            with_header("Content-Type: x/y\r\nContent-Length: LEN\r\n\r\n"),
        ),
        (
            "type with quoted charset",
            with_header("Content-Length: LEN\r\nContent-Type: x/y; charset=\"utf-8\"\r\n\r\n"),
        ),
        (
            "three headers",
            with_header("A: 1\r\nContent-Length: LEN\r\nB: 2\r\n\r\n"),
        ),
        ("bare line feeds", with_header("Content-Length: LEN\n\n")),
        (
            "byte order mark before",
            with_header("\u{feff}Content-Length: LEN\r\n\r\n"),
        ),
        ("garbage", b"npm WARN deprecated\r\n\r\n".to_vec()),
        ("binary garbage", vec![0, 255, 10, 13, 10, 7]),
    ]
}

#[test]
fn g3_after_each_bad_frame_a_good_request_is_answered() {
    let frames = bad_frames();
    assert!(frames.len() >= 31);
    let mut client = Client::start(|_| handler(|_, message: Value| reply(&message, json!("pong"))));
    // Otherwise a leading `{` would mean lines.
    client.ask(99, "ping", json!({}));
    for (n, (name, bytes)) in frames.into_iter().enumerate() {
        client.send_bytes(&bytes);
        let id = 100 + n as i64;
        if name == "length too big" {
            // Swallows only the start of the next message.
            client.send(&request(50, "swallowed", json!({})));
        }
        let answer = client.ask(id, "ping", json!({}));
        assert_eq!(answer["result"], "pong", "{name}");
        client.leftovers();
    }
}

#[test]
fn g3_bad_frames_are_answered_with_a_code_and_the_id_if_readable() {
    let mut client =
        Client::start(|_| handler(|_, message: Value| reply(&message, message["method"].clone())));
    client.ask(99, "ping", json!({}));
    let expected = [
        ("malformed JSON", json!(null), json!(-32700)),
        ("no JSON-RPC object", json!(null), json!(-32600)),
        ("batch", json!(null), json!(-32600)),
        ("length not a number", json!(null), json!(-32700)),
        ("length 10^14", json!(null), json!(-32700)),
        ("nested 200 deep", json!(1), json!(-32700)),
        ("1e999", json!(1), json!(-32700)),
        ("method is a number", json!(1), json!(-32600)),
        ("lone high surrogate", json!(1), json!(null)),
        ("float id", json!(1.5), json!(null)),
        ("lower case", json!(1), json!(null)),
    ];
    for (n, (name, id, code)) in expected.into_iter().enumerate() {
        let frames = bad_frames();
        let bytes = &frames.iter().find(|frame| frame.0 == name).unwrap().1;
        client.send_bytes(bytes);
        let answer = client.answer(id);
        assert_eq!(answer["error"]["code"], code, "{name}");
        if code.is_null() {
            let method = answer["result"].as_str().unwrap();
            assert!(matches!(method, "x" | "\u{fffd}"), "{name}: {method}");
        }
        client.ask(100 + n as i64, "ping", json!({}));
    }
}

#[test]
fn g4_a_message_of_fifty_megabytes_goes_in_and_out() {
    const SIZE: usize = 50 * 1024 * 1024;
    let mut client = Client::start(|_| {
        handler(|_, mut message: Value| {
            let text = message["params"]["text"].take();
            reply(&message, text)
        })
    });
    let mut body = br#"{"jsonrpc":"2.0","id":1,"method":"big","params":{"text":""#.to_vec();
    body.resize(body.len() + SIZE, b'x');
    body.extend_from_slice(b"\"}}");
    client.send_bytes(&framed(&body));
    drop(body);
    assert_eq!(client.answer(1)["result"].as_str().unwrap().len(), SIZE);
    client.ask(2, "small", json!({}));
}
