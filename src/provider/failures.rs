//! What a refusal means: turns its status, headers and error object into a typed error whose text
//! says what to do next. The error's own type takes precedence over the status.

#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::conversation::{Failure, FailureKind};
use crate::provider::ProviderError;

/// How decoders, which do not know the name, call the provider at the start of a message.
pub const UNNAMED: &str = "the provider";

/// An answer that is not a stream.
#[derive(Debug)]
pub struct Answer<'a> {
    pub status: u16,
    pub headers: &'a HeaderMap,
    /// As far as it was read.
    pub body: &'a str,
    pub now: Timestamp,
    /// The provider's name for a person.
    pub provider: &'a str,
    /// Scheme, host and port of the request.
    pub origin: &'a str,
    pub model: &'a str,
    /// How to provide a key.
    pub key_hint: &'a str,
}

/// The error object in a body. Some servers send it without an enclosing object.
fn error_object(body: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(body).ok()?;
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        return Some(error.clone());
    }
    if let Some(detail) = value.get("detail").filter(|detail| detail.is_string()) {
        return Some(detail.clone());
    }
    (value.get("object")? == "error").then_some(value)
}

/// The kind that the error states: `code`, or else `type`.
fn kind_of(error: &Value) -> &str {
    match (field(error, "code"), field(error, "type")) {
        ("", kind) => kind,
        (code, _) => code,
    }
}

/// Google's pacing: `RetryInfo` among the details, `"retryDelay": "7.5s"`.
fn retry_delay(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay"))?;
    let seconds = delay.as_str()?.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn field<'a>(error: &'a Value, name: &str) -> &'a str {
    error.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// An error event in a stream that began with status 200.
pub fn in_stream(error: &Value) -> ProviderError {
    let kind = kind_of(error);
    let message = match (error, field(error, "message")) {
        (Value::String(text), _) => text.as_str(),
        (_, "") => "no reason given",
        (_, message) => message,
    };
    // Routers pass on the status of the provider behind them.
    let code = error.get("code").and_then(Value::as_u64);
    let code = code.and_then(|code| u16::try_from(code).ok());
    let status = match (kind, code) {
        ("authentication_error" | "invalid_api_key", _) => 401,
        ("billing_error", _) => 402,
        ("permission_error", _) => 403,
        ("not_found_error" | "model_not_found", _) => 404,
        ("request_too_large", _) => 413,
        ("rate_limit_error" | "rate_limit_exceeded" | "insufficient_quota", _) => 429,
        ("invalid_request_error" | "invalid_prompt", _) => 400,
        ("overloaded_error", _) => 529,
        (_, Some(status @ 400..=599)) => status,
        _ => 500,
    };
    judge(&Facts {
        status,
        kind,
        message,
        behind: passed_on(error),
        after: None,
        should_retry: None,
        provider: UNNAMED,
        model: "this session's model",
        key_hint: "provide a valid key and send the prompt again",
    })
}

/// An HTTP answer with an error status, or with status 200 but without a stream.
pub fn of_answer(answer: &Answer<'_>) -> ProviderError {
    let object = error_object(answer.body);
    let shown = excerpt(answer.body);
    let (kind, message) = match &object {
        Some(Value::String(text)) => ("", text.as_str()),
        Some(error) => (kind_of(error), field(error, "message")),
        None => ("", ""),
    };
    let redirected = format!("redirected to {}", redirect_target(answer.headers));
    let facts = Facts {
        status: answer.status,
        kind,
        message: match message {
            _ if answer.status < 400 => &redirected,
            "" => &shown,
            message => message,
        },
        behind: object.as_ref().and_then(passed_on),
        after: pacing(answer.headers, answer.now)
            .or_else(|| object.as_ref().and_then(retry_delay))
            .or_else(|| pacing_in_message(message)),
        should_retry: match header(answer.headers, "x-should-retry") {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        },
        provider: answer.provider,
        model: answer.model,
        key_hint: answer.key_hint,
    };
    match (answer.status, &object) {
        (400.., _) | (300..400, None) => judge(&facts),
        (_, Some(error)) => in_stream(error),
        (_, None) => not_a_stream(answer, &shown),
    }
}

/// Where a redirect leads, without the query, which may contain a session's secrets.
fn redirect_target(headers: &HeaderMap) -> &str {
    let to = header(headers, "location").unwrap_or("an unknown address");
    to.split(['?', '#']).next().unwrap_or_default()
}

/// What a refusal is, for a person: who, why and the status.
fn refusal(facts: &Facts<'_>) -> String {
    let Facts {
        status, provider, ..
    } = facts;
    match (*status, facts.kind) {
        (_, "insufficient_quota" | "billing_hard_limit_reached" | "billing_error") => {
            format!("{provider} answered {status}")
        }
        (429, _) => format!("{provider} rate limit (429)"),
        (503 | 529, _) => format!("{provider} is overloaded ({status})"),
        (500..=599, _) => format!("{provider} server error ({status})"),
        _ => format!("{provider} answered {status}"),
    }
}

struct Facts<'a> {
    status: u16,
    kind: &'a str,
    message: &'a str,
    /// The error that a router passes on.
    behind: Option<String>,
    after: Option<Duration>,
    should_retry: Option<bool>,
    provider: &'a str,
    model: &'a str,
    key_hint: &'a str,
}

impl Facts<'_> {
    fn overflows(&self) -> bool {
        let behind = self.behind.as_deref().map(str::to_lowercase);
        behind.is_some_and(|text| is_overflow(&text))
    }
}

fn judge(facts: &Facts<'_>) -> ProviderError {
    let Facts {
        status, message, ..
    } = facts;
    let text = format!("{}: {message}", refusal(facts));
    let failure = |kind, hint: &str| Failure::new(kind, text.clone(), hint);
    let lower = message.to_lowercase();
    match (*status, facts.kind) {
        (_, "billing_error") | (402, _) => ProviderError::Fatal(failure(
            FailureKind::RateLimited,
            "your credit or spending limit is used up: add credit or raise the limit at the \
             provider, or choose another model",
        )),
        // Google refuses a wrong key as an invalid request.
        (400, _) if lower.contains("api key not valid") || lower.contains("api key expired") => {
            ProviderError::Auth(failure(FailureKind::Auth, facts.key_hint))
        }
        (_, "context_length_exceeded" | "exceed_context_size_error") => too_long(text.clone()),
        (_, "insufficient_quota" | "billing_hard_limit_reached") => spent(text.clone()),
        (403 | 404, "model_not_found") => unknown_model(facts),
        (401 | 403, _) => ProviderError::Auth(failure(FailureKind::Auth, facts.key_hint)),
        (413, _) => ProviderError::Overflow(failure(
            FailureKind::ContextWindow,
            "the request is too large: compact the session or start a new one",
        )),
        (400 | 422 | 500, _) if is_overflow(&lower) || facts.overflows() => too_long(text.clone()),
        (404, _) => unknown_model(facts),
        (407, _) => ProviderError::Fatal(failure(
            FailureKind::Network,
            "set the proxy's user and password in the provider's `proxy` or in HTTPS_PROXY",
        )),
        (429, _) => rate_limited(facts, &text, &lower),
        (408 | 409 | 425 | 500 | 502..=504 | 520..=529, _) if facts.should_retry != Some(false) => {
            let kind = match status {
                408 | 409 | 425 => FailureKind::Network,
                _ => FailureKind::Overloaded,
            };
            paced(
                failure(kind, "the provider has a problem: try again later"),
                facts.after,
            )
        }
        _ if facts.should_retry == Some(true) => paced(
            failure(FailureKind::Overloaded, "try again later"),
            facts.after,
        ),
        (300..=399, _) => ProviderError::Fatal(failure(
            FailureKind::Network,
            "Interline does not follow redirects when it sends a key: set the provider's `baseUrl` to \
             the final address, or log in to the network that redirects",
        )),
        _ => ProviderError::Fatal(failure(
            FailureKind::Invalid,
            "the provider rejected the request: choose another model, check the provider's settings, \
             or start a new session",
        )),
    }
}

fn too_long(text: String) -> ProviderError {
    ProviderError::Overflow(Failure::new(
        FailureKind::ContextWindow,
        text,
        "the conversation does not fit the model: compact the session or start a new one",
    ))
}

fn unknown_model(facts: &Facts<'_>) -> ProviderError {
    ProviderError::Fatal(Failure::new(
        FailureKind::NoModel,
        format!(
            "{} does not know the model {}: {}",
            facts.provider, facts.model, facts.message
        ),
        "choose another with the setting `model` (<provider>/<id>), or check the provider's \
         `baseUrl`",
    ))
}

fn spent(text: String) -> ProviderError {
    ProviderError::Fatal(Failure::new(
        FailureKind::RateLimited,
        text,
        "your quota or spending limit is used up: raise it at the provider, wait for its reset, or \
         choose another model",
    ))
}

/// A used-up quota looks like a rate limit, but it names no time to wait and does not pass (P04).
fn rate_limited(facts: &Facts<'_>, text: &str, lower: &str) -> ProviderError {
    let money = [
        "spend",
        "credit",
        "billing",
        "quota",
        "usage limit",
        "insufficient",
    ];
    if lower.contains("request too large") {
        // Waiting does not make it smaller.
        return ProviderError::Overflow(Failure::new(
            FailureKind::ContextWindow,
            text,
            "this request alone exceeds the limit of tokens per minute: compact the session, start \
             a new one, or choose another model",
        ));
    }
    let money = facts.after.is_none() && money.iter().any(|word| lower.contains(word));
    if money || facts.should_retry == Some(false) {
        return spent(text.to_owned());
    }
    let hint = match facts.after {
        Some(after) => format!(
            "the provider asks to wait {} s: retry then, or choose another model",
            after.as_secs().max(1)
        ),
        None => "too many requests or tokens per minute: try again later".to_owned(),
    };
    paced(
        Failure::new(FailureKind::RateLimited, text, hint),
        facts.after,
    )
}

fn paced(mut failure: Failure, after: Option<Duration>) -> ProviderError {
    failure.retry_after_ms =
        after.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
    ProviderError::Retry { failure, after }
}

fn is_overflow(message: &str) -> bool {
    // Wordings of Anthropic, llama.cpp, vLLM, SGLang, Ollama, routers and others.
    const PHRASES: [&str; 14] = [
        "prompt is too long",
        "prompt too long",
        "input is too long",
        "exceed context limit",
        "exceeds the maximum number of tokens",
        "exceeds max length",
        "exceeded model token limit",
        "context window",
        "context size",
        "context length",
        "longer than the maximum model length",
        "maximum prompt length",
        "range of input length",
        "`inputs` tokens + `max_new_tokens`",
    ];
    PHRASES.iter().any(|phrase| message.contains(phrase))
}

/// The error of the provider behind a router, as the router repeats it.
fn passed_on(error: &Value) -> Option<String> {
    let raw = error.get("metadata")?.get("raw")?;
    Some(match raw.as_str() {
        Some(text) => text.to_owned(),
        None => raw.to_string(),
    })
}

/// A 400 because of earlier thinking that the provider cannot read (P33).
pub fn is_rejected_thinking(status: u16, body: &str) -> bool {
    let message = error_object(body)
        .map(|error| field(&error, "message").to_lowercase())
        .unwrap_or_default();
    status == 400
        && message.contains("thinking")
        && (message.contains("signature") || message.contains("cannot be modified"))
}

/// Status 200 without events (P19, P21).
fn not_a_stream(answer: &Answer<'_>, shown: &str) -> ProviderError {
    if answer.body.trim().is_empty() {
        return ProviderError::retry(Failure::new(
            FailureKind::Network,
            format!(
                "{} answered {} with an empty response",
                answer.provider, answer.status
            ),
            "the step is retried; if this repeats, check any proxy in between",
        ));
    }
    let kind = header(answer.headers, "content-type").unwrap_or("no content type");
    let via = header(answer.headers, "via")
        .or_else(|| header(answer.headers, "server"))
        .map(|name| format!(" by {name}"))
        .unwrap_or_default();
    ProviderError::Fatal(Failure::new(
        FailureKind::Network,
        format!(
            "{} answered {} with {kind}{via} instead of an event stream, at {}: {shown}",
            answer.provider, answer.status, answer.origin
        ),
        "a proxy or login page may be in between, or the server has another API than `api` says: \
         check `baseUrl`, `proxy` and HTTPS_PROXY",
    ))
}

/// The beginning of a body, without markup and line ends.
fn excerpt(body: &str) -> String {
    let mut text = String::new();
    let mut tag = false;
    for c in body.chars().take(4000) {
        match c {
            '<' => tag = true,
            '>' if tag => {
                tag = false;
                text.push(' ');
            }
            _ if tag => {}
            c if c.is_control() => text.push(' '),
            c => text.push(c),
        }
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut short: String = words.join(" ").chars().take(200).collect();
    if short.is_empty() {
        short.push_str("no reason given");
    }
    short
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// How long the server asks to wait: `retry-after-ms`, `retry-after` in seconds or as a date
/// (measured against the server's own `date`, because our clock may be wrong), or the reset of a
/// used-up limit.
pub fn pacing(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let number = |text: &str| {
        let number = text.trim().parse::<f64>().ok()?;
        Duration::try_from_secs_f64(number.max(0.0)).ok()
    };
    if let Some(ms) = header(headers, "retry-after-ms").and_then(number) {
        return Some(ms / 1000);
    }
    let server = header(headers, "date").and_then(http_date).unwrap_or(now);
    let until = |moment: Timestamp| {
        Duration::try_from(moment.duration_since(server)).unwrap_or(Duration::ZERO)
    };
    if let Some(after) = header(headers, "retry-after") {
        return number(after).or_else(|| http_date(after).map(until));
    }
    let reset = ["requests", "tokens", "input-tokens", "output-tokens"]
        .into_iter()
        .filter(|limit| {
            let name = format!("anthropic-ratelimit-{limit}-remaining");
            header(headers, &name) == Some("0")
        })
        .filter_map(|limit| {
            let name = format!("anthropic-ratelimit-{limit}-reset");
            header(headers, &name)?.parse::<Timestamp>().ok()
        })
        .max();
    reset.map(until).or_else(|| used_up(headers)).or_else(|| {
        let reset = number(header(headers, "x-ratelimit-reset")?)?;
        // Either seconds from now or a moment in seconds since 1970.
        let moment = || Timestamp::from_second(i64::try_from(reset.as_secs()).ok()?).ok();
        if reset.as_secs() < 1_000_000_000 {
            Some(reset)
        } else {
            moment().map(until)
        }
    })
}

/// The reset of a used-up limit, in OpenAI's headers.
fn used_up(headers: &HeaderMap) -> Option<Duration> {
    let resets = ["requests", "tokens"].into_iter().filter_map(|limit| {
        let left = header(headers, &format!("x-ratelimit-remaining-{limit}"))?;
        let reset = header(headers, &format!("x-ratelimit-reset-{limit}"))?;
        if left == "0" { span(reset) } else { None }
    });
    resets.max()
}

/// The time to wait that only the message states: "Please try again in 1.5s."
fn pacing_in_message(message: &str) -> Option<Duration> {
    let (_, rest) = message.split_once("try again in ")?;
    let word = rest.split_whitespace().next()?;
    span(word.trim_end_matches(['.', ',']))
}

/// A span such as `6m0s`, `1.5s` or `20ms`.
fn span(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let number: f64 = rest[..digits].parse().ok()?;
        let unit = rest[digits..].find(|c: char| !c.is_ascii_alphabetic());
        let end = unit.map_or(rest.len(), |length| digits + length);
        let seconds = match &rest[digits..end] {
            "ms" => number / 1000.0,
            "s" => number,
            "m" => number * 60.0,
            "h" => number * 3600.0,
            "d" => number * 86_400.0,
            _ => return None,
        };
        sum = sum.checked_add(Duration::try_from_secs_f64(seconds).ok()?)?;
        rest = &rest[end..];
    }
    (!text.is_empty()).then_some(sum)
}

fn http_date(text: &str) -> Option<Timestamp> {
    let zoned = jiff::fmt::rfc2822::parse(text.trim()).ok()?;
    Some(zoned.timestamp())
}
