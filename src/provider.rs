//! Models: one trait, one file per wire format. An adapter turns a [`Request`] into exact bytes
//! and a stream of bytes into [`ModelEvent`]s; it keeps no conversation.

pub mod anthropic;
pub mod arguments;
pub mod failures;
pub mod gemini;
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

pub use registry::{Model, Providers, login};

/// What a stream delivers: all events of one read from the socket together, so that deltas of
/// one read can travel as one.
pub type Batch = Result<Vec<ModelEvent>, ProviderError>;

#[async_trait]
pub trait Provider: Send + Sync {
    /// The name before the slash in a model's name.
    fn name(&self) -> &str;

    /// PDFs can be sent as they are.
    fn documents(&self) -> bool {
        false
    }

    /// The exact body that [`Provider::stream`] sends for `request`. Pure.
    fn body(&self, request: &Request) -> Body;

    /// Sends the body and streams the answer. Dropping the stream closes the connection.
    async fn stream(
        &self,
        request: &Request,
        body: Bytes,
    ) -> Result<BoxStream<'static, Batch>, ProviderError>;
}

/// A request's bytes, and where its cache breakpoints are (byte offsets just after the block
/// that carries each marker).
#[derive(Clone, Debug)]
pub struct Body {
    pub bytes: Bytes,
    pub breakpoints: Vec<usize>,
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
    /// The block is complete, as it must be replayed. `invalid` carries the parse error of a
    /// tool call's arguments (then `input` holds the raw text).
    Block {
        index: usize,
        block: Block,
        invalid: Option<String>,
    },
    /// Cumulative for this request; the last one counts.
    Usage(Usage),
    /// The terminal event.
    Stop(StopReason),
    /// Comes first, when the provider refused the reasoning of earlier answers and the request
    /// was sent once more without it.
    Unreadable,
}

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    EndTurn,
    ToolUse,
    MaxTokens,
    /// The provider paused a long turn: send the same again.
    Pause,
    Refusal(Option<String>),
    ContextWindow,
    Other(String),
}

/// Typed by what the turn does next.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ProviderError {
    /// Try again, after `after` at the least.
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
