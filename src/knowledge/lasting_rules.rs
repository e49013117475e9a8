//! The rules that last: commands that the user allowed for a folder or for all, until they are
//! removed. One 0600 JSON file in the state folder, changed under a lock and replaced atomically. If
//! anything is wrong with it, it allows nothing.

use std::io::{Error, Result};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::private_json;
use crate::env::Env;
use crate::policy::commands::Pattern;
use crate::policy::{Lasting, lists};

#[cfg(test)]
mod tests;

const FILE: &str = "rules.json";

/// Most rules.
const MOST: usize = 500;

/// A stored rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastingRule {
    pub id: u64,
    /// Command patterns: the words that a command begins with.
    pub commands: Vec<String>,
    /// The canonical root that it applies in; `None`: all folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    pub since: Timestamp,
}

impl LastingRule {
    /// What it allows, as it was shown before it was stored.
    pub fn text(&self) -> String {
        lists::shown(&self.commands)
    }

    fn lasting(&self) -> Option<Lasting> {
        let patterns = self.commands.iter().map(|text| Pattern::parse(text));
        let patterns: Option<Vec<Pattern>> = patterns.collect();
        Some(Lasting {
            patterns: patterns.filter(|it| !it.is_empty())?,
            folder: self.folder.clone(),
        })
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    /// Ids are not used again, so that a late removal removes nothing else.
    next: u64,
    rules: Vec<LastingRule>,
}

/// The file; read for each question, so that two processes agree.
#[derive(Clone)]
pub struct LastingRules {
    path: PathBuf,
}

impl LastingRules {
    pub fn new(env: &Env) -> Self {
        Self {
            path: env.dirs.state.join(FILE),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The rules, oldest first.
    pub fn read(&self) -> Result<Vec<LastingRule>> {
        Ok(self.stored()?.rules)
    }

    /// The rules as policy reads them; none if the file is not valid.
    pub fn in_force(&self) -> Vec<Lasting> {
        let rules = self.read().unwrap_or_default();
        rules.iter().filter_map(LastingRule::lasting).collect()
    }

    /// Stores a rule, unless there is the same one.
    pub fn add(&self, patterns: &[Pattern], folder: Option<&Path>, since: Timestamp) -> Result<()> {
        let commands: Vec<String> = patterns.iter().map(Pattern::text).collect();
        self.change(|stored| {
            let same =
                |rule: &LastingRule| rule.commands == commands && rule.folder.as_deref() == folder;
            if stored.rules.iter().any(same) {
                return Ok(());
            }
            if stored.rules.len() >= MOST {
                return Err(self.error("holds too many rules: remove some first"));
            }
            stored.rules.push(LastingRule {
                id: stored.next,
                commands,
                folder: folder.map(Path::to_path_buf),
                since,
            });
            stored.next += 1;
            Ok(())
        })
    }

    /// Removes a rule and returns it; `None`: there is no such rule.
    pub fn remove(&self, id: u64) -> Result<Option<LastingRule>> {
        self.change(|stored| {
            let at = stored.rules.iter().position(|rule| rule.id == id);
            Ok(at.map(|at| stored.rules.remove(at)))
        })
    }

    fn stored(&self) -> Result<Stored> {
        let Some(text) = private_json::read(&self.path, |why| self.error(why))? else {
            return Ok(Stored {
                next: 1,
                rules: Vec::new(),
            });
        };
        let damaged = |error: serde_json::Error| {
            let why = format!("is damaged at line {}", error.line());
            self.error(&why)
        };
        let stored: Stored = serde_json::from_str(&text).map_err(damaged)?;
        let relative = |rule: &LastingRule| rule.folder.as_ref().is_some_and(|it| it.is_relative());
        let wrong = |rule: &&LastingRule| rule.lasting().is_none() || relative(rule);
        match stored.rules.iter().find(wrong) {
            Some(rule) => {
                let why = format!("has a rule that is not valid: {}", rule.id);
                Err(self.error(&why))
            }
            None => Ok(stored),
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Stored) -> Result<T>) -> Result<T> {
        let _lock = private_json::lock(&self.path)?;
        let mut stored = self.stored()?;
        let done = change(&mut stored)?;
        private_json::replace(&self.path, &stored)?;
        Ok(done)
    }

    fn error(&self, why: &str) -> Error {
        let path = self.path.display();
        Error::other(format!(
            "{path} {why}. It allows nothing until you correct or remove it"
        ))
    }
}
