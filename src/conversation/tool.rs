//! What the model is told of a tool, and the modes that limit tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One entry of a request's `tools` array, in the order it is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments, keys in their final order.
    pub input_schema: Value,
}

/// What the user lets the agent do at all; policy enforces it (INV-8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Reads, edits, runs commands.
    #[default]
    Agent,
    /// Answers questions: reads only.
    Ask,
    /// Reads and plans; edits and commands are refused.
    Plan,
}

impl Mode {
    pub const ALL: [Mode; 3] = [Mode::Agent, Mode::Ask, Mode::Plan];

    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Agent => "agent",
            Mode::Ask => "ask",
            Mode::Plan => "plan",
        }
    }

    pub fn parse(text: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.as_str() == text)
    }
}
