//! What no line of a recording holds: the values of fields that are named like secrets, values
//! that are known to be secret, and text that has the shape of a key. What is removed leaves a
//! mark. Rather once too often than once too seldom.

use serde_json::Value;

pub use crate::env::secrets::MARK;
use crate::env::{self, Env, looks_secret};

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

/// How keys of services begin, and how many more characters they have at the least.
const SHAPES: [(&str, usize); 17] = [
    ("sk-", 16),
    ("sk_live_", 10),
    ("rk_live_", 10),
    ("AIza", 20),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghs_", 16),
    ("ghu_", 16),
    ("github_pat_", 16),
    ("glpat-", 12),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("AKIA", 16),
    ("hf_", 20),
    ("npm_", 20),
    ("pypi-", 20),
    ("eyJ", 40),
];

const BEGIN: &str = "-----BEGIN";
const END: &str = "-----END";

/// Shorter values are no secrets that could be told from words.
const SHORTEST: usize = 6;

/// The known values, and the shapes.
#[derive(Default)]
pub struct Secrets {
    values: env::Secrets,
}

impl Secrets {
    /// Knows the values of the environment's secret variables.
    pub fn new(env: &Env) -> Self {
        let secrets = Self::default();
        for (name, value) in env.vars() {
            if looks_secret(name) && !value.starts_with('/') {
                secrets.add(value);
            }
        }
        secrets
    }

    pub fn add(&self, value: &str) {
        let value = value.trim();
        // Behind a scheme: `Bearer …`.
        if let Some((_, last)) = value.rsplit_once(' ')
            && last.len() >= 2 * SHORTEST
        {
            self.add(last);
        }
        if value.len() >= SHORTEST {
            self.values.hide(value);
        }
    }

    /// Removes them from every string of `value`.
    pub fn remove(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut() {
                    if FIELDS.contains(&name.to_ascii_lowercase().as_str()) {
                        // What a client gives away: never a prompt.
                        *value = Value::from(MARK);
                    } else {
                        self.remove(value);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.remove(item)),
            Value::String(text) => {
                if let Some(clean) = self.cleaned(text) {
                    *text = clean;
                }
            }
            _ => {}
        }
    }

    /// The text without them; `None`: it holds none.
    pub fn cleaned(&self, text: &str) -> Option<String> {
        let clean = self.values.clean(text);
        let clean = without_shapes(&without_pem(&clean));
        (clean != text).then_some(clean)
    }
}

/// From the first line of a private key to its last, or to the end.
fn without_pem(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(BEGIN) {
        out.push_str(&rest[..at]);
        out.push_str(MARK);
        let after = &rest[at + BEGIN.len()..];
        let Some(end) = after.find(END) else {
            return out;
        };
        let tail = &after[end + END.len()..];
        rest = tail.split_once("-----").map_or("", |(_, rest)| rest);
    }
    out + rest
}

fn without_shapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(token) {
        let (before, word) = rest.split_at(start);
        out.push_str(before);
        let end = word.find(|c| !token(c)).unwrap_or(word.len());
        let (word, after) = word.split_at(end);
        let shaped = |(begin, more): &(&str, usize)| {
            word.strip_prefix(begin)
                .is_some_and(|tail| tail.len() >= *more)
        };
        match SHAPES.iter().any(shaped) {
            true => out.push_str(MARK),
            false => out.push_str(word),
        }
        rest = after;
    }
    out + rest
}

/// What keys are made of.
fn token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}
