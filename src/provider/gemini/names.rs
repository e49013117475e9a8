//! Tool names on the wire: at most 64 characters, of which the first is a letter or `_`. A pure
//! function maps other names, so that history keeps its bytes; the request's own tools map them
//! back.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::provider::openai::names::{DIGITS, MOST, digest};

/// The name on the wire.
pub fn wire(name: &str) -> Cow<'_, str> {
    if begins(name) && name.len() <= MOST && name.chars().all(is_legal) {
        return Cow::Borrowed(name);
    }
    let lead = if begins(name) { "" } else { "_" };
    let room = MOST - DIGITS - 1 - lead.len();
    let legal = |c: char| if is_legal(c) { c } else { '_' };
    let head: String = name.chars().take(room).map(legal).collect();
    Cow::Owned(format!("{lead}{head}_{}", digest(name, DIGITS)))
}

fn begins(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

fn is_legal(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')
}
