//! One model request before a provider adapter serialises it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Block, History, Message, Price, ToolSpec};

/// One block of the system slot; the last of them ends in a cache boundary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemBlock {
    pub text: String,
    /// A cache breakpoint after this block.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub boundary: bool,
}

/// Everything that decides a request's bytes. `system` and `tools` come from the epoch's
/// baseline and are shared, not rebuilt, between steps.
#[derive(Clone, Debug)]
pub struct Request {
    /// The model's id at its provider, without the provider's name.
    pub model: String,
    pub facts: Arc<ModelFacts>,
    pub system: Arc<Vec<SystemBlock>>,
    pub tools: Arc<Vec<ToolSpec>>,
    /// Shared with the conversation.
    pub messages: History,
    /// The model cannot read the reasoning of this many leading messages: it is left out.
    pub unreadable: usize,
}

impl Request {
    /// A request beside a conversation: one instruction and one text.
    pub fn aside(model: &str, facts: &Arc<ModelFacts>, instruction: String, text: String) -> Self {
        let system = SystemBlock {
            text: instruction,
            boundary: false,
        };
        Self {
            model: model.to_owned(),
            facts: Arc::clone(facts),
            system: Arc::new(vec![system]),
            tools: Arc::default(),
            messages: vec![Message::user(vec![Block::text(text)])].into(),
            unreadable: 0,
        }
    }
}

/// Facts about a model (`provider/models.toml`, user overrides): data, never code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelFacts {
    /// Context window in tokens.
    pub context: u64,
    /// Most output tokens of one request.
    pub max_output: u64,
    /// How thinking is requested.
    pub thinking: Thinking,
    /// How much of it; `None`: the provider's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Thinking is signed over everything before it, so sent bytes must never change.
    pub prefix_bound: bool,
    /// The model reads images.
    pub images: bool,
    /// The price of its tokens; `None`: unknown.
    pub price: Option<Price>,
    /// Chat Completions: an answer's reasoning is sent back with its calls, as `reasoning_content`.
    pub replays_reasoning: bool,
    /// Chat Completions: the limit is called `max_completion_tokens`.
    pub max_completion_tokens: bool,
    /// Chat Completions: ids of calls have exactly nine letters and digits.
    pub short_call_ids: bool,
    /// The model is trained on `apply_patch`.
    pub apply_patch: bool,
    /// False if the id is not in the data and these are safe defaults.
    pub known: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    /// No thinking parameter is sent.
    #[default]
    None,
    /// The model decides; a summary of its thinking is requested.
    Adaptive,
    /// `{"type":"enabled","budget_tokens":…}`.
    Budget,
}

/// The user's setting for how much a model thinks before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Not at all, or as little as the model supports.
    Off,
    Low,
    Medium,
    High,
}

impl Effort {
    pub fn as_str(self) -> &'static str {
        match self {
            Effort::Off => "off",
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
        }
    }

    pub fn parse(text: &str) -> Option<Effort> {
        [Effort::Off, Effort::Low, Effort::Medium, Effort::High]
            .into_iter()
            .find(|effort| effort.as_str() == text)
    }

    /// How many of `most` output tokens the model may use for thinking; `most` leaves room for an
    /// answer.
    pub fn budget(self, most: u64) -> u64 {
        match self {
            Effort::Off => 0,
            Effort::Low => (most / 8).min(4_096),
            Effort::Medium => (most / 4).min(12_288),
            Effort::High => (most / 2).min(32_768),
        }
    }
}

impl Default for ModelFacts {
    fn default() -> Self {
        Self {
            context: 128_000,
            max_output: 8_192,
            thinking: Thinking::None,
            effort: None,
            prefix_bound: false,
            images: false,
            price: None,
            replays_reasoning: false,
            max_completion_tokens: false,
            short_call_ids: false,
            apply_patch: false,
            known: false,
        }
    }
}
