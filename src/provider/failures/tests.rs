use reqwest::header::{HeaderName, HeaderValue};

use super::*;

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            (name, HeaderValue::from_str(value).unwrap())
        })
        .collect()
}

fn now() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

fn judged(status: u16, pairs: &[(&str, &str)], body: &str) -> ProviderError {
    of_answer(&Answer {
        status,
        headers: &headers(pairs),
        body,
        now: now(),
        provider: "Anthropic",
        origin: "https://api.test",
        model: "anthropic/m",
        key_hint: "WAYS",
    })
}

fn object(kind: &str, message: &str) -> String {
    serde_json::json!({"type": "error", "error": {"type": kind, "message": message}}).to_string()
}

#[test]
fn a_wrong_key_names_the_ways_to_provide_one_p08() {
    for status in [401, 403] {
        let error = judged(
            status,
            &[],
            &object("authentication_error", "invalid x-api-key"),
        );
        assert!(matches!(&error, ProviderError::Auth(f) if f.kind == FailureKind::Auth));
        assert!(error.failure().message.contains("invalid x-api-key"));
        assert_eq!(error.failure().hint, "WAYS");
    }
}

#[test]
fn pacing_is_read_from_every_header_p03_n04() {
    let check = |pairs: &[(&str, &str)], expected: Option<u64>| {
        let expected = expected.map(Duration::from_millis);
        assert_eq!(pacing(&headers(pairs), now()), expected, "{pairs:?}");
    };
    check(&[], None);
    check(&[("retry-after", "7")], Some(7_000));
    check(&[("retry-after", "1.5")], Some(1_500));
    check(
        &[("retry-after-ms", "250"), ("retry-after", "9")],
        Some(250),
    );
    check(
        &[("retry-after", "Sat, 21 Nov 2026 12:00:30 GMT")],
        Some(30_000),
    );
    // Our clock is an hour off: the server's own date applies (N04).
    check(
        &[
            ("date", "Sat, 21 Nov 2026 13:00:00 GMT"),
            ("retry-after", "Sat, 21 Nov 2026 13:00:05 GMT"),
        ],
        Some(5_000),
    );
    check(&[("retry-after", "Sat, 21 Nov 2026 11:00:00 GMT")], Some(0));
    check(&[("retry-after", "soon")], None);
    check(&[("retry-after", "-3")], Some(0));
    check(&[("retry-after", "inf")], None);
    check(
        &[
            ("anthropic-ratelimit-tokens-remaining", "0"),
            ("anthropic-ratelimit-tokens-reset", "2026-11-21T12:00:20Z"),
            ("anthropic-ratelimit-requests-remaining", "3"),
            ("anthropic-ratelimit-requests-reset", "2026-11-21T12:50:00Z"),
        ],
        Some(20_000),
    );
    check(&[("x-ratelimit-reset", "12")], Some(12_000));
}

#[test]
fn a_rate_limit_is_retried_and_carries_its_pacing_p03() {
    let error = judged(
        429,
        &[("retry-after", "90")],
        &object("rate_limit_error", "slow"),
    );
    let ProviderError::Retry { failure, after } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(failure.kind, FailureKind::RateLimited);
    assert_eq!(*after, Some(Duration::from_secs(90)));
    assert_eq!(failure.retry_after_ms, Some(90_000));
    assert!(failure.hint.contains("90 s"));
}

#[test]
fn a_refusal_names_the_provider_the_reason_and_the_status() {
    for (status, kind, expected) in [
        (429, "rate_limit_error", "Anthropic rate limit (429): why"),
        (
            529,
            "overloaded_error",
            "Anthropic is overloaded (529): why",
        ),
        (500, "api_error", "Anthropic server error (500): why"),
        (401, "authentication_error", "Anthropic answered 401: why"),
        (429, "insufficient_quota", "Anthropic answered 429: why"),
    ] {
        let error = judged(status, &[], &object(kind, "why"));
        assert_eq!(error.failure().message, expected);
    }
    let streamed = serde_json::json!({"type": "overloaded_error", "message": "why"});
    let message = in_stream(&streamed).failure().message.clone();
    assert_eq!(message, "the provider is overloaded (529): why");
}

#[test]
fn a_used_up_quota_is_not_retried_p04() {
    let spent = object(
        "rate_limit_error",
        "You have reached your monthly spend limit",
    );
    assert!(matches!(judged(429, &[], &spent), ProviderError::Fatal(_)));
    assert!(matches!(
        judged(429, &[("retry-after", "3")], &spent),
        ProviderError::Retry { .. }
    ));
    assert!(matches!(judged(402, &[], ""), ProviderError::Fatal(_)));
    assert!(matches!(
        judged(400, &[], &object("billing_error", "x")),
        ProviderError::Fatal(_)
    ));
    let never = [("x-should-retry", "false")];
    assert!(matches!(judged(429, &never, ""), ProviderError::Fatal(_)));
    assert!(matches!(judged(529, &never, ""), ProviderError::Fatal(_)));
}

#[test]
fn overload_and_server_errors_are_retried_p05() {
    for status in [500, 502, 503, 504, 529] {
        let error = judged(status, &[], &object("overloaded_error", "Overloaded"));
        assert!(
            matches!(&error, ProviderError::Retry { failure, .. } if failure.kind == FailureKind::Overloaded)
        );
    }
    for status in [408, 409, 425] {
        assert!(matches!(
            judged(status, &[], ""),
            ProviderError::Retry { .. }
        ));
    }
}

#[test]
fn a_request_that_does_not_fit_is_an_overflow_p07() {
    let long = object(
        "invalid_request_error",
        "prompt is too long: 200001 tokens > 200000 maximum",
    );
    assert!(
        matches!(judged(400, &[], &long), ProviderError::Overflow(f) if f.kind == FailureKind::ContextWindow)
    );
    assert!(matches!(
        judged(413, &[], "<html>too big</html>"),
        ProviderError::Overflow(_)
    ));
    let other = object("invalid_request_error", "max_tokens: must be positive");
    assert!(
        matches!(judged(400, &[], &other), ProviderError::Fatal(f) if f.kind == FailureKind::Invalid)
    );
}

/// P07: the messages of servers that imitate OpenAI's formats, as they are sent, and those that
/// routers pass on.
#[test]
fn a_request_that_does_not_fit_is_recognised_in_many_wordings_p07() {
    let llama = r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}"#;
    let vllm = r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages. Please reduce the length of the messages.","type":"BadRequestError","param":null,"code":400}"#;
    let newer = r#"{"error":{"message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096.","type":"BadRequestError","code":400}}"#;
    let ollama = r#"{"error":{"message":"prompt too long; exceeded max context length by 904 tokens","type":"invalid_request_error","param":null,"code":null}}"#;
    let router = r#"{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens.","code":400,"metadata":{"provider_name":null}}}"#;
    let behind = r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 210000 tokens\"}}","provider_name":"Anthropic"}}}"#;
    for body in [llama, vllm, newer, ollama, router, behind] {
        let error = judged(400, &[], body);
        assert!(matches!(error, ProviderError::Overflow(_)), "{error:?}");
        let value: Value = serde_json::from_str(body).unwrap();
        let error = value.get("error").unwrap_or(&value);
        let error = in_stream(error);
        assert!(matches!(error, ProviderError::Overflow(_)), "{error:?}");
    }
    let other = r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"bad image"}}}"#;
    assert!(matches!(judged(400, &[], other), ProviderError::Fatal(_)));
}

#[test]
fn an_unknown_model_says_which() {
    let error = judged(404, &[], &object("not_found_error", "model: m"));
    assert!(matches!(&error, ProviderError::Fatal(f) if f.kind == FailureKind::NoModel));
    assert!(error.failure().message.contains("anthropic/m"));
}

#[test]
fn a_page_instead_of_a_stream_names_its_type_and_proxy_p19() {
    let error = judged(
        200,
        &[("content-type", "text/html"), ("via", "1.1 corp-proxy")],
        "<html><body><h1>Please log in</h1></body></html>",
    );
    let message = &error.failure().message;
    assert!(matches!(error, ProviderError::Fatal(_)));
    for part in ["text/html", "corp-proxy", "Please log in", "200"] {
        assert!(message.contains(part), "{message}");
    }
    let error = judged(
        200,
        &[("content-type", "application/json")],
        &object("overloaded_error", "x"),
    );
    assert!(matches!(error, ProviderError::Retry { .. }));
}

#[test]
fn an_empty_body_is_typed_p21() {
    let error = judged(200, &[], "");
    assert!(matches!(&error, ProviderError::Retry { .. }));
    assert!(error.failure().message.contains("empty response"));
}

#[test]
fn a_redirect_names_its_target_without_the_query() {
    let error = judged(
        302,
        &[("location", "https://login.test/x?token=s3cret")],
        "",
    );
    assert!(matches!(&error, ProviderError::Fatal(_)));
    let message = &error.failure().message;
    assert!(
        message.contains("https://login.test/x") && !message.contains("s3cret"),
        "{message}"
    );
}

#[test]
fn rejected_thinking_is_recognised_p33() {
    let check = |status, message: &str| {
        let body = object("invalid_request_error", message);
        is_rejected_thinking(status, &body)
    };
    assert!(check(
        400,
        "messages.1.content.0: Invalid `signature` in `thinking` block"
    ));
    assert!(check(
        400,
        "`thinking` or `redacted_thinking` blocks cannot be modified"
    ));
    assert!(!check(400, "prompt is too long"));
    assert!(!check(500, "Invalid `signature` in `thinking` block"));
}

#[test]
fn openais_error_objects_are_read_by_their_code() {
    let object = |code: &str, kind: &str, message: &str| {
        let error =
            serde_json::json!({"message": message, "type": kind, "param": null, "code": code});
        serde_json::json!({ "error": error }).to_string()
    };
    let retry = [("retry-after", "1")];
    let quota = object(
        "insufficient_quota",
        "insufficient_quota",
        "You exceeded your current plan",
    );
    assert!(matches!(
        judged(429, &retry, &quota),
        ProviderError::Fatal(_)
    ));
    let slow = object(
        "rate_limit_exceeded",
        "tokens",
        "Rate limit reached. Please try again in 1.5s. Visit",
    );
    let ProviderError::Retry { failure, after } = judged(429, &[], &slow) else {
        panic!("a rate limit is tried again");
    };
    assert_eq!(
        (failure.kind, after),
        (FailureKind::RateLimited, Some(Duration::from_millis(1500)))
    );
    let huge = object(
        "rate_limit_exceeded",
        "tokens",
        "Request too large for m on tokens per min",
    );
    assert!(matches!(
        judged(429, &[], &huge),
        ProviderError::Overflow(_)
    ));
    let long = object("context_length_exceeded", "invalid_request_error", "x");
    assert!(matches!(
        judged(400, &[], &long),
        ProviderError::Overflow(_)
    ));
    for status in [403, 404] {
        let error = judged(
            status,
            &[],
            &object("model_not_found", "invalid_request_error", "x"),
        );
        assert_eq!(error.failure().kind, FailureKind::NoModel);
    }
    assert!(matches!(
        judged(401, &[], &object("invalid_api_key", "", "x")),
        ProviderError::Auth(_)
    ));
}

#[test]
fn errors_without_an_enclosing_object_are_read() {
    let bare = r#"{"object":"error","message":"This model's maximum context length is 9 tokens","type":"BadRequestError","code":400}"#;
    assert!(matches!(judged(400, &[], bare), ProviderError::Overflow(_)));
    let detail = judged(400, &[], r#"{"detail":"no such field"}"#);
    assert!(detail.failure().message.contains("no such field"));
    let routed = in_stream(&serde_json::json!({"code": 402, "message": "no credit"}));
    assert!(matches!(routed, ProviderError::Fatal(_)));
    let odd = in_stream(&serde_json::json!({"code": 7, "message": "x"}));
    assert!(matches!(odd, ProviderError::Retry { .. }));
}

#[test]
fn resets_are_spans_of_time_p03() {
    let check = |text: &str, expected: Option<u64>| {
        assert_eq!(span(text), expected.map(Duration::from_millis), "{text}");
    };
    check("6m0s", Some(360_000));
    check("1.5s", Some(1_500));
    check("20ms", Some(20));
    check("1h2m3s", Some(3_723_000));
    for bad in ["", "s", "5", "5x", "1e999s", "-1s", "NaNs", "."] {
        check(bad, None);
    }
    let used = [
        ("x-ratelimit-remaining-tokens", "0"),
        ("x-ratelimit-reset-tokens", "2s"),
        ("x-ratelimit-remaining-requests", "9"),
        ("x-ratelimit-reset-requests", "9s"),
    ];
    assert_eq!(pacing(&headers(&used), now()), Some(Duration::from_secs(2)));
}

/// What each status means where the answer says nothing else.
#[test]
fn a_status_alone_decides_what_is_done() {
    let word = |error: &ProviderError| match error {
        ProviderError::Auth(_) => "auth",
        ProviderError::Overflow(_) => "overflow",
        ProviderError::Retry { .. } => "retry",
        ProviderError::Fatal(_) => "fatal",
    };
    use FailureKind::{Auth, ContextWindow, Invalid, Network, NoModel, Overloaded};
    for (status, kind, what) in [
        (400, Invalid, "fatal"),
        (401, Auth, "auth"),
        (403, Auth, "auth"),
        (404, NoModel, "fatal"),
        (405, Invalid, "fatal"),
        (407, Network, "fatal"),
        (408, Network, "retry"),
        (409, Network, "retry"),
        (413, ContextWindow, "overflow"),
        (425, Network, "retry"),
        (500, Overloaded, "retry"),
        (501, Invalid, "fatal"),
        (502, Overloaded, "retry"),
        (504, Overloaded, "retry"),
        (505, Invalid, "fatal"),
        (520, Overloaded, "retry"),
        (529, Overloaded, "retry"),
        (530, Invalid, "fatal"),
    ] {
        let error = judged(status, &[], &object("odd", "Something is odd."));
        assert_eq!(
            (error.failure().kind, word(&error)),
            (kind, what),
            "{status}"
        );
    }
    let asks = |status, answer: &'static str| {
        word(&judged(
            status,
            &[("x-should-retry", answer)],
            &object("odd", "Odd."),
        ))
        .to_owned()
    };
    assert_eq!(
        (asks(400, "true"), asks(500, "false")),
        ("retry".into(), "fatal".into())
    );
}
