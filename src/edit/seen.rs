//! What the model last saw of each document, per session.

use std::collections::HashMap;

use ropey::Rope;

use crate::workspace::Revision;

/// A text that a tool showed to the model.
#[derive(Clone, Debug)]
pub struct SeenText {
    pub rope: Rope,
    /// The mirror's revision; `None` if the text was read from disk (then the hash decides).
    pub revision: Option<Revision>,
    pub hash: String,
}

/// By the document's key ([`crate::workspace::Uri::key`]).
#[derive(Clone, Debug, Default)]
pub struct Seen {
    texts: HashMap<String, SeenText>,
}

impl Seen {
    pub fn get(&self, key: &str) -> Option<&SeenText> {
        self.texts.get(key)
    }

    pub fn put(&mut self, key: String, text: SeenText) {
        self.texts.insert(key, text);
    }

    /// There is no such document any longer.
    pub fn remove(&mut self, key: &str) {
        self.texts.remove(key);
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.texts.keys().map(String::as_str)
    }
}
