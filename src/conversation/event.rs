//! What a turn tells its clients, in the form it has on the wire and in the log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::Todo;
use super::{Failure, Input, ItemId, SessionId, Spent, TurnId};

/// One event of a running turn (`interline/turn/event`). Completed items (`text`, `thought`,
/// `toolCall`) are authoritative: a client may ignore every delta.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Event {
    TextDelta {
        item_id: ItemId,
        text: String,
    },
    Text {
        item_id: ItemId,
        text: String,
    },
    ThoughtDelta {
        item_id: ItemId,
        text: String,
    },
    Thought {
        item_id: ItemId,
        text: String,
    },
    UserMessage {
        item_id: ItemId,
        input: Vec<Input>,
    },
    ToolCall(ToolItem),
    ToolInputDelta {
        item_id: ItemId,
        text: String,
    },
    ToolOutputDelta {
        item_id: ItemId,
        text: String,
    },
    /// The session's plan, whole: it replaces the one before.
    Plan {
        item_id: ItemId,
        todos: Vec<Todo>,
    },
    Usage {
        /// Of the turn so far.
        usage: Spent,
        /// Of the step that just ended, its failed attempts included.
        #[serde(default)]
        step: Spent,
    },
    Step {
        n: u32,
        model: String,
    },
    Retry {
        reason: String,
        in_ms: u64,
    },
    Notice {
        text: String,
    },
    ApprovalResolved {
        item_id: ItemId,
        by: String,
        choice: String,
    },
}

/// A tool call as a client shows it: whole at every change of status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolItem {
    pub item_id: ItemId,
    pub tool: String,
    pub title: String,
    pub status: ToolStatus,
    /// The arguments, capped at 16 KB of JSON (then a string).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// What the model gets, capped at 16 KB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
    /// Unified diff of what changed or would change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ToolStatus {
    Pending,
    AwaitingApproval,
    AwaitingSave,
    Running,
    Completed,
    Failed,
    Rejected,
    Cancelled,
}

/// A changed file and its lines added and removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    pub uri: String,
    pub added: u32,
    pub removed: u32,
    /// The file did not exist before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub created: bool,
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TurnStop {
    EndTurn,
    Cancelled,
    MaxSteps,
    MaxTokens,
    Budget,
    Refusal,
    Error,
}

/// Who started a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    Client,
    Command,
    Comment,
    Transcript,
    Acp,
    Delegate,
}

/// What is fanned out to every attached host, numbered per session over all three kinds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    pub session_id: SessionId,
    pub turn_id: TurnId,
    pub seq: u64,
    pub body: EnvelopeBody,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum EnvelopeBody {
    Started {
        origin: Origin,
        input: Vec<Input>,
    },
    Event {
        event: Event,
    },
    Ended {
        stop_reason: TurnStop,
        error: Option<Failure>,
        usage: Spent,
        files: Vec<FileChange>,
    },
}
