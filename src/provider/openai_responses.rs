//! The OpenAI Responses API without stored state: its address and key header, and which refused
//! requests are worth sending again without a part. `body` makes the bytes, `decode` reads the
//! answer, `endpoint` sends.

pub mod body;
pub mod decode;
#[cfg(test)]
mod tests;

use url::Url;

use crate::conversation::Request;

use super::Body;
use super::endpoint::{Endpoint, Format};
use super::openai::names::Names;
use super::openai::{ADDRESS, complaint, rejects_reasoning};
use super::transport::{Refusal, Transport};
use body::Parts;
use decode::Decoder;

/// One provider that speaks the Responses API.
pub type OpenAiResponses = Endpoint<Parts>;

impl Format for Parts {
    type Decoder = Decoder;

    const EXAMPLE: &str = ADDRESS;
    const KEY_HEADER: &str = "authorization";
    const KEY_SCHEME: &str = "Bearer ";

    fn url(transport: &Transport, _model: &str) -> Url {
        transport.url_with_any_version("responses")
    }

    fn decoder(request: &Request) -> Decoder {
        let facts = &request.facts;
        let limit = facts.known.then_some(facts.max_output);
        Decoder::new(Names::of(&request.tools)).with_limit(limit)
    }

    fn body(self, provider: &str, request: &Request) -> Body {
        Body::without_breakpoints(body::write(provider, request, self))
    }

    fn without(self, refusal: &Refusal) -> Option<Self> {
        let complaint = complaint(refusal)?;
        let about = |phrases: &[&str]| phrases.iter().any(|phrase| complaint.contains(phrase));
        let mut fewer = self;
        if self.replay && rejects_reasoning(&complaint) {
            fewer.replay = false;
        } else if self.include
            && about(&[
                "encrypted content is not supported",
                "'include",
                "\"include",
            ])
        {
            fewer.include = false;
        } else if self.summary
            && about(&[
                "reasoning.summary",
                "reasoning summaries",
                "parameter: 'reasoning'",
            ])
        {
            fewer.summary = false;
        }
        (fewer != self).then_some(fewer)
    }

    fn of_model(self) -> Self {
        // Reasoning that cannot be read depends on the conversation.
        Self {
            replay: true,
            ..self
        }
    }
}
