//! Identifiers: opaque strings, unique per process run and across runs (UUID v7 behind a prefix).

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }
    };
}

id!(
    /// One conversation; also the name of its log file.
    SessionId
);
id!(
    /// One user prompt until its end.
    TurnId
);
id!(
    /// One item that a client can show: a text, a thought, a tool call.
    ItemId
);
id!(
    /// The span during which the baseline's bytes are valid.
    EpochId
);

impl SessionId {
    /// The id as the name of a file or folder; `None` if it is not a plain name and so cannot be
    /// one of ours.
    pub fn file_name(&self) -> Option<&str> {
        let text = self.as_str();
        let plain = !text.is_empty()
            && text.len() <= 80
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        plain.then_some(text)
    }
}
