//! Chat Completions, the format that most servers imitate (Ollama, llama.cpp, vLLM, routers):
//! which address and header it wants, and which refusals are worth a second try without the
//! parameter that was refused. Bytes are made in `body`, read in `decode`; HTTP is `transport`.

pub mod body;
pub mod calls;
pub mod decode;
pub mod lead;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use url::Url;

use crate::config::ProviderConfig;
use crate::conversation::{Failure, Request};
use crate::env::Env;

use super::keys::Keys;
use super::openai::complaint;
use super::openai::names::Names;
use super::transport::{Timeouts, Transport, is_stream};
use super::{Batch, Body, Provider, ProviderError};
use body::{Limit, Parts};
use decode::Decoder;

/// One provider that speaks Chat Completions.
pub struct OpenAiChat {
    transport: Transport,
    url: Url,
    /// What each model of this server takes: learnt from refusals, so that each costs one request.
    takes: Mutex<HashMap<String, Parts>>,
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
        let example = "http://localhost:11434/v1";
        let transport = Transport::new(name, base, example, config, keys, env)?;
        Ok(Self {
            url: transport.url_with_any_version("chat/completions"),
            transport,
            takes: Mutex::default(),
        })
    }

    /// Other deadlines, for tests.
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.transport = self.transport.with_timeouts(timeouts);
        self
    }

    fn takes(&self, model: &str) -> Parts {
        let takes = self.takes.lock().unwrap_or_else(PoisonError::into_inner);
        takes.get(model).copied().unwrap_or_default()
    }

    /// What helped is remembered.
    fn learn(&self, model: &str, parts: Parts) {
        let mut takes = self.takes.lock().unwrap_or_else(PoisonError::into_inner);
        takes.insert(model.to_owned(), parts);
    }
}

#[async_trait]
impl Provider for OpenAiChat {
    fn name(&self) -> &str {
        self.transport.name()
    }

    fn body(&self, request: &Request) -> Body {
        let bytes = body::write(self.name(), request, Parts::default());
        Body {
            bytes,
            breakpoints: Vec::new(),
        }
    }

    async fn stream(
        &self,
        request: &Request,
        body: Bytes,
    ) -> Result<BoxStream<'static, Batch>, ProviderError> {
        let transport = &self.transport;
        let headers = transport.headers("authorization", "Bearer ").await?;
        let known = self.takes(&request.model);
        let mut parts = known;
        let mut bytes = match parts == Parts::default() {
            true => body,
            false => body::write(self.name(), request, parts),
        };
        loop {
            let response = transport
                .post(&self.url, headers.clone(), bytes.clone())
                .await?;
            if is_stream(&response) {
                // Reasoning that cannot be read is a matter of the conversation, not of the model.
                let helped = Parts {
                    reasoning: true,
                    ..parts
                };
                if helped != known {
                    self.learn(&request.model, helped);
                }
                return transport.events(response, Decoder::new(Names::of(&request.tools)));
            }
            let refusal = transport.refused(&request.model, response).await;
            let Some(fewer) = complaint(&refusal).and_then(|said| without(parts, &said)) else {
                return Err(refusal.error);
            };
            let less = body::write(self.name(), request, fewer);
            if less == bytes {
                return Err(refusal.error);
            }
            tracing::warn!(?fewer, "a part of the request was refused: sent without it");
            (parts, bytes) = (fewer, less);
        }
    }
}

/// The parts to send after a complaint; each is left out once, so this ends.
fn without(parts: Parts, complaint: &str) -> Option<Parts> {
    if parts.usage && complaint.contains("stream_options") {
        return Some(Parts {
            usage: false,
            ..parts
        });
    }
    if parts.limit != Limit::Unsaid && complaint.contains("max_tokens") {
        let other =
            parts.limit == Limit::Known && complaint.contains("use 'max_completion_tokens'");
        return Some(Parts {
            limit: match other {
                true => Limit::Completion,
                false => Limit::Unsaid,
            },
            ..parts
        });
    }
    if !parts.other_reasoning && complaint.contains("reasoning_content") {
        return Some(Parts {
            other_reasoning: true,
            ..parts
        });
    }
    let reasoning = complaint.contains("reasoning_details") || complaint.contains("thinking block");
    (parts.reasoning && reasoning).then_some(Parts {
        reasoning: false,
        ..parts
    })
}
