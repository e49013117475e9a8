//! Failures as clients see them: a kind to branch on, and a message that says what to do next.

use serde::{Deserialize, Serialize, Serializer};

/// `data.kind` of an error answer; the wire code is `4001 + position`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum FailureKind {
    NotTrusted,
    NoModel,
    UnknownSession,
    UnknownTurn,
    TurnEnded,
    Busy,
    Auth,
    RateLimited,
    Overloaded,
    ContextWindow,
    Network,
    Stale,
    OutOfSync,
    ReadOnly,
    Invalid,
    Unsupported,
    // The state folder or its disk cannot store what must be stored.
    Storage,
}

impl FailureKind {
    /// The JSON-RPC error code of this kind.
    pub fn code(self) -> i64 {
        4001 + self as i64
    }
}

/// A typed failure. `message` says what happened, `hint` what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[error("{message}")]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    pub kind: FailureKind,
    #[serde(serialize_with = "as_sentence")]
    pub message: String,
    #[serde(serialize_with = "as_sentence")]
    pub hint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl Failure {
    pub fn new(kind: FailureKind, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: hint.into(),
            retry_after_ms: None,
        }
    }

    pub fn invalid(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(FailureKind::Invalid, message, hint)
    }

    /// The message as a sentence.
    pub fn what(&self) -> String {
        sentence(&self.message)
    }

    /// Message and hint as sentences for a person.
    pub fn sentences(&self) -> String {
        format!("{} {}", self.what(), sentence(&self.hint))
            .trim()
            .to_owned()
    }
}

/// Code that shows the two separately shows sentences too.
fn as_sentence<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&sentence(text))
}

/// Adds a capital letter and a full stop where they are missing.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut chars = text.chars();
    let Some(first) = chars.next() else {
        return String::new();
    };
    let end = if text.ends_with(['.', '!', '?', '…', ':']) {
        ""
    } else {
        "."
    };
    let word = text.split_whitespace().next().unwrap_or_default();
    // Addresses, methods and file names keep their first letter.
    if word.contains(['/', ':', '.', '_']) {
        return format!("{text}{end}");
    }
    format!("{}{}{end}", first.to_uppercase(), chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sentences() {
        let failure = Failure::new(FailureKind::NoModel, "there is no model", "set a key");
        assert_eq!(failure.sentences(), "There is no model. Set a key.");
        let sent = serde_json::to_value(&failure).unwrap();
        assert_eq!(sent["message"], "There is no model.");
        assert_eq!(sent["hint"], "Set a key.");
        let failure = Failure::new(FailureKind::NoModel, "Ärger!", "");
        assert_eq!(failure.sentences(), "Ärger!");
        let failure = Failure::new(
            FailureKind::Auth,
            "http://[::1] answered 401",
            "a/b is wrong",
        );
        assert_eq!(
            failure.sentences(),
            "http://[::1] answered 401. a/b is wrong."
        );
    }
}
