//! What the settings let a prompt say about the user's surroundings: lines for the environment
//! segment, names of variables that commands see, the folder of documentation. Values of
//! variables go into a prompt only where the user named them, and never those of secrets.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Config;
use crate::env::Env;
use crate::secrets::{holds_password, looks_secret};

/// Maximum length of a line's label and value, in characters.
const LABEL: usize = 80;
const VALUE: usize = 500;
/// Maximum number of lines.
const LINES: usize = 50;
/// A secret's value shorter than this may be an ordinary word.
const SECRET: usize = 8;

/// A value of `prompt.environment`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum EnvironmentLine {
    Text(String),
    /// The value of an environment variable.
    Variable {
        env: String,
    },
}

/// `(key, reason)` of everything left out.
pub type Problems = Vec<(String, String)>;

/// The lines that `prompt.environment` adds to the environment segment, label and value, in the
/// order of the labels; and what was left out, and why.
pub fn environment_lines(config: &Config, env: &Env) -> (Vec<(String, String)>, Problems) {
    let (mut lines, mut problems) = (Vec::new(), Problems::new());
    for (label, line) in &config.prompt.environment {
        let value = match line {
            EnvironmentLine::Text(text) => Ok(text.clone()),
            EnvironmentLine::Variable { env: name } => variable(env, name),
        };
        match value.and_then(|value| checked(env, label, value)) {
            Ok(_) if lines.len() >= LINES => {
                let reason = format!("more than {LINES} lines: the rest is left out");
                problems.push((key(label), reason));
                break;
            }
            Ok(value) => lines.push((label.clone(), value)),
            Err(reason) => problems.push((key(label), reason)),
        }
    }
    (lines, problems)
}

fn key(label: &str) -> String {
    let label: String = label.chars().take(LABEL).collect();
    format!("prompt.environment.{label}")
}

fn variable(env: &Env, name: &str) -> Result<String, String> {
    if looks_secret(name) {
        return Err(format!(
            "the name {name:?} looks like that of a secret, and what is in a prompt leaves the \
             machine"
        ));
    }
    let value = env.var(name);
    if value.is_some_and(holds_password) {
        return Err(format!(
            "the value of {name:?} has a password or token in it, and what is in a prompt leaves \
             the machine"
        ));
    }
    value.map(str::to_owned).ok_or_else(|| {
        let name: String = name.chars().take(LABEL).collect();
        format!("the variable {name:?} is not set")
    })
}

/// One line of plain characters without secrets.
fn checked(env: &Env, label: &str, value: String) -> Result<String, String> {
    if label.trim().is_empty() || label.chars().any(char::is_control) {
        return Err("a label must be one non-empty line".to_owned());
    }
    if label.chars().count() > LABEL || value.chars().count() > VALUE {
        return Err(format!(
            "a label may have at most {LABEL} characters and a value {VALUE}"
        ));
    }
    if value.trim().is_empty() || value.chars().any(char::is_control) {
        return Err("a value must be one non-empty line".to_owned());
    }
    let secret = env.vars().iter().any(|(name, secret)| {
        let telling = looks_secret(name) || holds_password(secret);
        telling && secret.len() >= SECRET && value.contains(secret.as_str())
    });
    if secret {
        return Err("it contains the value of a variable that looks like a secret".to_owned());
    }
    Ok(value)
}

/// Names, never values, of the variables that the setting `env` passes to commands and that are
/// set; sorted.
pub fn variable_names(config: &Config, env: &Env) -> Vec<String> {
    let plain = |name: &str| {
        name.len() <= LABEL
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let mut names: Vec<String> = config
        .env
        .iter()
        .filter(|name| plain(name) && env.vars().contains_key(*name))
        .cloned()
        .collect();
    names.sort();
    names.dedup();
    names
}

/// `prompt.docsPath` as an absolute path: `~/` is the home folder, relative paths begin in the
/// config folder.
pub fn docs_path(config: &Config, env: &Env) -> Option<PathBuf> {
    let path = config.prompt.docs_path.as_ref()?;
    Some(match path.strip_prefix("~") {
        Ok(rest) => env.dirs.home.join(rest),
        Err(_) => env.dirs.config.join(path),
    })
}
