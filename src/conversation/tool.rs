//! Tools as the model sees them, and the modes that limit them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One entry of a request's `tools` array, in the order it is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments, keys in their final order.
    pub input_schema: Arc<Value>,
}

/// The category of a tool; prompts that describe tools in text group them in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// The conversation itself: plan, questions, storing memories, time.
    Middleware,
    /// Files and folders, through the editor.
    Filesystem,
    /// Servers of the Model Context Protocol.
    Mcp,
    /// Everything outside the editor: commands, fetches.
    Sandbox,
    /// Lookups: memories, skills.
    Knowledge,
}

impl Tier {
    pub const ALL: [Tier; 5] = [
        Tier::Middleware,
        Tier::Filesystem,
        Tier::Mcp,
        Tier::Sandbox,
        Tier::Knowledge,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Tier::Middleware => "middleware",
            Tier::Filesystem => "filesystem",
            Tier::Mcp => "mcp",
            Tier::Sandbox => "sandbox",
            Tier::Knowledge => "knowledge",
        }
    }
}

/// A tool as the prompt knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolFacts {
    /// Under its wire name.
    pub spec: ToolSpec,
    pub tier: Tier,
    /// It can change something, so mode ask and plan refuse it.
    pub changes: bool,
    /// What the client or a server is connected for, if the tool is part of that.
    pub serves: Option<String>,
    /// The client offers it, and can withdraw it.
    pub of_client: bool,
}

/// What the user allows the agent to do; policy enforces it (INV-8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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

    /// The mode of the two that allows less.
    pub fn narrower(self, other: Mode) -> Mode {
        let width = |mode: Mode| match mode {
            Mode::Ask => 0,
            Mode::Plan => 1,
            Mode::Agent => 2,
        };
        if width(other) < width(self) {
            other
        } else {
            self
        }
    }

    pub fn parse(text: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.as_str() == text)
    }
}
