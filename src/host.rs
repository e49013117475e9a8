//! The editor as the core sees it: everything that a session may send to or ask of a client. Every
//! client protocol implements [`Host`]; the core does not know which one is in use.

pub mod bridge;
mod client_tools;
mod query;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::conversation::event::Envelope;
use crate::conversation::request::Effort;
use crate::conversation::{ItemId, SessionId, TurnId};
pub use crate::policy::{Access, Escalation};
use crate::workspace::{Encoding, Located, Range, Uri};
pub use client_tools::{ToolAnswer, ToolCall, ToolImage, ToolOffer};
pub use query::{EditorAnswer, EditorQuery, QueryKind, QueryStatus};

/// How precisely the client applies an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fidelity {
    /// `workspace/applyEdit` with a version; stale edits are refused or dropped.
    Versioned,
    /// `interline/edit/apply`: the client rebases onto its current text itself.
    Anchored,
    /// Whole files through the client (ACP).
    WholeFile,
    /// No buffers: files are written.
    Disk,
}

/// One replacement in the text at the request's version; positions in the host's encoding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TextEdit {
    pub range: Range,
    pub new_text: String,
}

/// One document's edit on its way to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditRequest {
    pub session: SessionId,
    pub turn: TurnId,
    pub item: ItemId,
    pub label: String,
    pub uri: Uri,
    /// `None` for a file that is not open.
    pub version: Option<i32>,
    /// Hash of the text that the edits were computed on.
    pub hash: String,
    /// Ascending, not overlapping.
    pub edits: Vec<TextEdit>,
    /// The file does not exist yet and is created with this edit.
    pub create: bool,
    /// If the text has changed, the client refuses the edit, and this program places it again.
    pub exact: bool,
}

/// The client's answer; never proof of anything by itself (INV-3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditAnswer {
    /// `applied: true`.
    Claimed,
    /// `interline/edit/apply` answered with what it did.
    Mapped {
        rebased: bool,
        version: i32,
        hash: String,
    },
    /// The user's typing overlaps: the client changed nothing.
    Conflict { reason: String },
    /// `applied: false` or an error answer.
    Refused { reason: String },
    /// The client went away or cannot do this.
    Gone { reason: String },
}

impl EditAnswer {
    /// The answer of a host that cannot edit.
    pub fn gone(reason: &str) -> BoxFuture<'static, Self> {
        let reason = reason.to_owned();
        Box::pin(std::future::ready(Self::Gone { reason }))
    }
}

/// What an approval is about, with the exact action. The approval's hash covers its canonical JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Subject {
    Edit {
        uri: String,
        /// Unified diff of the change.
        diff: String,
        /// Hash of the new text; of several files, of their texts' hashes, each with a line feed.
        after: String,
        /// All files of a change of several, in the order of the diff. `uri` is the first one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
    },
    Command {
        command: String,
        /// The model's description of the command: one line, escaped, at most 300 characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        cwd: String,
        /// 0: no limit, in the background only.
        timeout_ms: u64,
        /// It continues after the turn, until it is stopped or the session ends.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        background: bool,
        /// What it asks for beyond its sandbox.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sandbox: Option<Escalation>,
        /// Unsaved documents that the command would not see.
        unsaved: Vec<String>,
        /// URIs of files that the command sees with the editor's unsaved text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sees: Vec<String>,
    },
    Path {
        path: String,
        access: Access,
    },
    Fetch {
        url: String,
    },
    Mcp {
        server: String,
        tool: String,
        arguments: serde_json::Value,
    },
    Trust {
        folder: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        hash: String,
    },
    /// How the agent works for the user: a skill, a variable, a name, a project, a setting.
    Setting {
        /// A settings key, or `skills.NAME`, `variables.NAME`, `agent.name`, `projects.NAME`.
        key: String,
        /// The change in words; with a variable's value unless it looks like a secret.
        change: String,
        /// Hash of the exact content.
        hash: String,
    },
}

impl Subject {
    /// Lowercase hex SHA-256 of the canonical JSON: keys sorted, no spaces. A client that parsed
    /// the subject can compute it again.
    pub fn hash(&self) -> String {
        let mut json = serde_json::to_value(self).unwrap_or_default();
        json.sort_all_objects();
        crate::conversation::sha256(json.to_string().as_bytes())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ChoiceKind {
    AllowOnce,
    AllowSession,
    /// In this folder, until the user removes the rule.
    AllowFolder,
    /// In all folders, until the user removes the rule.
    AllowAlways,
    RejectOnce,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Choice {
    pub id: String,
    pub label: String,
    pub kind: ChoiceKind,
    /// Exactly what the choice stores: the words that allowed commands begin with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    pub session_id: SessionId,
    pub turn_id: TurnId,
    pub item_id: ItemId,
    pub hash: String,
    /// RFC 3339.
    #[cfg_attr(test, schemars(with = "String"))]
    pub expires_at: Timestamp,
    pub subject: Subject,
    pub title: String,
    pub reason: String,
    /// The rule that *allow for this session* would store, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<String>,
    pub choices: Vec<Choice>,
}

/// The user's answer; `hash` must be the request's, else it is treated as a rejection (INV-8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalAnswer {
    pub choice: ChoiceKind,
    pub hash: String,
    /// Who or what answered, for the transcript: `user`, `deadline`, `client closed`, …
    pub by: String,
    pub feedback: Option<String>,
}

impl ApprovalAnswer {
    pub fn rejected(by: &str) -> Self {
        Self {
            choice: ChoiceKind::RejectOnce,
            hash: String::new(),
            by: by.to_owned(),
            feedback: None,
        }
    }
}

/// A question of the model, or of the session about its plan (`interline/question/request`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct QuestionRequest {
    pub session_id: SessionId,
    pub turn_id: TurnId,
    pub item_id: ItemId,
    pub question: String,
    /// Answers to choose from; empty: free text only.
    pub options: Vec<String>,
    /// The user may also answer in free text.
    pub free_text: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum QuestionOutcome {
    Answered,
    /// The user does not want to answer.
    Declined,
    /// Closed without an answer.
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QuestionAnswer {
    pub outcome: QuestionOutcome,
    /// An option, or free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

impl QuestionAnswer {
    pub fn answered(answer: &str) -> Self {
        Self {
            outcome: QuestionOutcome::Answered,
            answer: Some(answer.to_owned()),
        }
    }

    pub fn declined() -> Self {
        Self {
            outcome: QuestionOutcome::Declined,
            answer: None,
        }
    }

    pub fn cancelled() -> Self {
        Self {
            outcome: QuestionOutcome::Cancelled,
            answer: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveResult {
    pub uri: Uri,
    pub saved: bool,
    pub reason: Option<String>,
}

/// A client, or a stand-in for one.
#[async_trait]
pub trait Host: Send + Sync {
    fn fidelity(&self) -> Fidelity;

    fn encoding(&self) -> Encoding;

    /// Longest time the client may delay a didChange; edits wait for a quiet gap longer than this
    /// (INV-4). Zero for clients that send every change at once.
    fn delay(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether the client opens (didOpen) a closed file with this suffix after editing it; `None`:
    /// unknown.
    fn attaches(&self, suffix: &str) -> Option<bool>;

    /// Whether the client answers `applied: true` to an edit for an older version than its own, and
    /// drops it.
    fn drops_stale(&self) -> bool {
        false
    }

    /// Whether the client applies a versioned edit only to that version of the document.
    fn fences(&self) -> bool {
        false
    }

    /// Whether the client creates files on request; else they are made on disk, after approval.
    fn creates(&self) -> bool {
        true
    }

    /// Loads the client's current text of a file into the mirror, for clients that do not send it
    /// by themselves. Called before the text is read or edits are planned.
    async fn refresh_file(&self, _session: &SessionId, _file: &Located) {}

    /// The same for all documents in the mirror, before the disk is searched or a command runs.
    async fn refresh_files(&self, _session: &SessionId) {}

    /// Whether the client accepts edits of this file while it is closed; else they are written to
    /// disk.
    fn takes(&self, _file: &Located) -> bool {
        true
    }

    /// Whether the client deletes files on request.
    fn deletes(&self) -> bool {
        false
    }

    /// Has the client delete a file; false: it still exists. Only for files without text, because
    /// an editor may not ask the user.
    async fn delete(&self, _file: &Uri, _label: &str) -> bool {
        false
    }

    /// Learned from a held file: the client does not open files with this suffix.
    fn learn_attach(&self, _suffix: &str, _attaches: bool) {}

    /// These open documents changed on disk, and the client still shows the older text.
    fn changed_on_disk(&self, _uris: &[Uri]) {}

    /// Changes of these files have to be reviewed, or were.
    fn review_changed(&self, _uris: Vec<String>) {}

    /// Changes of these files wait for the user's decisions, or no longer do.
    fn proposals_changed(&self, uris: Vec<String>) {
        self.review_changed(uris);
    }

    /// Sends the edit. The request is independent of the future: dropping it does not cancel the
    /// edit. It resolves only after the mirror has everything that arrived before the answer.
    fn apply(&self, edit: EditRequest) -> BoxFuture<'static, EditAnswer>;

    /// Asks the user. Errors, another hash and a closed client are rejections.
    async fn approve(&self, request: ApprovalRequest) -> ApprovalAnswer;

    /// Asks the user a question; dropping the future withdraws it. `None`: this client cannot ask,
    /// so the user answers with the next prompt.
    async fn ask(&self, _request: QuestionRequest) -> Option<QuestionAnswer> {
        None
    }

    /// Whether the client shows questions as such, even outside a turn.
    fn questions(&self) -> bool {
        false
    }

    /// Whether [`Host::save`] can save files.
    fn saves(&self) -> bool {
        true
    }

    /// Calls a tool that the client offered; dropping the future cancels the call. The error says
    /// why there is no answer.
    async fn call_tool(&self, _call: ToolCall) -> Result<ToolAnswer, String> {
        Err("this client does not answer calls".to_owned())
    }

    /// Whether the client answers [`Host::query`].
    fn queries(&self) -> bool {
        false
    }

    /// Asks the editor's language servers. Always answers within a limit.
    async fn query(&self, _query: EditorQuery) -> EditorAnswer {
        EditorAnswer::unsupported("this client does not answer queries")
    }

    /// Asks the client to save; `None` if it cannot be asked.
    async fn save(&self, _uris: Vec<Uri>, _reason: &str) -> Option<Vec<SaveResult>> {
        None
    }

    /// Turn events in order. Never blocks.
    fn notify(&self, envelope: Arc<Envelope>);

    /// Resolves when the client keeps up (back-pressure for streams).
    async fn ready(&self) {}

    /// Shows `text` outside the turn with a button for `yes`; resolves to whether the user picked
    /// it. `None`: the client cannot show it.
    fn offer(&self, _text: &str, _yes: &str) -> Option<BoxFuture<'static, bool>> {
        None
    }

    /// Reports that folder trust changed.
    fn trust_changed(&self) {}

    /// Shows the user a message outside any turn.
    fn message(&self, text: &str);

    /// Whether the client can show such a message at any time.
    fn shows_messages(&self) -> bool {
        true
    }

    /// Reports that a transcript changed, and its code lenses with it.
    fn lenses_moved(&self) {}

    /// Reports that the session's title, state or settings changed.
    fn session_changed(&self, _change: SessionChange) {}
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionChange {
    pub session_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub state: String,
    pub mode: crate::conversation::Mode,
    pub model: String,
    /// All tokens that the session used so far, added up.
    pub tokens: u64,
    /// US dollars; absent unless the price of every request is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Absent while no model can be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<crate::conversation::ContextUse>,
    pub layout: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Absent: as the provider decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Effort>,
}

/// The host before a client is attached: it shows nothing and answers no question.
pub struct NoClient;

#[async_trait]
impl Host for NoClient {
    fn fidelity(&self) -> Fidelity {
        Fidelity::Disk
    }

    fn encoding(&self) -> Encoding {
        Encoding::Utf16
    }

    fn shows_messages(&self) -> bool {
        false
    }

    fn attaches(&self, _suffix: &str) -> Option<bool> {
        Some(false)
    }

    fn apply(&self, _edit: EditRequest) -> BoxFuture<'static, EditAnswer> {
        EditAnswer::gone("no editor is attached")
    }

    async fn approve(&self, _request: ApprovalRequest) -> ApprovalAnswer {
        ApprovalAnswer::rejected("no client is attached to answer")
    }

    fn notify(&self, _envelope: Arc<Envelope>) {}

    fn message(&self, _text: &str) {}
}
