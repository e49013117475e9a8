//! The parts of a prompt: typed input, the editor's context, the caller's segments. The wire form
//! is the in-memory form; positions are in the negotiated encoding.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::env::Secrets;

/// A place in a document: 0-based line and column, the column in the encoding that the client
/// and the server agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WirePosition {
    pub line: u32,
    pub character: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WireRange {
    pub start: WirePosition,
    pub end: WirePosition,
}

/// The only type of document that models read.
pub const PDF: &str = "application/pdf";

/// One part of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Input {
    Text {
        text: String,
    },
    /// A file or a part of it; `text` if the client sends its own view of it.
    Resource {
        uri: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        range: Option<WireRange>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<i32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// Base64 data.
    Image {
        mime_type: String,
        data: String,
    },
    /// A PDF as Base64 data; `name` is what the model and the user see.
    Document {
        name: String,
        mime_type: String,
        data: String,
    },
    McpPrompt {
        server: String,
        name: String,
        #[serde(default)]
        arguments: BTreeMap<String, String>,
    },
    Skill {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
    },
}

impl Input {
    /// What the user typed.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Input::Text { text } => Some(text),
            _ => None,
        }
    }

    /// Everything that the user typed in a prompt.
    pub fn typed(input: &[Input]) -> String {
        let texts: Vec<&str> = input.iter().filter_map(Input::as_text).collect();
        texts.join("\n")
    }

    /// Removes keys that are in use.
    pub fn clean(&mut self, secrets: &Secrets) {
        let text = match self {
            Input::Text { text } => Some(text),
            Input::Resource { text, .. } => text.as_mut(),
            Input::Skill { arguments, .. } => arguments.as_mut(),
            Input::Image { .. } | Input::Document { .. } | Input::McpPrompt { .. } => None,
        };
        if let Some(text) = text {
            secrets.clean_in(text);
        }
    }
}

/// What the editor shows, as its plugin reports it (`interline/context/didChange`, `context`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct EditorContext {
    pub editors: Vec<EditorView>,
    /// Versions that the mirror must have before the prompt is handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<BTreeMap<String, i32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_uris: Option<Vec<String>>,
}

/// One visible editor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EditorView {
    pub uri: String,
    pub version: Option<i32>,
    #[serde(default)]
    pub active: bool,
    #[serde(default)]
    pub selections: Vec<WireRange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visible_range: Option<WireRange>,
}

/// A segment that the caller adds to the prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Segment {
    pub id: String,
    pub title: String,
    pub body: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Slot>,
}

/// Where a segment goes: into the stable system text or at the end of the turn's user message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Slot {
    System,
    #[default]
    Tail,
}
