//! Messages as a conversation stores them, close to the Anthropic Messages shape; each provider
//! adapter converts them to its own wire format. A message that was sent never changes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::usage::estimated_tokens;
use crate::env::Secrets;

/// Approximate tokens of an image.
const IMAGE: u64 = 1_600;
/// Approximate base64 bytes of a document that weigh as much as one byte of text.
const DOCUMENT: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
}

/// One message. `model` names the model that wrote an assistant message (`<provider>/<id>`): blocks
/// that only it can read (thinking) are replayed to no other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub content: Vec<Block>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
    },
    /// Signed reasoning; only replayed with its signature and unchanged.
    Thinking {
        thinking: String,
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: String,
        name: String,
        /// The parsed arguments, or the raw text in a JSON string when they did not parse
        /// (such a call is never run).
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
        content: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    Image {
        media_type: String,
        /// Base64.
        data: String,
    },
    /// A document that the model reads directly (PDF).
    Document {
        media_type: String,
        /// As the user sees it.
        name: String,
        /// Base64.
        data: String,
    },
    /// A block that this version does not understand, stored verbatim for replay to the provider
    /// that sent it.
    Opaque {
        value: Value,
    },
}

impl Message {
    pub fn user(content: Vec<Block>) -> Self {
        Self {
            role: Role::User,
            content,
            model: None,
        }
    }

    pub fn assistant(content: Vec<Block>, model: &str) -> Self {
        Self {
            role: Role::Assistant,
            content,
            model: Some(model.to_owned()),
        }
    }

    /// The tool calls in this message, in order: `(id, name, input)`.
    pub fn tool_uses(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolUse { id, name, input } => Some((id.as_str(), name.as_str(), input)),
            _ => None,
        })
    }

    /// Its texts, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(Block::as_text)
    }

    /// The ids of the calls that it has results for.
    pub fn answered_calls(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolResult { tool_use_id, .. } => Some(tool_use_id.as_str()),
            _ => None,
        })
    }

    /// Estimated tokens.
    pub fn tokens(&self) -> u64 {
        self.content.iter().map(Block::tokens).sum::<u64>() + 4
    }

    /// Frees what its texts do not use: a message stays for as long as its conversation.
    pub fn shrink_to_fit(&mut self) {
        self.content.shrink_to_fit();
        for block in &mut self.content {
            match block {
                Block::Text { text: kept }
                | Block::Thinking { thinking: kept, .. }
                | Block::ToolResult { content: kept, .. }
                | Block::Image { data: kept, .. }
                | Block::Document { data: kept, .. }
                | Block::RedactedThinking { data: kept } => kept.shrink_to_fit(),
                Block::ToolUse { .. } | Block::Opaque { .. } => {}
            }
        }
    }

    /// Whether this is the user's own message, not the results of calls.
    pub fn is_prompt(&self) -> bool {
        self.role == Role::User && self.answered_calls().next().is_none()
    }
}

impl Block {
    pub fn text(text: impl Into<String>) -> Self {
        Block::Text { text: text.into() }
    }

    /// The result of a call that did not run, or failed.
    pub fn failed_call(id: impl Into<String>, why: &str) -> Self {
        Block::ToolResult {
            tool_use_id: id.into(),
            content: why.to_owned(),
            is_error: true,
        }
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Block::Text { text } => Some(text),
            _ => None,
        }
    }

    /// Estimated tokens.
    fn tokens(&self) -> u64 {
        match self {
            Block::Text { text } => estimated_tokens(text.len()),
            Block::Thinking {
                thinking,
                signature,
            } => estimated_tokens(thinking.len() + signature.len()),
            Block::RedactedThinking { data } => estimated_tokens(data.len()),
            Block::ToolUse { name, input, .. } => {
                estimated_tokens(name.len() + input.to_string().len() + 40)
            }
            Block::ToolResult { content, .. } => estimated_tokens(content.len() + 40),
            Block::Image { .. } => IMAGE,
            Block::Document { data, .. } => estimated_tokens(data.len() / DOCUMENT),
            Block::Opaque { value } => estimated_tokens(value.to_string().len()),
        }
    }

    /// Size of its content in bytes.
    pub fn bytes(&self) -> usize {
        let of_value = |value: &Value| match value {
            Value::String(text) => text.len(),
            value => value.to_string().len(),
        };
        match self {
            Block::Text { text } => text.len(),
            Block::Thinking {
                thinking,
                signature,
            } => thinking.len() + signature.len(),
            Block::RedactedThinking { data }
            | Block::Image { data, .. }
            | Block::Document { data, .. } => data.len(),
            Block::ToolUse { id, name, input } => id.len() + name.len() + of_value(input),
            Block::ToolResult {
                tool_use_id,
                content,
                ..
            } => tool_use_id.len() + content.len(),
            Block::Opaque { value } => of_value(value),
        }
    }

    /// Removes keys that are in use. That invalidates the signature of a signed thought; a provider
    /// that rejects it is asked again without thoughts.
    pub fn clean(&mut self, secrets: &Secrets) {
        match self {
            Block::Text { text } => secrets.clean_in(text),
            Block::Thinking { thinking, .. } => secrets.clean_in(thinking),
            Block::ToolUse { input, .. } => secrets.clean_value(input),
            Block::ToolResult { content, .. } => secrets.clean_in(content),
            Block::Opaque { value } => secrets.clean_value(value),
            Block::RedactedThinking { .. } | Block::Image { .. } | Block::Document { .. } => {}
        }
    }
}
