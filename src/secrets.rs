//! The only detector of secrets: names that mark a value as secret, shapes of keys, values that a
//! text assigns, passwords in addresses, long random text, and the values of secret variables.
//! Pure. Prefers false positives: a refused memory can be worded differently, a leaked key
//! cannot be called back.

mod assigned;
mod names;
mod random;
mod shapes;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::RegexSet;

pub use names::{holds_password, looks_secret, without_passwords};

/// What a text seems to contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Secret {
    #[error("a private key or certificate")]
    Pem,
    #[error("an access key or token")]
    Key,
    #[error("a password or key with its value")]
    Assigned,
    #[error("an address with a password in it")]
    Address,
    #[error("a long random token")]
    Random,
    #[error("the value of a secret environment variable")]
    Variable,
}

/// Shorter values cannot be distinguished from words.
pub const SHORTEST_VALUE: usize = 6;

/// One pass over a text says which of the checks below are worth running: thousands of memories
/// are checked when their files change. `None` cannot happen; then every check runs.
static CANDIDATES: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    RegexSet::new([
        "-----BEGIN|PuTTY-User-Key-File",
        shapes::beginnings().as_str(),
        r#"://[^\s/"]*:[^\s/"]*@"#,
        assigned::NAMES,
        assigned::CJK_NAMES,
        "[0-9A-Za-z+/_=-]{24}",
    ])
    .ok()
});

fn candidates(text: &str) -> [bool; 6] {
    match CANDIDATES.as_ref() {
        Some(set) => {
            let matches = set.matches(text);
            std::array::from_fn(|n| matches.matched(n))
        }
        None => [true; 6],
    }
}

/// Finds secrets; knows the values of the secret environment variables.
pub struct Detector {
    values: Vec<String>,
}

impl Detector {
    /// `variables` are those of the process.
    pub fn new(variables: &BTreeMap<String, String>) -> Self {
        let secret = |(name, value): (&String, &String)| {
            let value = value.trim();
            let path = value.starts_with('/') && !random::is_random(value.as_bytes());
            (looks_secret(name) && value.len() >= SHORTEST_VALUE && !path).then(|| value.to_owned())
        };
        Self {
            values: variables.iter().filter_map(secret).collect(),
        }
    }

    /// The first kind of secret that `text` seems to contain.
    pub fn find(&self, text: &str) -> Option<Secret> {
        let [pem, key, address, name, cjk, long] = candidates(text);
        if pem {
            Some(Secret::Pem)
        } else if self.values.iter().any(|value| holds(text, value)) {
            Some(Secret::Variable)
        } else if key && shapes::has_key(text) {
            Some(Secret::Key)
        } else if address && assigned::has_address(text) {
            Some(Secret::Address)
        } else if name && assigned::is_assigned(text) || cjk && assigned::is_stated_in_cjk(text) {
            Some(Secret::Assigned)
        } else if long && random::has_random(text) {
            Some(Secret::Random)
        } else {
            None
        }
    }
}

/// The text with `mark` in place of keys, private keys and passwords in addresses.
pub fn without_keys<'a>(text: &'a str, mark: &str) -> Cow<'a, str> {
    let [pem, key, address, ..] = candidates(text);
    let mut clean = Cow::Borrowed(text);
    if pem {
        clean = shapes::without_pem(&clean, mark).into();
    }
    if key {
        clean = shapes::without_shapes(&clean, mark).into();
    }
    if address {
        clean = assigned::without_addresses(&clean, mark).into();
    }
    clean
}

/// `value` as a whole word of `text`.
fn holds(text: &str, value: &str) -> bool {
    let edge = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    text.match_indices(value).any(|(at, _)| {
        edge(text[..at].chars().next_back()) && edge(text[at + value.len()..].chars().next())
    })
}
