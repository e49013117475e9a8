//! The Anthropic Messages API: which headers and address it wants, and when a refusal is worth a
//! second try without thinking. Bytes are made in `body`, read in `decode`; HTTP is `transport`.

pub mod body;
pub mod decode;
pub mod history;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use reqwest::header::HeaderValue;
use url::Url;

use crate::config::ProviderConfig;
use crate::conversation::{Failure, Request};
use crate::env::Env;

use super::keys::Keys;
use super::transport::{Timeouts, Transport, is_stream, repaired};
use super::{Batch, Body, Provider, ProviderError, failures};
use decode::Decoder;

const VERSION: &str = "2023-06-01";

/// One provider that speaks the Messages API.
pub struct Anthropic {
    transport: Transport,
    url: Url,
}

impl Anthropic {
    /// `base` is the configured base URL, with or without `/v1`.
    pub fn new(
        name: &str,
        base: &str,
        config: &ProviderConfig,
        keys: Arc<Keys>,
        env: Env,
    ) -> Result<Self, Failure> {
        let example = "https://api.anthropic.com";
        let transport = Transport::new(name, base, example, config, keys, env)?;
        Ok(Self {
            url: transport.url("v1", "messages"),
            transport,
        })
    }

    /// Other deadlines, for tests.
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.transport = self.transport.with_timeouts(timeouts);
        self
    }
}

#[async_trait]
impl Provider for Anthropic {
    fn name(&self) -> &str {
        self.transport.name()
    }

    fn documents(&self) -> bool {
        true
    }

    fn body(&self, request: &Request) -> Body {
        body::body(self.name(), request)
    }

    async fn stream(
        &self,
        request: &Request,
        body: Bytes,
    ) -> Result<BoxStream<'static, Batch>, ProviderError> {
        let transport = &self.transport;
        let mut headers = transport.headers("x-api-key", "").await?;
        let version = HeaderValue::from_static(VERSION);
        headers.entry("anthropic-version").or_insert(version);
        let mut response = transport
            .post(&self.url, headers.clone(), body.clone())
            .await?;
        if !is_stream(&response) {
            let refusal = transport.refused(&request.model, response).await;
            let bare = body::body_without_thinking(self.name(), request).bytes;
            if !failures::is_rejected_thinking(refusal.status, &refusal.body) || bare == body {
                return Err(refusal.error);
            }
            tracing::warn!("thinking was rejected: the request is sent once more without it");
            response = transport.post(&self.url, headers, bare).await?;
            if !is_stream(&response) {
                return Err(transport.refused(&request.model, response).await.error);
            }
            return Ok(repaired(transport.events(response, Decoder::default())?));
        }
        transport.events(response, Decoder::default())
    }
}
