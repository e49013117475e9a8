//! Tool names on the wire: at most 64 letters, digits, `_` and `-`. A pure function maps other
//! names (tools of servers have dots and slashes), so that history keeps its bytes; the request's
//! own tools map them back.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;

use crate::conversation::{ToolSpec, sha256};

/// The most characters of a name.
pub const MOST: usize = 64;
/// Digits of the hash at the end of a mapped name.
pub const DIGITS: usize = 8;

/// The name on the wire.
pub fn wire(name: &str) -> Cow<'_, str> {
    if !name.is_empty() && name.len() <= MOST && name.chars().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let head: String = name
        .chars()
        .take(MOST - DIGITS - 1)
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    Cow::Owned(format!("{head}_{}", digest(name, DIGITS)))
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// The first hexadecimal digits of the text's hash.
pub fn digest(text: &str, digits: usize) -> String {
    let mut hex = sha256(text.as_bytes());
    hex.truncate(digits);
    hex
}

/// Maps names on the wire back to the names of tools.
#[derive(Clone, Debug, Default)]
pub struct Names(HashMap<String, String>);

impl Names {
    /// For the tools that a request offers.
    pub fn of(tools: &[ToolSpec]) -> Self {
        Self::by(tools, wire)
    }

    /// The same for a wire format that maps names with `wire`.
    pub fn by(tools: &[ToolSpec], wire: impl Fn(&str) -> Cow<'_, str>) -> Self {
        let mapped = tools.iter().filter_map(|tool| match wire(&tool.name) {
            Cow::Owned(name) => Some((name, tool.name.clone())),
            Cow::Borrowed(_) => None,
        });
        Self(mapped.collect())
    }

    /// The tool's own name. A name that was not offered is unchanged.
    pub fn own(&self, name: &str) -> String {
        self.0.get(name).map_or(name, String::as_str).to_owned()
    }
}
