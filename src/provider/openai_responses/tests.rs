use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::decode::tests::STREAM;
use super::*;
use crate::config::ProviderConfig;
use crate::conversation::request::Thinking;
use crate::conversation::{Block, FailureKind, Message, ModelFacts};
use crate::provider::tests::ask::{ask, env, keys, request};
use crate::provider::tests::server::{Answer, Server};
use crate::provider::transport::Timeouts;
use crate::provider::{ModelEvent, Provider as _, ProviderError, StopReason};

const KEY: [(&str, &str); 1] = [("OPENAI_API_KEY", "sk-test")];

fn provider_with(url: &str, config: &ProviderConfig) -> OpenAiResponses {
    OpenAiResponses::new("openai", url, config, keys(&KEY), env(&KEY)).unwrap()
}

fn provider(server: &Server) -> OpenAiResponses {
    provider_with(&server.url, &ProviderConfig::default())
}

fn stream() -> Answer {
    Answer::Chunks(
        STREAM.as_bytes().chunks(97).map(<[u8]>::to_vec).collect(),
        true,
    )
}

/// A conversation with reasoning in it, of a model that thinks.
fn asked() -> Request {
    let value = json!({"type": "reasoning", "summary": [], "encrypted_content": "gAAA"});
    let mut asked = request(vec![
        Message::user(vec![Block::text("hi")]),
        Message::assistant(vec![Block::Opaque { value }, Block::text("ho")], "openai/m"),
        Message::user(vec![Block::text("go")]),
    ]);
    asked.facts = Arc::new(ModelFacts {
        thinking: Thinking::Adaptive,
        ..ModelFacts::default()
    });
    asked
}

fn error(code: &str, message: &str) -> String {
    json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": code}})
        .to_string()
}

fn is_network_retry(error: &ProviderError) -> bool {
    matches!(error, ProviderError::Retry { failure, .. } if failure.kind == FailureKind::Network)
}

#[tokio::test]
async fn a_request_carries_body_and_key() {
    let server = Server::start(|_| stream()).await;
    let provider = provider(&server);
    let (events, error) = ask(&provider, &asked()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(events.last(), Some(&ModelEvent::Stop(StopReason::ToolUse)));
    let sent = server.request(0);
    assert!(
        sent.starts_with("POST /v1/responses HTTP/1.1\r\n"),
        "{sent}"
    );
    assert!(sent.contains("authorization: Bearer sk-test\r\n"), "{sent}");
    let (_, body) = sent.split_once("\r\n\r\n").unwrap();
    assert_eq!(body.as_bytes(), provider.body(&asked()).bytes);
}

#[tokio::test]
async fn refused_reasoning_is_left_out_once_p33() {
    for (status, code, message) in [
        (
            "400 Bad Request",
            "invalid_encrypted_content",
            "The encrypted content gAAA could not be verified.",
        ),
        (
            "404 Not Found",
            "",
            "Item 'rs_1' not found. Items are not persisted when `store` is set to false.",
        ),
        (
            "400 Bad Request",
            "",
            "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        ),
    ] {
        let body = error(code, message);
        let server = Server::start(move |n| match n {
            1 | 4 => stream(),
            _ => Answer::Whole(status, body.clone()),
        })
        .await;
        let provider = provider(&server);
        let (events, error) = ask(&provider, &asked()).await;
        assert!(error.is_none(), "{message}");
        assert_eq!(events[0], ModelEvent::Unreadable);
        assert!(server.request(0).contains("\"gAAA\""));
        assert!(!server.request(1).contains("\"gAAA\""));
        let known = Request {
            unreadable: 3,
            ..asked()
        };
        let bytes = provider.body(&known).bytes;
        assert!(server.request(1).as_bytes().ends_with(&bytes));
        // Repaired once, not endlessly; another conversation's reasoning is sent.
        assert!(ask(&provider, &asked()).await.1.is_some());
        assert!(server.request(2).contains("\"gAAA\""));
        assert_eq!(server.count(), 4);
    }
}

#[tokio::test]
async fn a_parameter_that_a_server_refuses_is_remembered() {
    let server = Server::start(|n| match n {
        0 => Answer::Whole(
            "400 Bad Request",
            error(
                "unsupported_value",
                "Your organization must be verified to generate reasoning summaries.",
            ),
        ),
        1 => Answer::Whole(
            "400 Bad Request",
            error("", "Encrypted content is not supported with this model."),
        ),
        _ => stream(),
    })
    .await;
    let provider = provider(&server);
    for _ in 0..2 {
        assert!(ask(&provider, &asked()).await.1.is_none());
    }
    let has = |n: usize| {
        let sent = server.request(n);
        (
            sent.contains("\"summary\":\"auto\""),
            sent.contains("\"include\""),
        )
    };
    assert_eq!(
        [has(0), has(1), has(2), has(3)],
        [(true, true), (false, true), (false, false), (false, false)]
    );
    assert_eq!(server.count(), 4);
}

#[tokio::test]
async fn refusals_are_typed_p03_p04_p05_p07_p08_p19() {
    let refused = async |head: &'static str, body: String| {
        let server = Server::start(move |_| Answer::Whole(head, body.clone())).await;
        ask(&provider(&server), &asked()).await.1.unwrap()
    };
    let wrong = refused(
        "401 Unauthorized",
        error("invalid_api_key", "Incorrect API key provided"),
    )
    .await;
    assert!(matches!(&wrong, ProviderError::Auth(f) if f.hint.contains("OPENAI_API_KEY")));
    let limit = refused(
        "429 Too Many Requests\r\nretry-after-ms: 1500",
        error("rate_limit_exceeded", "slow"),
    )
    .await;
    assert!(
        matches!(limit, ProviderError::Retry { after: Some(after), .. } if after == Duration::from_millis(1500))
    );
    let spent = refused(
        "429 Too Many Requests\r\nretry-after: 1",
        error("insufficient_quota", "plan"),
    )
    .await;
    assert!(matches!(spent, ProviderError::Fatal(_)));
    let long = refused(
        "400 Bad Request",
        error("context_length_exceeded", "too long"),
    )
    .await;
    assert!(matches!(long, ProviderError::Overflow(_)));
    let gone = refused("404 Not Found", error("model_not_found", "no such model")).await;
    assert!(matches!(&gone, ProviderError::Fatal(f) if f.kind == FailureKind::NoModel));
    let down = refused("503 Service Unavailable", String::new()).await;
    assert!(matches!(down, ProviderError::Retry { .. }));
    let page = refused(
        "200 OK\r\ncontent-type: text/html",
        "<h1>Log in</h1>".into(),
    )
    .await;
    assert!(page.failure().message.contains("text/html"));
}

#[tokio::test]
async fn a_dropped_and_a_silent_connection_are_retried_p01_p11() {
    let half = STREAM.as_bytes()[..STREAM.len() / 2].to_vec();
    let server = Server::start(move |n| match n {
        0 => Answer::Chunks(vec![half.clone()], false),
        1 => Answer::UntilClose(half.clone()),
        _ => Answer::Silence(half.clone()),
    })
    .await;
    let provider = provider(&server).with_timeouts(Timeouts {
        idle: Duration::from_millis(30),
        ..Timeouts::default()
    });
    for _ in 0..3 {
        let (events, error) = ask(&provider, &asked()).await;
        assert!(!events.is_empty() && is_network_retry(&error.unwrap()));
        assert!(
            !events
                .iter()
                .any(|event| matches!(event, ModelEvent::Stop(_)))
        );
    }
}

#[test]
fn the_address_keeps_its_own_version() {
    let url = |base: &str| {
        provider_with(base, &ProviderConfig::default())
            .url("m")
            .to_string()
    };
    assert_eq!(
        url("https://api.openai.com"),
        "https://api.openai.com/v1/responses"
    );
    assert_eq!(
        url("https://x.test/openai/v1/"),
        "https://x.test/openai/v1/responses"
    );
    assert_eq!(
        url("https://x.test/api/paas/v4"),
        "https://x.test/api/paas/v4/responses"
    );
    assert_eq!(
        url("https://x.test/v1beta/openai"),
        "https://x.test/v1beta/openai/responses"
    );
    assert_eq!(
        url("https://x.test/vhost"),
        "https://x.test/vhost/v1/responses"
    );
}
