//! One provider in one wire format: sends a request, and sends it again without the part that was
//! refused. What a model refuses is remembered, so that each refusal costs one request.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use parking_lot::Mutex;
use reqwest::header::HeaderMap;
use url::Url;

use crate::config::ProviderConfig;
use crate::conversation::{Failure, Request};
use crate::env::Env;

use super::decode::Decode;
use super::keys::Keys;
use super::transport::{Refusal, Transport, is_stream};
use super::{Batch, Body, ModelEvent, Provider, ProviderError};

/// A wire format. A value says which optional parts of a request are sent; the default is all.
pub trait Format: Copy + Default + PartialEq + Debug + Send + Sync + 'static {
    /// Reads an answer.
    type Decoder: Decode;

    /// A base URL that works, for the hint of an error.
    const EXAMPLE: &'static str;
    /// The header that carries the key.
    const KEY_HEADER: &'static str;
    /// What precedes the key in its header.
    const KEY_SCHEME: &'static str = "";
    /// PDFs can be sent as they are.
    const DOCUMENTS: bool = true;

    /// Where a request for `model` goes.
    fn url(transport: &Transport, model: &str) -> Url;

    /// Adds headers that the settings do not have.
    fn add_headers(_headers: &mut HeaderMap) {}

    /// A decoder for the answer to `request`.
    fn decoder(request: &Request) -> Self::Decoder;

    /// The body of `request` for the provider called `provider`.
    fn body(self, provider: &str, request: &Request) -> Body;

    /// The parts to send after a refusal. Each part is left out once, so this ends.
    fn without(self, refusal: &Refusal) -> Option<Self>;

    /// The parts that depend on the model only, not on the conversation.
    fn of_model(self) -> Self {
        Self::default()
    }
}

/// An address, and which parts of a request each of its models accepts.
pub struct Endpoint<F> {
    transport: Transport,
    accepted: Mutex<HashMap<String, F>>,
}

impl<F: Format> Endpoint<F> {
    /// `base` is the configured base URL, with or without its version.
    pub fn new(
        name: &str,
        base: &str,
        config: &ProviderConfig,
        keys: Arc<Keys>,
        env: Env,
    ) -> Result<Self, Failure> {
        Ok(Self {
            transport: Transport::new(name, base, F::EXAMPLE, config, keys, env)?,
            accepted: Mutex::default(),
        })
    }

    /// Replaces the deadlines.
    #[cfg(test)]
    pub fn with_timeouts(mut self, timeouts: super::transport::Timeouts) -> Self {
        self.transport = self.transport.with_timeouts(timeouts);
        self
    }

    /// Where a request for `model` goes.
    pub fn url(&self, model: &str) -> Url {
        F::url(&self.transport, model)
    }
}

#[async_trait]
impl<F: Format> Provider for Endpoint<F> {
    fn name(&self) -> &str {
        self.transport.name()
    }

    fn documents(&self) -> bool {
        F::DOCUMENTS
    }

    fn body(&self, request: &Request) -> Body {
        F::default().body(self.name(), request)
    }

    async fn stream(
        &self,
        request: &Request,
        body: Bytes,
    ) -> Result<BoxStream<'static, Batch>, ProviderError> {
        let (transport, model) = (&self.transport, &request.model);
        let mut headers = transport.headers(F::KEY_HEADER, F::KEY_SCHEME).await?;
        F::add_headers(&mut headers);
        let url = self.url(model);
        let known = self.accepted.lock().get(model).copied().unwrap_or_default();
        let mut parts = known;
        let mut bytes = match parts == F::default() {
            true => body,
            false => {
                // What it shares with the next one is then not copied.
                drop(body);
                parts.body(self.name(), request).bytes
            }
        };
        loop {
            let response = transport.post(&url, headers.clone(), bytes.clone()).await?;
            if is_stream(&response) {
                let of_model = parts.of_model();
                if of_model != known {
                    self.accepted.lock().insert(model.clone(), of_model);
                }
                let events = transport.events(response, F::decoder(request))?;
                // The conversation must remember what the model's settings do not.
                return Ok(match parts == of_model {
                    true => events,
                    false => repaired(events),
                });
            }
            let refusal = transport.refused(model, response).await;
            let Some(fewer) = parts.without(&refusal) else {
                return Err(refusal.error);
            };
            let shorter = fewer.body(self.name(), request).bytes;
            if shorter == bytes {
                return Err(refusal.error);
            }
            tracing::warn!(
                ?fewer,
                "a part of the request was refused: sending without it"
            );
            (parts, bytes) = (fewer, shorter);
        }
    }
}

/// The stream, preceded by the event that says that earlier reasoning was left out.
fn repaired(events: BoxStream<'static, Batch>) -> BoxStream<'static, Batch> {
    let first = stream::once(async { Ok(vec![ModelEvent::Unreadable]) });
    first.chain(events).boxed()
}
