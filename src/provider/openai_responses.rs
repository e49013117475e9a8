//! The OpenAI Responses API without stored state: which address and header it wants, and which
//! refusals are worth a second try without the part that was refused. Bytes are made in `body`,
//! read in `decode`; HTTP is `transport`.

pub mod body;
pub mod decode;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;

use crate::config::ProviderConfig;
use crate::conversation::{Failure, Request};
use crate::env::Env;

use super::keys::Keys;
use super::openai::endpoint::{self, Endpoint};
use super::openai::names::Names;
use super::openai::rejects_reasoning;
use super::transport::Timeouts;
use super::{Batch, Body, Provider, ProviderError};
use body::Parts;
use decode::Decoder;

/// One provider that speaks the Responses API.
pub struct OpenAiResponses {
    endpoint: Endpoint<Parts>,
}

impl OpenAiResponses {
    /// `base` is the configured base URL, with or without its version.
    pub fn new(
        name: &str,
        base: &str,
        config: &ProviderConfig,
        keys: Arc<Keys>,
        env: Env,
    ) -> Result<Self, Failure> {
        let place = (name, base, super::openai::ADDRESS);
        let endpoint = Endpoint::new(place, "responses", config, keys, env)?;
        Ok(Self { endpoint })
    }

    /// Other deadlines, for tests.
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.endpoint = self.endpoint.with_timeouts(timeouts);
        self
    }
}

#[async_trait]
impl Provider for OpenAiResponses {
    fn name(&self) -> &str {
        self.endpoint.name()
    }

    fn documents(&self) -> bool {
        true
    }

    fn body(&self, request: &Request) -> Body {
        Body {
            bytes: body::write(self.name(), request, Parts::default()),
            breakpoints: Vec::new(),
        }
    }

    async fn stream(
        &self,
        request: &Request,
        body: Bytes,
    ) -> Result<BoxStream<'static, Batch>, ProviderError> {
        let facts = &request.facts;
        let most = facts.known.then_some(facts.max_output);
        let decoder = Decoder::new(Names::of(&request.tools)).with_limit(most);
        self.endpoint.ask(request, body, decoder).await
    }
}

impl endpoint::Parts for Parts {
    fn write(self, provider: &str, request: &Request) -> Bytes {
        body::write(provider, request, self)
    }

    fn of_model(self) -> Self {
        // Reasoning that cannot be read is a matter of the conversation.
        Self {
            replay: true,
            ..self
        }
    }

    fn without(self, complaint: &str) -> Option<Self> {
        let about = |words: &[&str]| words.iter().any(|word| complaint.contains(word));
        if self.replay && rejects_reasoning(complaint) {
            return Some(Self {
                replay: false,
                ..self
            });
        }
        if self.include
            && about(&[
                "encrypted content is not supported",
                "'include",
                "\"include",
            ])
        {
            return Some(Self {
                include: false,
                ..self
            });
        }
        let summary = [
            "reasoning.summary",
            "reasoning summaries",
            "parameter: 'reasoning'",
        ];
        (self.summary && about(&summary)).then_some(Self {
            summary: false,
            ..self
        })
    }
}
