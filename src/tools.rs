//! The tools that a model can call. A tool has its own file, or shares one with its family; its
//! description is `prompts/tools/<tool>.md`. A tool first *prepares* a call (checks arguments,
//! resolves targets, changes nothing), so that policy and the user decide on exactly what then
//! *runs*.

mod apply_patch;
mod ask_user;
mod change;
pub mod client;
mod code_action;
mod current_time;
mod delegate;
mod diagnostics;
mod edit;
pub mod exec;
mod glob;
mod grep;
mod knowledge_search;
mod language;
mod list;
pub mod load_skill;
mod lookup;
pub mod mcp_call;
mod memory_search;
pub mod messages;
mod plan_errors;
mod projects;
mod read;
pub mod registry;
mod reloaded;
mod rename_symbol;
mod save_memory;
mod schema;
mod search;
mod self_profile;
mod self_skills;
mod send_file;
pub mod settings;
mod show_image;
mod snippet;
mod suggestions;
mod target;
mod user_store;
mod web_fetch;
mod workspace_edit;
mod write;
mod write_todos;

#[cfg(test)]
pub(crate) mod tests;

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::{self, BoxFuture};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::conversation::{
    EventSink, FileChange, ItemId, Recorder, SessionId, Tier, TurnId, TurnStop,
};
use crate::edit::{Lanes, Plan, Seen};
use crate::env::Env;
use crate::env::tasks;
use crate::host::{Access, Host, Subject};
use crate::languages::Languages;
use crate::policy::{Fact, Policy};
use crate::process::Background;
use crate::prompt::Texts;
use crate::workspace::{Located, Revision, Uri, Workspace};

pub use registry::Registry;

/// The capability of answering questions about code ([`ToolSpec::needs`]).
pub const LANGUAGES: &str = "languageServers";
/// The capability of reporting diagnostics.
pub const DIAGNOSTICS: &str = "diagnosticReports";

/// What a tool works with. Cheap to clone. `item` is unique to the call.
#[derive(Clone)]
pub struct ToolContext {
    pub session: SessionId,
    pub turn: TurnId,
    pub item: ItemId,
    /// The session's directory.
    pub cwd: PathBuf,
    pub env: Env,
    pub config: Arc<Config>,
    /// The rules in force now. They also decide what `list`, `glob` and `grep` may show.
    pub policy: Policy,
    pub workspace: Arc<Workspace>,
    pub lanes: Arc<Lanes>,
    pub host: Arc<dyn Host>,
    pub languages: Arc<Languages>,
    pub recorder: Arc<dyn Recorder>,
    pub sink: Arc<dyn EventSink>,
    pub seen: Arc<parking_lot::Mutex<Seen>>,
    /// The session's background commands.
    pub background: Arc<Background>,
    /// Runs sub-agents. `None` inside one.
    pub delegate: Option<Arc<dyn Delegate>>,
    /// The settings chosen for the session.
    pub chosen: Arc<dyn settings::SessionChoices>,
    pub texts: Arc<Texts>,
    pub cancel: CancellationToken,
}

impl ToolContext {
    /// A text of `prompts/results/` for the model.
    pub fn text(&self, name: &str, values: &[(&str, &dyn Display)]) -> String {
        let texts: Vec<String> = values.iter().map(|(_, value)| value.to_string()).collect();
        let keys = values.iter().map(|(key, _)| *key);
        let values: Vec<(&str, &str)> = keys.zip(texts.iter().map(String::as_str)).collect();
        self.texts.render(name, &values)
    }

    /// The same as an error that the model can act on.
    pub fn error(&self, name: &str, values: &[(&str, &dyn Display)]) -> ToolError {
        ToolError::ForModel(self.text(name, values))
    }

    /// Runs blocking work off the async threads.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let done = tasks::blocking(work).await;
        done.map_err(|error| ToolError::Fatal(error.into()))
    }
}

/// Runs sub-agents.
#[async_trait]
pub trait Delegate: Send + Sync {
    /// Whether a sub-agent can be that agent, or why not. Blocking reads, bounded.
    fn check(&self, agent: &str) -> Result<(), String>;

    /// Runs a sub-agent to its end, at most as long as the calling turn. An error: it never began.
    async fn run(&self, errand: Errand) -> Result<Report, String>;
}

/// The task of a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// The sub-agent's session.
    pub session: SessionId,
    /// The call that it is shown under.
    pub item: ItemId,
    pub task: String,
    pub agent: Option<String>,
}

/// The outcome of a sub-agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Its final answer. Untrusted.
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

/// What a call touches, by document key. Calls on different targets may run in parallel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    pub reads: Vec<String>,
    pub writes: Vec<String>,
    /// Touches what cannot be named (a command): may run in parallel with its like, never with a
    /// call that names its targets.
    pub unnamed: bool,
    /// Never runs in parallel.
    pub alone: bool,
}

impl Targets {
    pub fn reads(keys: impl IntoIterator<Item = String>) -> Self {
        Self {
            reads: keys.into_iter().collect(),
            ..Self::default()
        }
    }

    pub fn writes(keys: impl IntoIterator<Item = String>) -> Self {
        Self {
            writes: keys.into_iter().collect(),
            ..Self::default()
        }
    }

    pub fn unnamed() -> Self {
        Self {
            unnamed: true,
            ..Self::default()
        }
    }

    pub fn alone() -> Self {
        Self {
            alone: true,
            ..Self::default()
        }
    }
}

/// The fixed properties of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    /// The group under which prompts that describe tools in words list it.
    pub tier: Tier,
    /// It can change something. Policy judges facts; this only tells the prompt which tools the
    /// modes ask and plan refuse.
    pub changes: bool,
    /// It can reach beyond any folder, so an agent that is confined to one does not get it.
    pub escapes: bool,
    /// It is offered only if the layout or the agent's `tools` name it.
    pub opt_in: bool,
    /// It is offered only to models that are trained on it, unless the layout or the agent's
    /// `tools` name it.
    pub patches: bool,
    /// The capability that the client must declare for the tool to be offered.
    pub needs: Option<&'static str>,
    /// Arguments that are never shown, neither to clients nor in approvals or the log's items.
    pub private: &'static [&'static str],
}

impl ToolSpec {
    pub const fn new(tier: Tier) -> Self {
        Self {
            tier,
            changes: false,
            escapes: false,
            opt_in: false,
            patches: false,
            needs: None,
            private: &[],
        }
    }

    pub const fn changes(mut self) -> Self {
        self.changes = true;
        self
    }

    pub const fn escapes(mut self) -> Self {
        self.escapes = true;
        self
    }

    pub const fn opt_in(mut self) -> Self {
        self.opt_in = true;
        self
    }

    pub const fn patches(mut self) -> Self {
        self.patches = true;
        self
    }

    pub const fn needs(mut self, capability: &'static str) -> Self {
        self.needs = Some(capability);
        self
    }

    pub const fn private(mut self, arguments: &'static [&'static str]) -> Self {
        self.private = arguments;
        self
    }
}

/// A call ready to run, or an error for the model.
pub type Preparation = Result<Prepared, ToolError>;

/// A tool as the registry holds it.
#[async_trait]
pub trait Tool: Send + Sync {
    /// The name on the wire.
    fn name(&self) -> &str;

    fn spec(&self) -> ToolSpec;

    /// The description for the model.
    fn description(&self, texts: &Texts) -> String;

    /// JSON Schema of the arguments.
    fn schema(&self, texts: &Texts) -> Arc<Value>;

    /// The schema as it is generated from the type of the arguments.
    #[cfg(test)]
    fn generated_schema(&self) -> Option<Value> {
        None
    }

    /// Whether the settings configure what it works on. Otherwise it is not offered.
    fn available(&self, _config: &Config) -> bool {
        true
    }

    /// The connector that it belongs to (`browser`), if any.
    fn serves(&self) -> Option<&str> {
        None
    }

    /// Whether the client offers it, and can withdraw it.
    fn of_client(&self) -> bool {
        false
    }

    /// What the call would touch. Cheap. For invalid arguments: nothing.
    fn targets(&self, cx: &ToolContext, arguments: &Value) -> Targets;

    /// Checks the arguments and resolves what they name. Changes nothing.
    async fn prepare(&self, cx: &ToolContext, arguments: Value) -> Preparation;
}

/// One of our own tools. Its description is `prompts/tools/<NAME>.md`, the schema of its arguments
/// `prompts/tools/<NAME>.json`, which a test generates.
#[async_trait]
trait BuiltIn: Send + Sync {
    const NAME: &'static str;
    const SPEC: ToolSpec;

    /// Denies unknown fields, whose docs are the descriptions in the schema.
    #[cfg(not(test))]
    type Arguments: DeserializeOwned + Send;
    #[cfg(test)]
    type Arguments: DeserializeOwned + Send + schemars::JsonSchema;

    /// See [`Tool::available`].
    fn available(_config: &Config) -> bool {
        true
    }

    /// See [`Tool::targets`]. By default the call may run in parallel with any other: it changes
    /// nothing, and may or may not see what the other one changes.
    fn targets(_cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::default()
    }

    /// See [`Tool::prepare`].
    async fn prepare(&self, cx: &ToolContext, arguments: Self::Arguments) -> Preparation;
}

#[async_trait]
impl<T: BuiltIn> Tool for T {
    fn name(&self) -> &str {
        T::NAME
    }

    fn spec(&self) -> ToolSpec {
        T::SPEC
    }

    fn description(&self, texts: &Texts) -> String {
        let text = texts.get(&format!("tools/{}.md", T::NAME));
        text.unwrap_or_default().to_owned()
    }

    fn schema(&self, texts: &Texts) -> Arc<Value> {
        schema::of_tool(texts, T::NAME)
    }

    #[cfg(test)]
    fn generated_schema(&self) -> Option<Value> {
        Some(tests::schemas::of::<T::Arguments>())
    }

    fn available(&self, config: &Config) -> bool {
        <T as BuiltIn>::available(config)
    }

    fn targets(&self, cx: &ToolContext, arguments: &Value) -> Targets {
        <T as BuiltIn>::targets(cx, arguments)
    }

    async fn prepare(&self, cx: &ToolContext, arguments: Value) -> Preparation {
        let arguments = schema::check(cx, T::NAME, arguments)?;
        BuiltIn::prepare(self, cx, arguments).await
    }
}

/// A call that is ready to run, exactly as policy judges it and the user approves it.
pub struct Prepared {
    /// One line for a person: `Edit src/main.rs`, `Run cargo check`.
    pub title: String,
    /// What policy judges. It allows a call without facts.
    pub facts: Vec<Fact>,
    /// The subject of an approval. `None` if policy never asks about the call.
    pub subject: Option<Subject>,
    /// Unified diff of the planned change, for the client.
    pub diff: Option<String>,
    /// The session of the sub-agent that will run it.
    pub child: Option<SessionId>,
    /// Documents whose unsaved text the call would miss (a command reads the disk).
    pub unsaved: Vec<Uri>,
    /// The change, if the user reviews it before it is applied.
    pub reviewable: Option<Reviewable>,
    work: Box<Work>,
}

/// A planned change whose places the user may keep, reject or amend before it is applied.
pub struct Reviewable {
    pub files: Vec<ProposedFile>,
    revise: Box<Revise>,
}

/// The call with other plans for its files.
type Revise = dyn FnOnce(&ToolContext, Vec<Plan>) -> Prepared + Send + Sync;

impl Reviewable {
    /// `revise`: the call with other plans, one for each file.
    fn new<R>(files: Vec<ProposedFile>, revise: R) -> Self
    where
        R: FnOnce(&ToolContext, Vec<Plan>) -> Prepared + Send + Sync + 'static,
    {
        Self {
            files,
            revise: Box::new(revise),
        }
    }

    pub fn revise(self, cx: &ToolContext, plans: Vec<Plan>) -> Prepared {
        (self.revise)(cx, plans)
    }
}

/// The planned change of one file.
#[derive(Clone, Debug)]
pub struct ProposedFile {
    pub located: Located,
    pub plan: Plan,
    /// The revision of `plan.base` in the mirror; `None`: it came from disk or is new.
    pub base_revision: Option<Revision>,
}

/// The outcome of a call.
pub type ToolResult = Result<ToolOutput, ToolError>;

/// What a call does when it runs.
type Work = dyn FnOnce(&ToolContext) -> BoxFuture<'_, ToolResult> + Send + Sync;

impl Prepared {
    /// A call without facts.
    fn new<W>(title: impl Into<String>, work: W) -> Self
    where
        W: FnOnce(&ToolContext) -> BoxFuture<'_, ToolResult> + Send + Sync + 'static,
    {
        Self {
            title: title.into(),
            facts: Vec::new(),
            subject: None,
            diff: None,
            child: None,
            unsaved: Vec::new(),
            reviewable: None,
            work: Box::new(work),
        }
    }

    /// A call that reads this place.
    fn reading<W>(title: impl Into<String>, located: &Located, work: W) -> Self
    where
        W: FnOnce(&ToolContext) -> BoxFuture<'_, ToolResult> + Send + Sync + 'static,
    {
        Self {
            facts: target::read_facts(located),
            subject: Some(Subject::Path {
                path: located.path.display().to_string(),
                access: Access::Read,
            }),
            ..Self::new(title, work)
        }
    }

    /// A call that policy denies. It fails too if policy is not asked.
    fn denied(title: String, facts: Vec<Fact>) -> Self {
        Self {
            facts,
            ..Self::new(title, |cx| {
                let error = cx.error("results/denied.md", &[]);
                future::ready(Err(error)).boxed()
            })
        }
    }

    /// A call whose result is known.
    fn done(title: impl Into<String>, output: ToolOutput) -> Self {
        Self::new(title, |_| future::ready(Ok(output)).boxed())
    }

    pub async fn run(self, cx: &ToolContext) -> ToolResult {
        (self.work)(cx).await
    }
}

/// The result for the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    pub text: String,
    /// The call failed (`is_error` on the wire).
    pub is_error: bool,
    pub truncated: bool,
    pub files: Vec<FileChange>,
    pub diff: Option<String>,
    /// The turn ends after this call, with this message for the user.
    pub closing: Option<String>,
    /// Images beside the text: base64, of a type that every model with vision accepts.
    pub images: Vec<Image>,
}

/// An image in a result.
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

/// Typed by who must handle it.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// A text for the model, from `prompts/results/`. The turn continues.
    #[error("{0}")]
    ForModel(String),
    /// Also for the model, but the call is not at fault: the tool cannot work now (no shell, no
    /// network). If it repeats, the model gets the advice to avoid the tool.
    #[error("{words}")]
    Broken { words: String, reason: String },
    #[error("cancelled")]
    Cancelled,
    /// The turn cannot continue.
    #[error("{0:#}")]
    Fatal(anyhow::Error),
}
