//! The tools that a model can call: one file a tool, the same name as `prompts/tools/<tool>.md`.
//! A tool first *prepares* (arguments checked, targets resolved, nothing done), so that policy
//! and the user decide on exactly what will then *run*.

pub mod ask_user;
mod change;
pub mod client;
pub mod current_time;
pub mod delegate;
pub mod edit;
pub mod exec;
pub mod glob;
pub mod grep;
pub mod knowledge_search;
pub mod list;
pub mod load_skill;
pub mod mcp_call;
pub mod memory_search;
mod near;
mod own;
pub mod project_create;
pub mod project_glob;
pub mod project_list;
pub mod project_read;
pub mod project_write;
mod projects;
pub mod read;
pub mod registry;
pub mod save_memory;
pub mod schema;
mod search;
pub mod self_delete_env;
pub mod self_install_skill;
pub mod self_list_skills;
pub mod self_rename;
pub mod self_set_env;
pub mod self_uninstall_skill;
pub mod self_update_soul;
pub mod send_file;
pub mod settings;
pub mod show_image;
mod snippet;
mod target;
pub mod web_fetch;
pub mod words;
pub mod write;
pub mod write_todos;

#[cfg(test)]
pub(crate) mod tests;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::conversation::{
    EventSink, FileChange, ItemId, Recorder, SessionId, Tier, TurnId, TurnStop,
};
use crate::edit::{Lanes, Seen};
use crate::env::Env;
use crate::host::{Host, Subject};
use crate::policy::{Fact, Policy};
use crate::process::Background;
use crate::prompt::Texts;
use crate::workspace::{Uri, Workspace};

pub use registry::Registry;

/// What a tool works with. Cheap to clone; `item` is the call's own.
#[derive(Clone)]
pub struct ToolContext {
    pub session: SessionId,
    pub turn: TurnId,
    pub item: ItemId,
    /// The session's directory.
    pub cwd: PathBuf,
    pub env: Env,
    pub config: Arc<Config>,
    /// What is in force now; also tells `list`, `glob` and `grep` what must not be seen.
    pub policy: Policy,
    pub workspace: Arc<Workspace>,
    pub lanes: Arc<Lanes>,
    pub host: Arc<dyn Host>,
    pub recorder: Arc<dyn Recorder>,
    pub sink: Arc<dyn EventSink>,
    pub seen: Arc<Mutex<Seen>>,
    /// The session's commands that run beside its turns.
    pub background: Arc<Background>,
    /// Runs sub-agents; `None` in one.
    pub delegate: Option<Arc<dyn Delegate>>,
    /// What is chosen for the session.
    pub chosen: Arc<dyn settings::Chosen>,
    pub texts: Arc<Texts>,
    pub cancel: CancellationToken,
}

/// Who runs a part of the work in a session of its own.
#[async_trait]
pub trait Delegate: Send + Sync {
    /// Whether a sub-agent can be that agent; else why not. Blocking reads, bounded.
    fn check(&self, agent: &str) -> Result<(), String>;

    /// Runs one to its end; it ends with the turn that asks. An error: it never began.
    async fn run(&self, errand: Errand) -> Result<Report, String>;
}

/// What a sub-agent is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// The sub-agent's own.
    pub session: SessionId,
    /// The call that it is shown under.
    pub item: ItemId,
    pub task: String,
    pub agent: Option<String>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Its last words: untrusted.
    pub text: String,
    pub stop: TurnStop,
    /// Why it failed.
    pub problem: Option<String>,
    pub files: Vec<FileChange>,
}

impl Report {
    /// The turn was cancelled before it began.
    pub fn cancelled() -> Self {
        Self {
            text: String::new(),
            stop: TurnStop::Cancelled,
            problem: None,
            files: Vec::new(),
        }
    }
}

/// What a call touches, by document key: calls on different targets may run side by side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    pub reads: Vec<String>,
    pub writes: Vec<String>,
    /// Touches what cannot be named (a command): runs beside its like at most, never beside a
    /// call that names what it touches.
    pub unnamed: bool,
    /// Runs beside nothing.
    pub alone: bool,
}

#[async_trait]
pub trait Tool: Send + Sync {
    /// The wire name.
    fn name(&self) -> &str;

    /// What the model reads about it.
    fn description(&self, texts: &Texts) -> String {
        let text = texts.get(&format!("tools/{}.md", self.name()));
        text.unwrap_or_default().to_owned()
    }

    /// JSON Schema of the arguments.
    fn schema(&self) -> Value;

    /// The group under which prompts that describe tools in words list it.
    fn tier(&self) -> Tier;

    /// Can change something. What it then does is decided by policy on facts; this only tells
    /// the prompt which tools the modes ask and plan refuse.
    fn changes(&self) -> bool {
        false
    }

    /// Offered only where the layout asks for it or the agent's `tools` name it.
    fn opt_in(&self) -> bool {
        false
    }

    /// The settings have what it works on; otherwise it is not there.
    fn there(&self, _config: &Config) -> bool {
        true
    }

    /// What the client must have declared, or the tool is not there.
    fn needs(&self) -> Option<&'static str> {
        None
    }

    /// What the client or a server is connected for, if the tool is a part of that (`browser`).
    fn serves(&self) -> Option<&str> {
        None
    }

    /// The client offers it, and can withdraw it.
    fn of_client(&self) -> bool {
        false
    }

    /// Arguments that nobody is shown: clients, approvals and the log's items go without them.
    fn private(&self) -> &'static [&'static str] {
        &[]
    }

    /// Does what no folder holds in: not there for an agent that is confined to one.
    fn escapes(&self) -> bool {
        false
    }

    /// What the call would touch. Cheap; wrong arguments give the default.
    fn targets(&self, cx: &ToolContext, arguments: &Value) -> Targets;

    /// Checks the arguments and resolves what they name. Changes nothing.
    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError>;
}

/// A call that is ready to run, exactly as policy judged it and the user approved it.
#[async_trait]
pub trait Prepared: Send + Sync {
    /// One line for a person: `Edit src/main.rs`, `Run cargo check`.
    fn title(&self) -> String;

    fn facts(&self) -> Vec<Fact>;

    /// What an approval would be about; `None` when nothing but reading inside the roots can
    /// happen.
    fn subject(&self) -> Option<Subject>;

    /// Unified diff of the planned change, for the client.
    fn diff(&self) -> Option<String> {
        None
    }

    /// The session of the sub-agent that will do it.
    fn child(&self) -> Option<SessionId> {
        None
    }

    /// Documents whose unsaved text the call would miss (a command reads the disk).
    fn unsaved(&self) -> Vec<Uri> {
        Vec::new()
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError>;
}

/// What the model gets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    pub text: String,
    /// The call failed in a way that the model must know (`is_error` on the wire).
    pub is_error: bool,
    pub truncated: bool,
    pub files: Vec<FileChange>,
    pub diff: Option<String>,
    /// The turn ends after this call, with these words for the user.
    pub closing: Option<String>,
    /// Images that go with the text: base64, of a kind that every model with eyes takes.
    pub images: Vec<Image>,
}

/// An image that a tool gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub media_type: String,
    /// Base64.
    pub data: String,
}

impl ToolOutput {
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

/// Typed by who must hear it.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// Words for the model, from `prompts/results/`; the turn goes on.
    #[error("{0}")]
    ForModel(String),
    /// Words for the model too, but not the call is at fault: the tool cannot work now (no
    /// shell, no network). When it repeats, the model is told to leave the tool alone.
    #[error("{words}")]
    Broken { words: String, reason: String },
    #[error("cancelled")]
    Cancelled,
    /// The turn cannot go on.
    #[error("{0:#}")]
    Fatal(anyhow::Error),
}
