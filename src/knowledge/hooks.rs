//! Hooks: the user's commands that run on events of a session, in the file format of Claude Code.
//! A workspace's hooks count only in a trusted folder and with exactly the content that the user
//! trusted (INV-9). This finds and reads them; `agent` runs them.

#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::control_files::{self, HOOK_FILES, Text};
use super::trust::TrustStore;
use super::{at_home, trust_bundle};
use crate::env::Env;
use crate::workspace::Workspace;

/// Most hooks of one file.
const MOST: usize = 100;
/// Longest pattern of tool names, in bytes of its compiled form.
const PATTERN: usize = 1 << 20;
/// How long a hook may run if it does not say, and at most.
const TIMEOUT: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(600);

/// When a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    SessionStart,
    UserPromptSubmit,
    PreToolUse,
    PostToolUse,
    Notification,
    PreCompact,
    SubagentStop,
    Stop,
    SessionEnd,
}

impl Event {
    pub const ALL: [Event; 9] = [
        Event::SessionStart,
        Event::UserPromptSubmit,
        Event::PreToolUse,
        Event::PostToolUse,
        Event::Notification,
        Event::PreCompact,
        Event::SubagentStop,
        Event::Stop,
        Event::SessionEnd,
    ];

    /// The name in files and inputs.
    pub fn as_str(self) -> &'static str {
        match self {
            Event::SessionStart => "SessionStart",
            Event::UserPromptSubmit => "UserPromptSubmit",
            Event::PreToolUse => "PreToolUse",
            Event::PostToolUse => "PostToolUse",
            Event::Notification => "Notification",
            Event::PreCompact => "PreCompact",
            Event::SubagentStop => "SubagentStop",
            Event::Stop => "Stop",
            Event::SessionEnd => "SessionEnd",
        }
    }
}

/// The events of one kind that a hook runs on, by the name of a tool, an agent or a cause.
#[derive(Clone, Debug)]
enum Matcher {
    All,
    Names(Vec<String>),
    Pattern(Regex),
}

impl Matcher {
    /// As Claude Code reads it: plain names separated by `|` match whole names, anything else is a
    /// pattern that may match a part.
    fn new(text: &str) -> Result<Self, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '|' | ' ');
        if matches!(text.trim(), "" | "*") {
            return Ok(Matcher::All);
        }
        if text.chars().all(plain) {
            let names = text.split('|').map(|name| name.trim().to_owned());
            return Ok(Matcher::Names(names.collect()));
        }
        let pattern = RegexBuilder::new(text).size_limit(PATTERN).build();
        let pattern =
            pattern.map_err(|_| format!("the matcher {text:?} is not a valid pattern"))?;
        Ok(Matcher::Pattern(pattern))
    }

    fn matches(&self, names: &[&str]) -> bool {
        match self {
            Matcher::All => true,
            // The event has no names, so a matcher says nothing about it.
            _ if names.is_empty() => true,
            Matcher::Names(known) => names.iter().any(|name| known.iter().any(|it| it == name)),
            Matcher::Pattern(pattern) => names.iter().any(|name| pattern.is_match(name)),
        }
    }
}

/// Whose hook it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    User,
    /// A file in a trusted folder, itself trusted by its content.
    Workspace,
}

/// One command for one event.
#[derive(Clone, Debug)]
pub struct Hook {
    pub event: Event,
    matcher: Matcher,
    /// The matcher as written.
    pub on: String,
    /// For `/bin/sh -c`.
    pub command: String,
    pub timeout: Duration,
    /// Nothing waits for it, and what it writes is not used.
    pub apart: bool,
    /// The file, as shown to the user.
    pub source: String,
    pub author: Author,
}

impl Hook {
    /// Whether it runs on this event. `names`: what its matcher is compared with.
    pub fn runs_on(&self, event: Event, names: &[&str]) -> bool {
        self.event == event && self.matcher.matches(names)
    }

    /// One line for the user. Not escaped.
    pub fn line(&self) -> String {
        let on = match self.on.as_str() {
            "" => String::new(),
            on => format!(" {on}"),
        };
        let Self {
            command, source, ..
        } = self;
        format!("{}{on}: {command} ({source})", self.event.as_str())
    }
}

/// The hooks of a session's directory, the user's first.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub hooks: Vec<Hook>,
    /// The workspace's files that are not used because they are not trusted, and whether they
    /// were.
    pub untrusted: Vec<(String, bool)>,
    /// `(source, reason)`: shown, never fatal. Not escaped.
    pub problems: Vec<(String, String)>,
    /// The workspace's files that its hooks name, canonical.
    pub programs: Vec<PathBuf>,
}

/// The hooks for a session in `cwd`: of `hooks.json` in the config folder, and of the workspace's
/// files. `trusted`: whether the folder is; it is asked only if there is such a file. Blocking;
/// without hooks it asks for the state of three paths.
pub fn find(
    workspace: &Workspace,
    env: &Env,
    store: &TrustStore,
    cwd: &Path,
    trusted: impl Fn() -> bool,
) -> Found {
    let mut found = Found::default();
    let exists = |path: &Path| std::fs::symlink_metadata(path).is_ok();
    let own = env.dirs.config.join("hooks.json");
    let root = root(workspace, cwd);
    if exists(&own) {
        let source = at_home(env, &own);
        match control_files::read_disk(&own) {
            Ok(text) => {
                found
                    .programs
                    .extend(trust_bundle::named_by_hooks(&root, &text.text));
                found.take(&text.text, &source, Author::User);
            }
            Err(reason) => found.problems.push((source, reason)),
        }
    }
    for file in HOOK_FILES.iter().filter(|file| exists(&root.join(file))) {
        match control_files::read(workspace, &root, &root.join(file)) {
            Ok(Some(text)) => found.of_workspace(store, file, &text, trusted()),
            Ok(None) => {}
            Err(reason) => found.problems.push(((*file).to_owned(), reason)),
        }
    }
    found
}

/// The folder whose files apply, canonical.
pub fn root(workspace: &Workspace, cwd: &Path) -> PathBuf {
    let root = workspace.root_for(cwd).map(|root| root.path);
    let root = root.or_else(|| std::fs::canonicalize(cwd).ok());
    root.unwrap_or_else(|| cwd.to_path_buf())
}

impl Found {
    fn of_workspace(&mut self, store: &TrustStore, file: &str, text: &Text, trusted: bool) {
        if !control_files::has_hooks(&text.text) {
            return;
        }
        if trusted && store.trusts(&text.path, &text.text) {
            let programs = trust_bundle::files(&text.path, &text.text);
            self.programs.extend(programs);
            self.take(&text.text, file, Author::Workspace);
        } else {
            let known = store.known(&text.path).is_some();
            self.untrusted.push((file.to_owned(), known));
        }
    }

    fn problem(&mut self, source: &str, reason: impl Into<String>) {
        self.problems.push((source.to_owned(), reason.into()));
    }

    /// Reads the hooks of a file: `{"hooks": {EVENT: [{"matcher", "hooks": [HOOK]}]}}`.
    fn take(&mut self, text: &str, source: &str, author: Author) {
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => return self.problem(source, format!("it is not JSON: {error}")),
        };
        if value["disableAllHooks"] == true {
            return;
        }
        let Some(events) = value.get("hooks").and_then(Value::as_object) else {
            return self.problem(source, "it has no object `hooks`");
        };
        let before = self.hooks.len();
        for (name, groups) in events {
            let Some(event) = Event::ALL.into_iter().find(|it| it.as_str() == name) else {
                self.problem(
                    source,
                    format!("there is no event {name:?}: its hooks do not run"),
                );
                continue;
            };
            for group in groups.as_array().into_iter().flatten() {
                let on = group["matcher"].as_str().unwrap_or_default();
                let hooks = group["hooks"].as_array().map(Vec::as_slice);
                for hook in hooks.unwrap_or_default() {
                    match read(hook, event, on, source, author) {
                        Ok(hook) => self.hooks.push(hook),
                        Err(reason) => {
                            self.problem(source, format!("{name}: {reason}: it does not run"));
                        }
                    }
                }
            }
        }
        if self.hooks.len() - before > MOST {
            self.hooks.truncate(before + MOST);
            self.problem(
                source,
                format!("more than {MOST} hooks: the rest does not run"),
            );
        }
    }
}

/// One entry. Fields that restrict when or how it runs and are not supported refuse it.
fn read(
    hook: &Value,
    event: Event,
    on: &str,
    source: &str,
    author: Author,
) -> Result<Hook, String> {
    match hook["type"].as_str() {
        Some("command") => {}
        Some(kind) => return Err(format!("a hook of type {kind:?} is not supported")),
        None => return Err("a hook needs `type` and `command`".to_owned()),
    }
    for field in ["if", "args", "shell"] {
        if hook.get(field).is_some() && hook[field] != "bash" {
            return Err(format!("the field `{field}` of a hook is not supported"));
        }
    }
    let Some(command) = hook["command"].as_str().filter(|it| !it.trim().is_empty()) else {
        return Err("a hook needs a `command`".to_owned());
    };
    let seconds = hook["timeout"].as_f64().filter(|seconds| *seconds > 0.0);
    let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    Ok(Hook {
        event,
        matcher: Matcher::new(on)?,
        on: on.trim().to_owned(),
        command: command.to_owned(),
        timeout: timeout.unwrap_or(TIMEOUT).min(LONGEST),
        apart: hook["async"] == true || event == Event::Notification,
        source: source.to_owned(),
        author,
    })
}
