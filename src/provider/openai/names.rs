//! Tool names as the wire allows them: 64 letters, digits, `_` and `-`. Other names (servers'
//! tools have dots and slashes) are mapped by a pure function, so that history keeps its bytes,
//! and back by the request's own tools.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use crate::conversation::ToolSpec;

/// Most characters of a name.
pub const MOST: usize = 64;
/// Digits of a hash that a mapped name ends in.
pub const DIGITS: usize = 8;

/// The name on the wire.
pub fn wire(name: &str) -> Cow<'_, str> {
    if !name.is_empty() && name.len() <= MOST && name.bytes().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let head: String = name
        .chars()
        .take(MOST - DIGITS - 1)
        .map(|c| {
            if c.is_ascii() && is_plain(c as u8) {
                c
            } else {
                '_'
            }
        })
        .collect();
    Cow::Owned(format!("{head}_{}", digest(name, DIGITS)))
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The first hexadecimal digits of the text's hash.
pub fn digest(text: &str, digits: usize) -> String {
    let hash = Sha256::digest(text.as_bytes());
    let mut hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.truncate(digits);
    hex
}

/// The way back from the wire.
#[derive(Clone, Debug, Default)]
pub struct Names(HashMap<String, String>);

impl Names {
    /// Of the tools that a request offers.
    pub fn of(tools: &[ToolSpec]) -> Self {
        Self::by(tools, wire)
    }

    /// The same for another wire, whose mapping is `wire`.
    pub fn by(tools: &[ToolSpec], wire: impl Fn(&str) -> Cow<'_, str>) -> Self {
        let mapped = tools.iter().filter_map(|tool| match wire(&tool.name) {
            Cow::Owned(name) => Some((name, tool.name.clone())),
            Cow::Borrowed(_) => None,
        });
        Self(mapped.collect())
    }

    /// The tool's own name; what was never offered stays as it is.
    pub fn own(&self, name: &str) -> String {
        self.0.get(name).map_or(name, String::as_str).to_owned()
    }
}
