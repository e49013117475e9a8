//! What a prompt demanded of the form of an answer, and so what is taken out of it again before
//! anybody sees it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Marks that a segment of the prompt asks the model to write; as data in layouts and in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Demand {
    /// What stands between these two is a thought.
    Thoughts([String; 2]),
    /// What stands between these two is the answer.
    Answer([String; 2]),
    /// A tag in front of the answer that names the message it replies to, between these two.
    Reply([String; 2]),
    /// The whole answer when there is nothing to say.
    Silent(String),
    /// The whole answer to a heartbeat when nothing is due.
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

/// An answer that is no text for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Signal {
    /// There is nothing to say.
    Silent,
    /// A heartbeat came and nothing is due.
    Heartbeat,
}
