//! What OpenAI's two wire formats share: reading an event's JSON, counting tokens, and which
//! refusals are about one parameter, so that the request is worth sending again without it.
//! Asking is in `endpoint`, tool names are in `names`, schemas in `schema`, the history both
//! are made of in `history`.

pub mod endpoint;
pub mod history;
pub mod names;
pub mod schema;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::conversation::{Failure, FailureKind, Usage};

use super::transport::Refusal;
use super::{ProviderError, arguments};

/// The address that both formats have at OpenAI.
pub const ADDRESS: &str = "https://api.openai.com";

/// Reads an event's JSON. What JSON allows and Rust's strings do not is mended, and numbers
/// that no JSON has (`NaN`, `Infinity`, beyond any float) count as absent.
pub fn read<T: DeserializeOwned>(data: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(data).or_else(|error| {
        let mended = arguments::mend_surrogates(data);
        let mended = mend_numbers(&mended);
        serde_json::from_str(&mended).map_err(|_| error)
    })
}

/// The text with bare words that are no JSON replaced by `null`; strings stay as they are.
fn mend_numbers(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut at, mut copied, mut quoted) = (0, 0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            byte if !quoted && is_bare(byte) => {
                let rest = &bytes[at..];
                let length = rest.iter().take_while(|byte| is_bare(**byte)).count();
                let word = &text[at..at + length];
                if serde_json::from_str::<Value>(word).is_err() {
                    out.push_str(&text[copied..at]);
                    out.push_str("null");
                    copied = at + length;
                }
                at += length;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// A field that is a string with something in it.
pub fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    let text = value.get(field).and_then(Value::as_str);
    text.filter(|text| !text.is_empty())
}

/// Takes the counts that `usage` has; absent ones keep their last value (P26). Here the whole
/// prompt is counted, cached or not, so what the cache gave is taken off.
pub fn count(usage: &Value, sum: &mut Usage) -> bool {
    let number = |value: Option<&Value>| {
        let value = value?;
        // Beyond 64 bits they saturate, negative ones are none.
        value
            .as_u64()
            .or_else(|| value.as_f64().map(|float| float as u64))
    };
    let detail = |name: &str| {
        let of = |part: &str| number(usage.get(part).and_then(|part| part.get(name)));
        of("input_tokens_details").or_else(|| of("prompt_tokens_details"))
    };
    let any = |names: [&str; 2]| names.iter().find_map(|name| number(usage.get(*name)));
    let prompt = any(["input_tokens", "prompt_tokens"]);
    let output = any(["output_tokens", "completion_tokens"]);
    if prompt.is_none() && output.is_none() {
        return false;
    }
    if let Some(prompt) = prompt {
        let read = detail("cached_tokens").or_else(|| number(usage.get("prompt_cache_hit_tokens")));
        let read = read.unwrap_or(0).min(prompt);
        let written = detail("cache_write_tokens").unwrap_or(0).min(prompt - read);
        sum.cache_read = read;
        sum.cache_write = written;
        sum.input = prompt - read - written;
    }
    sum.output = output.unwrap_or(sum.output);
    true
}

/// A tool call's arguments: parsed, or their raw text with the reason why they are none.
pub fn close_arguments(json: String, whole: bool) -> (Value, Option<String>) {
    match arguments::parse(&json) {
        Ok(input) if whole => (input, None),
        Ok(_) => (
            Value::String(json),
            Some("the answer ended before this call was complete".to_owned()),
        ),
        Err(error) => (Value::String(json), Some(error)),
    }
}

/// Arguments as the wire wants them: the text of an object.
pub fn arguments_text(input: &Value) -> String {
    match input {
        Value::Object(_) => input.to_string(),
        _ => Value::Object(Map::new()).to_string(),
    }
}

/// What a refusal says, in lower case, when it may be about one part of the request.
pub fn complaint(refusal: &Refusal) -> Option<String> {
    let refused = matches!(refusal.status, 400 | 404 | 422 | 500);
    if !refused {
        return None;
    }
    let mut words = String::new();
    match serde_json::from_str(&refusal.body) {
        Ok(value) => gather(&value, &mut words),
        Err(_) => words.push_str(&refusal.body),
    }
    Some(words.to_lowercase())
}

/// Every string of a refusal, in quotes, less what repeats the request.
fn gather(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push('"');
            out.push_str(text);
            out.push_str("\" ");
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, out)),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !["input", "body", "request", "ctx"].contains(&name.as_str()))
            .for_each(|(_, value)| gather(value, out)),
        _ => {}
    }
}

/// A complaint about reasoning of earlier turns that the server cannot read, or not where it
/// stands (P33).
pub fn rejects_reasoning(complaint: &str) -> bool {
    let missing = complaint.contains("item 'rs_") && complaint.contains("not found");
    let unread = complaint.contains("encrypted content")
        && (complaint.contains("verified") || complaint.contains("decrypted"));
    missing
        || unread
        || complaint.contains("invalid_encrypted_content")
        || complaint.contains("without its required following item")
        || complaint.contains("without its required 'reasoning' item")
}

/// A stream that cannot be read on.
pub fn broken(what: &str) -> ProviderError {
    retry(
        &format!("the provider's stream is malformed: {what}"),
        "the step is tried again; if this repeats, check the base URL and any gateway between",
    )
}

/// A stream that ended before its terminal event (P02).
pub fn cut(begun: bool) -> ProviderError {
    let message = if begun {
        "the stream was cut before the answer was complete"
    } else {
        "the provider sent an empty response"
    };
    retry(
        message,
        "the step is tried again; if this repeats, check the network and any proxy between",
    )
}

fn retry(message: &str, hint: &str) -> ProviderError {
    ProviderError::Retry {
        failure: Failure::new(FailureKind::Network, message, hint),
        after: None,
    }
}
