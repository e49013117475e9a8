//! Keeps URIs exact through typed decoding. lsp-types parses every URI into `url::Url`, which
//! rewrites some (`file:///a b`) and rejects others (`/plain/path`), losing the message (hazard
//! g7). Such a string is passed as `interline-raw:<percent-encoded>`, and [`raw_uri`] restores it.

use lsp_types::Url;
use serde_json::Value;
use url::form_urlencoded;

use crate::workspace::Uri;

const RAW: &str = "interline-raw:";

/// The URI exactly as the client wrote it. Where lsp-types has a string (file operations), it is
/// already exact.
pub fn raw_uri(url: &Url) -> Uri {
    match url.as_str().strip_prefix(RAW) {
        Some(encoded) => Uri::new(decode(encoded)),
        None => Uri::new(url.as_str()),
    }
}

/// Rewrites the URIs of a standard method's params that would not survive `Url`.
pub fn keep_exact(method: &str, params: &mut Value) {
    // Our own methods keep strings; so do the file operations in lsp-types.
    let strings = method.starts_with("interline/")
        || (method.starts_with("workspace/") && method.ends_with("Files") && !watched(method));
    if !strings {
        walk(params);
    }
}

fn watched(method: &str) -> bool {
    method == "workspace/didChangeWatchedFiles"
}

/// Fields that are opaque to LSP: only their creator interprets them.
fn is_opaque(name: &str) -> bool {
    matches!(
        name,
        "arguments"
            | "data"
            | "settings"
            | "initializationOptions"
            | "capabilities"
            | "contentChanges"
            | "text"
    )
}

fn is_uri(name: &str) -> bool {
    matches!(
        name,
        "uri" | "rootUri" | "targetUri" | "scopeUri" | "href" | "target"
    )
}

fn walk(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                match value {
                    Value::String(text) if is_uri(name) && !survives(text) => {
                        *text = encode(text);
                    }
                    Value::Object(_) | Value::Array(_) if !is_opaque(name) => walk(value),
                    _ => {}
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(walk),
        _ => {}
    }
}

fn survives(text: &str) -> bool {
    !text.starts_with(RAW) && Url::parse(text).is_ok_and(|url| url.as_str() == text)
}

/// Percent-encodes all bytes but letters, digits and `*-._` (a blank becomes `+`), which parsing
/// leaves alone.
fn encode(text: &str) -> String {
    let encoded = form_urlencoded::byte_serialize(text.as_bytes());
    std::iter::once(RAW).chain(encoded).collect()
}

fn decode(encoded: &str) -> String {
    let mut pairs = form_urlencoded::parse(encoded.as_bytes());
    pairs.next().unwrap_or_default().0.into_owned()
}
