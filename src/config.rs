//! The settings as plain, validated data. `config/load.rs` merges the layers (built in <
//! `config.toml` < client settings < session) and applies the grant rule; nothing else reads
//! settings files.

pub mod agents;
pub mod command_patterns;
pub mod etcode;
mod ignored;
pub mod keys;
pub mod load;
pub mod prompt_environment;
pub mod typed;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use agents::{AgentConfig, AgentDetail};
pub use prompt_environment::{EnvironmentLine, docs_path, environment_lines, variable_names};

use crate::conversation::Mode;
use crate::conversation::request::Effort;

/// The effective settings. Field names are the wire's (camelCase); unknown keys are reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    /// `<provider name>/<id>` or `replay/FILE`; unset: the first provider that has a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub mode: Mode,
    /// How much models think before they answer; unset: each model's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Effort>,
    /// Name of a prompt layout; unset: `default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Name of the agent of new sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub approvals: Approvals,
    pub approvals_via: ApprovalsVia,
    /// More instruction files: relative, absolute, `~/`, globs, URLs.
    pub instructions: Vec<String>,
    /// Those named in `config.toml` itself: searched next to it first.
    #[serde(skip)]
    pub own_instructions: Vec<String>,
    /// Dotted key → source of its value; absent: built in.
    #[serde(skip)]
    pub sources: BTreeMap<String, String>,
    pub providers: BTreeMap<String, ProviderConfig>,
    pub edits: EditsConfig,
    pub exec: ExecConfig,
    pub fetch: FetchConfig,
    /// Names of environment variables that commands may see in addition to the built-in list.
    pub env: Vec<String>,
    pub limits: Limits,
    pub compaction: CompactionConfig,
    pub prompt: PromptConfig,
    pub model_aliases: BTreeMap<String, String>,
    pub routing: RoutingConfig,
    /// The user's own named agents.
    pub agents: BTreeMap<String, AgentConfig>,
    /// MCP servers, as data: an invalid entry affects only that server.
    pub mcp_servers: BTreeMap<String, Value>,
    /// Language servers for clients that do not answer queries, by language or any name.
    pub language_servers: BTreeMap<String, LanguageServer>,
    pub skills: SkillsConfig,
    pub knowledge: KnowledgeConfig,
    pub memory: MemoryConfig,
    pub sandbox: SandboxConfig,
    pub policy: PolicyConfig,
    pub chat_folder: ChatFolder,
    /// False: no code actions and lenses outside transcripts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_actions: Option<bool>,
    /// A file that records frames and model streams, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<PathBuf>,
}

impl Config {
    /// Whether this comes only from a client's settings, which a repository can carry.
    pub fn by_client(&self, key: &str) -> bool {
        self.sources.get(key).map(String::as_str) == Some(load::CLIENT)
    }
}

/// Where transcripts are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ChatFolder {
    #[default]
    State,
    Workspace,
}

/// What runs without asking. Ordered: later grants more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Approvals {
    /// Every edit and command asks.
    Ask,
    /// Edits inside the roots of a trusted folder run; the rest asks.
    #[default]
    Edits,
    /// Also whatever policy allows and the sandbox contains.
    Auto,
}

/// Lists of commands, as patterns: the words that a command begins with. Deny beats ask, ask beats
/// allow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyConfig {
    /// Never run. Layers add to it.
    pub deny: Vec<String>,
    /// Ask each time. Layers add to it.
    pub ask: Vec<String>,
    /// Run unasked in trusted folders where the sandbox is complete.
    pub allow: Vec<String>,
}

/// Confinement of commands on Linux.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxConfig {
    pub mode: SandboxMode,
    /// Folders outside the workspace that confined commands may write to: absolute or `~/`.
    pub write: Vec<String>,
    /// Confined commands share the machine's network.
    pub network: bool,
}

/// Whether commands are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    /// Where it is not completely possible, commands are refused.
    Required,
    /// As far as it is possible.
    #[default]
    Auto,
    /// Not at all: they have the user's rights.
    Off,
}

/// How a plain client is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ApprovalsVia {
    #[default]
    Message,
    Command,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderConfig {
    /// `anthropic`, `openai`, `openai-chat` or `gemini`; unset: the provider's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    pub models: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_file: Option<PathBuf>,
    /// A command whose standard output is the key; run without a shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_command: Option<Vec<String>>,
    pub headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// A plain-text key from the user's `etcode.json`: never serialised.
    #[serde(skip)]
    pub literal_key: Option<LiteralKey>,
}

/// A key from a settings file. `Debug` never shows it.
#[derive(Clone, Debug)]
pub struct LiteralKey(pub SecretString);

impl PartialEq for LiteralKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.expose_secret() == other.0.expose_secret()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct EditsConfig {
    pub review: Review,
    pub closed_files: ClosedFiles,
    pub save_after: SaveAfter,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Review {
    #[default]
    After,
    Before,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ClosedFiles {
    /// The editor opens and changes them.
    #[default]
    Editor,
    /// Written to disk, atomically and hash-checked.
    Disk,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SaveAfter {
    #[default]
    Never,
    Ask,
    Always,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ExecConfig {
    /// Default time limit of a command in milliseconds; at most 600,000.
    pub timeout_ms: u64,
    /// Mount unsaved text over its files for a command, if the sandbox can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlay: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct FetchConfig {
    /// Hosts (`host` or `host:port`) on this machine or the local network that `web_fetch` may
    /// reach; the user is still asked.
    pub local: Vec<String>,
}

impl Default for ExecConfig {
    fn default() -> Self {
        Self {
            timeout_ms: 120_000,
            overlay: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// Maximum model requests in one turn.
    pub steps: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_minutes: Option<u64>,
    /// Maximum tokens of one turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Maximum cost of one turn in US dollars, as far as its models' prices are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// How long an approval or a question may stay open.
    pub approval_minutes: u64,
}

impl Limits {
    /// How long an approval or a question may stay open: at most a year, which is as good as
    /// forever and cannot overflow a date.
    pub fn approval(&self) -> Duration {
        const LONGEST_MINUTES: u64 = 366 * 24 * 60;
        Duration::from_secs(self.approval_minutes.min(LONGEST_MINUTES) * 60)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 30,
            turn_minutes: None,
            tokens: None,
            cost: None,
            approval_minutes: 60,
        }
    }
}

/// Which model does what, unless the session chose one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RoutingConfig {
    /// Titles sessions; unset: the title is the beginning of the first prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Summarises conversations for compaction; unset: the session's model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Turns that only answer: mode `ask`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<String>,
    /// Turns that change things: mode `agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Turns that investigate and plan: mode `plan`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analysis: Option<String>,
}

impl RoutingConfig {
    /// The setting for turns in `mode`, and the model it names.
    pub fn of(&self, mode: Mode) -> Option<(&'static str, &str)> {
        let (key, model) = match mode {
            Mode::Ask => ("routing.chat", &self.chat),
            Mode::Agent => ("routing.code", &self.code),
            Mode::Plan => ("routing.analysis", &self.analysis),
        };
        Some((key, model.as_deref()?))
    }
}

/// When a conversation is compacted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CompactionConfig {
    /// Whether that happens automatically when the context window is nearly full.
    pub auto: bool,
}

impl Default for CompactionConfig {
    fn default() -> Self {
        Self { auto: true }
    }
}

/// A language server that is started when a tool asks it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct LanguageServer {
    /// Program and arguments; run without a shell.
    pub command: Vec<String>,
    /// LSP ids of its languages; empty: the entry's name.
    pub languages: Vec<String>,
    /// Extensions of its files, in place of or in addition to those of `languages`.
    pub extensions: Vec<String>,
}

/// Which skills are available.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SkillsConfig {
    /// Whether skills are enabled at all.
    pub enabled: bool,
    /// More skill folders, trusted like the user's own: absolute, `~/`, or relative
    /// to the config folder.
    pub folders: Vec<String>,
    /// Names of disabled skills, wherever they come from.
    pub disabled: Vec<String>,
}

impl Default for SkillsConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            folders: Vec::new(),
            disabled: Vec::new(),
        }
    }
}

/// Documents the agent can search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct KnowledgeConfig {
    /// Folders of text and Markdown: absolute, `~/`, or relative to the config folder.
    pub folders: Vec<String>,
}

/// Memories across sessions, and how they are shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct MemoryConfig {
    /// Whether memories are saved, searched and shown at all.
    pub enabled: bool,
    pub citations: Citations,
    /// Always show the profile: preferences, habits and the like.
    pub profile: bool,
    /// How many memories related to the prompt are shown.
    pub related: u32,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            citations: Citations::On,
            profile: true,
            related: 5,
        }
    }
}

/// Whether found memories name their file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Citations {
    #[default]
    On,
    Off,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct PromptConfig {
    /// Where editor segments go: `tail` (default) or `system`.
    pub editor_slot: crate::conversation::input::Slot,
    /// Segments turned on or off by id.
    pub segments: BTreeMap<String, bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// The `strftime` format of dates and times; unset: the layout's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_format: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docs_path: Option<PathBuf>,
    pub owners: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// What a folder of the workspace is for, by its absolute path.
    pub folders: BTreeMap<String, String>,
    /// More lines of the environment segment: label → text or `{env: "NAME"}`.
    pub environment: BTreeMap<String, EnvironmentLine>,
    /// A command (a list of words) that may rewrite segments.
    pub transform: Vec<String>,
}
