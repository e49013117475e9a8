//! The settings of named agents, as plain data. Agent files, and what a name means, belong to
//! `knowledge`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::conversation::Mode;
use crate::conversation::request::Effort;

/// One entry of `agents`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct AgentConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Replaces the provider's template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// A file with the prompt; relative to the config folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The only tools it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Effort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<AgentDetail>,
}

/// How much of the prompt an agent gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum AgentDetail {
    Full,
    Minimal,
    None,
}

impl AgentDetail {
    pub fn as_str(self) -> &'static str {
        match self {
            AgentDetail::Full => "full",
            AgentDetail::Minimal => "minimal",
            AgentDetail::None => "none",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Full, Self::Minimal, Self::None]
            .into_iter()
            .find(|detail| detail.as_str() == text)
    }
}
