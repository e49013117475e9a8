//! Tools that a client offers, in their wire form.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::conversation::{ItemId, SessionId, TurnId};

/// A client's tool, as it announces it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolOffer {
    /// A letter, then letters, digits and `_`; at most 64 characters; not a built-in tool's name.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// JSON Schema of the arguments, an object at the top.
    pub input_schema: Arc<Value>,
    /// What the client declares that this tool does: `browser`, `desktop`, `messaging`.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub serves: Option<String>,
    /// How long a call may take; default 120 s, at most 600 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// `interline/tool/call`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    pub session_id: SessionId,
    pub turn_id: TurnId,
    pub item_id: ItemId,
    pub tool: String,
    pub arguments: Map<String, Value>,
}

/// The client's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolAnswer {
    pub text: String,
    /// The call failed; `text` says how.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ToolImage>,
}

/// A picture in an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolImage {
    pub mime_type: String,
    /// Base64.
    pub data: String,
}
