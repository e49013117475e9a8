//! Interline's own methods: the types of their params and results, and the one table of methods
//! that registration, `interline schema` and protocol.md are checked against. Shapes that the
//! core shares live in `session::api`, `conversation` and `host`. Data only.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conversation::event::Origin;
use crate::conversation::{
    EditorContext, Event, Failure, FileChange, Input, ItemId, SessionId, Spent, TurnId, TurnStop,
    WirePosition, WireRange,
};
use crate::host::{
    ApprovalRequest, QuestionAnswer, QuestionRequest, SessionChange, TextEdit, ToolAnswer,
    ToolCall, ToolOffer,
};
use crate::session::{
    ConfigureSession, ListSessions, NewSession, OpenSession, OpenedSession, PreviewPrompt,
    PromptPreview, RevertTurn, RevertedTurn, SessionInfo, SessionList, SetTrust, StartTurn,
    StartedTurn, Status,
};

/// `initialize.capabilities.experimental.interline`: what the client can do for us.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientOffer {
    pub version: u32,
    pub events: bool,
    pub approvals: bool,
    pub questions: bool,
    pub save: bool,
    pub edit: bool,
    pub context: bool,
    pub query: bool,
    pub review: bool,
    /// The client registers our commands itself; the server does not advertise them.
    pub commands: bool,
    /// `initializationOptions.user` comes from the user's own scope, never from a repository.
    pub user_settings: bool,
    /// Client facts for segments: `tts`, `reactions`, `replyTags`, `heartbeat`.
    pub segments: Value,
    /// Tools of its own, which the model can call.
    pub tools: Vec<ToolOffer>,
}

/// `interline/client/didChange`: what the client can do changed (a browser was connected, a chat
/// was left). What is not named stays as it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientChange {
    /// All of them, as in `initialize`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolOffer>>,
}

/// `capabilities.experimental.interline` of the answer to `initialize`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerOffer {
    pub version: u32,
    pub tier: Tier,
    pub models: Vec<String>,
    pub modes: Vec<String>,
    pub layouts: Vec<String>,
    pub off: Vec<Off>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// No method of ours is sent.
    #[default]
    Bare,
    /// The client announced `experimental.interline`.
    Interline,
}

/// Something that will not work with this client, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Off {
    pub feature: String,
    pub reason: String,
}

/// No content; unknown fields are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Nothing {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkSession {
    pub session_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRef {
    pub session_id: SessionId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenameSession {
    pub session_id: SessionId,
    pub title: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactSession {
    pub session_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportSession {
    pub session_id: SessionId,
    pub format: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportedSession {
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SteerTurn {
    pub session_id: SessionId,
    pub turn_id: TurnId,
    pub input: Vec<Input>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnRef {
    pub turn_id: TurnId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelTurn {
    pub session_id: SessionId,
    /// Unset: the running turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancelledTurns {
    pub cancelled: Vec<TurnId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DequeueTurn {
    pub session_id: SessionId,
    pub turn_id: TurnId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DequeuedTurn {
    pub input: Vec<Input>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HunkList {
    pub hunks: Vec<Hunk>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hunk {
    pub hunk_id: String,
    pub uri: String,
    pub version: i32,
    pub item_id: ItemId,
    pub turn_id: TurnId,
    pub range: WireRange,
    pub before: String,
    pub after: String,
    /// `user`, `session`, `formatter` or `disk`.
    pub author: String,
    pub state: HunkState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HunkState {
    Proposed,
    Applied,
    Kept,
    Rejected,
    Superseded,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecideHunks {
    pub session_id: SessionId,
    pub decisions: Vec<HunkDecision>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HunkDecision {
    pub hunk_id: String,
    /// `keep`, `reject` or `amend` (with `after`).
    pub decision: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecidedHunks {
    pub results: Vec<DecidedHunk>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecidedHunk {
    pub hunk_id: String,
    /// `done`, `conflict` or `stale`.
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompleteInput {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    pub text: String,
    /// In the negotiated encoding, over the whole text.
    pub offset: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Completions {
    pub items: Vec<Completion>,
}

/// One thing that the user may mean.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Completion {
    /// What takes the place of the text from `start` to the offset.
    pub label: String,
    /// `file`, `folder`, `skill`, `mcpPrompt`, `argument` or `value`.
    pub kind: String,
    pub start: u32,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Of a prompt: its server, its name there, and the names of its arguments; those that may be
    /// left out end in `?`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<String>>,
}

/// A key from the editor's secret store; kept in memory only.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetAuth {
    pub provider: String,
    pub secret: String,
}

/// An MCP server of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpServerRef {
    pub server: String,
    /// Path or `file:` URI; default: the first root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// What other servers reported for a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiagnosticsChange {
    pub uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i32>,
    pub diagnostics: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStarted<'a> {
    pub session_id: Cow<'a, SessionId>,
    pub turn_id: Cow<'a, TurnId>,
    pub seq: u64,
    pub origin: Origin,
    pub input: Cow<'a, [Input]>,
    /// The turn that delegated this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TurnId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnEvent<'a> {
    pub session_id: Cow<'a, SessionId>,
    pub turn_id: Cow<'a, TurnId>,
    pub seq: u64,
    pub event: Cow<'a, Event>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnEnded<'a> {
    pub session_id: Cow<'a, SessionId>,
    pub turn_id: Cow<'a, TurnId>,
    pub seq: u64,
    pub stop_reason: TurnStop,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Cow<'a, Failure>>,
    pub usage: Spent,
    pub files: Cow<'a, [FileChange]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewChange {
    pub uris: Vec<String>,
}

/// `interline/edit/apply`: the client maps the edits from `version` to its present text and
/// applies them in one tick, as one undo step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplyEdit {
    pub session_id: SessionId,
    pub turn_id: TurnId,
    pub item_id: ItemId,
    pub label: String,
    pub uri: String,
    /// `null` for a file that is not open.
    pub version: Option<i32>,
    /// Hash of the text that the edits were computed on.
    pub hash: String,
    /// Ascending, not overlapping.
    pub edits: Vec<TextEdit>,
    pub undo_break: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub save: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AppliedEdit {
    pub status: ApplyStatus,
    /// The version after the edit (or now, if nothing changed).
    #[serde(default)]
    pub version: i32,
    /// Hash of the text at that version.
    #[serde(default)]
    pub hash: String,
    /// The edits as they were applied, when rebased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edits: Option<Vec<TextEdit>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApplyStatus {
    Applied,
    Rebased,
    Conflict,
    Refused,
}

/// `interline/approval/request`: the request, and what a person reads of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskApproval {
    #[serde(flatten)]
    pub request: ApprovalRequest,
    /// Why it asks, where it would happen, what could be remembered: lines.
    pub about: String,
    /// The whole of what would happen: the diff, the command, the address.
    pub content: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalResult {
    /// The id of one of the request's choices.
    pub choice: String,
    /// The request's hash; another one counts as rejected.
    #[serde(default)]
    pub hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunks: Option<Vec<String>>,
    /// Words of the user for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SaveDocuments {
    pub uris: Vec<String>,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SavedDocuments {
    pub results: Vec<SavedDocument>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SavedDocument {
    pub uri: String,
    /// `saved`, `failed` or `declined`.
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EditorQuery {
    /// `diagnostics`, `definition`, `references`, `hover`, `documentSymbols`,
    /// `workspaceSymbols` or `rename`.
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_version: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<WirePosition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EditorAnswer {
    /// `ok`, `starting`, `unsupported` or `error`.
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i32>,
    pub items: Vec<Value>,
}

/// Who sends a method, and whether it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    ClientRequest,
    ClientNotification,
    ServerRequest,
    ServerNotification,
}

/// A type as the wire has it.
#[derive(Clone, Copy)]
pub struct Shape {
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// Reads a value and writes it again: what this version understands of it.
    pub understand: fn(&Value) -> Result<Value, String>,
}

/// One of our methods.
#[derive(Clone, Copy)]
pub struct Method {
    pub name: &'static str,
    pub direction: Direction,
    /// False: answered with kind `unsupported`, or never sent.
    pub built: bool,
    pub params: Shape,
    /// Requests only.
    pub result: Option<Shape>,
}

const fn shape<T: JsonSchema + Serialize + DeserializeOwned>() -> Shape {
    Shape {
        schema: |generator| generator.subschema_for::<T>(),
        understand: |value| {
            let read: T = serde_json::from_value(value.clone()).map_err(|e| e.to_string())?;
            serde_json::to_value(read).map_err(|e| e.to_string())
        },
    }
}

const fn asks<P, R>(name: &'static str, built: bool) -> Method
where
    P: JsonSchema + Serialize + DeserializeOwned,
    R: JsonSchema + Serialize + DeserializeOwned,
{
    Method {
        name,
        direction: Direction::ClientRequest,
        built,
        params: shape::<P>(),
        result: Some(shape::<R>()),
    }
}

const fn asked<P, R>(name: &'static str, built: bool) -> Method
where
    P: JsonSchema + Serialize + DeserializeOwned,
    R: JsonSchema + Serialize + DeserializeOwned,
{
    Method {
        direction: Direction::ServerRequest,
        ..asks::<P, R>(name, built)
    }
}

const fn tells<P>(name: &'static str, direction: Direction, built: bool) -> Method
where
    P: JsonSchema + Serialize + DeserializeOwned,
{
    Method {
        name,
        direction,
        built,
        params: shape::<P>(),
        result: None,
    }
}

use Direction::{ClientNotification, ServerNotification};

/// Every method of ours, in the order of protocol.md.
pub const METHODS: [Method; 40] = [
    asks::<NewSession, SessionInfo>("interline/session/new", true),
    asks::<ConfigureSession, SessionInfo>("interline/session/configure", true),
    asks::<ListSessions, SessionList>("interline/session/list", true),
    asks::<OpenSession, OpenedSession>("interline/session/open", true),
    asks::<ForkSession, SessionRef>("interline/session/fork", true),
    asks::<RenameSession, Nothing>("interline/session/rename", true),
    asks::<SessionRef, Nothing>("interline/session/delete", true),
    asks::<SessionRef, Nothing>("interline/session/close", true),
    asks::<CompactSession, Nothing>("interline/session/compact", true),
    asks::<ExportSession, ExportedSession>("interline/session/export", true),
    asks::<StartTurn, StartedTurn>("interline/turn/start", true),
    asks::<SteerTurn, TurnRef>("interline/turn/steer", true),
    asks::<CancelTurn, CancelledTurns>("interline/turn/cancel", true),
    asks::<DequeueTurn, DequeuedTurn>("interline/turn/dequeue", true),
    asks::<RevertTurn, RevertedTurn>("interline/turn/revert", true),
    asks::<ListHunks, HunkList>("interline/review/list", false),
    asks::<DecideHunks, DecidedHunks>("interline/review/decide", false),
    asks::<PreviewPrompt, PromptPreview>("interline/prompt/preview", true),
    asks::<CompleteInput, Completions>("interline/input/complete", true),
    asks::<SetTrust, Nothing>("interline/trust/set", true),
    asks::<SetAuth, Nothing>("interline/auth/set", true),
    asks::<McpServerRef, Nothing>("interline/mcp/login", true),
    asks::<McpServerRef, Nothing>("interline/mcp/logout", true),
    asks::<Nothing, Status>("interline/status", true),
    asks::<Nothing, Value>("interline/debug", false),
    tells::<EditorContext>("interline/context/didChange", ClientNotification, true),
    tells::<DiagnosticsChange>("interline/diagnostics/didChange", ClientNotification, true),
    tells::<ClientChange>("interline/client/didChange", ClientNotification, true),
    tells::<TurnStarted<'static>>("interline/turn/started", ServerNotification, true),
    tells::<TurnEvent<'static>>("interline/turn/event", ServerNotification, true),
    tells::<TurnEnded<'static>>("interline/turn/ended", ServerNotification, true),
    tells::<SessionChange>("interline/session/didChange", ServerNotification, true),
    tells::<ReviewChange>("interline/review/didChange", ServerNotification, false),
    tells::<Nothing>("interline/status/didChange", ServerNotification, true),
    asked::<ApplyEdit, AppliedEdit>("interline/edit/apply", true),
    asked::<AskApproval, ApprovalResult>("interline/approval/request", true),
    asked::<QuestionRequest, QuestionAnswer>("interline/question/request", true),
    asked::<ToolCall, ToolAnswer>("interline/tool/call", true),
    asked::<SaveDocuments, SavedDocuments>("interline/workspace/save", true),
    asked::<EditorQuery, EditorAnswer>("interline/editor/query", false),
];
