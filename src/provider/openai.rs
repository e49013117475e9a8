//! What OpenAI's two wire formats share: reading an event's JSON, counting tokens, and the
//! complaint of a refusal. Tool names are in `names`, schemas in `schema`, the history in
//! `history`.

pub mod history;
pub mod names;
pub mod schema;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::conversation::Usage;

use super::arguments;
use super::decode::count;
use super::transport::Refusal;

/// OpenAI's own address.
pub const ADDRESS: &str = "https://api.openai.com";

/// Reads an event's JSON. Unpaired surrogates are replaced, and numbers that JSON does not have
/// (`NaN`, `Infinity`, beyond any float) become `null`.
pub fn read<T: DeserializeOwned>(data: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(data).or_else(|error| {
        let mended = arguments::mend_surrogates(data);
        let mended = mend_numbers(&mended);
        serde_json::from_str(&mended).map_err(|_| error)
    })
}

/// The text with `null` in place of bare words that are not JSON; strings are unchanged.
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

/// Adds the counts in `usage` to `sum`; missing ones keep their last value (P26). These formats
/// count the full prompt, so the cached tokens are subtracted. Whether there were any counts.
pub fn read_usage(usage: &Value, sum: &mut Usage) -> bool {
    let number = |value: Option<&Value>| value.and_then(count);
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

/// Arguments on the wire: the text of an object.
pub fn arguments_text(input: &Value) -> String {
    match input {
        Value::Object(_) => input.to_string(),
        _ => Value::Object(Map::new()).to_string(),
    }
}

/// The text of a refusal in lower case, if it may be about one part of the request.
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

/// Every string of a refusal, in quotes, without fields that repeat the request.
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

/// Whether the server complains that it cannot read reasoning of earlier turns (P33).
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
