//! Chat Completions, the format that most servers imitate (Ollama, llama.cpp, vLLM, routers):
//! which address and header it wants, and which refusals are worth a second try without the
//! parameter that was refused. Bytes are made in `body`, read in `decode`; HTTP is `transport`.

pub mod body;
pub mod calls;
pub mod decode;
#[cfg(test)]
mod tests;
pub mod think_tags;

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
use super::transport::Timeouts;
use super::{Batch, Body, Provider, ProviderError};
use body::{Limit, Parts};
use decode::Decoder;

/// One provider that speaks Chat Completions.
pub struct OpenAiChat {
    endpoint: Endpoint<Parts>,
}

impl OpenAiChat {
    /// `base` is the configured base URL, with or without its version.
    pub fn new(
        name: &str,
        base: &str,
        config: &ProviderConfig,
        keys: Arc<Keys>,
        env: Env,
    ) -> Result<Self, Failure> {
        let place = (name, base, "http://localhost:11434/v1");
        let endpoint = Endpoint::new(place, "chat/completions", config, keys, env)?;
        Ok(Self { endpoint })
    }

    /// Other deadlines, for tests.
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.endpoint = self.endpoint.with_timeouts(timeouts);
        self
    }
}

#[async_trait]
impl Provider for OpenAiChat {
    fn name(&self) -> &str {
        self.endpoint.name()
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
        let decoder = Decoder::new(Names::of(&request.tools));
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
            reasoning: true,
            ..self
        }
    }

    fn without(self, complaint: &str) -> Option<Self> {
        if self.usage && complaint.contains("stream_options") {
            return Some(Self {
                usage: false,
                ..self
            });
        }
        if self.limit != Limit::Unsaid && complaint.contains("max_tokens") {
            let other =
                self.limit == Limit::Known && complaint.contains("use 'max_completion_tokens'");
            return Some(Self {
                limit: match other {
                    true => Limit::Completion,
                    false => Limit::Unsaid,
                },
                ..self
            });
        }
        if self.effort && complaint.contains("reasoning_effort") {
            return Some(Self {
                effort: false,
                ..self
            });
        }
        if !self.other_reasoning && complaint.contains("reasoning_content") {
            return Some(Self {
                other_reasoning: true,
                ..self
            });
        }
        let reasoning =
            complaint.contains("reasoning_details") || complaint.contains("thinking block");
        (self.reasoning && reasoning).then_some(Self {
            reasoning: false,
            ..self
        })
    }
}
