//! The keys that this process uses, and the one place that removes them from what leaves it: tool
//! results, errors, events, logs, recordings. It knows values, not names or shapes, because what
//! only looks like a key may be the user's own text.

use super::order;
use std::borrow::Cow;

use parking_lot::RwLock;
use serde_json::Value;

/// Replaces a removed value.
pub const MARK: &str = "(removed)";

/// Shorter values could be ordinary words.
const SHORTEST: usize = 8;

/// What people enter when a local server demands a key that it ignores.
const PLACEHOLDERS: [&str; 8] = [
    "lm-studio",
    "lmstudio",
    "llama.cpp",
    "llama-cpp",
    "not-needed",
    "no-key-required",
    "placeholder",
    "undefined",
];

/// Values that are removed wherever they occur.
#[derive(Debug, Default)]
pub struct Secrets {
    values: RwLock<Vec<Hidden>>,
}

/// Never shown by `Debug`.
#[derive(PartialEq, Eq)]
struct Hidden(String);

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(MARK)
    }
}

impl Secrets {
    /// Adds a key that is in use. Placeholders are ignored.
    pub fn add(&self, value: &str) {
        let value = value.trim();
        if value.len() >= SHORTEST && !PLACEHOLDERS.contains(&value) {
            self.hide(value);
        }
    }

    /// Removes the value from now on, whatever it is.
    pub fn hide(&self, value: &str) {
        let mut values = self.values.write();
        if !value.is_empty() && !values.iter().any(|known| known.0 == value) {
            values.push(Hidden(value.to_owned()));
            // Longest first: one value may begin another.
            order::sort_by_key(&mut values, |value| std::cmp::Reverse(value.0.len()));
        }
    }

    /// The text with every value replaced by the mark.
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let values = self.values.read();
        let mut clean = Cow::Borrowed(text);
        for Hidden(value) in values.iter() {
            if clean.contains(value.as_str()) {
                clean = Cow::Owned(clean.replace(value.as_str(), MARK));
            }
        }
        clean
    }

    /// Cleans `text` in place.
    pub fn clean_in(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.clean(text) {
            *text = clean;
        }
    }

    /// Cleans every string in a value, including names.
    pub fn clean_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.clean_in(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.clean_value(item)),
            Value::Object(fields) => {
                fields
                    .values_mut()
                    .for_each(|value| self.clean_value(value));
                if fields
                    .keys()
                    .any(|name| matches!(self.clean(name), Cow::Owned(_)))
                {
                    let cleaned = std::mem::take(fields).into_iter();
                    *fields = cleaned
                        .map(|(name, value)| (self.clean(&name).into_owned(), value))
                        .collect();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Bytes at the end of `text` that may be the beginning of a value; the next piece decides.
    pub fn undecided_bytes(&self, text: &str) -> usize {
        let values = self.values.read();
        let tail = |Hidden(value): &Hidden| {
            let most = text.len().min(value.len() - 1);
            let ends = |len: &usize| text.as_bytes().ends_with(&value.as_bytes()[..*len]);
            (1..=most).rev().find(ends).unwrap_or_default()
        };
        let longest = values.iter().map(tail).max().unwrap_or_default();
        // Never inside a character.
        text.len() - text.floor_char_boundary(text.len() - longest)
    }
}

/// A text that arrives in pieces, each of which may hold only a part of a key.
#[derive(Debug, Default)]
pub struct Pieces {
    held: String,
}

impl Pieces {
    /// What can be shown after `piece`.
    pub fn push(&mut self, piece: &str, secrets: &Secrets) -> String {
        let mut text = std::mem::take(&mut self.held);
        text.push_str(piece);
        secrets.clean_in(&mut text);
        self.held = text.split_off(text.len() - secrets.undecided_bytes(&text));
        text
    }

    /// The end of the text: returns what was held back.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Secrets {
        let secrets = Secrets::default();
        secrets.add(" key-in-use-1234\n");
        secrets.add("key-in-use-1234-longer");
        secrets
    }

    /// R24, A38: one redactor for text and values.
    #[test]
    fn a_key_in_use_is_removed_from_texts_and_values() {
        let secrets = known();
        assert_eq!(
            secrets.clean("a key-in-use-1234, key-in-use-1234-longer"),
            "a (removed), (removed)"
        );
        let mut value = serde_json::json!({ "key-in-use-1234": ["xkey-in-use-1234x", 1] });
        secrets.clean_value(&mut value);
        assert_eq!(
            value,
            serde_json::json!({ "(removed)": ["x(removed)x", 1] })
        );
        assert_eq!(format!("{secrets:?}").matches("in-use").count(), 0);
    }

    #[test]
    fn short_values_and_placeholders_are_not_keys() {
        let secrets = Secrets::default();
        for word in ["ollama", "not-needed", "", "sk-1234"] {
            secrets.add(word);
            assert_eq!(
                secrets.clean(&format!("use {word}.")),
                format!("use {word}.")
            );
        }
    }

    /// R24: pieces of a stream each hold a part only.
    #[test]
    fn the_end_of_a_piece_that_may_begin_a_key_is_held_back() {
        let secrets = known();
        for (text, bytes) in [
            ("say k", 1),
            ("say key-in", 6),
            ("say", 0),
            ("", 0),
            ("üke", 2),
        ] {
            assert_eq!(secrets.undecided_bytes(text), bytes, "{text}");
        }
        assert_eq!(secrets.undecided_bytes("key-in-use-1234"), 15);
        assert_eq!(secrets.undecided_bytes("key-in-use-1234."), 0);
        let mut pieces = Pieces::default();
        let parts = ["a k", "ey-in-us", "e-1234", " b ke", "y"];
        let mut shown: String = parts.iter().map(|it| pieces.push(it, &secrets)).collect();
        shown.push_str(&pieces.finish());
        assert_eq!(shown, "a (removed) b key");
    }
}
