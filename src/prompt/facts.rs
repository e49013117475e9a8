//! Everything that a prompt may depend on, gathered before assembly.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::types::Trust;
use crate::conversation::{Mode, Segment, ToolFacts};
use crate::knowledge::instructions::{Instruction, Standing};
use crate::knowledge::persona::FileText;

/// `Facts::sandbox` when commands run with the user's own rights.
pub const NO_SANDBOX: &str = "none";

/// A text that is computed when a layout first uses it, because that takes time.
#[derive(Clone, Debug, Default)]
pub struct LazyText(Option<Arc<LazyLock<String, Make>>>);

type Make = Box<dyn FnOnce() -> String + Send>;

impl LazyText {
    pub fn new(make: impl FnOnce() -> String + Send + 'static) -> Self {
        Self(Some(Arc::new(LazyLock::new(Box::new(make)))))
    }

    pub fn text(&self) -> &str {
        self.0.as_ref().map_or("", |made| made.as_str())
    }
}

/// The inputs of assembly; the same facts give the same bytes.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// `<provider>/<id>`.
    pub model: String,
    pub mode: Mode,
    pub detail: Detail,
    /// Name of the chosen agent.
    pub agent: Option<String>,
    /// The agent's display name, if the user gave it one.
    pub called: Option<String>,
    /// The agent's own prompt, which replaces the provider's template.
    pub agent_prompt: Option<AgentPrompt>,
    /// The session's directory, absolute.
    pub cwd: String,
    pub roots: Vec<Folder>,
    /// Projects that the agent created inside the roots.
    pub made: Vec<Folder>,
    pub git: Option<Git>,
    /// `linux`, `macos`, `windows`.
    pub platform: String,
    /// In the layout's format and the session's time zone.
    pub date: String,
    pub timezone: String,
    /// The session's folder is trusted.
    pub trusted: bool,
    /// The repository around the opened folder, if it has instruction files and is not trusted.
    pub repository: Option<String>,
    /// In the layout's order.
    pub instructions: Vec<Instruction>,
    /// Sources that failed, as `(source, reason)`: reported, never fatal.
    pub problems: Vec<(String, String)>,
    /// The files named by the layout that exist.
    pub files: Vec<FileText>,
    /// Sorted by wire name.
    pub tools: Vec<ToolFacts>,
    pub skills: Vec<SkillFacts>,
    pub memory: MemoryFacts,
    /// Names of the documents in the user's knowledge base.
    pub library: Vec<String>,
    /// The caller's segments: the session's, then the turn's own.
    pub segments: Vec<Segment>,
    /// How many segments at the end of `segments` belong to this turn only.
    pub passing: usize,
    /// The client's declarations by name: a flag, a text or a table.
    pub client: BTreeMap<String, Value>,
    pub editor: EditorFacts,
    pub runtime: Runtime,
    /// Runtime advice for this request (a limit that was reached, a truncated result).
    pub hints: Vec<String>,
    /// Tools that keep failing: wire name and reason.
    pub degraded: Vec<(String, String)>,
    /// Constraints from the caller or the policy, in the order given.
    pub constraints: Vec<String>,
    /// The summary of a compacted conversation, for layouts that show it as a hint.
    pub summary: Option<String>,
    /// Model aliases: `(alias, provider/model)`.
    pub aliases: Vec<(String, String)>,
    /// Senders that may give instructions, as configured.
    pub owners: Vec<String>,
    pub notes: Option<String>,
    pub docs_path: Option<String>,
    /// Lines that the user's settings add to the environment segment: `(label, text)`.
    pub environment: Vec<(String, String)>,
    /// Names, never values, of the private variables that commands see.
    pub variables: Vec<String>,
    /// Files that the agent created in this session, as tools show them.
    pub created: Vec<String>,
    /// Resources that the prompt refers to, as tools show them.
    pub resources: Vec<String>,
    /// Kinds of the attachments (`image/png`).
    pub attachments: Vec<String>,
    /// MCP servers in use in the folder, sorted by name, with what they last reported.
    pub remote: Vec<RemoteFacts>,
    /// The tools that ask language servers and can do so now.
    pub language_tools: Vec<RemoteToolFacts>,
    /// MCP prompts that the user picked: `(title, text)`.
    pub picked: Vec<(String, String)>,
    /// A description of the commands' sandbox; [`NO_SANDBOX`] without one.
    pub sandbox: LazyText,
    /// `prompt.editorSlot = "system"`.
    pub editor_in_system: bool,
    /// `prompt.segments`: switched on or off by id.
    pub switches: BTreeMap<String, bool>,
    pub language: Option<String>,
}

/// What an MCP server reported. None of it is trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteFacts {
    pub server: String,
    pub instructions: Option<String>,
    /// Sorted by name.
    pub tools: Vec<RemoteToolFacts>,
}

/// One tool of an MCP server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteToolFacts {
    /// The server's name for the tool.
    pub name: String,
    /// Its name as a native tool (`mcp__server__tool`).
    pub native: String,
    pub description: String,
    /// JSON.
    pub schema: String,
}

/// The prompt of a named agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPrompt {
    pub text: String,
    /// Its file or setting.
    pub source: String,
    pub trust: Trust,
}

/// One folder of the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder {
    pub name: String,
    /// Absolute.
    pub path: String,
    /// The agent may change files in it.
    pub writable: bool,
    pub description: Option<String>,
}

/// One skill that may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFacts {
    pub name: String,
    pub description: String,
    /// Its SKILL.md, as shown to model and user.
    pub location: String,
    /// Its folder on this machine; never shown in a prompt.
    pub folder: Option<PathBuf>,
    /// The text of its SKILL.md without front matter.
    pub body: Arc<str>,
    /// `inject: always`: the prompt contains it in full.
    pub always: bool,
    /// It matches the current prompt.
    pub matched: bool,
    /// The connector that it explains; it appears in that connector's segment only.
    pub connector: Option<String>,
    pub trust: Trust,
}

/// What the agent remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryFacts {
    /// Lines of the index.
    pub index: Vec<String>,
    pub user: Vec<String>,
    pub project: Vec<String>,
    /// Memories relevant to the current prompt.
    pub related: Vec<String>,
    /// The workspace has a folder `memory/`.
    pub tree: bool,
    /// Answers cite the files of the memories they use.
    pub citations: bool,
    /// Advice for the user when a legacy memory file is shown in full.
    pub advice: Option<String>,
}

/// The agent's host, client and model options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runtime {
    pub host: String,
    /// `Linux 6.1.0`.
    pub os: String,
    pub arch: String,
    pub version: String,
    /// The client's name.
    pub channel: String,
    /// The thinking level requested from the model.
    pub thinking: String,
    /// `off`, `on` or `stream`: whether thoughts are shown.
    pub reasoning: String,
    /// The parent session, for a sub-agent.
    pub parent: Option<String>,
    /// The model supports native tool calls.
    pub tools: bool,
}

/// How much of the prompt a session gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    #[default]
    Full,
    /// Sub-agents.
    Minimal,
    None,
}

impl Detail {
    pub fn as_str(self) -> &'static str {
        match self {
            Detail::Full => "full",
            Detail::Minimal => "minimal",
            Detail::None => "none",
        }
    }

    pub fn parse(text: &str) -> Option<Detail> {
        [Detail::Full, Detail::Minimal, Detail::None]
            .into_iter()
            .find(|detail| detail.as_str() == text)
    }
}

/// Read from `.git` files, never by running git.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Git {
    pub branch: Option<String>,
    /// Abbreviated commit id.
    pub head: Option<String>,
}

/// The editor's state. Paths are as tools show them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditorFacts {
    pub active: Option<ActiveDocument>,
    /// Path and whether it has unsaved text, in path order.
    pub open: Vec<(String, bool)>,
    /// Path and 1-based first and last visible line of other visible editors.
    pub visible: Vec<(String, u32, u32)>,
    /// Documents that the user changed since the model last read them: path and unified diff.
    pub recent: Vec<(String, String)>,
    /// Diagnostics near the cursor: path, 1-based line, severity, message.
    pub diagnostics: Vec<(String, u32, String, String)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActiveDocument {
    pub path: String,
    pub language: String,
    pub dirty: bool,
    pub lines: usize,
    /// 1-based line and column of the cursor.
    pub cursor: Option<(u32, u32)>,
    /// 1-based number of the first line, and the lines around the cursor.
    pub around: Option<(u32, String)>,
    /// 1-based first and last line and the selected text (capped by the gatherer).
    pub selection: Option<(u32, u32, String)>,
    pub visible: Option<(u32, u32)>,
}

impl Facts {
    /// How far a file of this standing is trusted now.
    pub fn trust(&self, standing: Standing) -> Trust {
        match standing {
            Standing::User => Trust::User,
            Standing::Session if self.trusted => Trust::Workspace,
            Standing::Folder { trusted: true } => Trust::Workspace,
            Standing::Session | Standing::Folder { trusted: false } => Trust::Untrusted,
        }
    }

    /// The agent's name as shown in prompts.
    pub(super) fn agent_name(&self) -> &str {
        let name = self.called.as_deref().or(self.agent.as_deref());
        name.unwrap_or("main")
    }

    /// The sandbox's description, if there is one.
    pub(super) fn sandbox(&self) -> Option<&str> {
        let sandbox = self.sandbox.text();
        (!sandbox.is_empty() && sandbox != NO_SANDBOX).then_some(sandbox)
    }

    /// The client declared this fact and did not switch it off.
    pub(super) fn declared(&self, fact: &str) -> bool {
        match self.client.get(fact) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::String(text)) => !text.trim().is_empty(),
            Some(_) => true,
        }
    }

    /// The caller's segment at this index belongs to the turn, not the session.
    pub(super) fn passes(&self, at: usize) -> bool {
        at >= self.segments.len().saturating_sub(self.passing)
    }

    /// A tool with this wire name is offered.
    pub(super) fn offers(&self, wire: &str) -> bool {
        self.tools.iter().any(|tool| tool.spec.name == wire)
    }

    /// The client's capabilities by name: the declarations that are `true` and the names in its
    /// `capabilities`.
    pub(super) fn capabilities(&self) -> Vec<&str> {
        let on = self.client.iter();
        let on = on.filter(|(_, value)| **value == Value::Bool(true));
        let named = self.client.get("capabilities").and_then(Value::as_array);
        let named = named.into_iter().flatten().filter_map(Value::as_str);
        let all: BTreeSet<&str> = on.map(|(key, _)| key.as_str()).chain(named).collect();
        all.into_iter().collect()
    }

    /// A tool of this connector is offered.
    pub(super) fn serves(&self, connector: &str) -> bool {
        let mut tools = self.tools.iter();
        tools.any(|tool| tool.serves.as_deref() == Some(connector))
    }
}
