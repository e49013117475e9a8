//! Named agents: profiles of prompt, model, tools, mode and detail, from the user's settings, the
//! user's Markdown files and a workspace's files. A workspace's agents are used only in a trusted
//! folder and with exactly the text that the user trusted (INV-9). This finds and reads them; the
//! session applies them.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::at_home;
use super::control_files::{self, Active, Kind};
use super::front::{self, Field, Front};
use super::trust::TrustStore;
use crate::config::keys::Rule;
use crate::config::{AgentConfig, AgentDetail, Config};
use crate::conversation::Mode;
use crate::conversation::request::Effort;
use crate::env::Env;
use crate::env::order;
use crate::workspace::Workspace;

/// Most bytes of an agent's prompt. A longer one is not used: a truncated prompt could say the
/// opposite.
const PROMPT: usize = 64 * 1024;
/// Most characters of a name and of a description.
const NAME: usize = 64;
const DESCRIPTION: usize = 1024;
/// Most files that are read in one of the user's folders.
const FILES: usize = 500;
/// Most names in a list of tools.
const TOOLS: usize = 200;

/// Names of the same tools in agent files of other programs.
const OTHER_NAMES: [(&str, &str); 10] = [
    ("multiedit", "edit"),
    ("bash", "exec"),
    ("shell", "exec"),
    ("ls", "list"),
    ("patch", "apply_patch"),
    ("todowrite", "write_todos"),
    ("webfetch", "web_fetch"),
    ("task", "delegate"),
    ("skill", "load_skill"),
    ("askuserquestion", "ask_user"),
];

/// One agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentProfile {
    pub name: String,
    pub description: String,
    /// Replaces the provider's template, unless it is empty.
    pub prompt: String,
    /// A setting's key or a path, as shown to the user.
    pub source: String,
    pub path: Option<PathBuf>,
    pub author: Author,
    pub model: Option<String>,
    pub tools: Tools,
    pub mode: Option<Mode>,
    pub detail: Option<AgentDetail>,
    /// The model's thinking level.
    pub thinking: Option<Effort>,
    /// The only folder that it works in, below the session's directory.
    pub confine: Option<PathBuf>,
}

impl AgentProfile {
    pub fn built_in(name: &str, mode: Mode) -> Self {
        Self {
            name: name.to_owned(),
            source: "built in".to_owned(),
            mode: Some(mode),
            ..Self::default()
        }
    }
}

/// Who wrote an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Author {
    #[default]
    User,
    /// A file in a trusted folder, itself trusted by its hash.
    Workspace,
}

/// An agent's tools, by wire name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tools {
    /// `None`: all tools.
    pub only: Option<Vec<String>>,
    pub without: Vec<String>,
}

impl Tools {
    pub fn has(&self, tool: &str) -> bool {
        let named = |list: &Vec<String>| list.iter().any(|name| name == tool);
        self.only.as_ref().is_none_or(named) && !named(&self.without)
    }

    /// The agent lists the tool by name.
    pub fn names(&self, tool: &str) -> bool {
        self.only.iter().flatten().any(|name| name == tool)
    }

    /// The listed names that are not in `known`.
    pub fn unknown(&self, known: &[&str]) -> Vec<String> {
        let all = self.only.iter().flatten().chain(&self.without);
        all.filter(|name| !known.contains(&name.as_str()))
            .cloned()
            .collect()
    }
}

/// A workspace's agent that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untrusted {
    pub name: String,
    pub file: Active,
}

/// All agents, and what is not used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// By name.
    pub agents: Vec<AgentProfile>,
    pub untrusted: Vec<Untrusted>,
    /// `(source, reason)`: shown, never fatal. Not escaped.
    pub problems: Vec<(String, String)>,
}

/// No usable agent has that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAgent {
    pub name: String,
    pub known: Vec<String>,
    /// The workspace's file that would define it if it were trusted.
    pub untrusted: Option<String>,
    /// A file with that name that is not an agent, and why.
    pub problem: Option<(String, String)>,
}

/// The built-in agents: all tools, and the model's template.
const BUILT_IN: [(&str, Mode); 2] = [("build", Mode::Agent), ("plan", Mode::Plan)];

/// The agent with that name. A built-in one gives way to the user's agent with the same name, even
/// a broken one, but not to an untrusted file of a workspace.
pub fn named(found: &Found, name: &str) -> Result<AgentProfile, UnknownAgent> {
    if let Some(wanted) = found.agents.iter().find(|agent| agent.name == name) {
        return Ok(wanted.clone());
    }
    let problem = found.problems.iter().find(|(source, _)| {
        let file = source.rsplit(['/', '\\']).next().unwrap_or(source);
        file.strip_suffix(".md") == Some(name) || source.strip_prefix("agents.") == Some(name)
    });
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
    if let (Some((name, mode)), None) = (built_in, problem) {
        return Ok(AgentProfile::built_in(name, *mode));
    }
    let mut known: Vec<String> = BUILT_IN
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    known.extend(found.agents.iter().map(|agent| agent.name.clone()));
    known.sort();
    known.dedup();
    Err(UnknownAgent {
        name: name.to_owned(),
        known,
        untrusted: found
            .untrusted
            .iter()
            .find(|agent| agent.name == name)
            .map(|agent| agent.file.shown.clone()),
        problem: problem.cloned(),
    })
}

/// The agents for a session in `cwd`. The first source that defines a name wins: the setting
/// `agents`, `agents/` in the config folder, `~/.claude/agents`, then `.interline/agents` and
/// `.claude/agents` in the workspace's folder. `trusted_now`: that folder is trusted. Blocking, all
/// reads bounded.
pub fn find(
    workspace: &Workspace,
    env: &Env,
    config: &Config,
    cwd: &Path,
    trusted_now: bool,
) -> Found {
    let mut finder = Finder {
        env,
        config,
        found: Found::default(),
        agents: BTreeMap::new(),
        read: Vec::new(),
    };
    for (name, agent) in &config.agents {
        finder.configured(name, agent);
    }
    let own = [
        env.dirs.config.join("agents"),
        env.dirs.home.join(".claude/agents"),
    ];
    for folder in own {
        finder.user_folder(&folder);
    }
    finder.workspace(workspace, cwd, trusted_now);
    let Finder {
        mut found, agents, ..
    } = finder;
    found.agents = agents.into_values().collect();
    found
}

struct Finder<'a> {
    env: &'a Env,
    config: &'a Config,
    found: Found,
    agents: BTreeMap<String, AgentProfile>,
    /// Canonical paths of the user's files: they stay the user's in a workspace around them.
    read: Vec<PathBuf>,
}

impl Finder<'_> {
    fn problem(&mut self, source: &str, reason: impl Into<String>) {
        self.found.problems.push((source.to_owned(), reason.into()));
    }

    fn add(&mut self, mut agent: AgentProfile) {
        if !sound_name(&agent.name) {
            let reason = format!(
                "an agent's name must have 1 to {NAME} letters, digits, `-`, `_` or `.`, and no \
                 other characters"
            );
            return self.problem(&agent.source, reason);
        }
        if agent.prompt.len() > PROMPT {
            let reason = format!(
                "its prompt has {} bytes, more than {PROMPT}: shorten it",
                agent.prompt.len()
            );
            return self.problem(&agent.source, reason);
        }
        if let Some(first) = self.agents.get(&agent.name) {
            let reason = format!("{} already defines {}", first.source, agent.name);
            return self.problem(&agent.source, reason);
        }
        agent.description = agent.description.trim().chars().take(DESCRIPTION).collect();
        if let Some(refused) = self.model_refused(&agent) {
            self.problem(&agent.source, refused);
            agent.model = None;
        }
        self.agents.insert(agent.name.clone(), agent);
    }

    /// Why the agent's model is not used. A recorded model is a file that a repository could
    /// contain; short names that other programs use are reported instead of failing each turn.
    fn model_refused(&self, agent: &AgentProfile) -> Option<String> {
        let model = agent.model.as_deref()?;
        let name = self.config.model_aliases.get(model);
        let name = name.map_or(model, String::as_str);
        if !name.contains('/') {
            return Some(format!(
                "its model {model:?} is unknown: write <provider>/<id> or an alias from \
                 `modelAliases`; the session's model is used"
            ));
        }
        let verdict = Rule::Model.judge("model", &name.into(), None);
        let refused = verdict
            .refused
            .filter(|_| agent.author == Author::Workspace)?;
        Some(format!("its model {model:?} is not used: {refused}"))
    }

    fn configured(&mut self, name: &str, agent: &AgentConfig) {
        let source = format!("agents.{}", name.chars().take(NAME).collect::<String>());
        let prompt = match (&agent.prompt, &agent.prompt_file) {
            (Some(prompt), file) => {
                if file.is_some() {
                    let reason = "it has `prompt` and `promptFile`: `prompt` is used";
                    self.problem(&source, reason);
                }
                prompt.clone()
            }
            (None, Some(file)) => match self.prompt_file(file) {
                Ok(prompt) => prompt,
                Err(reason) => return self.problem(&source, reason),
            },
            (None, None) => String::new(),
        };
        self.add(AgentProfile {
            name: name.to_owned(),
            description: agent.description.clone().unwrap_or_default(),
            prompt,
            source,
            model: agent.model.clone(),
            tools: Tools {
                only: agent.tools.as_deref().and_then(only),
                without: Vec::new(),
            },
            mode: agent.mode,
            detail: agent.detail,
            thinking: agent.thinking,
            ..AgentProfile::default()
        });
    }

    /// The user's own file: `~/` is the home folder, relative paths begin in the config folder.
    fn prompt_file(&self, file: &Path) -> Result<String, String> {
        let path = match file.strip_prefix("~") {
            Ok(rest) => self.env.dirs.home.join(rest),
            Err(_) => self.env.dirs.config.join(file),
        };
        match control_files::read_disk(&path) {
            Ok(text) => Ok(text.text),
            Err(reason) => Err(format!("promptFile {}: {reason}", path.display())),
        }
    }

    fn user_folder(&mut self, folder: &Path) {
        let Ok(listing) = std::fs::read_dir(folder) else {
            return;
        };
        let mut paths: Vec<PathBuf> = listing
            .flatten()
            .take(FILES + 1)
            .map(|entry| entry.path())
            .collect();
        if paths.len() > FILES {
            let reason = format!("more than {FILES} entries: not all were read");
            self.problem(&at_home(self.env, folder), reason);
            paths.truncate(FILES);
        }
        paths.retain(|path| path.extension().is_some_and(|suffix| suffix == "md"));
        paths.sort();
        for path in paths {
            let source = at_home(self.env, &path);
            match control_files::read_disk(&path) {
                Ok(text) => {
                    self.read.push(text.path.clone());
                    self.take(&text.text, &source, &path, Author::User);
                }
                Err(reason) => self.problem(&source, reason),
            }
        }
    }

    fn workspace(&mut self, workspace: &Workspace, cwd: &Path, trusted: bool) {
        let root = workspace.root_for(cwd).map(|root| root.path);
        let root = root.unwrap_or_else(|| cwd.to_path_buf());
        let store = TrustStore::new(self.env);
        let listed = control_files::list_kind(workspace, &store, &root, Kind::Agent);
        self.found.problems.extend(listed.problems);
        let mut files = listed.files;
        files.retain(|file| !self.read.contains(&file.path));
        // Our own folder comes before the other program's.
        order::sort_by_key(&mut files, |file| file.shown.starts_with(".claude/"));
        for file in files {
            // Read again, because only the text with that hash is trusted.
            let text = match control_files::read(workspace, &root, &root.join(&file.shown)) {
                Ok(Some(text)) if text.hash == file.hash => text.text,
                _ => {
                    self.problem(&file.shown, "it changed while it was read");
                    continue;
                }
            };
            let counts = trusted && file.trusted;
            if counts {
                self.take(&text, &file.shown, &file.path, Author::Workspace);
            } else {
                let front = front::parse(&text);
                let name = name_of(&front, Path::new(&file.shown));
                self.found.untrusted.push(Untrusted { name, file });
            }
        }
    }

    fn take(&mut self, text: &str, source: &str, path: &Path, author: Author) {
        let front = front::parse(text);
        match confine(&front, author) {
            Ok(confine) => {
                let mut agent = self.parsed(&front, source, path, author);
                agent.confine = confine;
                self.add(agent);
            }
            // An agent must not run without the limit that its author gave it.
            Err(reason) => self.problem(source, reason),
        }
    }

    fn parsed(
        &mut self,
        front: &Front<'_>,
        source: &str,
        path: &Path,
        author: Author,
    ) -> AgentProfile {
        for problem in &front.problems {
            self.problem(source, problem.clone());
        }
        let (mode, detail) = self.mode_and_detail(front, source);
        let word = front.get_text("thinking").map(str::trim);
        let thinking = word.and_then(Effort::parse);
        if let (Some(word), None) = (word, thinking) {
            let known = "off, low, medium, high";
            self.problem(source, format!("unknown thinking {word:?}; known: {known}"));
        }
        let text_of = |key: &str| front.get_text(key).map(|text| text.trim().to_owned());
        AgentProfile {
            // A link's own name is what the user sees.
            name: name_of(front, Path::new(source)),
            description: text_of("description").unwrap_or_default(),
            prompt: front.body.trim().to_owned(),
            source: source.to_owned(),
            path: Some(path.to_owned()),
            author,
            model: text_of("model").filter(|model| model != "inherit" && model != "default"),
            tools: tools(front),
            mode,
            detail,
            thinking,
            confine: None,
        }
    }

    /// `mode` is agent, plan or ask. Other programs also say there what an agent is for: who is
    /// made to be a sub-agent gets the minimal prompt unless it says otherwise (OC-43).
    fn mode_and_detail(
        &mut self,
        front: &Front<'_>,
        source: &str,
    ) -> (Option<Mode>, Option<AgentDetail>) {
        let word = |key: &str| front.get_text(key).map(|it| it.trim().to_ascii_lowercase());
        let detail = word("detail").and_then(|word| {
            let detail = AgentDetail::parse(&word);
            if detail.is_none() {
                let reason = "its `detail` is not full, minimal or none: ignored";
                self.problem(source, reason);
            }
            detail
        });
        match word("mode").as_deref() {
            None | Some("primary" | "all") => (None, detail),
            Some("subagent") => (None, detail.or(Some(AgentDetail::Minimal))),
            Some(word) => {
                let mode = Mode::parse(word);
                if mode.is_none() {
                    // A misspelt limit must not become no limit.
                    let reason = "its `mode` is not agent, plan or ask: it gets `ask`";
                    self.problem(source, reason);
                }
                (mode.or(Some(Mode::Ask)), detail)
            }
        }
    }
}

/// The folder below the session's directory that `confine` names.
fn confine(front: &Front<'_>, author: Author) -> Result<Option<PathBuf>, String> {
    let Some(field) = front.get("confine") else {
        return Ok(None);
    };
    if author == Author::Workspace {
        return Err("`confine` works in your own agents only: it is not used".to_owned());
    }
    let folder = match field {
        Field::Text(text) => PathBuf::from(text.trim()),
        _ => PathBuf::new(),
    };
    let plain = |part| matches!(part, Component::Normal(_));
    if folder.as_os_str().is_empty() || !folder.components().all(plain) {
        return Err(
            "its `confine` is not a folder below the session's directory, such as `skills/pdf`: \
             it is not used"
                .to_owned(),
        );
    }
    Ok(Some(folder))
}

/// Front matter's `name`, else the file's.
fn name_of(front: &Front<'_>, path: &Path) -> String {
    let stem = || path.file_stem().map(|stem| stem.to_string_lossy());
    match front.get_text("name") {
        Some(name) => name.trim().to_owned(),
        None => stem().unwrap_or_default().into_owned(),
    }
}

fn sound_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name.chars().count() <= NAME
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// A list in `tools` limits the tools; a table removes those that are `false`, and so does
/// `disallowedTools`.
fn tools(front: &Front<'_>) -> Tools {
    let mut tools = Tools::default();
    match front.get("tools") {
        Some(Field::Map(map)) => {
            let off = |field: &Field| field.bool() == Some(false);
            let names = map.iter().filter(|(_, field)| off(field));
            tools.without = names.take(TOOLS).map(|(name, _)| wire_name(name)).collect();
        }
        Some(Field::Text(text)) if text.trim().is_empty() => {}
        Some(field) => tools.only = field.list().as_deref().and_then(only),
        None => {}
    }
    let without = front.get_list("disallowedTools").unwrap_or_default();
    let without = without.iter().take(TOOLS).map(|name| wire_name(name));
    tools.without.extend(without);
    tools
}

/// The allowed tools; `*` stands for all.
fn only(names: &[String]) -> Option<Vec<String>> {
    if names.iter().any(|name| name.trim() == "*") {
        return None;
    }
    let mut only: Vec<String> = Vec::new();
    for name in names.iter().take(TOOLS) {
        let name = wire_name(name);
        if !only.contains(&name) {
            only.push(name);
        }
    }
    Some(only)
}

fn wire_name(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase();
    let other = OTHER_NAMES.iter().find(|(other, _)| *other == name);
    other.map_or(name, |(_, ours)| (*ours).to_owned())
}
