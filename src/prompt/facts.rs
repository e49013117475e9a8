//! Everything that a prompt may depend on, gathered before assembly.

use serde::Deserialize;

use crate::conversation::{Mode, Segment, ToolSpec};
use crate::knowledge::instructions::Instruction;

/// The inputs of assembly; the same facts give the same bytes.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// `<provider>/<id>`.
    pub model: String,
    pub mode: Mode,
    pub detail: Detail,
    pub agent: Option<String>,
    /// The session's directory, absolute.
    pub cwd: String,
    /// Name and absolute path of each folder.
    pub roots: Vec<(String, String)>,
    pub git: Option<Git>,
    /// `linux`, `macos`, `windows`.
    pub platform: String,
    /// `2026-11-21`, in the session's time zone.
    pub date: String,
    pub timezone: String,
    /// The folder of the session is trusted.
    pub trusted: bool,
    /// Global first, nearest last.
    pub instructions: Vec<Instruction>,
    /// Instruction sources that failed: shown, never fatal. `(source, reason)`.
    pub problems: Vec<(String, String)>,
    pub tools: Vec<ToolSpec>,
    /// The caller's segments.
    pub segments: Vec<Segment>,
    pub editor: EditorFacts,
    /// Runtime advice (a degraded tool, a reached limit).
    pub hints: Vec<String>,
    /// `prompt.editorSlot = "system"`.
    pub editor_in_system: bool,
    /// `prompt.segments`: switched on or off by id.
    pub switches: std::collections::BTreeMap<String, bool>,
    pub language: Option<String>,
}

/// How much of the prompt a session gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
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
