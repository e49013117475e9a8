//! A turn's events, in the form used on the wire and in the log.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::Todo;
use super::reply_marks::Signal;
use super::{ContextUse, Failure, Input, ItemId, SessionId, Spent, TurnId};

/// One event of a running turn (`interline/turn/event`). Completed items (`text`, `thought`,
/// `toolCall`) are authoritative: a client may ignore every delta.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
        /// The message that it replies to, if the prompt demanded a tag for it: an id, or
        /// `current`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply_to: Option<String>,
        /// The answer was this signal instead of text; `text` is empty then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<Signal>,
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
    /// The session's entire plan: it replaces the previous one.
    Plan {
        item_id: ItemId,
        todos: Vec<Todo>,
    },
    Usage {
        /// Of the turn so far.
        usage: Spent,
        /// Of the step that just ended, including its failed attempts.
        #[serde(default)]
        step: Spent,
        /// After this step; absent for a sub-agent's request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<ContextUse>,
    },
    Step {
        n: u32,
        model: String,
    },
    Retry(RetryItem),
    Notice {
        text: String,
    },
    /// A picture to show, for clients that declared `images`.
    Image {
        item_id: ItemId,
        uri: String,
        media_type: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        caption: Option<String>,
        /// Base64; empty in the log, which stores no pictures.
        data: String,
    },
    /// A file for the user, for clients that declared `fileSend`.
    File {
        item_id: ItemId,
        uri: String,
        name: String,
        bytes: u64,
        /// It is too large to load: show its address.
        link: bool,
    },
    /// A compaction of the conversation began or ended.
    Compaction(CompactionItem),
    ApprovalResolved {
        item_id: ItemId,
        by: String,
        choice: String,
    },
}

impl Event {
    /// A text without marks.
    pub fn text(item_id: ItemId, text: impl Into<String>) -> Self {
        Event::Text {
            item_id,
            text: text.into(),
            reply_to: None,
            signal: None,
        }
    }
}

/// A compaction as a client shows it: once when it begins, once when it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CompactionItem {
    pub item_id: ItemId,
    pub status: CompactionStatus,
    /// `threshold`: it was due; `overflow`: the model rejected the request; `request`: the user.
    pub reason: String,
    pub tokens_before: u64,
    /// Estimated; only if it completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_after: Option<u64>,
    /// The summary, or why it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A request that failed and is sent again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RetryItem {
    /// Why it failed, as a sentence.
    pub reason: String,
    /// How long the wait is.
    pub in_ms: u64,
    /// The number of the attempt that follows the wait; the first retry is attempt 2.
    pub attempt: u32,
    /// How many attempts there are at most.
    pub attempts: u32,
}

impl RetryItem {
    /// One line for a person.
    pub fn notice(&self) -> String {
        format!(
            "{} Retrying in {} s ({}).",
            self.reason,
            self.in_ms.div_ceil(1000),
            self.progress()
        )
    }

    /// `attempt 2 of 8`.
    pub fn progress(&self) -> String {
        format!("attempt {} of {}", self.attempt, self.attempts)
    }
}

impl CompactionItem {
    /// One line for a person.
    pub fn notice(&self) -> String {
        let before = self.tokens_before;
        match (self.status, &self.text) {
            (CompactionStatus::Running, _) => {
                format!("Compacting the conversation (about {before} tokens).")
            }
            (CompactionStatus::Completed, _) => format!(
                "Compacted the conversation from about {before} to {} tokens.",
                self.tokens_after.unwrap_or_default()
            ),
            (CompactionStatus::Cancelled, _) => {
                "The compaction was cancelled; the conversation is \
                                                 unchanged."
                    .to_owned()
            }
            (CompactionStatus::Failed, why) => format!(
                "The conversation was not compacted. {}",
                why.as_deref().unwrap_or_default()
            ),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum CompactionStatus {
    Running,
    Completed,
    /// The conversation is unchanged.
    Failed,
    Cancelled,
}

/// A tool call as a client shows it: complete at every change of status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolItem {
    pub item_id: ItemId,
    pub tool: String,
    pub title: String,
    pub status: ToolStatus,
    /// The arguments, capped at 16 KB of JSON (then a string).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The model's result, capped at 16 KB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
    /// Unified diff of what changed or would change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The session of the sub-agent that runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<SessionId>,
}

impl ToolItem {
    /// A call of which nothing but its tool is known.
    pub fn new(item_id: ItemId, tool: String, status: ToolStatus) -> Self {
        Self {
            item_id,
            title: tool.clone(),
            tool,
            status,
            input: None,
            output: None,
            truncated: false,
            files: Vec::new(),
            diff: None,
            child: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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

impl ToolStatus {
    /// Whether the call is over.
    pub fn is_final(self) -> bool {
        use ToolStatus::{Cancelled, Completed, Failed, Rejected};
        matches!(self, Completed | Failed | Rejected | Cancelled)
    }
}

/// A changed file and its lines added and removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    pub uri: String,
    pub added: u32,
    pub removed: u32,
    /// The file did not exist before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub created: bool,
    /// The file no longer exists.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

impl FileChange {
    /// Adds a change to those of the same file.
    pub fn add_to(self, files: &mut Vec<FileChange>) {
        match files.iter_mut().find(|known| known.uri == self.uri) {
            Some(known) => {
                known.added = known.added.saturating_add(self.added);
                known.removed = known.removed.saturating_add(self.removed);
                known.created |= self.created;
                known.deleted = self.deleted;
            }
            None => files.push(self),
        }
    }
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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

impl TurnStop {
    /// Why, and what to do, for people; `None` for an ordinary end.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Self::EndTurn => None,
            Self::Cancelled => Some("cancelled."),
            Self::MaxSteps => {
                Some("the step limit is reached. Ask it to continue, or raise limits.steps.")
            }
            Self::MaxTokens => {
                Some("the answer reached the model's output limit. Ask it to continue.")
            }
            Self::Budget => Some("the turn's budget is spent. Raise `limits` to continue."),
            Self::Refusal => Some("the model refused."),
            Self::Error => Some("something failed; see the log for details."),
        }
    }
}

/// Who started a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    Client,
    Command,
    Comment,
    Transcript,
    Acp,
    Delegate,
}

/// Sent to every attached host, numbered per session over all three kinds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    pub session_id: SessionId,
    pub turn_id: TurnId,
    pub seq: u64,
    pub body: EnvelopeBody,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum EnvelopeBody {
    Started {
        origin: Origin,
        input: Vec<Input>,
        /// The turn that delegated this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<TurnId>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compaction_is_described_in_one_line() {
        let item = |status, tokens_after, text: Option<&str>| CompactionItem {
            item_id: ItemId::from("i"),
            status,
            reason: "threshold".to_owned(),
            tokens_before: 900,
            tokens_after,
            text: text.map(str::to_owned),
        };
        for (status, after, text, notice) in [
            (
                CompactionStatus::Running,
                None,
                None,
                "Compacting the conversation (about 900 tokens).",
            ),
            (
                CompactionStatus::Completed,
                Some(90),
                Some("## Task"),
                "Compacted the conversation from about 900 to 90 tokens.",
            ),
            (
                CompactionStatus::Cancelled,
                None,
                None,
                "The compaction was cancelled; the conversation is unchanged.",
            ),
            (
                CompactionStatus::Failed,
                None,
                Some("The summary was empty."),
                "The conversation was not compacted. The summary was empty.",
            ),
        ] {
            assert_eq!(item(status, after, text).notice(), notice);
        }
    }
}
