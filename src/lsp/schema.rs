//! `interline schema`: the JSON Schema of every type in our protocol, with the tables of methods,
//! errors and commands. A test generates it from the Rust types.

/// The document that `interline schema` prints.
pub const DOCUMENT: &str = include_str!("schema.json");

#[cfg(test)]
pub(super) mod tests;
