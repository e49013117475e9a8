//! Layouts: which segments, in which order, under which conditions. Data, read from
//! `prompts/layouts/<name>.toml`; code never asks for a layout's name.

mod condition;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

pub use condition::When;
pub(super) use condition::{matches, model_id};

use super::facts::Facts;
use super::fence;
use super::texts::{Texts, substitute};
use super::types::{Budget, SegmentRow};
use crate::conversation::input::Slot;
use crate::conversation::{Demand, Mode, ToolFacts, ToolSpec};
use crate::env::order;
use crate::knowledge::instructions::Search;

/// A loaded and checked layout.
#[derive(Clone, Debug)]
pub struct Layout {
    pub name: String,
    pub head: Head,
    pub segments: Vec<Entry>,
    /// Ordered patterns on the model id: the first that matches names the provider template.
    pub(super) providers: Vec<Pattern>,
}

/// The keys above the segments; they apply to the whole layout.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Head {
    pub cadence: Cadence,
    pub blocks: Blocks,
    #[serde(default = "blank_line")]
    pub joiner: String,
    /// Wire name → name shown to the model; calls by either name resolve.
    pub tool_names: BTreeMap<String, String>,
    /// Wire names of the first tools, in this order; the rest follows by name.
    pub tool_order: Vec<String>,
    /// Wire names of the opt-in tools that the layout asks for.
    pub optional_tools: Vec<String>,
    pub tool_texts: ToolTexts,
    /// Texts about truncated results: the model gets them as `hints/cut-result.md`.
    pub system_hints: Vec<String>,
    pub modes: Modes,
    pub summary: Summary,
    /// In a message with images, all texts are one block after the images.
    pub one_text: bool,
    pub instructions: Search,
    /// `strftime` format of the date, for whoever gathers [`Facts`].
    #[serde(default = "iso_date")]
    pub date_format: String,
    /// IANA name; `None`: the setting, else the system's zone.
    pub timezone: Option<String>,
    pub compaction: Compaction,
    /// Values that texts and headings of this layout may name as `{{key}}`, such as the
    /// product's name.
    pub values: BTreeMap<String, String>,
    /// Conditions under which a tool is offered, by wire name.
    pub tools_when: BTreeMap<String, When>,
    /// Moved to [`Layout::segments`] once loaded.
    #[serde(rename = "segment")]
    pub(super) segments: Vec<Entry>,
}

/// When the system text is rendered again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cadence {
    /// Once per epoch; later changes are journal entries.
    #[default]
    Session,
    Turn,
    Step,
}

/// How many blocks the system slot has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Blocks {
    /// One text; a block ends only after a segment with `boundary = true` and after the last one.
    #[default]
    One,
    /// Each row is a block of its own.
    Many,
}

/// What the prompt's text says about tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolTexts {
    Schema,
    Lines,
    #[default]
    None,
}

/// How a mode switch reaches the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Modes {
    /// A journal entry; tools and system text stay.
    #[default]
    Notice,
    /// The system text and the descriptions of refused tools are rendered again.
    Placeholders,
}

/// Where the summary of a compaction goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Summary {
    #[default]
    Message,
    Hint,
}

/// Parameters of compaction; `None`: the default of the code that compacts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Compaction {
    /// Tokens at which history is compacted.
    pub threshold: Option<u64>,
    /// Number of messages that stay as they are.
    pub keep: Option<usize>,
    /// How long one request for a summary may take.
    pub seconds: Option<u64>,
}

/// One segment of the layout.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    pub id: String,
    /// Shown in the preview; default: the builder's title, else the id.
    #[serde(default)]
    pub title: Option<String>,
    /// Likewise for the preview's `layer`.
    #[serde(default)]
    pub layer: Option<String>,
    pub slot: Slot,
    /// Put above the text, unless that is empty.
    #[serde(default)]
    pub heading: Option<String>,
    /// Between the previous segment and this one, instead of the joiner.
    #[serde(default)]
    pub join: Option<String>,
    #[serde(default)]
    pub when: Option<When>,
    #[serde(default)]
    pub budget: Option<Budget>,
    /// The system block ends here.
    #[serde(default)]
    pub boundary: bool,
    /// Marks that the segment asks for in answers; they are stripped from the answers.
    #[serde(default)]
    pub demands: Vec<Demand>,
    #[serde(default)]
    pub params: BTreeMap<String, toml::Value>,
}

/// One line of `providers/patterns.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Pattern {
    /// `*` stands for anything; case is ignored.
    pub glob: String,
    /// Name below `providers/`, without suffix.
    pub template: String,
}

impl Layout {
    /// Names of the layouts that exist, sorted.
    pub fn names(texts: &Texts) -> Vec<String> {
        texts
            .names("layouts/")
            .into_iter()
            .filter_map(|name| name.strip_prefix("layouts/")?.strip_suffix(".toml"))
            .map(str::to_owned)
            .collect()
    }

    /// The tool's name as the model sees it.
    pub fn tool_name<'a>(&'a self, wire: &'a str) -> &'a str {
        self.head.tool_names.get(wire).map_or(wire, String::as_str)
    }

    /// The wire name of a tool, given either name.
    pub fn wire_name<'a>(&'a self, shown: &'a str) -> &'a str {
        let mut names = self.head.tool_names.iter();
        names
            .find(|(_, name)| *name == shown)
            .map_or(shown, |(wire, _)| wire.as_str())
    }

    /// `tools` in this layout's order; the rest follows by name.
    pub(super) fn ordered<'a>(&self, tools: &'a [ToolFacts]) -> Vec<&'a ToolFacts> {
        let order = &self.head.tool_order;
        let place = |tool: &ToolFacts| {
            let known = order.iter().position(|name| *name == tool.spec.name);
            known.unwrap_or(order.len())
        };
        let mut tools: Vec<&ToolFacts> = tools.iter().collect();
        order::sort_by(&mut tools, |a, b| {
            (place(a), &a.spec.name).cmp(&(place(b), &b.spec.name))
        });
        tools
    }

    /// The request's tools: ordered, under this layout's names. With `modes = "placeholders"`, the
    /// descriptions of refused tools say that they are unavailable.
    pub fn tools(&self, texts: &Texts, tools: &[ToolFacts], mode: Mode) -> Vec<ToolSpec> {
        let specs = self.ordered(tools).into_iter().map(|tool| {
            let name = self.tool_name(&tool.spec.name);
            let refused = tool.changes && mode != Mode::Agent;
            let description = if refused && self.head.modes == Modes::Placeholders {
                let values = [("tool", name), ("mode", mode.as_str())];
                texts.render("modes/placeholder.md", &values)
            } else {
                self.with_tool_names(&tool.spec.description)
            };
            ToolSpec {
                name: name.to_owned(),
                description,
                input_schema: tool.spec.input_schema.clone(),
            }
        });
        specs.collect()
    }

    /// The layout asks for this opt-in tool.
    pub fn asks_for(&self, wire: &str) -> bool {
        self.head.optional_tools.iter().any(|name| name == wire)
    }

    /// The tools whose conditions in the layout hold.
    pub fn offered(&self, facts: &Facts) -> Vec<ToolFacts> {
        let wanted = |tool: &&ToolFacts| {
            let when = self.head.tools_when.get(&tool.spec.name);
            when.is_none_or(|when| when.judge(facts, &|_| false).0)
        };
        facts.tools.iter().filter(wanted).cloned().collect()
    }

    /// A text with the names of tools as the model sees them.
    pub(super) fn with_tool_names(&self, text: &str) -> String {
        let names = self.head.tool_names.iter();
        names.fold(text.to_owned(), |text, (wire, shown)| {
            text.replace(&format!("`{wire}`"), &format!("`{shown}`"))
        })
    }

    /// The layout has a segment of this builder.
    pub fn has(&self, builder: &str) -> bool {
        let mut entries = self.segments.iter();
        entries.any(|entry| entry.builder_name() == builder)
    }

    /// The layout has a segment of this builder that is not switched off and whose condition holds.
    pub fn shows(&self, builder: &str, facts: &Facts) -> bool {
        self.segments.iter().any(|entry| {
            let when = entry.when.as_ref();
            entry.builder_name() == builder
                && facts.switches.get(&entry.id) != Some(&false)
                && when.is_none_or(|when| when.judge(facts, &|_| false).0)
        })
    }

    /// The result texts with the names of tools as the model sees them, and those about truncated
    /// results as hints where the layout wants that.
    pub fn words(&self, texts: &Arc<Texts>) -> Arc<Texts> {
        let hints = &self.head.system_hints;
        if self.head.tool_names.is_empty() && hints.is_empty() {
            return texts.clone();
        }
        Arc::new(texts.map("results", |name, text| {
            let text = self.with_tool_names(text);
            match hints.iter().any(|hint| hint == name) {
                true => texts.render("hints/cut-result.md", &[("text", &text)]),
                false => text,
            }
        }))
    }

    /// The system text states the mode.
    pub(super) fn states_mode(&self, rows: &[SegmentRow]) -> bool {
        let of_mode = |entry: &&Entry| entry.builder_name() == "mode";
        let mut entries = self.segments.iter().filter(of_mode);
        entries.any(|entry| {
            let mut rows = rows.iter();
            rows.any(|row| row.id == entry.id && row.included && row.slot == Slot::System)
        })
    }

    /// `text` with the values that every text may name: facts, and the layout's own values where a
    /// fact is not known.
    pub(super) fn fill(&self, facts: &Facts, text: &str) -> String {
        if !text.contains("{{") {
            return text.to_owned();
        }
        let own = self.head.values.iter();
        let own = own.map(|(key, value)| (key.as_str(), value.as_str()));
        let known = values(facts);
        let known = known.iter().map(|(key, value)| (*key, value.as_str()));
        let (set, unset): (Vec<_>, Vec<_>) = known.partition(|(_, value)| !value.is_empty());
        let values: Vec<(&str, &str)> = set.into_iter().chain(own).chain(unset).collect();
        substitute(text, &values)
    }

    /// Files of the session's folder that the layout's segments name, each once, in order.
    pub fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        for entry in &self.segments {
            let Some(toml::Value::Array(names)) = entry.params.get("files") else {
                continue;
            };
            for name in names.iter().filter_map(toml::Value::as_str) {
                if !files.iter().any(|known| known == name) {
                    files.push(name.to_owned());
                }
            }
        }
        files
    }
}

impl Entry {
    /// The name of its builder: `params.builder`, else its id. A segment that is a fixed text has
    /// no builder of this name.
    pub(super) fn builder_name(&self) -> &str {
        let named = self.params.get("builder").and_then(toml::Value::as_str);
        named.unwrap_or(&self.id)
    }

    /// The file of a fixed segment: `params.text`, else `segments/<id>.md`.
    pub(super) fn text_name(&self) -> String {
        match self.params.get("text").and_then(toml::Value::as_str) {
            Some(name) => name.to_owned(),
            None => format!("segments/{}.md", self.id),
        }
    }
}

/// The facts that every text of a layout may name, each on one line.
fn values(facts: &Facts) -> [(&'static str, String); 11] {
    let name = |text: &str| fence::name(text);
    let or_empty = |text: &Option<String>| name(text.as_deref().unwrap_or_default());
    [
        ("cwd", name(&facts.cwd)),
        ("timezone", name(&facts.timezone)),
        ("date", name(&facts.date)),
        ("platform", name(&facts.platform)),
        ("model", name(&facts.model)),
        ("modelId", name(model_id(&facts.model))),
        ("mode", facts.mode.as_str().to_owned()),
        ("agent", name(facts.agent_name())),
        ("docsPath", or_empty(&facts.docs_path)),
        ("language", or_empty(&facts.language)),
        ("parent", or_empty(&facts.runtime.parent)),
    ]
}

fn blank_line() -> String {
    "\n\n".to_owned()
}

fn iso_date() -> String {
    "%Y-%m-%d".to_owned()
}

#[cfg(test)]
pub(super) mod tests;
