use serde_json::json;

use super::decode::tests::STREAM;
use super::*;
use crate::config::ProviderConfig;
use crate::conversation::{Block, FailureKind, Message};
use crate::provider::tests::ask::{ask, env, keys, request};
use crate::provider::tests::server::{Answer, Server};
use crate::provider::{ModelEvent, Provider as _, ProviderError, StopReason};

/// A server on this machine, as a user would configure it.
fn provider(server: &Server) -> OpenAiChat {
    let base = format!("{}/v1", server.url);
    OpenAiChat::new(
        "local",
        &base,
        &ProviderConfig::default(),
        keys(&[]),
        env(&[]),
    )
    .unwrap()
}

fn stream() -> Answer {
    Answer::Chunks(
        STREAM.as_bytes().chunks(61).map(<[u8]>::to_vec).collect(),
        true,
    )
}

fn asked() -> Request {
    let details = json!({"type": "reasoning_details", "details": [{"data": "d3t"}]});
    request(vec![
        Message::user(vec![Block::text("hi")]),
        Message::assistant(
            vec![Block::Opaque { value: details }, Block::text("ho")],
            "local/m",
        ),
        Message::user(vec![Block::text("go")]),
    ])
}

fn error(message: &str) -> String {
    json!({"error": {"message": message, "type": "BadRequestError", "param": null, "code": 400}})
        .to_string()
}

/// Which optional parts were sent in the nth request.
fn sent(server: &Server, n: usize) -> Vec<&'static str> {
    let text = server.request(n);
    let parts = [
        "stream_options",
        "max_tokens",
        "max_completion_tokens",
        "d3t",
        "reasoning_content",
    ];
    parts
        .into_iter()
        .filter(|part| text.contains(&format!("\"{part}\"")))
        .collect()
}

#[tokio::test]
async fn a_server_on_this_machine_needs_no_key() {
    let server = Server::start(|_| stream()).await;
    let provider = provider(&server);
    let (events, error) = ask(&provider, &asked()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(events.last(), Some(&ModelEvent::Stop(StopReason::ToolUse)));
    let text = server.request(0);
    assert!(
        text.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"),
        "{text}"
    );
    assert!(!text.contains("authorization"), "{text}");
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    assert_eq!(body.as_bytes(), provider.body(&asked()).bytes);
}

#[tokio::test]
async fn a_key_is_sent_as_a_bearer_token_and_without_a_needed_key_nothing_is_sent() {
    let server = Server::start(|_| stream()).await;
    let config = ProviderConfig {
        api_key_env: Some("LOCAL_KEY".into()),
        ..ProviderConfig::default()
    };
    let made = |vars: &[(&str, &str)]| {
        OpenAiChat::new("local", &server.url, &config, keys(vars), env(vars)).unwrap()
    };
    let error = ask(&made(&[]), &asked()).await.1.unwrap();
    assert!(matches!(&error, ProviderError::Auth(f) if f.hint.contains("LOCAL_KEY")));
    assert_eq!(server.count(), 0);
    assert!(
        ask(&made(&[("LOCAL_KEY", "abc")]), &asked())
            .await
            .1
            .is_none()
    );
    assert!(server.request(0).contains("authorization: Bearer abc\r\n"));
}

#[tokio::test]
async fn parameters_that_a_server_refuses_are_left_out_and_remembered() {
    let server = Server::start(|n| match n {
        0 => Answer::Whole("400 Bad Request", error("unknown field `stream_options`")),
        1 => Answer::Whole("400 Bad Request", error("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")),
        2 => Answer::Whole("422 Unprocessable", error("'max_completion_tokens' is too large; 'max_tokens' too. This model's maximum context length is 8")),
        _ => stream(),
    })
    .await;
    let provider = provider(&server);
    for _ in 0..2 {
        assert!(ask(&provider, &asked()).await.1.is_none());
    }
    assert_eq!(sent(&server, 0), ["stream_options", "max_tokens", "d3t"]);
    assert_eq!(sent(&server, 1), ["max_tokens", "d3t"]);
    assert_eq!(sent(&server, 2), ["max_completion_tokens", "d3t"]);
    assert_eq!(sent(&server, 3), ["d3t"]);
    assert_eq!(sent(&server, 4), ["d3t"]);
    assert_eq!(server.count(), 5);
}

/// What did not help is not remembered, what is learnt about one model does not apply to another,
/// and a refusal that repeats the request is not a complaint about its parts.
#[tokio::test]
async fn only_what_helped_is_remembered_and_for_one_model() {
    let echo = "{\"detail\": [{\"msg\": \"bad\", \"input\": {\"stream_options\": 1}}]}";
    let server = Server::start(move |n| match n {
        0 | 2 => Answer::Whole("400 Bad Request", error("unknown field `stream_options`")),
        1 => Answer::Whole("400 Bad Request", error("no such tool")),
        4 => Answer::Whole("422 Unprocessable", echo.to_owned()),
        _ => stream(),
    })
    .await;
    let provider = provider(&server);
    assert!(ask(&provider, &asked()).await.1.is_some());
    assert!(ask(&provider, &asked()).await.1.is_none());
    let other = Request {
        model: "another".into(),
        ..asked()
    };
    assert!(ask(&provider, &other).await.1.is_some());
    assert!(ask(&provider, &asked()).await.1.is_none());
    assert_eq!(server.count(), 6);
    for (n, usage) in [(1, false), (2, true), (3, false), (4, true), (5, false)] {
        assert_eq!(sent(&server, n).contains(&"stream_options"), usage, "{n}");
    }
}

#[tokio::test]
async fn refused_reasoning_is_left_out_once_p33() {
    let server = Server::start(|n| match n {
        1 => stream(),
        _ => Answer::Whole(
            "400 Bad Request",
            error("invalid signature in reasoning_details"),
        ),
    })
    .await;
    let provider = provider(&server);
    let (events, error) = ask(&provider, &asked()).await;
    assert!(error.is_none() && events[0] == ModelEvent::Unreadable);
    assert!(sent(&server, 0).contains(&"d3t") && !sent(&server, 1).contains(&"d3t"));
    let known = Request {
        unreadable: 3,
        ..asked()
    };
    let bytes = provider.body(&known).bytes;
    assert!(server.request(1).as_bytes().ends_with(&bytes));
    assert!(ask(&provider, &asked()).await.1.is_some());
    assert_eq!(server.count(), 4);
}

#[tokio::test]
async fn reasoning_that_a_server_wants_is_sent_from_then_on() {
    let server = Server::start(|n| match n {
        0 => Answer::Whole(
            "400 Bad Request",
            error("Missing `reasoning_content` field in the assistant message"),
        ),
        _ => stream(),
    })
    .await;
    let call = Block::ToolUse {
        id: "c".into(),
        name: "read".into(),
        input: json!({}),
    };
    let asked = request(vec![
        Message::user(vec![Block::text("a")]),
        Message::assistant(vec![call], "local/m"),
    ]);
    let provider = provider(&server);
    for _ in 0..2 {
        assert!(ask(&provider, &asked).await.1.is_none());
    }
    let had: Vec<bool> = (0..3)
        .map(|n| sent(&server, n).contains(&"reasoning_content"))
        .collect();
    assert_eq!(had, [false, true, true]);
}

#[tokio::test]
async fn refusals_of_many_servers_are_typed_p05_p07_p19_p21() {
    let refused = async |head: &'static str, body: &'static str| {
        let server = Server::start(move |_| Answer::Whole(head, body.to_owned())).await;
        ask(&provider(&server), &asked()).await.1.unwrap()
    };
    for (head, body) in [
        (
            "400 Bad Request",
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
        ),
        (
            "400 Bad Request",
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}"#,
        ),
    ] {
        assert!(
            matches!(refused(head, body).await, ProviderError::Overflow(_)),
            "{body}"
        );
    }
    let unknown = refused(
        "404 Not Found",
        r#"{"error":"model \"x\" not found, try pulling it first"}"#,
    )
    .await;
    assert!(
        matches!(&unknown, ProviderError::Fatal(f) if f.kind == FailureKind::NoModel && f.message.contains("pulling"))
    );
    let loading = refused(
        "503 Service Unavailable",
        r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
    )
    .await;
    assert!(
        matches!(&loading, ProviderError::Retry { failure, .. } if failure.message.contains("Loading model"))
    );
    let routed = refused(
        "200 OK\r\ncontent-type: application/json",
        r#"{"error":{"code":429,"message":"upstream"}}"#,
    )
    .await;
    assert!(
        matches!(&routed, ProviderError::Retry { failure, .. } if failure.kind == FailureKind::RateLimited)
    );
    let whole = refused(
        "200 OK\r\ncontent-type: application/json",
        r#"{"choices":[{"message":{"content":"hi"}}]}"#,
    )
    .await;
    assert!(matches!(&whole, ProviderError::Fatal(f) if f.message.contains("application/json")));
    assert!(
        refused("200 OK", "")
            .await
            .failure()
            .message
            .contains("empty response")
    );
    let detail = refused("404 Not Found", r#"{"detail":"Not Found"}"#).await;
    assert!(detail.failure().hint.contains("baseUrl"));
}

#[tokio::test]
async fn a_clean_end_at_any_byte_is_complete_or_cut_p01_p02_inv_7() {
    let server = Server::start(|k| Answer::UntilClose(STREAM.as_bytes()[..k * 5].to_vec())).await;
    let provider = provider(&server);
    let finish = STREAM
        .find("data: {\"choices\":[{\"index\":0,\"delta\":{},")
        .unwrap();
    for k in 0..STREAM.len() / 5 {
        let (events, error) = ask(&provider, &asked()).await;
        let stopped = matches!(events.last(), Some(ModelEvent::Stop(_)));
        assert_eq!(stopped, error.is_none(), "{k}");
        assert!(!stopped || k * 5 > finish, "{k}");
    }
}
