//! Layouts: which segments, in which order, under which conditions. Data, read from
//! `prompts/layouts/<name>.toml`; code never asks for a layout's name. Unknown keys, builders
//! and parameters are errors that list the known ones.

mod condition;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;

pub use condition::{Known, When};
pub(super) use condition::{matches, model_id};

use super::builders::{self, Builder};
use super::{Facts, SegmentRow, Texts};
use crate::conversation::input::Slot;
use crate::conversation::{Demand, Mode, ToolFacts, ToolSpec};
use crate::knowledge::instructions::Search;

/// Most cache breakpoints that a layout may ask for in the system slot: a request has four, one
/// is for the tools and one for the conversation.
const BOUNDARIES: usize = 2;

/// A loaded and checked layout.
#[derive(Clone, Debug)]
pub struct Layout {
    pub name: String,
    pub head: Head,
    pub segments: Vec<Entry>,
    /// Ordered patterns on the model id: the first that matches names the provider template.
    pub(super) providers: Vec<Pattern>,
}

/// The keys above the segments.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    #[serde(default)]
    cadence: Cadence,
    #[serde(default)]
    blocks: Blocks,
    #[serde(default = "blank_line")]
    joiner: String,
    #[serde(default)]
    tool_names: BTreeMap<String, String>,
    #[serde(default)]
    tool_order: Vec<String>,
    #[serde(default)]
    optional_tools: Vec<String>,
    #[serde(default)]
    tool_texts: ToolTexts,
    #[serde(default)]
    system_hints: Vec<String>,
    #[serde(default)]
    modes: Modes,
    #[serde(default)]
    summary: Summary,
    #[serde(default)]
    one_text: bool,
    #[serde(default)]
    instructions: Search,
    #[serde(default = "iso_date")]
    date_format: String,
    #[serde(default)]
    timezone: Option<String>,
    #[serde(default)]
    compaction: Compaction,
    #[serde(default)]
    values: BTreeMap<String, String>,
    #[serde(default)]
    tools_when: BTreeMap<String, When>,
    #[serde(rename = "segment")]
    segments: Vec<Entry>,
}

/// What holds for the whole layout.
#[derive(Clone, Debug)]
pub struct Head {
    pub cadence: Cadence,
    pub blocks: Blocks,
    pub joiner: String,
    /// Wire name → name shown to the model; both resolve.
    pub tool_names: BTreeMap<String, String>,
    /// Wire names that come first, in this order; the rest follows by name.
    pub tool_order: Vec<String>,
    /// Wire names of the opt-in tools that the layout asks for.
    pub optional_tools: Vec<String>,
    pub tool_texts: ToolTexts,
    /// Texts about results that were cut: the model gets them as `hints/cut-result.md`.
    pub system_hints: Vec<String>,
    pub modes: Modes,
    pub summary: Summary,
    /// All texts of a message with images are one block, after these.
    pub one_text: bool,
    pub instructions: Search,
    /// `strftime` form of the date, for whoever gathers [`super::Facts`].
    pub date_format: String,
    /// IANA name; `None`: the setting, else the system's zone.
    pub timezone: Option<String>,
    pub compaction: Compaction,
    /// Words that texts and headings of this layout may name as `{{key}}`, such as the
    /// product's.
    pub values: BTreeMap<String, String>,
    /// Wire names of tools that are offered only under a condition.
    pub tools_when: BTreeMap<String, When>,
}

/// When the system text is rendered anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cadence {
    /// Once an epoch; later changes are journal entries.
    #[default]
    Session,
    Turn,
    Step,
}

/// How many blocks the system slot has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Blocks {
    /// One text; a block ends only after a segment with `boundary = true`, and after the last.
    #[default]
    One,
    /// Each row is a block of its own.
    Many,
}

/// What the text of the prompt says of tools.
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
    /// The system text and the descriptions of forbidden tools are rendered anew.
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

/// Numbers of compaction; `None`: what the code that compacts uses by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Compaction {
    /// Tokens at which history is compacted.
    pub threshold: Option<u64>,
    /// Messages kept as they are.
    pub keep: Option<usize>,
    /// How long one request for a summary may take.
    pub seconds: Option<u64>,
}

/// One segment's place in the layout.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    pub id: String,
    /// Shown in the preview; without it the builder's, else the id.
    #[serde(default)]
    pub title: Option<String>,
    /// The same for the preview's `layer`.
    #[serde(default)]
    pub layer: Option<String>,
    pub slot: Slot,
    /// Put above the text, only when there is one.
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
    /// Marks that the segment asks for in answers; they are taken out again.
    #[serde(default)]
    pub demands: Vec<Demand>,
    #[serde(default)]
    pub params: BTreeMap<String, toml::Value>,
}

/// How much of a segment's own text is kept; what is cut is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Budget {
    /// Characters.
    pub chars: usize,
    #[serde(default)]
    pub keep: Keep,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Keep {
    #[default]
    Head,
    Tail,
    /// 70 % from the head, 20 % from the tail.
    Ends,
}

/// One line of `providers/patterns.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Pattern {
    /// `*` stands for anything; case does not count.
    pub glob: String,
    /// Name below `providers/`, without suffix.
    pub template: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Patterns {
    #[serde(rename = "pattern", default)]
    patterns: Vec<Pattern>,
}

impl Layout {
    /// The layout of that name from `texts`; an error names the unknown key or layout and lists
    /// the known ones.
    pub fn load(texts: &Texts, name: &str) -> Result<Self, String> {
        let path = format!("layouts/{name}.toml");
        let Some(text) = texts.get(&path) else {
            return Err(format!(
                "there is no layout {name:?}; known layouts: {}",
                Self::names(texts).join(", ")
            ));
        };
        let file: File = parse(&path, text)?;
        let patterns = patterns(texts, &file.segments)?;
        let layout = Self {
            name: name.to_owned(),
            head: Head {
                cadence: file.cadence,
                blocks: file.blocks,
                joiner: file.joiner,
                tool_names: file.tool_names,
                tool_order: file.tool_order,
                optional_tools: file.optional_tools,
                tool_texts: file.tool_texts,
                system_hints: file.system_hints,
                modes: file.modes,
                summary: file.summary,
                one_text: file.one_text,
                instructions: file.instructions,
                date_format: file.date_format,
                timezone: file.timezone,
                compaction: file.compaction,
                values: file.values,
                tools_when: file.tools_when,
            },
            segments: file.segments,
            providers: patterns,
        };
        layout
            .check(texts)
            .map_err(|why| format!("{path}: {why}"))?;
        Ok(layout)
    }

    /// Names of the layouts that exist, sorted.
    pub fn names(texts: &Texts) -> Vec<String> {
        texts
            .names("layouts/")
            .into_iter()
            .filter_map(|name| name.strip_prefix("layouts/")?.strip_suffix(".toml"))
            .map(str::to_owned)
            .collect()
    }

    /// The name under which the model sees a tool.
    pub fn tool_name<'a>(&'a self, wire: &'a str) -> &'a str {
        self.head.tool_names.get(wire).map_or(wire, String::as_str)
    }

    /// The wire name of a tool that the model calls by either name.
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
        tools.sort_by(|a, b| (place(a), &a.spec.name).cmp(&(place(b), &b.spec.name)));
        tools
    }

    /// The request's tools: ordered, under this layout's names; where modes are told by
    /// placeholders, those that the mode refuses say so instead of what they do.
    pub fn tools(&self, texts: &Texts, tools: &[ToolFacts], mode: Mode) -> Vec<ToolSpec> {
        let specs = self.ordered(tools).into_iter().map(|tool| {
            let name = self.tool_name(&tool.spec.name);
            let refused = tool.changes && mode != Mode::Agent;
            let description = if refused && self.head.modes == Modes::Placeholders {
                let values = [("tool", name), ("mode", mode.as_str())];
                texts.render("modes/placeholder.md", &values)
            } else {
                self.described(&tool.spec.description)
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

    /// The tools that the layout's conditions leave.
    pub fn offered(&self, facts: &Facts) -> Vec<ToolFacts> {
        let wanted = |tool: &&ToolFacts| {
            let when = self.head.tools_when.get(&tool.spec.name);
            when.is_none_or(|when| when.judge(facts, &|_| false).0)
        };
        facts.tools.iter().filter(wanted).cloned().collect()
    }

    /// A tool's text with the other tools under the names that the model sees.
    pub(super) fn described(&self, text: &str) -> String {
        let names = self.head.tool_names.iter();
        names.fold(text.to_owned(), |text, (wire, shown)| {
            text.replace(&format!("`{wire}`"), &format!("`{shown}`"))
        })
    }

    /// A segment of this builder is in the layout.
    pub fn has(&self, builder: &str) -> bool {
        let mut entries = self.segments.iter();
        entries.any(|entry| {
            let built = builder_of(entry).ok().flatten();
            built.is_some_and(|known| known.id == builder)
        })
    }

    /// A segment of this builder is in the layout, not switched off, and its condition holds.
    pub fn shows(&self, builder: &str, facts: &Facts) -> bool {
        self.segments.iter().any(|entry| {
            let built = builder_of(entry).ok().flatten();
            let when = entry.when.as_ref();
            built.is_some_and(|known| known.id == builder)
                && facts.switches.get(&entry.id) != Some(&false)
                && when.is_none_or(|when| when.judge(facts, &|_| false).0)
        })
    }

    /// The texts with the tools under the names that the model sees, and those about cut results
    /// as hints where the layout wants that.
    pub fn words(&self, texts: &Arc<Texts>) -> Arc<Texts> {
        let hints = &self.head.system_hints;
        if self.head.tool_names.is_empty() && hints.is_empty() {
            return texts.clone();
        }
        Arc::new(texts.map("results", |name, text| {
            let text = self.described(text);
            match hints.iter().any(|hint| hint == name) {
                true => texts.render("hints/cut-result.md", &[("text", &text)]),
                false => text,
            }
        }))
    }

    /// The system text says which mode holds.
    pub(super) fn tells_mode(&self, rows: &[SegmentRow]) -> bool {
        let of_mode = |entry: &&Entry| {
            let builder = builder_of(entry).ok().flatten();
            builder.is_some_and(|builder| builder.id == "mode")
        };
        let mut entries = self.segments.iter().filter(of_mode);
        entries.any(|entry| {
            let mut rows = rows.iter();
            rows.any(|row| row.id == entry.id && row.included && row.slot == Slot::System)
        })
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

    fn check(&self, texts: &Texts) -> Result<(), String> {
        let ids: BTreeSet<&str> = self
            .segments
            .iter()
            .map(|entry| entry.id.as_str())
            .collect();
        if ids.len() < self.segments.len() {
            let mut seen = BTreeSet::new();
            let twice = self.segments.iter().find(|entry| !seen.insert(&entry.id));
            let id = twice.map_or("", |entry| entry.id.as_str());
            return Err(format!("the segment {id:?} is there twice"));
        }
        for entry in &self.segments {
            self.check_entry(texts, entry, &ids)
                .map_err(|why| format!("segment {:?}: {why}", entry.id))?;
        }
        let mut hints = self.head.system_hints.iter();
        if let Some(unknown) = hints.find(|name| texts.get(name).is_none()) {
            return Err(format!("systemHints names {unknown}, which does not exist"));
        }
        let mut demands = self.segments.iter().flat_map(|entry| &entry.demands);
        if demands.any(|demand| demand.marks().iter().any(|mark| mark.trim().is_empty())) {
            return Err("a mark in `demands` is empty".to_owned());
        }
        let boundaries = self.segments.iter().filter(|entry| entry.boundary).count();
        if boundaries >= BOUNDARIES {
            return Err(format!(
                "{boundaries} segments have boundary = true; at most {} may, because the end of \
                 the system text is one too",
                BOUNDARIES - 1
            ));
        }
        Ok(())
    }

    fn check_entry(
        &self,
        texts: &Texts,
        entry: &Entry,
        ids: &BTreeSet<&str>,
    ) -> Result<(), String> {
        if !entry
            .id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
        {
            return Err("an id has only letters, digits, - and _".to_owned());
        }
        let builder = builder_of(entry)?;
        let known: &[&str] = match builder {
            Some(builder) => builder.params,
            None => &["text"],
        };
        if let Some(unknown) = entry
            .params
            .keys()
            .find(|key| *key != "builder" && !known.contains(&key.as_str()))
        {
            return Err(format!(
                "unknown parameter {unknown:?}; known: {}",
                known.join(", ")
            ));
        }
        if builder.is_none() {
            let name = static_text(entry);
            if texts.get(&name).is_none() {
                return Err(format!(
                    "there is neither a builder of this name nor the text {name}; builders: {}; \
                     texts: {}",
                    builders::names().join(", "),
                    texts.names("segments/").join(", ")
                ));
            }
        }
        if let Some(fields) = entry.params.get("fields") {
            builders::check_fields(fields)?;
        }
        for key in TEXTS {
            let name = entry.params.get(key).and_then(toml::Value::as_str);
            if let Some(name) = name.filter(|name| texts.get(name).is_none()) {
                return Err(format!("params.{key} names {name}, which does not exist"));
            }
        }
        match &entry.when {
            Some(when) => when.check(ids),
            None => Ok(()),
        }
    }
}

/// Parameters that name a text.
const TEXTS: [&str; 9] = [
    "before",
    "cutNotice",
    "degraded",
    "fallback",
    "frame",
    "missing",
    "patterns",
    "summary",
    "text",
];

/// The builder of an entry: the one that `params.builder` names, else the one of its id; `None`
/// for a segment that is a fixed text.
pub(super) fn builder_of(entry: &Entry) -> Result<Option<&'static Builder>, String> {
    match entry.params.get("builder") {
        Some(toml::Value::String(name)) => match builders::find(name) {
            Some(builder) => Ok(Some(builder)),
            None => Err(format!(
                "unknown builder {name:?}; known: {}",
                builders::names().join(", ")
            )),
        },
        Some(_) => Err("params.builder must be a string".to_owned()),
        None => Ok(builders::find(&entry.id)),
    }
}

/// The file of a fixed segment: `params.text`, else `segments/<id>.md`.
pub(super) fn static_text(entry: &Entry) -> String {
    match entry.params.get("text").and_then(toml::Value::as_str) {
        Some(name) => name.to_owned(),
        None => format!("segments/{}.md", entry.id),
    }
}

/// The ordered patterns that choose a template: `params.patterns` of the segment `provider`.
fn patterns(texts: &Texts, segments: &[Entry]) -> Result<Vec<Pattern>, String> {
    let named = segments
        .iter()
        .find_map(|entry| entry.params.get("patterns"));
    let path = named
        .and_then(toml::Value::as_str)
        .unwrap_or("providers/patterns.toml");
    let Some(text) = texts.get(path) else {
        return Ok(Vec::new());
    };
    let Patterns { patterns } = parse(path, text)?;
    for pattern in &patterns {
        let template = format!("providers/{}.md", pattern.template);
        if texts.get(&template).is_none() {
            return Err(format!(
                "{path}: the pattern {:?} names {template}, which does not exist; known: {}",
                pattern.glob,
                texts.names("providers/").join(", ")
            ));
        }
    }
    Ok(patterns)
}

fn parse<T: serde::de::DeserializeOwned>(path: &str, text: &str) -> Result<T, String> {
    let reader = toml::Deserializer::parse(text).map_err(|error| format!("{path}: {error}"))?;
    serde_path_to_error::deserialize(reader).map_err(|error| {
        let place = error.path().to_string();
        let message = error.inner().message().to_owned();
        if place == "." {
            format!("{path}: {message}")
        } else {
            format!("{path}: {place}: {message}")
        }
    })
}

fn blank_line() -> String {
    "\n\n".to_owned()
}

fn iso_date() -> String {
    "%Y-%m-%d".to_owned()
}

#[cfg(test)]
pub(super) mod tests;
