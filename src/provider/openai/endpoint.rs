//! Asking one endpoint of OpenAI's formats: sends a body, and again without the part that was
//! refused. What helped is remembered for the model, so that each refusal costs one request.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use url::Url;

use crate::config::ProviderConfig;
use crate::conversation::{Failure, Request};
use crate::env::Env;
use crate::provider::keys::Keys;
use crate::provider::transport::{Decode, Timeouts, Transport, is_stream, repaired};
use crate::provider::{Batch, ProviderError};

use super::complaint;

/// Which parts of a format's request are sent; the default is all of them.
pub trait Parts: Copy + Default + PartialEq + Debug + Send {
    /// The body of `request` when asked of the provider called `provider`.
    fn write(self, provider: &str, request: &Request) -> Bytes;

    /// The parts to send after a complaint; each is left out once, so this ends.
    fn without(self, complaint: &str) -> Option<Self>;

    /// As far as they are a matter of the model, and not of one conversation.
    fn of_model(self) -> Self;
}

/// An address, and what each of its models takes.
pub struct Endpoint<P> {
    transport: Transport,
    url: Url,
    takes: Mutex<HashMap<String, P>>,
}

impl<P: Parts> Endpoint<P> {
    /// `path` below the transport's base URL, with or without its version.
    pub fn new(
        (name, base, example): (&str, &str, &str),
        path: &str,
        config: &ProviderConfig,
        keys: Arc<Keys>,
        env: Env,
    ) -> Result<Self, Failure> {
        let transport = Transport::new(name, base, example, config, keys, env)?;
        Ok(Self {
            url: transport.url_with_any_version(path),
            transport,
            takes: Mutex::default(),
        })
    }

    /// Other deadlines, for tests.
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.transport = self.transport.with_timeouts(timeouts);
        self
    }

    /// The provider's name.
    pub fn name(&self) -> &str {
        self.transport.name()
    }

    /// Where requests are sent.
    pub fn url(&self) -> &Url {
        &self.url
    }

    fn takes(&self, model: &str) -> P {
        let takes = self.takes.lock().unwrap_or_else(PoisonError::into_inner);
        takes.get(model).copied().unwrap_or_default()
    }

    fn learn(&self, model: &str, parts: P) {
        let mut takes = self.takes.lock().unwrap_or_else(PoisonError::into_inner);
        takes.insert(model.to_owned(), parts);
    }

    /// Sends `body`, which has all parts, or what is left of it; reads the answer by `decoder`.
    pub async fn ask(
        &self,
        request: &Request,
        body: Bytes,
        decoder: impl Decode,
    ) -> Result<BoxStream<'static, Batch>, ProviderError> {
        let transport = &self.transport;
        let headers = transport.headers("authorization", "Bearer ").await?;
        let known = self.takes(&request.model);
        let mut parts = known;
        let mut bytes = match parts == P::default() {
            true => body,
            false => parts.write(self.name(), request),
        };
        loop {
            let response = transport
                .post(&self.url, headers.clone(), bytes.clone())
                .await?;
            if is_stream(&response) {
                if parts.of_model() != known {
                    self.learn(&request.model, parts.of_model());
                }
                let events = transport.events(response, decoder)?;
                // What is no matter of the model is for the conversation to keep in mind.
                return Ok(match parts == parts.of_model() {
                    true => events,
                    false => repaired(events),
                });
            }
            let refusal = transport.refused(&request.model, response).await;
            let Some(fewer) = complaint(&refusal).and_then(|said| parts.without(&said)) else {
                return Err(refusal.error);
            };
            let less = fewer.write(self.name(), request);
            if less == bytes {
                return Err(refusal.error);
            }
            tracing::warn!(?fewer, "a part of the request was refused: sent without it");
            (parts, bytes) = (fewer, less);
        }
    }
}
