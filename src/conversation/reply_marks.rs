//! The marks that a prompt demands of an answer, and that are therefore removed before it is shown.

use serde::{Deserialize, Serialize};

/// Marks that a segment of the prompt asks the model to write; data in layouts and in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Demand {
    /// A thought is between these two.
    Thoughts([String; 2]),
    /// The answer is between these two.
    Answer([String; 2]),
    /// A leading tag, between these two, that names the message the answer replies to.
    Reply([String; 2]),
    /// The entire answer if there is nothing to say.
    Silent(String),
    /// The entire answer to a heartbeat if nothing is due.
    Heartbeat(String),
}

impl Demand {
    pub fn marks(&self) -> Vec<&str> {
        match self {
            Demand::Thoughts(both) | Demand::Answer(both) | Demand::Reply(both) => {
                both.iter().map(String::as_str).collect()
            }
            Demand::Silent(mark) | Demand::Heartbeat(mark) => vec![mark],
        }
    }
}

/// An answer that is not text for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Signal {
    /// There is nothing to say.
    Silent,
    /// A heartbeat came and nothing is due.
    Heartbeat,
}
