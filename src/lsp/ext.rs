//! Interline's own methods: the types of their params and results, and the table of methods against
//! which registration, `interline schema` and protocol.md are checked. Types shared with the core
//! are in `session::api`, `conversation` and `host`. Data only.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conversation::event::Origin;
use crate::conversation::{
    EditorContext, Event, Failure, FileChange, Input, ItemId, SessionId, Spent, TurnId, TurnStop,
    WireRange,
};
use crate::host::{
    ApprovalRequest, EditorAnswer, EditorQuery, QuestionAnswer, QuestionRequest, SessionChange,
    TextEdit, ToolAnswer, ToolCall, ToolOffer,
};
use crate::session::{
    ConfigureSession, DebugReport, DecideHunks, DecidedHunks, HunkState, ListHunks, ListSessions,
    NewSession, OpenSession, OpenedSession, PreviewPrompt, PromptPreview, RevertTurn, RevertedTurn,
    RuleList, RuleRef, SessionInfo, SessionList, SetTrust, StartTurn, StartedTurn, Status,
    TestedAuth,
};

/// `initialize.capabilities.experimental.interline`: what the client can do for us.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// Facts for prompt segments: `tts`, `reactions`, `replyTags`, `heartbeat`.
    pub segments: Value,
    /// The client's own tools, which the model can call.
    pub tools: Vec<ToolOffer>,
}

/// `interline/client/didChange`: the client's capabilities changed (a browser was connected, a chat
/// was left). Omitted fields stay as they were.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClientChange {
    /// All of them, as in `initialize`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolOffer>>,
}

/// `capabilities.experimental.interline` of the answer to `initialize`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ServerOffer {
    pub version: u32,
    pub tier: Tier,
    pub models: Vec<String>,
    pub modes: Vec<String>,
    pub layouts: Vec<String>,
    pub off: Vec<Off>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// No method of ours is sent.
    #[default]
    Bare,
    /// The client announced `experimental.interline`.
    Interline,
}

/// A feature that will not work with this client, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Off {
    pub feature: String,
    pub reason: String,
}

/// No content; unknown fields are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Nothing {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ForkSession {
    pub session_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionRef {
    pub session_id: SessionId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RenameSession {
    pub session_id: SessionId,
    pub title: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CompactSession {
    pub session_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExportSession {
    pub session_id: SessionId,
    pub format: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExportedSession {
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SteerTurn {
    pub session_id: SessionId,
    pub turn_id: TurnId,
    pub input: Vec<Input>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnRef {
    pub turn_id: TurnId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CancelTurn {
    pub session_id: SessionId,
    /// Unset: the running turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CancelledTurns {
    pub cancelled: Vec<TurnId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RetriedTurn {
    /// A request was waiting to be sent again, and is sent now.
    pub retried: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DequeueTurn {
    pub session_id: SessionId,
    pub turn_id: TurnId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DequeuedTurn {
    pub input: Vec<Input>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HunkList {
    pub hunks: Vec<Hunk>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Hunk {
    pub hunk_id: String,
    pub uri: String,
    /// Absent: the file is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i32>,
    pub item_id: ItemId,
    pub turn_id: TurnId,
    pub range: WireRange,
    pub before: String,
    pub after: String,
    /// `session`; if the text was changed since, `user` or `formatter`.
    pub author: String,
    pub state: HunkState,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CompleteInput {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    pub text: String,
    /// In the negotiated encoding, over the whole text.
    pub offset: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Completions {
    pub items: Vec<Completion>,
}

/// One completion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Completion {
    /// Replaces the text from `start` to the offset.
    pub label: String,
    /// `file`, `folder`, `skill`, `mcpPrompt`, `argument` or `value`.
    pub kind: String,
    pub start: u32,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The server of an MCP prompt. `name` is its name there; optional `arguments` end in `?`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<String>>,
}

/// A key from the editor's secret store; held in memory only.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SetAuth {
    pub provider: String,
    pub secret: String,
}

/// A provider whose key to test.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TestAuth {
    pub provider: String,
    /// The key to test, which is not kept; absent: the one that requests would use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// An MCP server of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct McpServerRef {
    pub server: String,
    /// Path or `file:` URI; default: the first root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// Diagnostics that other servers report for a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DiagnosticsChange {
    pub uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i32>,
    pub diagnostics: Vec<Value>,
}

/// The languages (LSP ids) for which a language server of the editor answers queries now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LanguagesChange {
    /// All of them.
    pub languages: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnEvent<'a> {
    pub session_id: Cow<'a, SessionId>,
    pub turn_id: Cow<'a, TurnId>,
    pub seq: u64,
    pub event: Cow<'a, Event>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReviewChange {
    pub uris: Vec<String>,
}

/// `interline/workspace/didChangeOnDisk`: open documents that the client should reload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DiskChange {
    pub uris: Vec<String>,
}

/// `interline/edit/apply`: the client maps the edits from `version` to its current text and applies
/// them at once, as one undo step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ApplyEdit {
    pub session_id: SessionId,
    pub turn_id: TurnId,
    pub item_id: ItemId,
    pub label: String,
    pub uri: String,
    /// `null` for a file that is not open.
    pub version: Option<i32>,
    /// Hash of the text that the edits were computed for.
    pub hash: String,
    /// Ascending, not overlapping.
    pub edits: Vec<TextEdit>,
    pub undo_break: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub save: Option<bool>,
    /// Do not map the edits to a newer text: answer `refused`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AppliedEdit {
    pub status: ApplyStatus,
    /// The version after the edit (or now, if nothing changed).
    #[serde(default)]
    pub version: i32,
    /// Hash of the text at that version.
    #[serde(default)]
    pub hash: String,
    /// The edits as applied, if they were rebased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edits: Option<Vec<TextEdit>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ApplyStatus {
    Applied,
    Rebased,
    Conflict,
    Refused,
}

/// `interline/approval/request`: the request, and its texts for the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AskApproval {
    #[serde(flatten)]
    pub request: ApprovalRequest,
    /// Lines: why it asks, where it would happen, what could be remembered.
    pub about: String,
    /// Exactly what would happen: the diff, the command, the URL.
    pub content: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ApprovalResult {
    /// The id of one of the request's choices.
    pub choice: String,
    /// The request's hash; any other counts as a rejection.
    #[serde(default)]
    pub hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunks: Option<Vec<String>>,
    /// The user's feedback for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SaveDocuments {
    pub uris: Vec<String>,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SavedDocuments {
    pub results: Vec<SavedDocument>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SavedDocument {
    pub uri: String,
    /// `saved`, `failed` or `declined`.
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Who sends a method, and whether it has an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    ClientRequest,
    ClientNotification,
    ServerRequest,
    ServerNotification,
}

/// A type on the wire.
#[cfg(test)]
#[derive(Clone, Copy)]
pub struct Shape {
    pub schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
    /// Decodes and re-encodes a value, which leaves what this version understands of it.
    pub understand: fn(&Value) -> Result<Value, String>,
}

/// One of our methods.
#[derive(Clone, Copy)]
pub struct Method {
    pub name: &'static str,
    pub direction: Direction,
    /// False: answered with kind `unsupported`, or never sent.
    pub built: bool,
    #[cfg(test)]
    pub params: Shape,
    /// Requests only.
    #[cfg(test)]
    pub result: Option<Shape>,
}

/// A type of ours on the wire. Only tests generate schemas: see `lsp/schema.rs`.
#[cfg(not(test))]
trait Wire: Serialize + DeserializeOwned {}
#[cfg(not(test))]
impl<T: Serialize + DeserializeOwned> Wire for T {}
#[cfg(test)]
trait Wire: Serialize + DeserializeOwned + schemars::JsonSchema {}
#[cfg(test)]
impl<T: Serialize + DeserializeOwned + schemars::JsonSchema> Wire for T {}

#[cfg(test)]
const fn shape<T: Wire>() -> Shape {
    Shape {
        schema: |generator| generator.subschema_for::<T>(),
        understand: |value| {
            let read: T = serde_json::from_value(value.clone()).map_err(|e| e.to_string())?;
            serde_json::to_value(read).map_err(|e| e.to_string())
        },
    }
}

const fn request<P: Wire, R: Wire>(
    name: &'static str,
    direction: Direction,
    built: bool,
) -> Method {
    Method {
        direction,
        #[cfg(test)]
        result: Some(shape::<R>()),
        ..notification::<P>(name, direction, built)
    }
}

const fn notification<P: Wire>(name: &'static str, direction: Direction, built: bool) -> Method {
    Method {
        name,
        direction,
        built,
        #[cfg(test)]
        params: shape::<P>(),
        #[cfg(test)]
        result: None,
    }
}

const fn client_request<P: Wire, R: Wire>(name: &'static str, built: bool) -> Method {
    request::<P, R>(name, Direction::ClientRequest, built)
}

const fn server_request<P: Wire, R: Wire>(name: &'static str, built: bool) -> Method {
    request::<P, R>(name, Direction::ServerRequest, built)
}

use Direction::{ClientNotification, ServerNotification};

/// Every method of ours, in the order of protocol.md.
pub const METHODS: [Method; 46] = [
    client_request::<NewSession, SessionInfo>("interline/session/new", true),
    client_request::<ConfigureSession, SessionInfo>("interline/session/configure", true),
    client_request::<ListSessions, SessionList>("interline/session/list", true),
    client_request::<OpenSession, OpenedSession>("interline/session/open", true),
    client_request::<ForkSession, SessionRef>("interline/session/fork", true),
    client_request::<RenameSession, Nothing>("interline/session/rename", true),
    client_request::<SessionRef, Nothing>("interline/session/delete", true),
    client_request::<SessionRef, Nothing>("interline/session/close", true),
    client_request::<CompactSession, Nothing>("interline/session/compact", true),
    client_request::<ExportSession, ExportedSession>("interline/session/export", true),
    client_request::<StartTurn, StartedTurn>("interline/turn/start", true),
    client_request::<SteerTurn, TurnRef>("interline/turn/steer", true),
    client_request::<CancelTurn, CancelledTurns>("interline/turn/cancel", true),
    client_request::<SessionRef, RetriedTurn>("interline/turn/retry", true),
    client_request::<DequeueTurn, DequeuedTurn>("interline/turn/dequeue", true),
    client_request::<RevertTurn, RevertedTurn>("interline/turn/revert", true),
    client_request::<ListHunks, HunkList>("interline/review/list", true),
    client_request::<DecideHunks, DecidedHunks>("interline/review/decide", true),
    client_request::<PreviewPrompt, PromptPreview>("interline/prompt/preview", true),
    client_request::<CompleteInput, Completions>("interline/input/complete", true),
    client_request::<SetTrust, Nothing>("interline/trust/set", true),
    client_request::<Nothing, RuleList>("interline/rules/list", true),
    client_request::<RuleRef, Nothing>("interline/rules/remove", true),
    client_request::<SetAuth, Nothing>("interline/auth/set", true),
    client_request::<TestAuth, TestedAuth>("interline/auth/test", true),
    client_request::<McpServerRef, Nothing>("interline/mcp/login", true),
    client_request::<McpServerRef, Nothing>("interline/mcp/logout", true),
    client_request::<Nothing, Status>("interline/status", true),
    client_request::<Nothing, DebugReport>("interline/debug", true),
    notification::<EditorContext>("interline/context/didChange", ClientNotification, true),
    notification::<DiagnosticsChange>("interline/diagnostics/didChange", ClientNotification, true),
    notification::<LanguagesChange>("interline/languages/didChange", ClientNotification, true),
    notification::<ClientChange>("interline/client/didChange", ClientNotification, true),
    notification::<TurnStarted<'static>>("interline/turn/started", ServerNotification, true),
    notification::<TurnEvent<'static>>("interline/turn/event", ServerNotification, true),
    notification::<TurnEnded<'static>>("interline/turn/ended", ServerNotification, true),
    notification::<SessionChange>("interline/session/didChange", ServerNotification, true),
    notification::<ReviewChange>("interline/review/didChange", ServerNotification, true),
    notification::<DiskChange>(
        "interline/workspace/didChangeOnDisk",
        ServerNotification,
        true,
    ),
    notification::<Nothing>("interline/status/didChange", ServerNotification, true),
    server_request::<ApplyEdit, AppliedEdit>("interline/edit/apply", true),
    server_request::<AskApproval, ApprovalResult>("interline/approval/request", true),
    server_request::<QuestionRequest, QuestionAnswer>("interline/question/request", true),
    server_request::<ToolCall, ToolAnswer>("interline/tool/call", true),
    server_request::<SaveDocuments, SavedDocuments>("interline/workspace/save", true),
    server_request::<EditorQuery, EditorAnswer>("interline/editor/query", true),
];
