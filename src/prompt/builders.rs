//! Builders of segments, and their table. A builder turns facts into text; it reads nothing else
//! and knows no layout by name. It fences text that others may have written.

mod caller_segments;
mod client;
mod context_files;
mod editor;
mod file;
mod framed;
mod hints;
mod instructions;
mod lists;
mod provider;
mod runtime;
mod servers;
mod session;
mod skills;
mod tool_list;
mod tool_tiers;

use super::facts::Facts;
use super::fence;
use super::layout::{Entry, Layout};
use super::texts::Texts;
use super::types::{Budget, Keep, Trust};
use crate::conversation::input::Slot;

pub(super) use caller_segments::row_id;
pub(super) use runtime::check as check_fields;

/// A row of the table of builders.
pub(super) struct Builder {
    /// The segment's id unless `params.builder` says otherwise.
    pub id: &'static str,
    pub title: &'static str,
    pub layer: &'static str,
    /// Parameters that the builder knows, separated by blanks.
    pub params: &'static str,
    pub build: fn(&Input<'_>) -> Vec<Built>,
}

impl Builder {
    const fn new(
        id: &'static str,
        title: &'static str,
        layer: &'static str,
        params: &'static str,
        build: fn(&Input<'_>) -> Vec<Built>,
    ) -> Self {
        Self {
            id,
            title,
            layer,
            params,
            build,
        }
    }

    /// What it shows comes from the editor.
    pub fn is_editor(&self) -> bool {
        self.layer == "editor"
    }
}

/// A builder's inputs.
pub(super) struct Input<'a> {
    pub layout: &'a Layout,
    pub entry: &'a Entry,
    /// Its template is `segments/<id>.md`.
    pub builder: &'static Builder,
    pub texts: &'a Texts,
    pub facts: &'a Facts,
}

/// One row as built, before conditions and switches.
#[derive(Clone, Debug, Default)]
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
            text,
            source: source.into(),
            trust,
            reason: reason.to_owned(),
            ..Self::default()
        }
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

    /// The text of this name with the layout's values.
    fn filled(&self, name: &str) -> String {
        let text = self.texts.get(name).unwrap_or(name);
        self.layout.fill(self.facts, text)
    }

    /// [`Texts::render`] with values of its own.
    fn rendered(&self, name: &str, values: &[(&str, String)]) -> String {
        let values = values.iter().map(|(key, value)| (*key, value.as_str()));
        self.texts.render(name, &values.collect::<Vec<_>>())
    }

    /// The segment's own template, filled with a fenced block.
    fn fenced(&self, body: &str) -> String {
        let name = format!("segments/{}.md", self.builder.id);
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

/// A segment that is a fixed text.
pub(super) const FIXED: Builder = Builder::new("", "", "text", "text", fixed);

/// Id, title, layer, parameters, function.
#[rustfmt::skip]
const TABLE: &[Builder] = &[
    Builder::new("provider", "Provider template", "provider", "patterns", provider::template),
    Builder::new("environment", "Environment", "environment", "", session::environment),
    Builder::new("mode", "Mode", "mode", "", session::mode),
    Builder::new("language", "Language", "user", "", session::language),
    Builder::new("globalInstructions", "The user's instructions", "instructions", "", instructions::global),
    Builder::new("instructions", "Project instructions", "instructions", "origins rows", instructions::build),
    Builder::new("caller", "Segments of the caller", "caller", "", caller_segments::build),
    Builder::new("date", "Date", "runtime", "", session::date),
    Builder::new("git", "Git", "runtime", "", session::git),
    Builder::new("documents", "Open documents", "editor", "items", editor::documents),
    Builder::new("cursor", "Active document and cursor", "editor", "", editor::cursor),
    Builder::new("selection", "Selection", "editor", "", editor::selection),
    Builder::new("visible", "Other visible editors", "editor", "", editor::visible),
    Builder::new("recent", "The user's recent edits", "editor", "", editor::recent),
    Builder::new("diagnostics", "Diagnostics", "editor", "items", editor::diagnostics),
    Builder::new("hints", "Hints", "runtime", "text summary degraded caller", hints::build),
    Builder::new("agent", "Agent", "agent", "", provider::agent),
    Builder::new("client", "From the client", "client", "fact text tools", client::build),
    Builder::new("contextFiles", "Project files", "files", context_files::PARAMS, context_files::build),
    Builder::new("env", "Environment", "environment", "", session::env),
    Builder::new("file", "File", "files", "files frame label fallback exact", file::build),
    Builder::new("aliases", "Model aliases", "user", LIST, lists::aliases),
    Builder::new("attachments", "Attachments", "runtime", LIST, lists::attachments),
    Builder::new("created", "Files created in this session", "runtime", LIST, lists::created),
    Builder::new("folders", "Folders", "environment", LIST, lists::folders),
    Builder::new("notes", "Workspace notes", "user", LIST, lists::notes),
    Builder::new("owners", "Authorized senders", "user", LIST, lists::owners),
    Builder::new("resources", "Resources", "runtime", LIST, lists::resources),
    Builder::new("variables", "Names of variables", "user", LIST, lists::variables),
    Builder::new("memoryIndex", "Memory index", "memory", "text", lists::memory_index),
    Builder::new("profile", "Profile", "memory", "of text", lists::profile),
    Builder::new("memories", "Related memories", "memory", "text", lists::related_memories),
    Builder::new("picked", "Picked prompts", "mcp", "", servers::picked),
    Builder::new("runtime", "Runtime", "runtime", "fields prefix assign separator", runtime::build),
    Builder::new("sandbox", "Sandbox", "environment", "text", session::sandbox),
    Builder::new("servers", "What MCP servers say about their use", "mcp", "", servers::instructions),
    Builder::new("skillBodies", "Skills in full", "skills", "which frame chars", skills::bodies),
    Builder::new("skills", "Skills", "skills", "text line description", skills::list),
    Builder::new("toolList", "Tools as text", "tools", "line bare", tool_list::build),
    Builder::new("toolTiers", "Tools by tier", "tools", "text line bare titles heading", tool_tiers::build),
];

/// The parameters of lists.
const LIST: &str = "line text display readWrite readOnly about";

fn fixed(cx: &Input<'_>) -> Vec<Built> {
    let name = cx.entry.text_name();
    let mut text = cx.filled(&name);
    if let Some(budget) = cx.entry.budget {
        text = fence::cut(cx.texts, &text, budget);
    }
    let (source, trust) = cx.texts.origin(&name);
    vec![Built::new(text, source, trust, "")]
}

fn find(id: &str) -> Option<&'static Builder> {
    TABLE.iter().find(|builder| builder.id == id)
}

pub(super) fn names() -> Vec<&'static str> {
    TABLE.iter().map(|builder| builder.id).collect()
}

/// The builder that an entry names, else the one of its id, else [`FIXED`].
pub(super) fn for_entry(entry: &Entry) -> Result<&'static Builder, String> {
    match entry.params.get("builder") {
        Some(toml::Value::String(name)) => find(name)
            .ok_or_else(|| format!("unknown builder {name:?}; known: {}", names().join(", "))),
        Some(_) => Err("params.builder must be a string".to_owned()),
        None => Ok(find(&entry.id).unwrap_or(&FIXED)),
    }
}
