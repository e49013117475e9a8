//! Everything that a prompt may depend on, gathered before assembly.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Trust;
use crate::conversation::{Mode, Segment, ToolFacts};
use crate::knowledge::instructions::{Instruction, Standing};

/// The word for commands that run with the user's own rights.
pub const NO_SANDBOX: &str = "none";

/// The inputs of assembly; the same facts give the same bytes.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// `<provider>/<id>`.
    pub model: String,
    pub mode: Mode,
    pub detail: Detail,
    /// Name of the chosen agent.
    pub agent: Option<String>,
    /// What it is called, if it was given another name.
    pub called: Option<String>,
    /// Its own prompt, which stands in the place of the provider's template.
    pub agent_prompt: Option<AgentPrompt>,
    /// The session's directory, absolute.
    pub cwd: String,
    pub roots: Vec<Folder>,
    /// Folders in them that the agent made as projects.
    pub made: Vec<Folder>,
    pub git: Option<Git>,
    /// `linux`, `macos`, `windows`.
    pub platform: String,
    /// In the layout's form, in the session's time zone.
    pub date: String,
    pub timezone: String,
    /// The folder of the session is trusted.
    pub trusted: bool,
    /// The repository around what was opened, if it gave instructions and is not trusted.
    pub repository: Option<String>,
    /// Global first, nearest last, as the layout orders them.
    pub instructions: Vec<Instruction>,
    /// Sources that failed: shown, never fatal. `(source, reason)`.
    pub problems: Vec<(String, String)>,
    /// Files that the layout names and that are there.
    pub files: Vec<FileFacts>,
    /// Sorted by wire name.
    pub tools: Vec<ToolFacts>,
    pub skills: Vec<SkillFacts>,
    pub memory: MemoryFacts,
    /// Names of the documents that the user keeps as a knowledge base.
    pub library: Vec<String>,
    /// The caller's segments: the session's, then the turn's own.
    pub segments: Vec<Segment>,
    /// How many of them, from the end, are the turn's own.
    pub passing: usize,
    /// What the client declared that it can do or wants said: a flag, a text or a table.
    pub client: BTreeMap<String, Value>,
    pub editor: EditorFacts,
    pub runtime: Runtime,
    /// Runtime advice for this request (a reached limit, a cut result).
    pub hints: Vec<String>,
    /// Tools that fail persistently: wire name and reason.
    pub degraded: Vec<(String, String)>,
    /// Constraints of the caller or of policy, in the order given.
    pub constraints: Vec<String>,
    /// Summary of a compacted conversation, for layouts that carry it as a hint.
    pub summary: Option<String>,
    /// Other names of models: `(alias, provider/model)`.
    pub aliases: Vec<(String, String)>,
    /// Who may give orders, raw.
    pub owners: Vec<String>,
    pub notes: Option<String>,
    pub docs_path: Option<String>,
    /// Lines that the user's settings add to the environment: `(label, text)`.
    pub environment: Vec<(String, String)>,
    /// Names, never values, of the private variables that commands see.
    pub variables: Vec<String>,
    /// Files that the agent made in this session, as tools show them.
    pub created: Vec<String>,
    /// Resources that the prompt refers to, as tools show them.
    pub resources: Vec<String>,
    /// Kinds of the attachments (`image/png`).
    pub attachments: Vec<String>,
    /// MCP servers that count in the folder, sorted by name, as they told it last.
    pub remote: Vec<RemoteFacts>,
    /// Prompts of MCP servers that the user picked: `(title, text)`.
    pub picked: Vec<(String, String)>,
    /// What holds commands in, in words; [`NO_SANDBOX`] where nothing does.
    pub sandbox: String,
    /// `prompt.editorSlot = "system"`.
    pub editor_in_system: bool,
    /// `prompt.segments`: switched on or off by id.
    pub switches: BTreeMap<String, bool>,
    pub language: Option<String>,
}

/// What an MCP server told. None of it is trusted.
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
    /// The server's own name for it.
    pub name: String,
    /// Its name as a tool of its own.
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

/// A file that a layout names (`SOUL.md`), found and read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFacts {
    /// As the layout names it.
    pub name: String,
    /// As shown to model and user.
    pub source: String,
    pub path: Option<PathBuf>,
    /// Trimmed, whole.
    pub text: String,
    pub hash: String,
    pub unsaved: bool,
    pub standing: Standing,
}

/// One skill that may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFacts {
    pub name: String,
    pub description: String,
    /// Its SKILL.md, as shown to model and user.
    pub location: String,
    /// Its folder on this machine; no prompt shows it.
    pub folder: Option<PathBuf>,
    /// The text of its SKILL.md without front matter.
    pub body: Arc<str>,
    /// `inject: always`: in the prompt in full.
    pub always: bool,
    /// The present prompt is about it.
    pub matched: bool,
    /// It explains what is connected under this name, and stands with that alone.
    pub connector: Option<String>,
    pub trust: Trust,
}

/// What is remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryFacts {
    /// Lines of the index.
    pub index: Vec<String>,
    pub user: Vec<String>,
    pub project: Vec<String>,
    /// Memories that bear on the present prompt.
    pub related: Vec<String>,
    /// The workspace has a folder `memory/`.
    pub tree: bool,
    /// Answers name where a memory stands.
    pub citations: bool,
    /// What the user could do better, when an old file is read whole.
    pub advice: Option<String>,
}

/// Where and as what the agent runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runtime {
    pub host: String,
    /// `Linux 6.1.0`.
    pub os: String,
    pub arch: String,
    pub version: String,
    /// The client's name.
    pub channel: String,
    /// How the model is asked to think.
    pub thinking: String,
    /// `off`, `on` or `stream`: whether thoughts are shown.
    pub reasoning: String,
    /// The session works for another one.
    pub parent: Option<String>,
    /// The model calls tools natively.
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

/// What the editor shows. Paths as tools show them.
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
    /// Whose word a file of this standing is, given what the user trusts now.
    pub fn trust(&self, standing: Standing) -> Trust {
        match standing {
            Standing::User => Trust::User,
            Standing::Session if self.trusted => Trust::Workspace,
            Standing::Folder { trusted: true } => Trust::Workspace,
            Standing::Session | Standing::Folder { trusted: false } => Trust::Untrusted,
        }
    }

    /// As what the agent is shown.
    pub(super) fn agent_name(&self) -> &str {
        let name = self.called.as_deref().or(self.agent.as_deref());
        name.unwrap_or("main")
    }

    /// What holds commands in.
    pub(super) fn sandbox(&self) -> Option<&str> {
        let sandbox = self.sandbox.as_str();
        (!sandbox.is_empty() && sandbox != NO_SANDBOX).then_some(sandbox)
    }

    /// The client declared this, and not as off.
    pub(super) fn declared(&self, fact: &str) -> bool {
        match self.client.get(fact) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::String(text)) => !text.trim().is_empty(),
            Some(_) => true,
        }
    }

    /// The caller gave this segment with the turn, not with the session.
    pub(super) fn passes(&self, at: usize) -> bool {
        at >= self.segments.len().saturating_sub(self.passing)
    }

    /// A tool of this wire name is offered.
    pub(super) fn offers(&self, wire: &str) -> bool {
        self.tools.iter().any(|tool| tool.spec.name == wire)
    }

    /// What the client says that it can do, by name: what it declared as on, and the names in its
    /// `capabilities`.
    pub(super) fn capabilities(&self) -> Vec<&str> {
        let on = self.client.iter();
        let on = on.filter(|(_, value)| **value == Value::Bool(true));
        let named = self.client.get("capabilities").and_then(Value::as_array);
        let named = named.into_iter().flatten().filter_map(Value::as_str);
        let all: BTreeSet<&str> = on.map(|(key, _)| key.as_str()).chain(named).collect();
        all.into_iter().collect()
    }

    /// A tool of what is connected under this name is offered.
    pub(super) fn serves(&self, connector: &str) -> bool {
        let mut tools = self.tools.iter();
        tools.any(|tool| tool.serves.as_deref() == Some(connector))
    }

    /// The values that every text of the layout may name.
    pub(super) fn values(&self) -> Vec<(&'static str, String)> {
        let name = |text: &str| super::fence::name(text);
        let (_, id) = self.model.split_once('/').unwrap_or(("", &self.model));
        vec![
            ("cwd", name(&self.cwd)),
            ("timezone", name(&self.timezone)),
            ("date", name(&self.date)),
            ("platform", name(&self.platform)),
            ("model", name(&self.model)),
            ("modelId", name(id)),
            ("mode", self.mode.as_str().to_owned()),
            ("agent", name(self.agent_name())),
            ("docsPath", name(self.docs_path.as_deref().unwrap_or(""))),
            ("language", name(self.language.as_deref().unwrap_or(""))),
            ("parent", name(self.runtime.parent.as_deref().unwrap_or(""))),
        ]
    }
}
