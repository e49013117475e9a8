//! What a server offered last: bounded, with names and schemas that can be sent. All of it is the
//! server's own claim.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::{names, schema, settings};
use crate::conversation::sha256;
use crate::env::order;
use crate::prompt::fence;

#[cfg(test)]
mod tests;

/// Most entries of one kind, and most bytes of all tools.
pub const TOOLS: usize = 512;
pub const OTHERS: usize = 512;
const TOOL_BYTES: usize = 1024 * 1024;
/// Characters of one description, and of a server's instructions.
const DESCRIPTION: usize = 2_000;
const INSTRUCTIONS: usize = 8_000;

/// One tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolEntry {
    /// The server's own name for it.
    pub name: String,
    /// Its name as a tool of its own.
    pub native: String,
    pub description: String,
    pub schema: Arc<Value>,
    /// Hash of the server's full description of it.
    pub pin: String,
}

/// A prompt that the user can pick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptEntry {
    pub name: String,
    pub description: String,
    /// `(name, required)`.
    pub arguments: Vec<(String, bool)>,
}

/// A resource that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceEntry {
    pub uri: String,
    pub name: String,
    pub description: String,
}

/// Everything that a server offers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    pub tools: Vec<Arc<ToolEntry>>,
    pub prompts: Vec<PromptEntry>,
    pub resources: Vec<ResourceEntry>,
    pub instructions: Option<String>,
    /// The negotiated protocol version.
    pub protocol: String,
    /// What was left out or changed.
    pub notes: Vec<String>,
}

impl Catalog {
    /// Sets the wanted tools from raw list entries, sorted by name and without duplicates.
    pub fn set_tools(&mut self, server: &str, raw: &[Value], wanted: Option<&[String]>) {
        let (mut seen, mut mended, mut bytes) = (BTreeSet::new(), Vec::new(), 0);
        let mut entries: Vec<ToolEntry> = Vec::new();
        for value in raw {
            let Some(name) = value["name"].as_str().filter(|name| !name.is_empty()) else {
                self.notes
                    .push("a tool without a name was left out".to_owned());
                continue;
            };
            if wanted.is_some_and(|wanted| !settings::matches_any(name, wanted)) {
                continue;
            }
            if !seen.insert(name.to_owned()) {
                let name = fence::name(name);
                self.notes.push(format!(
                    "the tool {name} is listed twice; the first one is used"
                ));
                continue;
            }
            bytes += value.to_string().len();
            if entries.len() >= TOOLS || bytes > TOOL_BYTES {
                self.notes.push(format!(
                    "more than {TOOLS} tools, or more than {TOOL_BYTES} bytes of them: the rest \
                     are left out; list the ones you need in the server's `tools`"
                ));
                break;
            }
            let (schema, cut) = schema::normalised(value.get("inputSchema"));
            if cut {
                mended.push(fence::name(name));
            }
            entries.push(ToolEntry {
                native: names::native_name(server, name),
                description: description_of(value),
                schema: Arc::new(schema),
                pin: sha256(value.to_string().as_bytes()),
                name: name.to_owned(),
            });
        }
        order::sort_by(&mut entries, |a, b| a.name.cmp(&b.name));
        if !mended.is_empty() {
            let names = mended.join(", ");
            self.notes
                .push(format!("parts of schemas were left out: {names}"));
        }
        self.tools = entries.into_iter().map(Arc::new).collect();
    }

    pub fn set_prompts(&mut self, raw: &[Value]) {
        let entries = raw.iter().take(OTHERS).filter_map(|value| {
            let argument = |value: &Value| {
                let required = value["required"].as_bool().unwrap_or(false);
                Some((value["name"].as_str()?.to_owned(), required))
            };
            let arguments = value["arguments"].as_array();
            Some(PromptEntry {
                name: value["name"].as_str()?.to_owned(),
                description: description_of(value),
                arguments: arguments
                    .into_iter()
                    .flatten()
                    .filter_map(argument)
                    .collect(),
            })
        });
        self.prompts = entries.collect();
    }

    pub fn set_resources(&mut self, raw: &[Value]) {
        let entries = raw.iter().take(OTHERS).filter_map(|value| {
            Some(ResourceEntry {
                uri: value["uri"].as_str()?.to_owned(),
                name: value["name"].as_str().unwrap_or_default().to_owned(),
                description: description_of(value),
            })
        });
        self.resources = entries.collect();
    }

    pub fn set_instructions(&mut self, text: Option<&str>) {
        let text = text.map(str::trim).filter(|text| !text.is_empty());
        self.instructions = text.map(|text| truncate(&fence::visible(text), INSTRUCTIONS));
    }

    pub fn tool(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

fn description_of(value: &Value) -> String {
    let text = value["description"].as_str().or(value["title"].as_str());
    truncate(
        &fence::visible(text.unwrap_or_default().trim()),
        DESCRIPTION,
    )
}

fn truncate(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{} […]", &text[..end]),
        None => text.to_owned(),
    }
}
