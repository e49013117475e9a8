//! The Anthropic Messages API: its address and headers, and when a refused request is worth sending
//! again without thinking. `body` makes the bytes, `decode` reads the answer, `endpoint` sends.

pub mod body;
pub mod decode;
pub mod history;
#[cfg(test)]
mod tests;

use reqwest::header::{HeaderMap, HeaderValue};
use url::Url;

use crate::conversation::Request;

use super::endpoint::{Endpoint, Format};
use super::transport::{Refusal, Transport};
use super::{Body, failures};
use decode::Decoder;

/// Anthropic's own address.
pub const ADDRESS: &str = "https://api.anthropic.com";
const VERSION: &str = "2023-06-01";

/// One provider that speaks the Messages API.
pub type Anthropic = Endpoint<Parts>;

/// The optional parts of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    without_thinking: bool,
}

impl Format for Parts {
    type Decoder = Decoder;

    const EXAMPLE: &str = ADDRESS;
    const KEY_HEADER: &str = "x-api-key";

    fn url(transport: &Transport, _model: &str) -> Url {
        transport.url("v1", "messages")
    }

    fn add_headers(headers: &mut HeaderMap) {
        let version = HeaderValue::from_static(VERSION);
        headers.entry("anthropic-version").or_insert(version);
    }

    fn decoder(_request: &Request) -> Decoder {
        Decoder::default()
    }

    fn body(self, provider: &str, request: &Request) -> Body {
        match self.without_thinking {
            true => body::body_without_thinking(provider, request),
            false => body::body(provider, request),
        }
    }

    fn without(self, refusal: &Refusal) -> Option<Self> {
        failures::is_rejected_thinking(refusal.status, &refusal.body).then_some(Self {
            without_thinking: true,
        })
    }
}
