//! What the agent stores for the user besides memories and skills: private variables, names of
//! agents, projects that it created. One 0600 JSON file in the state folder, changed under a lock
//! and replaced atomically. The value of a variable is only ever passed to commands.

use std::collections::BTreeMap;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::private_json;
use crate::conversation::sha256;
use crate::env::Env;
use crate::process::environment;
use crate::workspace::Root;

#[cfg(test)]
mod tests;

const FILE: &str = "kept.json";
/// Most variables or projects, most characters of a name, and most bytes of a value.
const MOST: usize = 200;
const NAME: usize = 64;
const VALUE: usize = 32 * 1024;
/// Most characters of a project's description.
const DESCRIPTION: usize = 500;
/// The key of the agent without a name.
const MAIN: &str = "main";

/// A folder of the workspace that the agent created for a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// Absolute.
    pub path: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The file's contents. `Debug` shows no values.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Contents {
    variables: BTreeMap<String, String>,
    /// Agent → display name.
    names: BTreeMap<String, String>,
    pub projects: Vec<Project>,
}

impl std::fmt::Debug for Contents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Contents")
            .field("variables", &self.variables.keys())
            .field("names", &self.names)
            .field("projects", &self.projects)
            .finish()
    }
}

impl Contents {
    /// The sorted names, never values.
    pub fn variable_names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// A hash of names and values, so that a change can be detected without storing a value.
    pub fn variables_hash(&self) -> String {
        let all = serde_json::to_string(&self.variables).unwrap_or_default();
        sha256(all.as_bytes())
    }

    /// Names and values, for a command's environment and nothing else.
    pub fn variables(&self) -> &BTreeMap<String, String> {
        &self.variables
    }

    /// The display name of an agent, if the user gave it one.
    pub fn called(&self, agent: Option<&str>) -> Option<&str> {
        let name = self.names.get(agent.unwrap_or(MAIN))?;
        Some(name.as_str())
    }

    /// The agents with a display name, and that name.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        let names = self.names.iter();
        names.map(|(agent, name)| (agent.as_str(), name.as_str()))
    }
}

/// Why something cannot be stored. Says nothing about a value but its length.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    #[error(
        "a variable's name must have 1 to {NAME} characters, only A-Z, 0-9 and _, and must not \
         begin with a digit"
    )]
    Variable,
    #[error(
        "a variable with this name may change what programs load or run, so it is not stored; \
         names that end in _KEY, _TOKEN, _SECRET, _PASSWORD, _URL, _ID, _USER and the like are. \
         Ask the user to set it and to name it in `env` of config.toml"
    )]
    Reserved,
    #[error("a value must have 1 to {VALUE} bytes and no NUL; this one has {0} bytes")]
    Value(usize),
    #[error("a name must be one line of 1 to {NAME} characters")]
    Name,
    #[error(
        "a project's name must be a valid folder name: 1 to {NAME} letters, digits, `-`, `_`, `.` \
         or blanks, beginning with a letter or digit"
    )]
    Project,
    #[error("a description must be one line of at most {DESCRIPTION} characters")]
    Description,
}

/// Checks a variable's name and value.
pub fn check_variable(name: &str, value: &str) -> std::result::Result<(), Invalid> {
    check_variable_name(name)?;
    if !environment::keepable(name) {
        return Err(Invalid::Reserved);
    }
    match value.is_empty() || value.len() > VALUE || value.contains('\0') {
        true => Err(Invalid::Value(value.len())),
        false => Ok(()),
    }
}

/// Checks a variable's name.
pub fn check_variable_name(name: &str) -> std::result::Result<(), Invalid> {
    let legal = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let fits = (1..=NAME).contains(&name.len())
        && name.chars().all(legal)
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if fits { Ok(()) } else { Err(Invalid::Variable) }
}

/// Checks an agent's display name; returns it trimmed.
pub fn check_name(name: &str) -> std::result::Result<&str, Invalid> {
    let name = name.trim();
    match one_line(name, NAME) && !name.is_empty() {
        true => Ok(name),
        false => Err(Invalid::Name),
    }
}

/// Checks a project's name and description.
pub fn check_project(name: &str, about: Option<&str>) -> std::result::Result<(), Invalid> {
    let legal = |c: char| c.is_alphanumeric() || "-_. ".contains(c);
    let fits = name.chars().count() <= NAME
        && name.starts_with(char::is_alphanumeric)
        && name.chars().all(legal)
        && !name.ends_with(['.', ' ']);
    if !fits {
        return Err(Invalid::Project);
    }
    match about.is_none_or(|about| one_line(about, DESCRIPTION)) {
        true => Ok(()),
        false => Err(Invalid::Description),
    }
}

fn one_line(text: &str, characters: usize) -> bool {
    text.chars().count() <= characters && !text.chars().any(char::is_control)
}

impl Project {
    /// Its folder's name.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

/// The projects created in these roots that still exist, each with its root. Blocking.
pub fn projects_in(env: &Env, roots: &[Root]) -> Result<Vec<(Root, Project)>> {
    Ok(existing(UserState::new(env).read()?.projects, roots))
}

/// Those of `projects` that are in these roots and still exist, each with its root. Blocking.
pub fn existing(projects: Vec<Project>, roots: &[Root]) -> Vec<(Root, Project)> {
    let mut found: Vec<(Root, Project)> = Vec::new();
    for made in projects {
        let Some(root) = roots.iter().find(|root| root.contains(&made.path)) else {
            continue;
        };
        let known = roots.iter().any(|root| root.path == made.path)
            || found.iter().any(|(_, known)| known.path == made.path);
        // A link in its place is not the folder that was created.
        let there = std::fs::symlink_metadata(&made.path).is_ok_and(|data| data.is_dir());
        if there && !known {
            found.push((root.clone(), made));
        }
    }
    found
}

/// The file; read for each question, so that two processes agree.
#[derive(Clone)]
pub struct UserState {
    path: PathBuf,
}

impl UserState {
    pub fn new(env: &Env) -> Self {
        Self {
            path: env.dirs.state.join(FILE),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The current contents; empty if the file does not exist.
    pub fn read(&self) -> Result<Contents> {
        let Some(text) = private_json::read(&self.path, |why| self.error(why))? else {
            return Ok(Contents::default());
        };
        // The parser's message could quote a value.
        serde_json::from_str(&text).map_err(|error| {
            let at = format!("is damaged at line {}", error.line());
            self.error(&at)
        })
    }

    /// Sets a variable that passed [`check_variable`]; returns whether it existed before.
    pub fn set_variable(&self, name: &str, value: &str) -> Result<bool> {
        self.change(|kept| {
            let known = kept.variables.contains_key(name);
            if !known && kept.variables.len() >= MOST {
                return Err(self.error("holds too many variables: delete one first"));
            }
            kept.variables.insert(name.to_owned(), value.to_owned());
            Ok(known)
        })
    }

    /// Deletes a variable; returns whether it existed.
    pub fn delete_variable(&self, name: &str) -> Result<bool> {
        self.change(|kept| Ok(kept.variables.remove(name).is_some()))
    }

    /// Sets an agent's display name.
    pub fn rename(&self, agent: Option<&str>, name: &str) -> Result<()> {
        let agent = agent.unwrap_or(MAIN);
        self.change(|kept| {
            kept.names.insert(agent.to_owned(), name.to_owned());
            Ok(())
        })
    }

    pub fn add_project(&self, project: Project) -> Result<()> {
        self.change(|kept| {
            // Projects that no longer exist make room.
            kept.projects
                .retain(|known| known.path != project.path && known.path.is_dir());
            if kept.projects.len() >= MOST {
                return Err(self.error("holds too many projects"));
            }
            kept.projects.push(project);
            Ok(())
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Contents) -> Result<T>) -> Result<T> {
        let _lock = private_json::lock(&self.path)?;
        let mut kept = self.read()?;
        let done = change(&mut kept)?;
        private_json::replace(&self.path, &kept)?;
        Ok(done)
    }

    fn error(&self, why: &str) -> Error {
        Error::other(format!("{} {why}", self.path.display()))
    }
}
