//! Facts known before the prompt is written: files that the layout names, skills, memories. Reads
//! files; decides nothing.

use std::path::{Path, PathBuf};

use crate::agent::request::context::RequestContext;
use crate::config::{self, Citations};
use crate::conversation::{Input, Message};
use crate::knowledge::documents::Library;
use crate::knowledge::memory::{self, Memory};
use crate::knowledge::persona::{self, FileText, SystemPrompt};
use crate::knowledge::skills::{self, Origin};
use crate::knowledge::user_state;
use crate::policy::Policy;
use crate::prompt::Trust;
use crate::prompt::facts::{Folder, MemoryFacts, SkillFacts};
use crate::workspace::{FileKind, Root, Uri, beneath};

/// The user's own text, for every layout that begins with a static one.
const SYSTEM_PROMPT: &str = "SYSTEM_PROMPT.md";
/// Most agent-created files that a prompt lists.
const CREATED: usize = 200;

/// Sources that could not be used: `(source, reason)`.
pub type Problems = Vec<(String, String)>;

/// The files of the session's folder that the layout names.
pub fn files(from: &RequestContext, trusted: bool, problems: &mut Problems) -> Vec<FileText> {
    let (workspace, env, cwd) = (&from.shared.workspace, &from.shared.env, &from.cwd);
    let mut names = from.layout.files();
    let system_prompt = names.iter().position(|name| name == SYSTEM_PROMPT);
    let own = system_prompt
        .map(|at| names.remove(at))
        .map(|_| persona::system_prompt(workspace, env, cwd, trusted));
    if names.is_empty() && own.is_none() {
        return Vec::new();
    }
    let found = persona::gather(workspace, env, cwd, &names);
    let mut files = found.found;
    problems.extend(found.problems);
    for file in files.iter_mut().filter(|file| memory::is_page(&file.name)) {
        let (text, skipped) = memory::without_secrets(env, &file.name, &file.text);
        file.text = text;
        problems.extend(skipped);
    }
    if let Some((prompt, skipped)) = own {
        problems.extend(skipped);
        match prompt {
            SystemPrompt::Trusted(text) => files.push(text),
            SystemPrompt::Untrusted { path, .. } => problems.push((
                SYSTEM_PROMPT.to_owned(),
                format!(
                    "not trusted; `interline trust {}` trusts it",
                    path.display()
                ),
            )),
            SystemPrompt::Missing => {}
        }
    }
    files
}

/// The skills available to the model, and those the prompt mentions.
pub fn skills(from: &RequestContext, trusted: bool, problems: &mut Problems) -> Vec<SkillFacts> {
    let (workspace, env) = (&from.shared.workspace, &from.shared.env);
    let (config, cache) = (&from.settings.config, &from.shared.caches.skills);
    let found = skills::find_with(workspace, env, config, &from.cwd, trusted, cache);
    let asked = Input::typed(&from.input);
    let matched: Vec<String> = skills::matching(&found.skills, &asked)
        .into_iter()
        .map(|skill| skill.name.clone())
        .collect();
    let facts = found.for_model().map(|skill| SkillFacts {
        name: skill.name.clone(),
        description: skill.description.clone(),
        location: skill.location.clone(),
        folder: skill.path.parent().map(Path::to_owned),
        body: skill.body.clone(),
        always: skill.always,
        matched: matched.contains(&skill.name),
        connector: skill.connector.clone(),
        trust: match skill.origin {
            Origin::User => Trust::User,
            Origin::Workspace { .. } => Trust::Workspace,
        },
    });
    let facts = facts.collect();
    problems.extend(found.problems.iter().cloned());
    let gated = found.gated.iter();
    problems.extend(gated.map(|skill| (skill.location.clone(), skill.reason.clone())));
    let untrusted = found.untrusted.iter();
    let untrusted = untrusted.map(|skill| (skill.location.clone(), skill.reason.clone()));
    problems.extend(untrusted);
    facts
}

/// Names of the documents that can be searched.
pub fn library(from: &RequestContext, problems: &mut Problems) -> Vec<String> {
    let folders = &from.settings.config.knowledge.folders;
    if folders.is_empty() {
        return Vec::new();
    }
    let library = Library::list(&from.shared.env, folders);
    problems.extend(library.problems);
    let names = library.documents.into_iter().map(|document| document.name);
    names.collect()
}

/// Existing files that the agent created, as tools show them; the newest last.
pub fn created(from: &RequestContext) -> Vec<String> {
    let (workspace, lanes) = (&from.shared.workspace, &from.shared.lanes);
    let created = &from.conversation.created;
    let first = created.len().saturating_sub(CREATED);
    let made = created[first..].iter().map(|uri| Uri::new(uri.as_str()));
    let shown = made.filter_map(|uri| {
        let located = beneath::locate(workspace, &from.cwd, uri.as_str()).ok()?;
        let there = located.open || located.kind != FileKind::Missing;
        let held = || lanes.held_text(&located.key()).is_some();
        let path = located
            .path
            .strip_prefix(&from.cwd)
            .unwrap_or(&located.path);
        (there || held()).then(|| path.display().to_string())
    });
    shown.collect()
}

/// The memories that the settings allow a prompt to show.
pub fn memory(from: &RequestContext, problems: &mut Problems) -> MemoryFacts {
    let (workspace, env, cwd) = (&from.shared.workspace, &from.shared.env, &from.cwd);
    let config = &from.settings.config.memory;
    let tree = memory::tree(workspace, env, cwd);
    let mut facts = MemoryFacts {
        tree: tree.exists,
        citations: config.citations == Citations::On,
        advice: tree.advice(),
        ..MemoryFacts::default()
    };
    if !config.enabled {
        return facts;
    }
    let memory = match workspace.root_for(cwd) {
        Some(root) => Memory::of(env, root.path, from.session.as_ref()),
        None => Memory::new(env, cwd, from.session.as_ref()),
    };
    let remembered = memory.cached(&from.shared.caches.memories);
    facts.index = remembered.index.clone();
    if config.profile {
        let [user, project] = remembered.profiles();
        facts.user = user.clone();
        facts.project = project.clone();
    }
    let limit = usize::try_from(config.related).unwrap_or(usize::MAX);
    // The profile shows its own entries anyway.
    let profile = config.profile && from.layout.has("profile");
    let shown = |text: &str| {
        let mut lines = facts.user.iter().chain(&facts.project);
        profile && lines.any(|line| line.contains(text))
    };
    // Search the current prompt first, then earlier ones if that finds too little.
    let mut related: Vec<String> = Vec::new();
    let earlier = earlier_prompts(&from.conversation.messages);
    for said in std::iter::once(Input::typed(&from.input)).chain(earlier) {
        for entry in remembered.related(&said, limit) {
            if related.len() < limit && !related.contains(&entry.text) && !shown(&entry.text) {
                related.push(entry.text.clone());
            }
        }
    }
    facts.related = related;
    problems.extend(remembered.loaded.problems.iter().cloned());
    facts
}

/// The purpose of a folder, from the user's settings.
pub fn folder_purpose(from: &RequestContext, folder: &Path) -> Option<String> {
    let home = &from.shared.env.dirs.home;
    let named = |name: &str| match name.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(name),
    };
    let mut folders = from.settings.config.prompt.folders.iter();
    let found = folders.find(|(name, _)| {
        let named = named(name);
        named == folder || std::fs::canonicalize(named).is_ok_and(|path| path == folder)
    });
    found.map(|(_, text)| text.clone())
}

/// Those of the projects that the agent created that still exist.
fn created_projects(
    from: &RequestContext,
    policy: &Policy,
    made: Vec<user_state::Project>,
) -> Vec<Folder> {
    let roots = from.shared.workspace.roots();
    let made = user_state::existing(made, &roots);
    let folder = |(root, made): (Root, user_state::Project)| Folder {
        name: made.name(),
        path: made.path.display().to_string(),
        writable: policy.writable(&root.path),
        description: made
            .description
            .or_else(|| folder_purpose(from, &made.path)),
    };
    made.into_iter().map(folder).collect()
}

/// The agent's stored user data, as far as a prompt may show it.
pub struct StoredFacts {
    /// The name the user gave the session's agent.
    pub called: Option<String>,
    /// Names of private variables, from the settings and the store, sorted.
    pub variables: Vec<String>,
    /// Existing projects that the agent created.
    pub made: Vec<Folder>,
    pub problem: Option<(String, String)>,
}

/// Reads the names, never a value.
pub fn stored_facts(from: &RequestContext, policy: &Policy) -> StoredFacts {
    let (config, env) = (&from.settings.config, &from.shared.env);
    let mut variables = config::variable_names(config, env);
    let (kept, problem) = match user_state::UserState::new(env).read() {
        Ok(kept) => (kept, None),
        Err(error) => {
            let problem = ("kept.json".to_owned(), error.to_string());
            (user_state::Contents::default(), Some(problem))
        }
    };
    variables.extend(kept.variable_names().map(str::to_owned));
    variables.sort();
    variables.dedup();
    let called = kept.called(from.settings.agent.as_deref());
    StoredFacts {
        called: called.map(str::to_owned),
        made: created_projects(from, policy, kept.projects),
        variables,
        problem,
    }
}

/// Earlier prompts that show what the conversation is about.
const SAID: usize = 5;
/// Prefixes of blocks that the user did not write.
const OURS: [&str; 4] = ["<context", "<update", "<system", "```"];

/// The user's text in the last prompts, the newest first.
fn earlier_prompts(messages: &[Message]) -> Vec<String> {
    let prompts = messages.iter().rev().filter(|message| message.is_prompt());
    let words = prompts.take(SAID).map(|message| {
        let typed = |text: &&str| !OURS.iter().any(|begin| text.starts_with(begin));
        let texts: Vec<&str> = message.texts().filter(typed).collect();
        texts.join("\n")
    });
    words.filter(|text| !text.is_empty()).collect()
}
