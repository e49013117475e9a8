//! Removes secrets from the lines of a recording: the values of fields that carry secrets, known
//! values, and what has the shape of a key. Each leaves a mark. Prefers false positives.

use serde_json::Value;

pub use crate::env::redact::MARK;
use crate::env::{self, Env};
use crate::secrets::{SHORTEST_VALUE, looks_secret, without_keys};

/// Fields whose values are never written.
const FIELDS: [&str; 8] = [
    "secret",
    "authorization",
    "x-api-key",
    "x-goog-api-key",
    "apikey",
    "api_key",
    "password",
    "headers",
];

/// Knows the values that are secret.
#[derive(Default)]
pub struct Scrubber {
    values: env::Secrets,
}

impl Scrubber {
    /// Knows the values of the secret environment variables.
    pub fn new(env: &Env) -> Self {
        let scrubber = Self::default();
        for (name, value) in env.vars() {
            if looks_secret(name) && !value.starts_with('/') {
                scrubber.hide(value);
            }
        }
        scrubber
    }

    /// Removes `value` from now on, and what follows the scheme in it: `Bearer …`.
    pub fn hide(&self, value: &str) {
        let value = value.trim();
        if let Some((_, last)) = value.rsplit_once(' ')
            && last.len() >= 2 * SHORTEST_VALUE
        {
            self.hide(last);
        }
        if value.len() >= SHORTEST_VALUE {
            self.values.hide(value);
        }
    }

    /// Removes secrets from every string of `value`.
    pub fn scrub(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut() {
                    if FIELDS.contains(&name.to_ascii_lowercase().as_str()) {
                        *value = Value::from(MARK);
                    } else {
                        self.scrub(value);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.scrub(item)),
            Value::String(text) => {
                if let Some(clean) = self.scrubbed(text) {
                    *text = clean;
                }
            }
            _ => {}
        }
    }

    /// The text without its secrets; `None` if it has none.
    pub fn scrubbed(&self, text: &str) -> Option<String> {
        let clean = self.values.clean(text);
        let clean = without_keys(&clean, MARK);
        (clean != text).then(|| clean.into_owned())
    }
}
