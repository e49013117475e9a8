//! Keeps URIs exact through typed decoding. lsp-types parses every URI into `url::Url`, which
//! rewrites some (`file:///a b`) and rejects others (`/plain/path`), losing the message (hazard
//! g7). Such a string is passed as `interline-raw:<percent-encoded>`, and [`raw_uri`] restores it.

use std::fmt::Write as _;

use lsp_types::Url;
use serde_json::Value;

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

fn encode(text: &str) -> String {
    let mut out = String::with_capacity(RAW.len() + text.len() * 2);
    out.push_str(RAW);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn decode(encoded: &str) -> String {
    let mut out = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let hex = rest.get(1..3).filter(|_| *byte == b'%');
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                rest = &rest[3..];
            }
            None => {
                out.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
