//! The environment that a child sees: an allowlist without anything that looks like a secret. The
//! model decides what commands do, so they get no variable that they do not need (A37).

use std::collections::BTreeMap;

use crate::env::order;
use crate::secrets::looks_secret;

#[cfg(test)]
mod tests;

/// Names that are passed on.
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

/// Prefixes of names that are passed on.
const PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Prefixes and names that make the dynamic loader or the shell run other code.
const LOADERS: &[&str] = &["LD_", "DYLD_"];
const SHELLS: &[&str] = &["BASH_ENV", "BASHOPTS", "ENV", "IFS", "PS4", "SHELLOPTS"];

/// Last words of names that the agent may store for commands. Programs treat such variables as
/// data; others may decide what a program loads, runs or trusts.
const KEEPABLE: &[&str] = &[
    "ACCOUNT",
    "BUCKET",
    "DATABASE",
    "DSN",
    "EMAIL",
    "ID",
    "KEY",
    "LOGIN",
    "ORG",
    "PASSPHRASE",
    "PASSWORD",
    "REGION",
    "SECRET",
    "TENANT",
    "TOKEN",
    "URI",
    "URL",
    "USER",
    "USERNAME",
];

/// First words of names whose variables change how a program runs, whatever the last word is.
const STEERED: &[&str] = &[
    "COMPOSE",
    "DOCKER",
    "GIT",
    "HOMEBREW",
    "INTERLINE",
    "JAVA",
    "LIBVIRT",
    "NODE",
    "PERL",
    "PYTHON",
    "RUBY",
    "SSH",
    "SUDO",
];

/// Words that make a name unsafe anyway: where programs and packages come from, and what is run.
const STEERING: &[&str] = &[
    "ARGS", "ASKPASS", "BASE", "BINARY", "CERT", "CMD", "COMMAND", "CONFIG", "DIR", "DOWNLOAD",
    "EDITOR", "EXEC", "FLAGS", "HOME", "HOOK", "INDEX", "INIT", "INSTALL", "LAUNCHER", "LIB",
    "LOADER", "MIRROR", "MODULE", "OPTIONS", "OPTS", "PAGER", "PATH", "PLUGIN", "PRELOAD", "PROXY",
    "RC", "REGISTRY", "RUNNER", "SCRIPT", "SHELL", "SSL", "STARTUP", "UPDATE", "WRAPPER",
];

/// Fixed values for every child: no pager, no editor, no colours, no prompts.
const FIXED: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// A child's environment: the allowlisted variables of this process that do not look like secrets,
/// those that the settings name in `extra`, and the fixed values. A name in the user's settings
/// passes even if it looks like a secret, because the user chose it.
pub fn allowed(vars: &BTreeMap<String, String>, extra: &[String]) -> BTreeMap<String, String> {
    let passing = vars
        .iter()
        .filter(|(name, _)| passes(name) || extra.iter().any(|wanted| wanted == *name));
    let mut env = order::map(passing.map(|(name, value)| (name.clone(), value.clone())));
    for (name, value) in FIXED {
        env.insert((*name).to_owned(), (*value).to_owned());
    }
    env
}

/// Whether the agent may store a variable of this name for commands. Programs have variables that
/// make them load or run something, so only names that end in a word for data pass, except those
/// that a program is known to obey.
pub fn keepable(name: &str) -> bool {
    let words: Vec<&str> = name.split('_').collect();
    let (Some(first), Some(last)) = (words.first(), words.last()) else {
        return false;
    };
    let begins = |families: &[&str]| families.iter().any(|family| name.starts_with(family));
    // A registry's token is data, but its address decides where programs come from.
    let opens = matches!(*last, "TOKEN" | "PASSWORD" | "SECRET" | "USERNAME");
    let steers = |word: &&str| STEERING.contains(word) && !(opens && *word == "REGISTRY");
    words.len() > 1
        && KEEPABLE.contains(last)
        && !STEERED.contains(first)
        && !words.iter().any(steers)
        && !NAMES.contains(&name)
        && !SHELLS.contains(&name)
        && !FIXED.iter().any(|(fixed, _)| *fixed == name)
        && !begins(PREFIXES)
        && !begins(LOADERS)
}

fn passes(name: &str) -> bool {
    NAMES.contains(&name)
        || (PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && !looks_secret(name))
}
