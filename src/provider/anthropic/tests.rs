use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;

use super::*;
use crate::config::ProviderConfig;
use crate::conversation::{Block, FailureKind, Message, ModelFacts};
use crate::provider::keys::Keys;
use crate::provider::tests::ask::{ask, env};
use crate::provider::tests::server::{Answer, Server};
use crate::provider::transport::Timeouts;
use crate::provider::{ModelEvent, Provider as _, ProviderError, StopReason};

const STREAM: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"h\u{e9}\u{1f600}\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n: keep-alive\n\n",
    "event: content_block_start\r\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"read\",\"input\":{}}}\r\n\r\n",
    "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"p\\\":1}\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":9}}\n\n",
    "data: {\"type\":\"message_stop\"}\n\n",
);

fn provider_with(url: &str, config: &ProviderConfig) -> Anthropic {
    let env = env(&[("ANTHROPIC_API_KEY", "sk-test")]);
    let keys = Arc::new(Keys::new(env.clone()));
    Anthropic::new("anthropic", url, config, keys, env).unwrap()
}

fn provider(server: &Server) -> Anthropic {
    provider_with(&server.url, &ProviderConfig::default())
}

fn request() -> Request {
    let thinking = Block::Thinking {
        thinking: "t".into(),
        signature: "signed".into(),
    };
    Request {
        unreadable: 0,
        model: "m".into(),
        facts: Arc::new(ModelFacts::default()),
        system: Arc::default(),
        tools: Arc::default(),
        messages: vec![
            Message::user(vec![Block::text("hi")]),
            Message::assistant(vec![thinking, Block::text("ho")], "anthropic/m"),
            Message::user(vec![Block::text("go")]),
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

fn joined(events: &[ModelEvent]) -> Vec<ModelEvent> {
    let deltas = |event: &&ModelEvent| {
        !matches!(
            event,
            ModelEvent::TextDelta { .. } | ModelEvent::ToolInputDelta { .. }
        )
    };
    events.iter().filter(deltas).cloned().collect()
}

fn is_network_retry(error: &ProviderError) -> bool {
    matches!(error, ProviderError::Retry { failure, .. } if failure.kind == FailureKind::Network)
}

#[tokio::test]
async fn a_request_carries_body_key_and_version() {
    let server = Server::start(|_| Answer::Chunks(chunks(4096), true)).await;
    let config = ProviderConfig {
        headers: [("anthropic-beta".to_owned(), "x-1".to_owned())].into(),
        ..ProviderConfig::default()
    };
    let provider = provider_with(&format!("{}/v1/", server.url), &config);
    let (events, error) = ask(&provider, &request()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(events.last(), Some(&ModelEvent::Stop(StopReason::ToolUse)));
    let sent = server.request(0);
    assert!(sent.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{sent}");
    for header in [
        "x-api-key: sk-test",
        "anthropic-version: 2023-06-01",
        "content-type: application/json",
        "accept: text/event-stream",
        "anthropic-beta: x-1",
    ] {
        assert!(sent.contains(&format!("{header}\r\n")), "{sent}");
    }
    let (_, body) = sent.split_once("\r\n\r\n").unwrap();
    assert_eq!(body.as_bytes(), provider.body(&request()).bytes);
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

#[tokio::test]
async fn events_of_one_read_are_one_batch() {
    let server = Server::start(|_| Answer::Chunks(chunks(1 << 16), true)).await;
    let provider = provider(&server);
    let request = request();
    let body = provider.body(&request).bytes;
    let mut stream = provider.stream(&request, body).await.unwrap();
    let first = stream.next().await.unwrap().unwrap();
    assert_eq!(first.len(), 8, "{first:?}");
    assert!(stream.next().await.is_none());
}

/// What must hold when the stream ends after `k` bytes.
fn check_cut(k: usize, events: &[ModelEvent], error: Option<&ProviderError>, whole: &[ModelEvent]) {
    let events = joined(events);
    assert_eq!(
        events,
        whole[..events.len()],
        "cut at {k}: a prefix of the whole"
    );
    match error {
        Some(error) => {
            assert!(is_network_retry(error), "cut at {k}: {error:?}");
            assert!(!matches!(events.last(), Some(ModelEvent::Stop(_))));
            let message = &error.failure().message;
            assert!(
                message.contains("stream") || message.contains("empty"),
                "{message}"
            );
        }
        None => assert_eq!(events.len(), whole.len(), "cut at {k}"),
    }
    let closed = STREAM
        .find("data: {\"type\":\"content_block_stop\",\"index\":1}")
        .unwrap();
    let called = events.iter().any(|e| {
        matches!(
            e,
            ModelEvent::Block {
                block: Block::ToolUse { .. },
                ..
            }
        )
    });
    assert!(!called || k > closed, "cut at {k}: a call before its end");
}

#[tokio::test]
async fn a_clean_end_at_any_byte_is_a_cut_stream_p02_inv_7() {
    let server = Server::start(|k| Answer::UntilClose(STREAM.as_bytes()[..k].to_vec())).await;
    let provider = provider(&server);
    let mut all = Vec::new();
    for _ in 0..=STREAM.len() {
        all.push(ask(&provider, &request()).await);
    }
    let whole = joined(&all[STREAM.len()].0);
    let blocks = whole.iter().filter_map(|event| match event {
        ModelEvent::Block { block, .. } => Some(block.clone()),
        _ => None,
    });
    let call = Block::ToolUse {
        id: "t".into(),
        name: "read".into(),
        input: serde_json::json!({"p": 1}),
    };
    assert_eq!(blocks.collect::<Vec<_>>(), [Block::text("hé😀"), call]);
    assert_eq!(whole.last(), Some(&ModelEvent::Stop(StopReason::ToolUse)));
    let mut complete = 0;
    for (k, (events, error)) in all.iter().enumerate() {
        check_cut(k, events, error.as_ref(), &whole);
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
    let mut all = Vec::new();
    for _ in 0..STREAM.len() {
        all.push(ask(&provider, &request()).await);
    }
    let whole = joined(&all[STREAM.len() - 1].0);
    assert!(matches!(whole.last(), Some(ModelEvent::Stop(_))));
    for (n, (events, error)) in all.iter().enumerate() {
        check_cut(n + 1, events, error.as_ref(), &whole);
    }
}

#[tokio::test]
async fn connections_are_reused() {
    // With a length, the end of the body needs no further read.
    let head = "200 OK\r\ncontent-type: text/event-stream";
    let server = Server::start(move |_| Answer::Whole(head, STREAM.to_owned())).await;
    let provider = provider(&server);
    for _ in 0..3 {
        assert!(ask(&provider, &request()).await.1.is_none());
        // A task reads the end of the body: let it run.
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(*server.connections.lock().unwrap(), 1);
}

#[tokio::test]
async fn without_a_key_nothing_is_sent() {
    let server = Server::start(|_| Answer::Chunks(chunks(9), true)).await;
    let env = env(&[]);
    let keys = Arc::new(Keys::new(env.clone()));
    let config = ProviderConfig::default();
    let provider = Anthropic::new("anthropic", &server.url, &config, keys, env).unwrap();
    let error = ask(&provider, &request()).await.1.unwrap();
    assert!(matches!(&error, ProviderError::Auth(f) if f.kind == FailureKind::Auth));
    for way in [
        "ANTHROPIC_API_KEY",
        "apiKeyFile",
        "apiKeyCommand",
        "interline login",
        "your editor",
    ] {
        assert!(error.failure().hint.contains(way), "{way}");
    }
    assert_eq!(*server.connections.lock().unwrap(), 0);
}

#[tokio::test]
async fn a_key_in_the_configured_headers_is_enough() {
    let server = Server::start(|_| Answer::Chunks(chunks(4096), true)).await;
    let env = env(&[]);
    let keys = Arc::new(Keys::new(env.clone()));
    let config = ProviderConfig {
        headers: [("Authorization".to_owned(), "Bearer b".to_owned())].into(),
        ..ProviderConfig::default()
    };
    let provider = Anthropic::new("anthropic", &server.url, &config, keys, env).unwrap();
    assert!(ask(&provider, &request()).await.1.is_none());
    assert!(server.request(0).contains("authorization: Bearer b\r\n"));
}

#[tokio::test]
async fn refusals_over_http_are_typed_p03_p05_p07_p08_p19_p20_p21() {
    let json = |kind: &str, message: &str| {
        serde_json::json!({"type": "error", "error": {"type": kind, "message": message}})
            .to_string()
    };
    let error = refused(
        "401 Unauthorized",
        &json("authentication_error", "invalid x-api-key"),
    )
    .await;
    assert!(matches!(&error, ProviderError::Auth(f) if f.hint.contains("interline login")));
    assert!(!format!("{error:?}").contains("sk-test"));

    let head = "429 Too Many Requests\r\nretry-after: 12";
    let error = refused(head, &json("rate_limit_error", "slow down")).await;
    assert!(
        matches!(error, ProviderError::Retry { after: Some(after), .. } if after.as_secs() == 12)
    );

    let error = refused("529 Overloaded", &json("overloaded_error", "Overloaded")).await;
    assert!(
        matches!(&error, ProviderError::Retry { failure, .. } if failure.kind == FailureKind::Overloaded)
    );

    let error = refused(
        "400 Bad Request",
        &json("invalid_request_error", "prompt is too long: 9 > 8"),
    )
    .await;
    assert!(matches!(error, ProviderError::Overflow(_)));

    let error = refused("404 Not Found", &json("not_found_error", "model: m")).await;
    assert!(matches!(&error, ProviderError::Fatal(f) if f.kind == FailureKind::NoModel));

    let error = refused("200 OK\r\ncontent-type: text/html", "<h1>Log in</h1>").await;
    assert!(error.failure().message.contains("text/html"));

    let error = refused("200 OK", "").await;
    assert!(error.failure().message.contains("empty response"));

    let error = refused("302 Found\r\nlocation: http://127.0.0.1:1/login", "").await;
    assert!(matches!(&error, ProviderError::Fatal(f) if f.message.contains("/login")));

    let head = "200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: br";
    assert!(refused(head, "x").await.failure().message.contains("br"));
}

/// R05: what an endpoint says is shown without control characters, and a long message is cut.
#[tokio::test]
async fn words_of_an_endpoint_are_shown_as_they_are_read() {
    let message = format!("\u{1b}[2Jbad\u{202e} model{}end", "x".repeat(1 << 16));
    let body = serde_json::json!({"type": "error", "error": {
        "type": "invalid_request_error", "message": message,
    }});
    let error = refused("400 Bad Request", &body.to_string()).await;
    let message = &error.failure().message;
    assert!(!message.contains(['\u{1b}', '\u{202e}']), "{message:?}");
    assert!(
        message.contains("bad") && message.contains("end"),
        "{message:?}"
    );
    assert!(message.len() < 5 << 10, "{}", message.len());
}

#[tokio::test]
async fn rejected_thinking_is_removed_and_the_request_sent_again_p33() {
    let rejected = r#"{"error":{"type":"invalid_request_error","message":"Invalid `signature` in `thinking` block"}}"#;
    let server = Server::start(move |n| match n {
        0 | 2 | 3 => Answer::Whole("400 Bad Request", rejected.to_owned()),
        _ => Answer::Chunks(chunks(4096), true),
    })
    .await;
    let provider = provider(&server);
    let (events, error) = ask(&provider, &request()).await;
    assert!(error.is_none() && events[0] == ModelEvent::Unreadable);
    assert!(server.request(0).contains("signed"));
    assert!(!server.request(1).contains("signed"));
    // With what the conversation remembers, the first request is the same.
    let known = Request {
        unreadable: 3,
        ..request()
    };
    let bytes = provider.body(&known).bytes;
    assert!(server.request(1).as_bytes().ends_with(&bytes));
    // The request is repaired once, not endlessly.
    assert!(matches!(
        ask(&provider, &request()).await.1,
        Some(ProviderError::Fatal(_))
    ));
    assert_eq!(server.count(), 4);
}

#[tokio::test]
async fn an_error_event_after_text_keeps_the_text_p06() {
    let cut = STREAM.find("event: content_block_stop").unwrap();
    let text = format!(
        "{}event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}}}\n\n",
        &STREAM[..cut]
    );
    let server =
        Server::start(move |_| Answer::Chunks(vec![text.clone().into_bytes()], true)).await;
    let (events, error) = ask(&provider(&server), &request()).await;
    assert!(matches!(events.last(), Some(ModelEvent::TextDelta { .. })));
    assert_eq!(error.unwrap().failure().kind, FailureKind::Overloaded);
}

#[tokio::test]
async fn a_silent_connection_times_out_p11() {
    let half = STREAM.as_bytes()[..400].to_vec();
    let server = Server::start(move |_| Answer::Silence(half.clone())).await;
    let provider = provider(&server).with_timeouts(Timeouts {
        idle: Duration::from_millis(30),
        ..Timeouts::default()
    });
    let (events, error) = ask(&provider, &request()).await;
    assert!(!events.is_empty());
    let error = error.unwrap();
    assert!(is_network_retry(&error) && error.failure().message.contains("sent nothing"));
}

#[tokio::test]
async fn headers_without_a_body_time_out_p11() {
    let server = Server::start(|_| Answer::Silence(Vec::new())).await;
    let provider = provider(&server).with_timeouts(Timeouts {
        first_byte: Duration::from_millis(30),
        ..Timeouts::default()
    });
    assert!(is_network_retry(
        &ask(&provider, &request()).await.1.unwrap()
    ));
}

#[tokio::test]
async fn keep_alives_are_not_progress_p10() {
    let pings: Vec<Vec<u8>> = (0..50)
        .map(|_| b"event: ping\ndata: {\"type\":\"ping\"}\n\n".to_vec())
        .collect();
    let server = Server::start(move |_| Answer::Chunks(pings.clone(), true)).await;
    let provider = provider(&server).with_timeouts(Timeouts {
        progress: Duration::ZERO,
        ..Timeouts::default()
    });
    let error = ask(&provider, &request()).await.1.unwrap();
    assert!(
        error.failure().message.contains("kept the connection open"),
        "{error}"
    );
}

#[tokio::test]
async fn a_stopped_server_is_a_network_failure_n01() {
    let provider = provider_with("http://127.0.0.1:1", &ProviderConfig::default());
    let error = ask(&provider, &request()).await.1.unwrap();
    assert!(is_network_retry(&error));
    assert!(
        error.failure().message.contains("http://127.0.0.1:1"),
        "{error}"
    );
}

#[tokio::test]
async fn garbage_instead_of_http_is_survived() {
    let server = Server::start(|_| Answer::Raw(b"SSH-2.0-OpenSSH\r\n".to_vec())).await;
    assert!(ask(&provider(&server), &request()).await.1.is_some());
}

#[tokio::test]
async fn a_key_command_runs_again_after_a_401_p08() {
    let server = Server::start(|n| match n {
        0 => Answer::Whole("401 Unauthorized", String::new()),
        _ => Answer::Chunks(chunks(4096), true),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let env = env(&[]);
    let script = format!("echo k >> {0}/n; wc -l < {0}/n", folder.path().display());
    let config = ProviderConfig {
        api_key_command: Some(vec!["sh".into(), "-c".into(), script]),
        ..ProviderConfig::default()
    };
    let keys = Arc::new(Keys::new(env.clone()));
    let provider = Anthropic::new("anthropic", &server.url, &config, keys, env).unwrap();
    assert!(matches!(
        ask(&provider, &request()).await.1,
        Some(ProviderError::Auth(_))
    ));
    for _ in 0..2 {
        assert!(ask(&provider, &request()).await.1.is_none());
    }
    let key = |n: usize| {
        let request = server.request(n);
        let line = request
            .lines()
            .find(|l| l.starts_with("x-api-key"))
            .unwrap();
        line.rsplit(' ').next().unwrap().to_owned()
    };
    assert_eq!([key(0), key(1), key(2)], ["1", "2", "2"]);
}

#[test]
fn base_urls_that_cannot_be_used_are_named() {
    let env = env(&[]);
    for base in ["", "api.anthropic.com", "ftp://x", "http://"] {
        let keys = Arc::new(Keys::new(env.clone()));
        let made = Anthropic::new("own", base, &ProviderConfig::default(), keys, env.clone());
        let failure = made.err().unwrap();
        assert!(failure.hint.contains("providers.own.baseUrl"), "{base}");
    }
}
