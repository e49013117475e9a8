//! Names under which models call servers' tools: letters, digits, `_` and `-`, at most 64. A name
//! depends only on the server's and the tool's own names, and two tools never share one, so that a
//! name in an old message keeps its meaning.

use crate::conversation::sha256;

#[cfg(test)]
mod tests;

/// Longest name that every provider accepts.
pub const LONGEST: usize = 64;
/// The beginning of every such name.
pub const PREFIX: &str = "mcp__";
/// Digits of the hash that distinguishes names whose plain form would be ambiguous.
const DIGITS: usize = 8;

/// The name of `tool` of `server`: plain if the plain form is unambiguous, otherwise with a hash of
/// both at its end.
pub fn native_name(server: &str, tool: &str) -> String {
    let plain = format!("{PREFIX}{server}__{tool}");
    let apart = !server.contains("__") && !server.starts_with('_') && !server.ends_with('_');
    let whole = !server.is_empty() && !tool.is_empty() && plain.len() <= LONGEST;
    if apart && whole && plain.bytes().all(legal) && !looks_hashed(&plain) {
        return plain;
    }
    let hash = sha256(format!("{server}\0{tool}").as_bytes());
    let mut name: String = plain
        .chars()
        .map(|c| match u8::try_from(c) {
            Ok(byte) if legal(byte) => c,
            _ => '_',
        })
        .take(LONGEST - DIGITS - 1)
        .collect();
    name.push('_');
    name.push_str(&hash[..DIGITS]);
    name
}

fn legal(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Whether it looks like a name with a hash.
fn looks_hashed(name: &str) -> bool {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.rsplit_once('_')
        .is_some_and(|(_, end)| end.len() == DIGITS && end.bytes().all(hex))
}
