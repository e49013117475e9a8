//! Chat Completions, the format that most servers imitate (Ollama, llama.cpp, vLLM, routers): its
//! address and key header, and which refused requests are worth sending again without a parameter.
//! `body` makes the bytes, `decode` reads the answer, `endpoint` sends.

pub mod body;
pub mod calls;
pub mod decode;
#[cfg(test)]
mod tests;
pub mod think_tags;

use url::Url;

use crate::conversation::Request;

use super::Body;
use super::endpoint::{Endpoint, Format};
use super::openai::complaint;
use super::openai::names::Names;
use super::transport::{Refusal, Transport};
use body::{Limit, Parts};
use decode::Decoder;

/// One provider that speaks Chat Completions.
pub type OpenAiChat = Endpoint<Parts>;

impl Format for Parts {
    type Decoder = Decoder;

    const EXAMPLE: &str = "http://localhost:11434/v1";
    const KEY_HEADER: &str = "authorization";
    const KEY_SCHEME: &str = "Bearer ";
    const DOCUMENTS: bool = false;

    fn url(transport: &Transport, _model: &str) -> Url {
        transport.url_with_any_version("chat/completions")
    }

    fn decoder(request: &Request) -> Decoder {
        Decoder::new(Names::of(&request.tools))
    }

    fn body(self, provider: &str, request: &Request) -> Body {
        Body::without_breakpoints(body::write(provider, request, self))
    }

    fn without(self, refusal: &Refusal) -> Option<Self> {
        let complaint = complaint(refusal)?;
        let about = |phrase: &str| complaint.contains(phrase);
        let mut fewer = self;
        if self.usage && about("stream_options") {
            fewer.usage = false;
        } else if self.limit != Limit::Omitted && about("max_tokens") {
            let other = self.limit == Limit::Known && about("use 'max_completion_tokens'");
            fewer.limit = match other {
                true => Limit::Completion,
                false => Limit::Omitted,
            };
        } else if self.effort && about("reasoning_effort") {
            fewer.effort = false;
        } else if !self.other_reasoning && about("reasoning_content") {
            fewer.other_reasoning = true;
        } else if self.reasoning && (about("reasoning_details") || about("thinking block")) {
            fewer.reasoning = false;
        }
        (fewer != self).then_some(fewer)
    }

    fn of_model(self) -> Self {
        // Reasoning that cannot be read depends on the conversation.
        Self {
            reasoning: true,
            ..self
        }
    }
}
