//! The environment a child may see: an allowlist, less what looks like a secret. Commands run
//! on what the model says, so a variable that is not needed is not there (A37).

use std::collections::BTreeMap;

use crate::env::looks_secret;

#[cfg(test)]
mod tests;

/// Names that pass as they are (design §7).
const NAMES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TZ",
    "TMPDIR",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
];

/// Families of names that pass.
const PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Families and names that make the dynamic loader or the shell run other code.
const LOADERS: &[&str] = &["LD_", "DYLD_"];
const SHELLS: &[&str] = &["BASH_ENV", "BASHOPTS", "ENV", "IFS", "PS4", "SHELLOPTS"];

/// What no program may find otherwise: no pager, no editor, no colours, no questions.
const FIXED: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// The child's environment out of the process's: the fixed list of design §7, `extra` names
/// from the settings, less names that look like secrets, plus `TERM=dumb PAGER=cat
/// GIT_EDITOR=true GIT_PAGER=cat`. A name that the user wrote into the settings passes even if
/// it looks like a secret: that was a decision.
pub fn allowed(vars: &BTreeMap<String, String>, extra: &[String]) -> BTreeMap<String, String> {
    let mut env: BTreeMap<String, String> = vars
        .iter()
        .filter(|(name, _)| passes(name) || extra.iter().any(|wanted| wanted == *name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    for (name, value) in FIXED {
        env.insert((*name).to_owned(), (*value).to_owned());
    }
    env
}

/// Names that only the process's own surroundings set: those above, and what changes how the
/// command itself is run.
pub fn reserved(name: &str) -> bool {
    let begins = |families: &[&str]| families.iter().any(|family| name.starts_with(family));
    NAMES.contains(&name)
        || SHELLS.contains(&name)
        || FIXED.iter().any(|(fixed, _)| *fixed == name)
        || begins(PREFIXES)
        || begins(LOADERS)
}

fn passes(name: &str) -> bool {
    NAMES.contains(&name)
        || (PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && !looks_secret(name))
}
