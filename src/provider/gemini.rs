//! Google's Gemini API: its address and key header, and when a refused request is worth sending
//! again without signatures. `body` makes the bytes, `decode` reads the answer, `endpoint` sends.
//! The key travels in a header, never in the address.

pub mod body;
pub mod decode;
pub mod history;
pub mod names;
pub mod schema;
#[cfg(test)]
mod tests;

use url::Url;

use crate::conversation::Request;

use super::Body;
use super::endpoint::{Endpoint, Format};
use super::openai::names::Names;
use super::transport::{Refusal, Transport};
use decode::Decoder;

/// Google's own address.
pub const ADDRESS: &str = "https://generativelanguage.googleapis.com";
const VERSION: &str = "v1beta";

/// One provider that speaks the Gemini API.
pub type Gemini = Endpoint<Parts>;

/// The optional parts of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    without_signatures: bool,
}

impl Format for Parts {
    type Decoder = Decoder;

    const EXAMPLE: &str = ADDRESS;
    const KEY_HEADER: &str = "x-goog-api-key";

    fn url(transport: &Transport, model: &str) -> Url {
        // Tuned models name their own collection.
        let collection = if model.contains('/') { "" } else { "models/" };
        let endpoint = format!("{collection}{model}:streamGenerateContent");
        let mut url = transport.url(VERSION, &endpoint);
        url.set_query(Some("alt=sse"));
        url
    }

    fn decoder(request: &Request) -> Decoder {
        Decoder::new(Names::by(&request.tools, names::wire))
    }

    fn body(self, provider: &str, request: &Request) -> Body {
        match self.without_signatures {
            true => body::body_without_signatures(provider, request),
            false => body::body(provider, request),
        }
    }

    fn without(self, refusal: &Refusal) -> Option<Self> {
        is_rejected_signature(refusal.status, &refusal.body).then_some(Self {
            without_signatures: true,
        })
    }
}

/// A 400 because of a thought signature that the provider misses or cannot read (P33).
fn is_rejected_signature(status: u16, body: &str) -> bool {
    let body = body.to_lowercase();
    status == 400 && body.contains("thought") && body.contains("signature")
}
