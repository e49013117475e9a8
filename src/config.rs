//! The settings as plain, validated data. `config/load.rs` merges the layers (built in <
//! `config.toml` < client settings < session) and applies the grant rule; nothing else reads
//! settings files.

pub mod agents;
pub mod etcode;
pub mod keys;
pub mod load;
pub mod surroundings;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use agents::{AgentConfig, AgentDetail};
pub use surroundings::{EnvironmentLine, docs_path, environment_lines, variable_names};

use crate::conversation::Mode;
use crate::conversation::request::Effort;

/// All settings in force. Field names are the wire's (camelCase); unknown keys are reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    /// `<provider name>/<id>` or `replay/FILE`; unset: the first provider that has a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub mode: Mode,
    /// How much models think before they answer; unset: as each has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Effort>,
    /// Name of a prompt layout; unset: `default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Name of an agent that new sessions begin with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub approvals: Approvals,
    pub approvals_via: ApprovalsVia,
    /// Further instruction files: relative, absolute, `~/`, globs, URLs.
    pub instructions: Vec<String>,
    /// Those of them that `config.toml` itself names: looked for beside it first.
    #[serde(skip)]
    pub own_instructions: Vec<String>,
    /// Dotted key → where its value comes from; absent: built in.
    #[serde(skip)]
    pub sources: BTreeMap<String, String>,
    pub providers: BTreeMap<String, ProviderConfig>,
    pub edits: EditsConfig,
    pub exec: ExecConfig,
    pub fetch: FetchConfig,
    /// Names of environment variables that commands may see besides the built-in list.
    pub env: Vec<String>,
    pub limits: Limits,
    pub compaction: CompactionConfig,
    pub prompt: PromptConfig,
    pub model_aliases: BTreeMap<String, String>,
    pub routing: RoutingConfig,
    /// Named agents of the user's own.
    pub agents: BTreeMap<String, AgentConfig>,
    /// Servers of the Model Context Protocol, as data: a wrong entry costs that server only.
    pub mcp_servers: BTreeMap<String, Value>,
    pub skills: SkillsConfig,
    pub knowledge: KnowledgeConfig,
    pub memory: MemoryConfig,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub sandbox: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub policy: Value,
    pub chat_folder: ChatFolder,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub code_actions: Value,
    /// A file that keeps frames and model streams, secrets removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<PathBuf>,
}

impl Config {
    /// Whether only a client's settings say this, which a repository can carry.
    pub fn by_client(&self, key: &str) -> bool {
        self.sources.get(key).map(String::as_str) == Some(load::CLIENT)
    }
}

/// Where transcripts are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChatFolder {
    #[default]
    State,
    Workspace,
}

/// What runs without asking. Ordered: later grants more.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Approvals {
    /// Every edit and command asks.
    Ask,
    /// Edits inside the roots of a trusted folder run; the rest asks.
    #[default]
    Edits,
    /// Also what policy allows and the sandbox holds.
    Auto,
}

/// How a bare client is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalsVia {
    #[default]
    Message,
    Command,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// A key in plain text out of the user's `etcode.json`: in no serialised form.
    #[serde(skip)]
    pub literal_key: Option<LiteralKey>,
}

/// A key that stands in a file of settings. No `Debug` shows it.
#[derive(Clone, Debug)]
pub struct LiteralKey(pub SecretString);

impl PartialEq for LiteralKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.expose_secret() == other.0.expose_secret()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EditsConfig {
    pub review: Review,
    pub closed_files: ClosedFiles,
    pub save_after: SaveAfter,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Review {
    #[default]
    After,
    Before,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClosedFiles {
    /// The editor opens and changes them.
    #[default]
    Editor,
    /// Written to disk, atomically and hash-checked.
    Disk,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SaveAfter {
    #[default]
    Never,
    Ask,
    Always,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ExecConfig {
    /// Time limit of a command that names none, in milliseconds; at most 600,000.
    pub timeout_ms: u64,
    /// Mount unsaved text over its files for a command, where the sandbox can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlay: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FetchConfig {
    /// Hosts (`host` or `host:port`) of this machine or the own network that `web_fetch` may
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// Model requests of one turn.
    pub steps: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_minutes: Option<u64>,
    /// Tokens of one turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Cost of one turn in US dollars, as far as the prices of its models are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// How long an approval or a question may stay open.
    pub approval_minutes: u64,
}

impl Limits {
    /// How long an approval or a question may stay open: a year at most, because more cannot be
    /// told from it and dates end somewhere.
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

/// Which model does what, where none was chosen for the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RoutingConfig {
    /// Names sessions; unset: the beginning of the first prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Summarises what is made shorter; unset: the session's model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Turns that only answer: mode `ask`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<String>,
    /// Turns that change things: mode `agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Turns that look into things and plan: mode `plan`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analysis: Option<String>,
}

impl RoutingConfig {
    /// The setting for turns in `mode`, and the model that it names.
    pub fn of(&self, mode: Mode) -> Option<(&'static str, &str)> {
        let (key, model) = match mode {
            Mode::Ask => ("routing.chat", &self.chat),
            Mode::Agent => ("routing.code", &self.code),
            Mode::Plan => ("routing.analysis", &self.analysis),
        };
        Some((key, model.as_deref()?))
    }
}

/// When a conversation is made shorter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CompactionConfig {
    /// Whether that happens by itself when the model's window is nearly full.
    pub auto: bool,
}

impl Default for CompactionConfig {
    fn default() -> Self {
        Self { auto: true }
    }
}

/// Which skills are found and may be used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SkillsConfig {
    /// Whether skills are looked for at all.
    pub enabled: bool,
    /// Further folders with skills, as trusted as the user's own: absolute, `~/`, or relative
    /// to the config folder.
    pub folders: Vec<String>,
    /// Names of skills that are not used, wherever they come from.
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

/// Documents that the agent can search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct KnowledgeConfig {
    /// Folders of text and Markdown: absolute, `~/`, or relative to the config folder.
    pub folders: Vec<String>,
}

/// What is remembered from session to session, and how it is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MemoryConfig {
    /// Whether memories are saved, searched and shown at all.
    pub enabled: bool,
    pub citations: Citations,
    /// Show the profile: preferences, habits and the like, without being asked.
    pub profile: bool,
    /// Most memories that are shown because they fit the prompt.
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

/// Whether memories that are found name their file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Citations {
    #[default]
    On,
    Off,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PromptConfig {
    /// Where editor segments ride: `tail` (default) or `system`.
    pub editor_slot: crate::conversation::input::Slot,
    /// Segments switched on or off by id.
    pub segments: BTreeMap<String, bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// How dates and times are written, as `strftime` has it; unset: as the layout says.
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
    /// Further lines of the environment segment: label → text or `{env: "NAME"}`.
    pub environment: BTreeMap<String, EnvironmentLine>,
    /// A command (a list of words) that may rewrite segments.
    pub transform: Vec<String>,
}
