//! Google's Gemini API: which headers and address it wants, and when a refusal is worth a second
//! try without signatures. Bytes are made in `body`, read in `decode`; HTTP is `transport`. The
//! key travels in a header, never in the address.

pub mod body;
pub mod decode;
pub mod history;
pub mod names;
pub mod schema;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use url::Url;

use crate::config::ProviderConfig;
use crate::conversation::{Failure, Request};
use crate::env::Env;

use super::keys::Keys;
use super::openai::names::Names;
use super::transport::{Timeouts, Transport, is_stream, repaired};
use super::{Batch, Body, Provider, ProviderError};
use decode::Decoder;

/// The address unless settings or environment name another.
pub const BASE: &str = "https://generativelanguage.googleapis.com";
const VERSION: &str = "v1beta";

/// One provider that speaks the Gemini API.
pub struct Gemini {
    transport: Transport,
}

impl Gemini {
    /// `base` is the configured base URL, with or without `/v1beta`.
    pub fn new(
        name: &str,
        base: &str,
        config: &ProviderConfig,
        keys: Arc<Keys>,
        env: Env,
    ) -> Result<Self, Failure> {
        Ok(Self {
            transport: Transport::new(name, base, BASE, config, keys, env)?,
        })
    }

    /// Other deadlines, for tests.
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.transport = self.transport.with_timeouts(timeouts);
        self
    }

    fn url(&self, model: &str) -> Url {
        // Tuned models name their own collection.
        let place = match model.contains('/') {
            true => model.to_owned(),
            false => format!("models/{model}"),
        };
        let endpoint = format!("{place}:streamGenerateContent");
        let mut url = self.transport.url(VERSION, &endpoint);
        url.set_query(Some("alt=sse"));
        url
    }
}

#[async_trait]
impl Provider for Gemini {
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
        let headers = transport.headers("x-goog-api-key", "").await?;
        let url = self.url(&request.model);
        let decoder = Decoder::new(Names::by(&request.tools, names::wire));
        let mut response = transport.post(&url, headers.clone(), body.clone()).await?;
        if !is_stream(&response) {
            let refusal = transport.refused(&request.model, response).await;
            let bare = body::body_without_signatures(self.name(), request).bytes;
            if !is_rejected_signature(refusal.status, &refusal.body) || bare == body {
                return Err(refusal.error);
            }
            tracing::warn!("a signature was rejected: the request is sent once more without them");
            response = transport.post(&url, headers, bare).await?;
            if !is_stream(&response) {
                return Err(transport.refused(&request.model, response).await.error);
            }
            return Ok(repaired(transport.events(response, decoder)?));
        }
        transport.events(response, decoder)
    }
}

/// A 400 because of a thought signature that the provider misses or cannot read (P33).
fn is_rejected_signature(status: u16, body: &str) -> bool {
    let body = body.to_lowercase();
    status == 400 && body.contains("thought") && body.contains("signature")
}
