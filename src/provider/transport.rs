//! HTTP for all wire formats: address, key, headers, deadlines, and reading an answer. Knows no
//! wire format: a [`Decode`] reads the events, `failures` explains refusals. Opens no connection
//! before the first request (INV-10).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout};
use url::Url;

use crate::config::ProviderConfig;
use crate::conversation::{Failure, FailureKind};
use crate::env::Env;
use crate::env::tasks;
use crate::http;
use crate::secrets::looks_secret;
use crate::visible;

use super::decode::Decode;
use super::keys::{self, Keys};
use super::{Batch, Events, ProviderError, failures, recording, shown_name, sse};

/// Most bytes of a refusal that are read.
const REFUSAL_LIMIT: usize = 64 << 10;
const REFUSAL_TIME: Duration = Duration::from_secs(20);

/// An answer that is not a stream.
pub struct Refusal {
    pub status: u16,
    pub body: String,
    pub error: ProviderError,
}

/// Deadlines of one request.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Until the first byte of the stream. A local model may take minutes to read its prompt.
    pub first_byte: Duration,
    /// Without any byte (P11).
    pub idle: Duration,
    /// With keep-alives only (P10).
    pub progress: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(600),
            idle: Duration::from_secs(300),
            progress: Duration::from_secs(1800),
        }
    }
}

/// One provider's HTTP, with its own connections.
pub struct Transport {
    name: String,
    base: Url,
    config: ProviderConfig,
    keys: Arc<Keys>,
    env: Env,
    options: http::Options,
    client: OnceCell<Client>,
    timeouts: Timeouts,
}

impl Transport {
    /// `base` is the configured base URL; `example` is one that works, for the hint.
    pub fn new(
        name: &str,
        base: &str,
        example: &str,
        config: &ProviderConfig,
        keys: Arc<Keys>,
        env: Env,
    ) -> Result<Self, Failure> {
        let invalid = |reason: &str| {
            Failure::new(
                FailureKind::Invalid,
                format!("the base URL of the provider {name} cannot be used: {reason}"),
                format!(
                    "set `providers.{name}.baseUrl` in config.toml to an address like {example}"
                ),
            )
        };
        let trimmed = base.trim().trim_end_matches('/');
        let base = Url::parse(trimmed).map_err(|error| invalid(&error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") || base.host().is_none() {
            return Err(invalid("it must begin with https:// or http://"));
        }
        Ok(Self {
            name: name.to_owned(),
            options: http::Options {
                base: Some(base.clone()),
                ca_file: config.ca_file.as_deref().map(|p| keys::expand(&env, p)),
                proxy: config.proxy.clone(),
                connect_timeout: None,
                resolver: None,
            },
            base,
            config: config.clone(),
            keys,
            env,
            client: OnceCell::new(),
            timeouts: Timeouts::default(),
        })
    }

    /// Replaces the deadlines.
    #[cfg(test)]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// The provider's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `endpoint` below `version`, whether or not the base URL already ends in the version.
    pub fn url(&self, version: &str, endpoint: &str) -> Url {
        let path = self.base.path().trim_end_matches('/');
        let mut url = self.base.clone();
        let ends = path.rsplit('/').next() == Some(version);
        url.set_path(&match ends {
            true => format!("{path}/{endpoint}"),
            false => format!("{path}/{version}/{endpoint}"),
        });
        url
    }

    /// `endpoint` below the version that the base URL has anywhere in its path, or below `v1`.
    /// Servers that imitate an API have version numbers of their own.
    pub fn url_with_any_version(&self, endpoint: &str) -> Url {
        let mut parts = self.base.path().split('/');
        let is_version = |part: &str| {
            let number = part.strip_prefix('v').unwrap_or_default();
            number.starts_with(|c: char| c.is_ascii_digit())
        };
        if !parts.any(is_version) {
            return self.url("v1", endpoint);
        }
        let mut url = self.base.clone();
        let path = self.base.path().trim_end_matches('/');
        url.set_path(&format!("{path}/{endpoint}"));
        url
    }

    async fn client(&self) -> Result<&Client, ProviderError> {
        self.client
            .get_or_try_init(|| async {
                let options = self.options.clone();
                // Reads the system's root certificates from disk.
                tasks::blocking(move || http::client(&options))
                    .await
                    .unwrap_or_else(|error| {
                        Err(Failure::new(
                            FailureKind::Network,
                            format!("could not create the HTTP client: {error}"),
                            "send the prompt again",
                        ))
                    })
            })
            .await
            .map_err(ProviderError::Fatal)
    }

    /// The key, unless a configured header authorises the request or no key is needed. `header`
    /// carries this format's key.
    async fn key(&self, header: &str) -> Result<Option<SecretString>, ProviderError> {
        let found = self.keys.find(&self.name, &self.config).await;
        let key = found.map_err(ProviderError::Auth)?;
        let by_header = self.config.headers.keys().any(|name| {
            name.eq_ignore_ascii_case(header) || name.eq_ignore_ascii_case("authorization")
        });
        if key.is_none() && !by_header && keys::needs_key(&self.name, &self.config) {
            return Err(ProviderError::Auth(Failure::new(
                FailureKind::Auth,
                format!("no API key found for {}", self.name),
                keys::ways(&self.name, &self.config),
            )));
        }
        Ok(key)
    }

    /// The headers of a request: `key_header` carries `scheme` and the key. Configured headers
    /// override all others.
    pub async fn headers(
        &self,
        key_header: &str,
        scheme: &str,
    ) -> Result<HeaderMap, ProviderError> {
        let key = self.key(key_header).await?;
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("accept", HeaderValue::from_static("text/event-stream"));
        // A compressed stream is flushed late. One that arrives anyway is still decoded (P20).
        headers.insert("accept-encoding", HeaderValue::from_static("identity"));
        let taking = recording::current();
        if let Some(key) = key {
            if let Some(taking) = &taking {
                taking.hide(key.expose_secret());
            }
            let given = SecretString::from(format!("{scheme}{}", key.expose_secret().trim()));
            let mut value = HeaderValue::from_str(given.expose_secret()).map_err(|_| {
                ProviderError::Auth(Failure::new(
                    FailureKind::Auth,
                    format!(
                        "the key for {} contains characters that an HTTP header cannot carry",
                        self.name
                    ),
                    keys::ways(&self.name, &self.config),
                ))
            })?;
            value.set_sensitive(true);
            if let Ok(name) = HeaderName::from_bytes(key_header.as_bytes()) {
                headers.insert(name, value);
            }
        }
        for (name, value) in &self.config.headers {
            let parsed = HeaderName::from_bytes(name.as_bytes())
                .ok()
                .zip(HeaderValue::from_str(value).ok());
            let Some((parsed, mut value)) = parsed else {
                return Err(ProviderError::Fatal(Failure::new(
                    FailureKind::Invalid,
                    format!(
                        "the header {name:?} of the provider {} is not valid",
                        self.name
                    ),
                    format!("correct `providers.{}.headers` in config.toml", self.name),
                )));
            };
            // Short values of harmless headers occur in every answer.
            let is_secret = looks_secret(name.as_str()) || value.len() >= 16;
            if let (true, Ok(value)) = (is_secret, value.to_str()) {
                if looks_secret(name.as_str()) {
                    // Behind a scheme: `Bearer …`.
                    let key = value.rsplit(' ').next().unwrap_or_default();
                    self.env.secrets().add(key);
                }
                if let Some(taking) = &taking {
                    taking.hide(value);
                }
            }
            value.set_sensitive(true);
            headers.insert(parsed, value);
        }
        Ok(headers)
    }

    /// Sends a body. The response may be a stream or a refusal.
    pub async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response, ProviderError> {
        let request = self.client().await?.post(url.clone());
        if let Some(taking) = recording::current() {
            taking.sent(&body);
        }
        let sent = request.headers(headers).body(body).send();
        match timeout(self.timeouts.first_byte, sent).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(failed(&error, "", &self.base, &self.options)),
            Err(_) => Err(silent(shown_name(&self.name), self.timeouts.first_byte)),
        }
    }

    fn origin(&self) -> String {
        http::origin(&self.base)
    }

    /// Reads an answer that is not a stream and explains it.
    pub async fn refused(&self, model: &str, mut response: Response) -> Refusal {
        let body = read_refusal(&mut response).await;
        let body = String::from_utf8_lossy(&body).into_owned();
        let status = response.status().as_u16();
        if let Some(taking) = recording::current() {
            taking.refused(status, &body);
        }
        // An endpoint may repeat the request.
        let body = self.env.secrets().clean(&body).into_owned();
        let error = failures::of_answer(&failures::Answer {
            status,
            headers: response.headers(),
            body: &body,
            now: self.env.timestamp(),
            provider: shown_name(&self.name),
            origin: &self.origin(),
            model: &format!("{}/{model}", self.name),
            key_hint: &keys::ways(&self.name, &self.config),
        });
        let error = displayable(error, &self.env);
        if matches!(error, ProviderError::Auth(_)) {
            // A key command may print a fresh key the next time (P08).
            self.keys.forget(&self.name);
        }
        Refusal {
            status,
            body,
            error,
        }
    }

    /// The events of a response that is a stream.
    pub fn events(
        &self,
        response: Response,
        decoder: impl Decode,
    ) -> Result<BoxStream<'static, Batch>, ProviderError> {
        let encoding = response.headers().get("content-encoding");
        if let Some(encoding) = encoding.filter(|it| *it != "identity" && !it.is_empty()) {
            return Err(ProviderError::Fatal(Failure::new(
                FailureKind::Network,
                format!(
                    "{} sent a stream compressed as {encoding:?}",
                    shown_name(&self.name)
                ),
                "configure the proxy in between to pass event streams uncompressed or with gzip",
            )));
        }
        let reading = Reading {
            response: Some(response),
            parser: sse::Parser::default(),
            decoder,
            first: true,
            progress: Instant::now(),
            pending: None,
            timeouts: self.timeouts,
            provider: shown_name(&self.name).to_owned(),
            base: self.base.clone(),
            options: self.options.clone(),
            recorder: recording::current().map(|taking| taking.stream()),
            env: self.env.clone(),
        };
        Ok(stream::unfold(reading, Reading::next).boxed())
    }
}

async fn read_refusal(response: &mut Response) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(bytes)) = response.chunk().await {
            body.extend_from_slice(&bytes);
            if body.len() > REFUSAL_LIMIT {
                break;
            }
        }
    };
    // Whatever arrived by then is enough.
    let _ = timeout(REFUSAL_TIME, read).await;
    body
}

/// An error of the connection.
fn failed(
    error: &reqwest::Error,
    context: &str,
    base: &Url,
    options: &http::Options,
) -> ProviderError {
    let http::Explained {
        mut failure,
        retryable,
    } = http::explain(error, base, options);
    failure.message.insert_str(0, context);
    match retryable {
        true => ProviderError::retry(failure),
        false => ProviderError::Fatal(failure),
    }
}

fn silent(who: &str, limit: Duration) -> ProviderError {
    ProviderError::retry(Failure::new(
        FailureKind::Network,
        format!("{who} sent nothing for {} s", limit.as_secs()),
        "the step is retried; if this repeats, check the network or choose another model",
    ))
}

/// The error as it may be displayed: without keys in use or terminal control characters, and
/// truncated.
fn displayable(mut error: ProviderError, env: &Env) -> ProviderError {
    const LONGEST: usize = 4 << 10;
    let failure = error.failure_mut();
    for text in [&mut failure.message, &mut failure.hint] {
        *text = visible::prose(&visible::ends(&env.secrets().clean(text), LONGEST));
    }
    error
}

/// Whether an answer is a stream of events.
pub fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get("content-type");
    response.status().as_u16() == 200
        && kind
            .and_then(|kind| kind.to_str().ok())
            .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/event-stream"))
}

/// An answer that is arriving. Dropping it closes the connection.
struct Reading<D> {
    /// `None` at the end.
    response: Option<Response>,
    parser: sse::Parser,
    decoder: D,
    first: bool,
    progress: Instant,
    /// Follows the events that were read together with it.
    pending: Option<ProviderError>,
    timeouts: Timeouts,
    /// The provider's name for a person.
    provider: String,
    base: Url,
    options: http::Options,
    /// Where the bytes are recorded, if they are.
    recorder: Option<recording::Stream>,
    env: Env,
}

impl<D: Decode> Reading<D> {
    async fn next(mut self) -> Option<(Batch, Self)> {
        loop {
            if let Some(error) = self.pending.take() {
                self.response = None;
                return Some((Err(error), self));
            }
            let mut out = Vec::new();
            if let Err(error) = self.read(&mut out).await? {
                let error = displayable(self.named(error), &self.env);
                self.end_recording("cut");
                self.pending = Some(error);
            } else if self.decoder.ended() {
                self.end_recording("whole");
                self.release_connection();
            }
            if !out.is_empty() {
                self.progress = Instant::now();
                return Some((Ok(out), self));
            }
        }
    }

    /// The events of the next read; `None` after the end.
    async fn read(&mut self, out: &mut Events) -> Option<Result<(), ProviderError>> {
        let response = self.response.as_mut()?;
        let limit = if self.first {
            self.timeouts.first_byte
        } else {
            self.timeouts.idle
        };
        let chunk = match timeout(limit, response.chunk()).await {
            Err(_) => return Some(Err(silent(&self.provider, limit))),
            Ok(Err(error)) => {
                let context = "the stream was interrupted: ";
                return Some(Err(failed(&error, context, &self.base, &self.options)));
            }
            Ok(Ok(chunk)) => chunk,
        };
        self.first = false;
        if let (Some(recorder), Some(bytes)) = (&self.recorder, &chunk) {
            recorder.chunk(bytes);
        }
        let mut events = Vec::new();
        let Some(bytes) = chunk else {
            self.parser.finish(&mut events);
            for event in &events {
                // An event without its blank line may be incomplete: then the stream was cut.
                if self.decoder.event(event, out).is_err() {
                    break;
                }
            }
            return Some(self.decoder.finish(out));
        };
        let too_long = self.parser.push(&bytes, &mut events).err();
        for event in &events {
            if let Err(error) = self.decoder.event(event, out) {
                return Some(Err(error));
            }
        }
        if let Some(error) = too_long {
            return Some(Err(ProviderError::Fatal(Failure::new(
                FailureKind::Network,
                format!("{} sent too much in one event: {error}", self.provider),
                "send the prompt again and ask for smaller pieces, or choose another model",
            ))));
        }
        if out.is_empty() && self.progress.elapsed() > self.timeouts.progress {
            let limit = self.timeouts.progress;
            return Some(Err(silent(
                &format!("{} kept the connection open but", self.provider),
                limit,
            )));
        }
        Some(Ok(()))
    }

    /// The error with the provider's name where the decoder could not write it.
    fn named(&self, mut error: ProviderError) -> ProviderError {
        let message = &mut error.failure_mut().message;
        if let Some(rest) = message.strip_prefix(failures::UNNAMED) {
            *message = format!("{}{rest}", self.provider);
        }
        error
    }

    /// Writes the recorded answer, by dropping it.
    fn end_recording(&mut self, how: &'static str) {
        if let Some(recorder) = self.recorder.take() {
            recorder.end(how);
        }
    }

    /// Reads the rest of the body in the background, so that the next step can reuse the
    /// connection.
    fn release_connection(&mut self) {
        const GRACE: Duration = Duration::from_secs(2);
        if let Some(mut response) = self.response.take() {
            tasks::spawn(timeout(GRACE, async move {
                while let Ok(Some(_)) = response.chunk().await {}
            }));
        }
    }
}
