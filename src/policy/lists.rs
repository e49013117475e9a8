//! Command lists of the settings and rules that last. What they deny or ask about, no rule allows;
//! what they allow applies only where the sandbox is complete and the folder is trusted.

use std::path::{Path, PathBuf};

use super::commands::{Found, Pattern, Seen, allowed};
use crate::config::PolicyConfig;
use crate::workspace::Located;

/// A rule that the user stored when a command asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasting {
    pub patterns: Vec<Pattern>,
    /// The canonical root that it applies in; `None`: all folders.
    pub folder: Option<PathBuf>,
}

/// The lists in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    pub deny: Vec<Pattern>,
    pub ask: Vec<Pattern>,
    pub allow: Vec<Lasting>,
}

/// How a command is restricted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restriction {
    Asks,
    Denied,
}

impl Lists {
    /// The lists of the settings, without rules that last.
    pub fn new(config: &PolicyConfig) -> Self {
        let parsed = |list: &[String]| {
            list.iter()
                .filter_map(|text| Pattern::parse(text))
                .collect()
        };
        let by_settings = Lasting {
            patterns: parsed(&config.allow),
            folder: None,
        };
        Self {
            deny: parsed(&config.deny),
            ask: parsed(&config.ask),
            allow: vec![by_settings],
        }
    }

    /// What the lists forbid to run unasked. A line that they cannot read asks.
    pub fn restriction(&self, line: &str) -> Option<Restriction> {
        if self.deny.is_empty() && self.ask.is_empty() {
            return None;
        }
        let seen = Seen::new(line);
        let found = |list: &[Pattern]| list.iter().map(|it| seen.find(it)).max();
        match (found(&self.deny), found(&self.ask)) {
            (Some(Found::Yes), _) => Some(Restriction::Denied),
            (None | Some(Found::No), None | Some(Found::No)) => None,
            _ => Some(Restriction::Asks),
        }
    }

    /// Whether rules allow the line in this folder, if the sandbox contains it.
    pub fn allow(&self, line: &str, cwd: &Located) -> bool {
        let root = root_of(cwd);
        let applies = |rule: &&Lasting| rule.folder.is_none() || rule.folder.as_deref() == root;
        let rules = self.allow.iter().filter(applies);
        let patterns: Vec<&Pattern> = rules.flat_map(|rule| &rule.patterns).collect();
        !patterns.is_empty() && allowed(line, &patterns)
    }
}

/// The canonical root that contains a folder.
pub fn root_of(cwd: &Located) -> Option<&Path> {
    let (_, below) = cwd.root.as_ref()?;
    cwd.path.ancestors().nth(below.components().count())
}

/// What patterns allow, for the user.
pub fn shown(patterns: &[String]) -> String {
    let patterns: Vec<String> = patterns.iter().map(|it| format!("{it} …")).collect();
    patterns.join(", ")
}
