//! Models: one trait, one file per wire format. An adapter turns a [`Request`] into exact bytes
//! and a stream of bytes into [`ModelEvent`]s; it keeps no conversation.

pub mod anthropic;
pub mod arguments;
pub mod decode;
pub mod endpoint;
pub mod failures;
pub mod filler_texts;
pub mod gemini;
pub mod growing;
pub mod keys;
pub mod models;
pub mod openai;
pub mod openai_chat;
pub mod openai_responses;
pub mod recording;
pub mod registry;
pub mod replay;
pub mod retry;
pub mod sse;
#[cfg(test)]
mod tests;
pub mod transport;

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;

use crate::conversation::{Block, Failure, Request, Usage};

pub use keys::login;
pub use registry::{Model, Providers};

/// A provider's name as a person knows it. Names that users chose are shown as they are.
pub fn shown_name(name: &str) -> &str {
    match name {
        "anthropic" => "Anthropic",
        "openai" | "openai-chat" => "OpenAI",
        "gemini" => "Gemini",
        name => name,
    }
}

/// Steps of an answer, in order.
pub type Events = Vec<ModelEvent>;

/// All events of one read from the socket, so that its deltas can be sent as one.
pub type Batch = Result<Events, ProviderError>;

#[async_trait]
pub trait Provider: Send + Sync {
    /// The name before the slash in a model's name.
    fn name(&self) -> &str;

    /// PDFs can be sent as they are.
    fn documents(&self) -> bool {
        false
    }

    /// The exact body that [`Provider::stream`] sends for `request`. Pure: an adapter may keep bytes
    /// for the next request of the conversation, which changes no body.
    fn body(&self, request: &Request) -> Body;

    /// Sends the body and streams the answer. Dropping the stream closes the connection.
    async fn stream(
        &self,
        request: &Request,
        body: Bytes,
    ) -> Result<BoxStream<'static, Batch>, ProviderError>;
}

/// A request's bytes and its cache breakpoints: the offsets just after the blocks that carry them.
#[derive(Clone, Debug)]
pub struct Body {
    pub bytes: Bytes,
    pub breakpoints: Vec<usize>,
}

impl Body {
    fn without_breakpoints(bytes: Bytes) -> Self {
        Self {
            bytes,
            breakpoints: Vec::new(),
        }
    }
}

/// One step of an answer. Indices are the provider's block indices.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    TextDelta {
        index: usize,
        text: String,
    },
    ThoughtDelta {
        index: usize,
        text: String,
    },
    /// A tool call begins; its arguments follow.
    ToolStart {
        index: usize,
        id: String,
        name: String,
    },
    ToolInputDelta {
        index: usize,
        text: String,
    },
    /// The block is complete, as it must be sent back. `invalid` is the parse error of a tool
    /// call's arguments; `input` is then the raw text.
    Block {
        index: usize,
        block: Block,
        invalid: Option<String>,
    },
    /// Totals of this request; the last one applies.
    Usage(Usage),
    /// The terminal event.
    Stop(StopReason),
    /// Comes first if the provider refused the reasoning of earlier answers and the request was
    /// sent again without it.
    Unreadable,
}

impl ModelEvent {
    /// A complete block that is valid.
    fn block(index: usize, block: Block) -> Self {
        ModelEvent::Block {
            index,
            block,
            invalid: None,
        }
    }
}

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    EndTurn,
    ToolUse,
    MaxTokens,
    /// The provider paused a long turn: send the same request again.
    Pause,
    Refusal(Option<String>),
    ContextWindow,
    Other(String),
}

/// Typed by what the turn does next.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ProviderError {
    /// Retry, after at least `after`.
    #[error("{failure}")]
    Retry {
        failure: Failure,
        after: Option<Duration>,
    },
    /// The key is missing or wrong: ask the user.
    #[error("{0}")]
    Auth(Failure),
    /// The conversation does not fit.
    #[error("{0}")]
    Overflow(Failure),
    #[error("{0}")]
    Fatal(Failure),
}

impl ProviderError {
    /// An error that may pass by itself; the server asks for no pause.
    fn retry(failure: Failure) -> Self {
        ProviderError::Retry {
            failure,
            after: None,
        }
    }

    pub fn failure(&self) -> &Failure {
        match self {
            ProviderError::Retry { failure, .. }
            | ProviderError::Auth(failure)
            | ProviderError::Overflow(failure)
            | ProviderError::Fatal(failure) => failure,
        }
    }

    fn failure_mut(&mut self) -> &mut Failure {
        match self {
            ProviderError::Retry { failure, .. }
            | ProviderError::Auth(failure)
            | ProviderError::Overflow(failure)
            | ProviderError::Fatal(failure) => failure,
        }
    }
}
