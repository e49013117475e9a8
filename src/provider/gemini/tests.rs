use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::config::ProviderConfig;
use crate::conversation::{Block, FailureKind, Message, ModelFacts};
use crate::provider::keys::Keys;
use crate::provider::tests::ask::{ask, env};
use crate::provider::tests::server::{Answer, Server};
use crate::provider::transport::Timeouts;
use crate::provider::{ModelEvent, Provider as _, ProviderError, StopReason};

const STREAM: &str = concat!(
    "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"think\",\"thought\":true}]}}],\"usageMetadata\":{\"promptTokenCount\":9}}\n\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"h\u{e9}\u{1f600}\"}]}}]}\r\n\r\n: keep-alive\n\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"read\",\"args\":{\"p\":1}},\"thoughtSignature\":\"Cg\"}]}}]}\n\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":9,\"candidatesTokenCount\":4,\"thoughtsTokenCount\":7}}\n\n",
);

fn provider_at(url: &str, key: &str) -> Gemini {
    let env = env(&[(key, "g-test")]);
    let keys = Arc::new(Keys::new(env.clone()));
    Gemini::new("gemini", url, &ProviderConfig::default(), keys, env).unwrap()
}

fn provider(server: &Server) -> Gemini {
    provider_at(&server.url, "GEMINI_API_KEY")
}

fn request() -> Request {
    let call = Block::ToolUse {
        id: "c".into(),
        name: "read".into(),
        input: serde_json::json!({}),
    };
    let result = Block::ToolResult {
        tool_use_id: "c".into(),
        content: "x".into(),
        is_error: false,
    };
    let blocks = vec![call, history::signature_block("signed")];
    Request {
        unreadable: 0,
        model: "gemini-m".into(),
        facts: Arc::new(ModelFacts::default()),
        system: Arc::default(),
        tools: Arc::default(),
        messages: vec![
            Message::user(vec![Block::text("hi")]),
            Message::assistant(blocks, "gemini/gemini-m"),
            Message::user(vec![result]),
        ]
        .into(),
    }
}

async fn refused(head: &'static str, body: &str) -> ProviderError {
    let body = body.to_owned();
    let server = Server::start(move |_| Answer::Whole(head, body.clone())).await;
    ask(&provider(&server), &request()).await.1.unwrap()
}

fn chunks(size: usize) -> Vec<Vec<u8>> {
    STREAM.as_bytes().chunks(size).map(<[u8]>::to_vec).collect()
}

fn is_network_retry(error: &ProviderError) -> bool {
    matches!(error, ProviderError::Retry { failure, .. } if failure.kind == FailureKind::Network)
}

#[tokio::test]
async fn a_request_names_the_model_and_carries_the_key_in_a_header_alone() {
    let server = Server::start(|_| Answer::Chunks(chunks(4096), true)).await;
    for (n, base) in [server.url.clone(), format!("{}/v1beta/", server.url)]
        .iter()
        .enumerate()
    {
        let provider = provider_at(base, ["GEMINI_API_KEY", "GOOGLE_API_KEY"][n]);
        let (events, error) = ask(&provider, &request()).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(events.last(), Some(&ModelEvent::Stop(StopReason::ToolUse)));
        let sent = server.request(n);
        let line = "POST /v1beta/models/gemini-m:streamGenerateContent?alt=sse HTTP/1.1\r\n";
        assert!(sent.starts_with(line), "{sent}");
        assert!(sent.contains("x-goog-api-key: g-test\r\n"), "{sent}");
        assert_eq!(sent.matches("g-test").count(), 1);
        let (_, body) = sent.split_once("\r\n\r\n").unwrap();
        assert_eq!(body.as_bytes(), provider.body(&request()).bytes);
    }
    let tuned = provider(&server).url("tunedModels/x");
    assert!(
        tuned
            .path()
            .ends_with("/v1beta/tunedModels/x:streamGenerateContent")
    );
}

#[tokio::test]
async fn any_size_of_pieces_gives_the_same_events_p13_p18() {
    let sizes = [4096, 1, 2, 3, 7, 64];
    let server = Server::start(move |n| Answer::Chunks(chunks(sizes[n]), true)).await;
    let provider = provider(&server);
    let (expected, _) = ask(&provider, &request()).await;
    for size in &sizes[1..] {
        let (events, error) = ask(&provider, &request()).await;
        assert!(error.is_none());
        assert_eq!(events, expected, "{size}");
    }
}

/// What must hold when the stream ends after `k` bytes: a stop only after the reason.
fn check_cut(k: usize, events: &[ModelEvent], error: Option<&ProviderError>) {
    let reason = STREAM.find("finishReason").unwrap();
    let stopped = matches!(events.last(), Some(ModelEvent::Stop(_)));
    assert_eq!(stopped, error.is_none(), "cut at {k}");
    assert!(!stopped || k > reason, "cut at {k}");
    if let Some(error) = error {
        assert!(is_network_retry(error), "cut at {k}: {error:?}");
    }
}

#[tokio::test]
async fn a_clean_end_at_any_byte_is_a_cut_stream_p02_inv_7() {
    let server = Server::start(|k| Answer::UntilClose(STREAM.as_bytes()[..k].to_vec())).await;
    let provider = provider(&server);
    let mut complete = 0;
    for k in 0..=STREAM.len() {
        let (events, error) = ask(&provider, &request()).await;
        check_cut(k, &events, error.as_ref());
        complete += usize::from(error.is_none());
    }
    // The last event without its blank line, with half of it, and with all of it.
    assert_eq!(complete, 3);
}

#[tokio::test]
async fn a_dropped_connection_at_any_byte_is_a_cut_stream_p01_inv_7() {
    let server =
        Server::start(|k| Answer::Chunks(vec![STREAM.as_bytes()[..k + 1].to_vec()], false)).await;
    let provider = provider(&server);
    for k in 1..=STREAM.len() {
        let (events, error) = ask(&provider, &request()).await;
        assert!(is_network_retry(&error.unwrap()), "cut at {k}");
        assert!(!matches!(events.last(), Some(ModelEvent::Stop(_))));
    }
}

#[tokio::test]
async fn refusals_over_http_are_typed_p03_p04_p07_p08_p19_p21() {
    let json = |code: u16, message: &str, details: serde_json::Value| {
        let error = serde_json::json!({"code": code, "message": message, "details": details});
        serde_json::json!({ "error": error }).to_string()
    };
    let none = || serde_json::json!([]);
    let key = "API key not valid. Please pass a valid API key.";
    let error = refused("400 Bad Request", &json(400, key, none())).await;
    assert!(matches!(&error, ProviderError::Auth(f) if f.hint.contains("GEMINI_API_KEY")));
    assert!(!format!("{error:?}").contains("g-test"));
    let error = refused("403 Forbidden", &json(403, "no", none())).await;
    assert!(matches!(error, ProviderError::Auth(_)));

    let quota = "You exceeded your current quota, please check your plan and billing details.";
    let info = serde_json::json!([{"@type": "x/QuotaFailure"}, {"@type": "x/RetryInfo", "retryDelay": "7.5s"}]);
    let error = refused("429 Too Many Requests", &json(429, quota, info)).await;
    assert!(
        matches!(error, ProviderError::Retry { after: Some(after), .. } if after.as_millis() == 7500)
    );
    let error = refused("429 Too Many Requests", &json(429, quota, none())).await;
    assert!(matches!(&error, ProviderError::Fatal(f) if f.kind == FailureKind::RateLimited));

    let error = refused("503 Unavailable", &json(503, "overloaded", none())).await;
    assert!(
        matches!(&error, ProviderError::Retry { failure, .. } if failure.kind == FailureKind::Overloaded)
    );
    let long = "The input token count (9) exceeds the maximum number of tokens allowed (8).";
    let error = refused("400 Bad Request", &json(400, long, none())).await;
    assert!(matches!(error, ProviderError::Overflow(_)));
    let gone = "models/gemini-m is not found";
    let error = refused("404 Not Found", &json(404, gone, none())).await;
    assert!(matches!(&error, ProviderError::Fatal(f) if f.kind == FailureKind::NoModel));

    let error = refused("200 OK\r\ncontent-type: text/html", "<h1>Log in</h1>").await;
    assert!(error.failure().message.contains("text/html"));
    let error = refused("200 OK", "").await;
    assert!(error.failure().message.contains("empty response"));
}

#[tokio::test]
async fn a_rejected_signature_is_removed_and_the_request_sent_again_p33() {
    let rejected = r#"{"error":{"code":400,"message":"Corrupted thought signature."}}"#;
    let server = Server::start(move |n| match n {
        0 | 2 | 3 => Answer::Whole("400 Bad Request", rejected.to_owned()),
        _ => Answer::Chunks(chunks(4096), true),
    })
    .await;
    let provider = provider(&server);
    assert!(ask(&provider, &request()).await.1.is_none());
    assert!(server.request(0).contains("\"signed\""));
    assert!(!server.request(1).contains("\"signed\""));
    assert!(server.request(1).contains(history::SKIP));
    // The request is repaired once, not endlessly.
    let error = ask(&provider, &request()).await.1;
    assert!(matches!(error, Some(ProviderError::Fatal(_))));
    assert_eq!(server.count(), 4);
}

#[tokio::test]
async fn an_error_after_text_keeps_the_text_p06() {
    let cut = STREAM.find(": keep-alive").unwrap();
    let error = r#"{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}"#;
    let text = format!("{}data: {error}\n\n", &STREAM[..cut]);
    let server =
        Server::start(move |_| Answer::Chunks(vec![text.clone().into_bytes()], true)).await;
    let (events, error) = ask(&provider(&server), &request()).await;
    assert!(matches!(events.last(), Some(ModelEvent::TextDelta { .. })));
    assert_eq!(error.unwrap().failure().kind, FailureKind::Overloaded);
}

#[tokio::test]
async fn a_silent_connection_times_out_p11() {
    let half = STREAM.as_bytes()[..300].to_vec();
    let server = Server::start(move |_| Answer::Silence(half.clone())).await;
    let provider = provider(&server).with_timeouts(Timeouts {
        idle: Duration::from_millis(30),
        ..Timeouts::default()
    });
    let (events, error) = ask(&provider, &request()).await;
    assert!(!events.is_empty());
    assert!(is_network_retry(&error.unwrap()));
}

#[tokio::test]
async fn without_a_key_nothing_is_sent() {
    let server = Server::start(|_| Answer::Chunks(chunks(9), true)).await;
    let provider = provider_at(&server.url, "OTHER");
    let error = ask(&provider, &request()).await.1.unwrap();
    assert!(matches!(&error, ProviderError::Auth(f) if f.hint.contains("GEMINI_API_KEY")));
    assert_eq!(*server.connections.lock().unwrap(), 0);
}

/// M03: the request has a name that the API accepts, and the call has the tool's own name.
#[tokio::test]
async fn a_tool_with_an_odd_name_is_called_by_it_m03() {
    let odd = format!("mcp__files/{}", "read".repeat(20));
    let wire = names::wire(&odd).into_owned();
    let stream = STREAM.replace("\"name\":\"read\"", &format!("\"name\":\"{wire}\""));
    let chunks = vec![stream.into_bytes()];
    let server = Server::start(move |_| Answer::Chunks(chunks.clone(), true)).await;
    let mut request = request();
    request.tools = Arc::new(vec![crate::conversation::ToolSpec {
        name: odd.clone(),
        description: String::new(),
        input_schema: serde_json::json!({"type": "object"}).into(),
    }]);
    let (events, error) = ask(&provider(&server), &request).await;
    assert!(error.is_none(), "{error:?}");
    let sent = server.request(0);
    assert!(sent.contains(&format!("{{\"name\":\"{wire}\"")) && !sent.contains(&odd));
    let called = |event: &ModelEvent| match event {
        ModelEvent::ToolStart { name, .. } => Some(name.clone()),
        _ => None,
    };
    assert_eq!(events.iter().filter_map(called).collect::<Vec<_>>(), [odd]);
}
