//! Requests to sessions and their answers, in the wire's shapes and names.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conversation::event::{Envelope, Origin};
use crate::conversation::request::Effort;
use crate::conversation::{
    ContextUse, EditorContext, Failure, Input, ItemId, Mode, Segment, SessionId, ToolSpec, TurnId,
};
pub use crate::mcp::{McpPrompt, McpResource, McpServer};
use crate::prompt::SegmentRow;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct NewSession {
    /// Path or `file:` URI; default: the first root.
    pub cwd: Option<String>,
    pub folders: Option<Vec<String>>,
    pub title: Option<String>,
    pub model: Option<String>,
    pub mode: Option<Mode>,
    pub layout: Option<String>,
    pub agent: Option<String>,
    /// `full`, `minimal` or `none`.
    pub detail: Option<String>,
    /// How much the model thinks; unset: the agent's, else the setting's.
    pub thinking: Option<Effort>,
    pub segments: Option<Vec<Segment>>,
    pub mcp_servers: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    pub session_id: SessionId,
    pub model: String,
    pub mode: Mode,
    pub layout: String,
    pub agent: Option<String>,
    pub folders: Vec<String>,
    /// How much the model thinks; absent: as the provider decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Effort>,
    /// Absent while no model can be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextUse>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigureSession {
    pub session_id: SessionId,
    pub model: Option<String>,
    pub mode: Option<Mode>,
    pub layout: Option<String>,
    pub agent: Option<String>,
    pub thinking: Option<Effort>,
    pub segments: Option<Vec<Segment>>,
}

impl ConfigureSession {
    /// Changes nothing yet.
    pub fn new(session_id: SessionId) -> Self {
        Self {
            session_id,
            model: None,
            mode: None,
            layout: None,
            agent: None,
            thinking: None,
            segments: None,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ListSessions {
    pub cwd: Option<String>,
    pub query: Option<String>,
    pub cursor: Option<String>,
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionList {
    pub sessions: Vec<SessionRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionRow {
    pub session_id: SessionId,
    pub title: String,
    /// RFC 3339.
    pub updated_at: String,
    pub turns: u32,
    pub tokens: u64,
    /// US dollars; absent unless the price of every request is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// `idle`, `running`, `interrupted` or `closed`.
    pub state: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OpenSession {
    pub session_id: SessionId,
    pub before: Option<String>,
    pub limit: Option<u32>,
    /// Where the client works: a session whose log names no folder continues there.
    #[serde(skip)]
    #[cfg_attr(test, schemars(skip))]
    pub cwd: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OpenedSession {
    pub session: SessionInfo,
    /// The shown items, in order: envelopes of started, completed items and ended.
    pub items: Vec<Envelope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prev_cursor: Option<String>,
    pub seq: u64,
    pub access: SessionAccess,
    /// A notice about the log; also among the items, if the log can be written.
    #[serde(skip)]
    #[cfg_attr(test, schemars(skip))]
    pub notice: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum SessionAccess {
    Write,
    ReadOnly,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum WhenBusy {
    #[default]
    Reject,
    Queue,
    Steer,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StartTurn {
    pub session_id: SessionId,
    pub client_turn_id: Option<String>,
    pub input: Vec<Input>,
    pub context: Option<EditorContext>,
    pub segments: Option<Vec<Segment>>,
    #[serde(default)]
    pub when_busy: WhenBusy,
    #[serde(skip)]
    #[cfg_attr(test, schemars(skip))]
    pub origin: Option<Origin>,
}

impl StartTurn {
    pub fn new(session_id: SessionId, input: Vec<Input>) -> Self {
        Self {
            session_id,
            client_turn_id: None,
            input,
            context: None,
            segments: None,
            when_busy: WhenBusy::default(),
            origin: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StartedTurn {
    pub turn_id: TurnId,
    pub state: TurnState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TurnState {
    Running,
    Queued,
    Steered,
    // It is over: the session's items contain it.
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RevertTurn {
    pub session_id: SessionId,
    /// Neither turn nor item: the last turn whose changes were not reverted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// A revert, which is reverted itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<ItemId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uris: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunk_ids: Option<Vec<String>>,
    /// Reports what would happen and changes nothing.
    #[serde(default)]
    pub preview: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RevertedTurn {
    /// Reverting this item undoes the revert.
    pub item_id: ItemId,
    pub files: Vec<RevertedFile>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RevertedFile {
    pub uri: String,
    pub added: u32,
    pub removed: u32,
    pub diff: String,
    /// What was not reverted, and why.
    pub conflicts: Vec<String>,
    /// The turn had created the file, and it is deleted again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ListHunks {
    pub session_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Also hunks that are decided or gone.
    #[serde(default)]
    pub all: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum HunkState {
    /// Not applied yet: its call waits for the decision.
    Proposed,
    /// In the text as the agent wrote it.
    Applied,
    /// In the text, changed by others.
    Amended,
    Kept,
    Rejected,
    /// No longer in the text.
    Superseded,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DecideHunks {
    pub session_id: SessionId,
    pub decisions: Vec<HunkDecision>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HunkDecision {
    pub hunk_id: String,
    pub decision: Decision,
    /// The text to put there, for `amend`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// For `amend`: the text that the list had there (`after`). Another text is a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Keep,
    Reject,
    Amend,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DecidedHunks {
    pub results: Vec<DecidedHunk>,
    /// Reverting this item with `interline/turn/revert` restores what was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<ItemId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DecisionStatus {
    Done,
    /// Nothing was changed.
    Conflict,
    /// There is no such hunk, or it was rejected before.
    Stale,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DecidedHunk {
    pub hunk_id: String,
    pub status: DecisionStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct PreviewPrompt {
    pub session_id: Option<SessionId>,
    pub uri: Option<String>,
    pub input: Option<Vec<Input>>,
    pub context: Option<EditorContext>,
    pub segments: Option<Vec<Segment>>,
    pub layout: Option<String>,
    pub mode: Option<Mode>,
    pub model: Option<String>,
    pub agent: Option<String>,
    pub detail: Option<String>,
    pub fetch: bool,
    /// `last`: compare with the last request.
    pub since: Option<String>,
    /// `"all"` or a list of segment ids whose text is requested.
    pub text: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PromptPreview {
    pub segments: Vec<SegmentRow>,
    pub system: String,
    pub tail: String,
    pub tools: Vec<ToolSpec>,
    pub request: PreviewRequest,
    /// Journal entries that the next turn would carry.
    pub pending: Vec<PendingEntry>,
    pub epoch: PreviewEpoch,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<Changed>,
    pub tokens: TokenCount,
    pub context: PreviewContext,
    /// The conversation is compacted before such a turn begins, so that its request differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<PreviewCompaction>,
    /// Every source that was not used, and why; the rows report the first ones too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<PreviewProblem>,
}

/// Why the conversation is due for compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PreviewCompaction {
    /// With the prompt; estimated.
    pub tokens: u64,
    /// Tokens at which a conversation is compacted.
    pub threshold: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PreviewProblem {
    /// Path, URI, setting or name, on one line.
    pub source: String,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PreviewRequest {
    pub provider: String,
    /// The exact text of the request's body.
    pub body: String,
    /// Byte offsets of cache breakpoints in `body`.
    pub breakpoints: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PendingEntry {
    pub about: String,
    pub source: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PreviewEpoch {
    pub id: String,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Changed {
    pub segment_id: String,
    /// First byte of the body that differs.
    pub byte: usize,
}

/// What fills the context window; all but the window is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PreviewContext {
    /// The most that the model can read.
    pub window: u64,
    pub system: u64,
    pub tools: u64,
    /// The messages so far.
    pub conversation: u64,
    /// The next message: the prompt, its attachments and the tail.
    pub prompt: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TokenCount {
    pub count: u64,
    /// False: estimated.
    pub exact: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SetTrust {
    pub folder: Option<String>,
    pub file: Option<String>,
    pub hash: Option<String>,
    pub decision: TrustDecision,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TrustDecision {
    Trust,
    #[default]
    Untrust,
}

/// A rule that lasts: commands that run unasked in trusted folders where the sandbox is complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LastingRuleRow {
    pub id: u64,
    /// The words that allowed commands begin with, each followed by `…`.
    pub rule: String,
    /// The folder that it applies in; absent: all trusted folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// RFC 3339.
    pub since: String,
}

/// The answer of `interline/rules/list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RuleList {
    /// Oldest first.
    pub rules: Vec<LastingRuleRow>,
}

/// A rule of `interline/rules/list`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RuleRef {
    pub id: u64,
}

/// Whether a provider accepts a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TestedAuth {
    pub outcome: KeyOutcome,
    /// The model that was asked.
    pub model: String,
    /// Why it is not `accepted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum KeyOutcome {
    /// The provider began to answer.
    Accepted,
    /// The key is missing, wrong or may not be used for this.
    Refused,
    /// Something else failed, so that nothing is known about the key.
    Unknown,
}

/// A model of `Status::models`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModelRow {
    pub name: String,
    /// Empty if there is no such provider.
    pub provider: String,
    /// There is a key, or none is needed.
    pub ready: bool,
    /// The size of its context window in tokens, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

/// The answer of `interline/status`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    pub version: String,
    pub models: Vec<String>,
    /// The same models, with what a picker shows.
    pub model_details: Vec<ModelRow>,
    pub modes: Vec<String>,
    pub layouts: Vec<String>,
    pub sessions: Vec<SessionRow>,
    pub documents: Vec<DocumentStatus>,
    pub mcp_servers: Vec<McpServer>,
    /// How far commands are confined: `full`, `partial` or `none`.
    pub sandbox: String,
    /// Setting → value and its source.
    pub policy: BTreeMap<String, Value>,
    /// Ignored settings, with the reason.
    pub ignored_settings: Vec<IgnoredSetting>,
    /// Folder → trusted.
    pub trust: BTreeMap<String, bool>,
}

/// The answer of `interline/debug`: without keys, texts of documents, prompts and titles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct DebugReport {
    pub version: String,
    /// Operating system and processor.
    pub platform: String,
    /// The client's name, tier, position encoding and capabilities; null without one.
    pub client: Value,
    pub folders: BTreeMap<String, String>,
    /// The effective settings.
    pub settings: Value,
    pub status: Status,
    /// The last lines of the log.
    pub log: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DocumentStatus {
    pub uri: String,
    pub version: i32,
    /// It has text that is not on disk.
    pub dirty: bool,
    /// `clean`, `unsaved`, `outdated`, `conflicting`, `different`, `new` or `deleted`.
    pub file: String,
    pub agent_touched: bool,
    pub synced: bool,
    /// `open`, `held`, `unconfirmed`, `diverged` or `outOfSync: …`.
    pub state: String,
    /// Hash of the mirror's text.
    pub hash: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IgnoredSetting {
    pub key: String,
    pub source: String,
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Offers {
    pub models: Vec<String>,
    pub modes: Vec<String>,
    pub layouts: Vec<String>,
}
