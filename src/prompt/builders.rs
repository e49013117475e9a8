//! Builders of dynamic segments, one file each, and their table. A builder turns facts into text;
//! it reads nothing else and knows no layout by name. It fences text that others may have written.

mod agent;
mod caller;
mod client;
mod context_files;
mod cursor;
mod date;
mod diagnostics;
mod documents;
mod env;
mod environment;
mod file;
mod framed;
mod git;
mod hints;
mod instructions;
mod language;
mod lists;
mod memory;
mod mode;
mod picked;
mod provider;
mod recent;
mod runtime;
mod sandbox;
mod selection;
mod servers;
mod skills;
mod tool_list;
mod tool_tiers;
mod visible;

use super::facts::Facts;
use super::fence;
use super::layout::{Entry, Layout};
use super::texts::Texts;
use super::types::{Budget, Keep, Trust};
use crate::conversation::input::Slot;

pub(super) use caller::row_id;
pub(super) use runtime::check as check_fields;

/// A row of the table of builders.
pub(super) struct Builder {
    /// The segment's id unless `params.builder` says otherwise.
    pub id: &'static str,
    pub title: &'static str,
    pub layer: &'static str,
    /// Parameters that the builder knows.
    pub params: &'static [&'static str],
    pub build: fn(&Input<'_>) -> Vec<Built>,
}

/// A builder's inputs.
pub(super) struct Input<'a> {
    pub layout: &'a Layout,
    pub entry: &'a Entry,
    /// The builder's own id: its template is `segments/<builder>.md`.
    pub builder: &'static str,
    pub texts: &'a Texts,
    pub facts: &'a Facts,
}

/// One row as built, before conditions and switches.
#[derive(Clone, Debug)]
pub(super) struct Built {
    /// Replaces the layout's id and title (several rows from one builder).
    pub id: Option<String>,
    pub title: Option<String>,
    /// Empty: absent.
    pub text: String,
    pub source: String,
    pub trust: Trust,
    /// Why it is included or absent.
    pub reason: String,
    /// Replaces the layout's slot.
    pub slot: Option<Slot>,
    /// The text's sources: source → hash.
    pub sources: Vec<(String, String)>,
    /// The instruction files in a row that is journaled as a whole.
    pub shows: Vec<(String, String)>,
    /// A change within an epoch becomes a journal entry with the complete new text.
    pub journaled: bool,
    /// It belongs to this turn only, so it stays out of the cached part.
    pub passing: bool,
}

impl Built {
    fn new(text: String, source: impl Into<String>, trust: Trust, reason: &str) -> Self {
        Self {
            id: None,
            title: None,
            text,
            source: source.into(),
            trust,
            reason: reason.to_owned(),
            slot: None,
            sources: Vec::new(),
            shows: Vec::new(),
            journaled: false,
            passing: false,
        }
    }

    /// A text that is included unless a condition says otherwise.
    pub(super) fn fixed(text: String, source: String, trust: Trust) -> Self {
        Self::new(text, source, trust, "")
    }

    fn absent(source: impl Into<String>, trust: Trust, reason: &str) -> Self {
        Self::new(String::new(), source, trust, reason)
    }
}

impl Input<'_> {
    /// The text truncated to the layout's budget, else to the builder's own.
    fn capped(&self, text: &str, default_chars: usize, keep: Keep) -> String {
        let own = Budget {
            chars: default_chars,
            keep,
        };
        fence::cut(self.texts, text, self.entry.budget.unwrap_or(own))
    }

    /// A number from the layout's parameters.
    fn number(&self, key: &str, default: usize) -> usize {
        self.param(key)
            .and_then(toml::Value::as_integer)
            .and_then(|number| usize::try_from(number).ok())
            .unwrap_or(default)
    }

    fn param(&self, key: &str) -> Option<&toml::Value> {
        self.entry.params.get(key)
    }

    /// A string from the layout's parameters.
    fn string(&self, key: &str) -> Option<&str> {
        self.param(key).and_then(toml::Value::as_str)
    }

    /// A list of strings from the layout's parameters.
    fn strings(&self, key: &str) -> Vec<&str> {
        let list = self.param(key).and_then(toml::Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(toml::Value::as_str)
            .collect()
    }

    fn flag(&self, key: &str) -> bool {
        self.param(key).and_then(toml::Value::as_bool) == Some(true)
    }

    /// The segment's own template, filled with a fenced block.
    fn fenced(&self, body: &str) -> String {
        let name = format!("segments/{}.md", self.builder);
        self.texts.render(&name, &[("body", &fence::block(body))])
    }

    /// The trust of what the editor shows of `paths`: the workspace's when the folder is trusted
    /// and contains every path; other buffers are always untrusted.
    fn editor_trust<'p>(&self, mut paths: impl Iterator<Item = &'p str>) -> Trust {
        if self.facts.trusted && paths.all(|path| inside(self.facts, path)) {
            Trust::Workspace
        } else {
            Trust::Untrusted
        }
    }
}

/// The path, as tools show it, is inside the root of the session's directory.
fn inside(facts: &Facts, path: &str) -> bool {
    let absolute = path.starts_with(['/', '\\', '~']) || path.contains(':');
    if absolute || path.split(['/', '\\']).any(|part| part == "..") {
        return false;
    }
    match facts.roots.as_slice() {
        [] => false,
        [_] => true,
        roots => roots
            .iter()
            .find(|root| std::path::Path::new(&facts.cwd).starts_with(&root.path))
            .is_some_and(|root| {
                path.strip_prefix(root.name.as_str())
                    .is_some_and(|rest| rest.starts_with('/'))
            }),
    }
}

const TABLE: &[Builder] = &[
    provider::BUILDER,
    environment::BUILDER,
    mode::BUILDER,
    language::BUILDER,
    instructions::GLOBAL,
    instructions::BUILDER,
    caller::BUILDER,
    date::BUILDER,
    git::BUILDER,
    documents::BUILDER,
    cursor::BUILDER,
    selection::BUILDER,
    visible::BUILDER,
    recent::BUILDER,
    diagnostics::BUILDER,
    hints::BUILDER,
    agent::BUILDER,
    client::BUILDER,
    context_files::BUILDER,
    env::BUILDER,
    file::BUILDER,
    lists::ALIASES,
    lists::ATTACHMENTS,
    lists::CREATED,
    lists::FOLDERS,
    lists::NOTES,
    lists::OWNERS,
    lists::RESOURCES,
    lists::VARIABLES,
    memory::INDEX,
    memory::PROFILE,
    memory::RELATED,
    picked::BUILDER,
    runtime::BUILDER,
    sandbox::BUILDER,
    servers::BUILDER,
    skills::BODIES,
    skills::LIST,
    tool_list::BUILDER,
    tool_tiers::BUILDER,
];

fn find(id: &str) -> Option<&'static Builder> {
    TABLE.iter().find(|builder| builder.id == id)
}

pub(super) fn names() -> Vec<&'static str> {
    TABLE.iter().map(|builder| builder.id).collect()
}

/// The builder that an entry names, else the one of its id; `None` for a segment that is a fixed
/// text.
pub(super) fn for_entry(entry: &Entry) -> Result<Option<&'static Builder>, String> {
    match entry.params.get("builder") {
        Some(toml::Value::String(name)) => match find(name) {
            Some(builder) => Ok(Some(builder)),
            None => Err(format!(
                "unknown builder {name:?}; known: {}",
                names().join(", ")
            )),
        },
        Some(_) => Err("params.builder must be a string".to_owned()),
        None => Ok(find(&entry.id)),
    }
}
