//! The environment a child may see: an allowlist, less what looks like a secret. Commands run
//! on what the model says, so a variable that is not needed is not there (A37).

use std::collections::BTreeMap;

use crate::secrets::looks_secret;

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

/// What a variable may be about that the agent keeps for commands: the last word of its name.
/// Programs read these as data. Whatever else they read decides what they load, run or trust.
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

/// First words of programs whose variables change how they run, whatever the last word says.
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

/// Words that make a name one of those after all: where programs and packages come from, and
/// what is run.
const STEERING: &[&str] = &[
    "ARGS", "ASKPASS", "BASE", "BINARY", "CERT", "CMD", "COMMAND", "CONFIG", "DIR", "DOWNLOAD",
    "EDITOR", "EXEC", "FLAGS", "HOME", "HOOK", "INDEX", "INIT", "INSTALL", "LAUNCHER", "LIB",
    "LOADER", "MIRROR", "MODULE", "OPTIONS", "OPTS", "PAGER", "PATH", "PLUGIN", "PRELOAD", "PROXY",
    "RC", "REGISTRY", "RUNNER", "SCRIPT", "SHELL", "SSL", "STARTUP", "UPDATE", "WRAPPER",
];

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

/// Whether the agent may keep a variable of this name for commands. Every program has names of its
/// own that make it load or run something, so only names that end in what is data pass, and of
/// these none that a program is known to obey.
pub fn keepable(name: &str) -> bool {
    let words: Vec<&str> = name.split('_').collect();
    let (Some(first), Some(last)) = (words.first(), words.last()) else {
        return false;
    };
    let begins = |families: &[&str]| families.iter().any(|family| name.starts_with(family));
    // An access token opens a registry; the address of one is where programs come from.
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
