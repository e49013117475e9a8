//! Protected places and secrets: the class of a canonical path. Names are compared per component
//! and folded (case, invisible characters, trailing dots, streams). The file need not exist: a
//! protected name is protected before it is created (A09, A10).

use std::path::{Component, Path, PathBuf};

use crate::visible::hidden;

mod entries;

pub use entries::Entries;

#[cfg(test)]
mod tests;

/// What the names in a path say. Several can be true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// Our own settings, state, rules: never written by the model.
    pub own: bool,
    /// Of those, the ones that the model may not read either (keys, logs, transcripts).
    pub hidden: bool,
    /// A long command output that we stored for `read`.
    pub output: bool,
    /// In the skills folder inside one of our own folders: the user put it there for the model.
    pub skill: bool,
    /// Below `.git`.
    pub git: bool,
    pub secret: bool,
    /// Runs later, unguarded: editor tasks, build scripts, hooks, instructions.
    pub executes_later: bool,
    /// Decides what a build, a test or a check of the project runs.
    pub builds: bool,
    /// `/proc`, `/sys`, `/dev`: other processes' secrets, and devices.
    pub special: bool,
}

/// The folder below one of our own folders that holds long command outputs.
pub const OUTPUT: &str = "output";

/// The folder below one of our own folders that holds the user's skills.
pub const SKILLS: &str = "skills";

/// The folder below one of our own folders that holds transcripts.
pub const CHAT: &str = "chat";

/// A settings file of ours that a workspace can have. The agent may not write it.
const ETCODE: &str = "etcode.json";

/// Whether the file is a transcript, which is never context or instructions and never found by a
/// search. `state`: our state folder.
pub fn transcript(path: &Path, state: &Path) -> bool {
    let parts = names(path);
    let below = strip(&parts, &names(&state.join(CHAT))).is_some_and(|it| !it.is_empty());
    let chat = |pair: &[String]| pair[0] == ".interline" && pair[1] == CHAT;
    below || parts.windows(2).any(chat)
}

/// Folders whose contents run later, at any depth below a root.
const EXECUTING_FOLDERS: &[&str] = &[
    ".vscode",
    ".vs",
    ".idea",
    ".fleet",
    ".zed",
    ".helix",
    ".lapce",
    ".nvim",
    ".vim",
    ".emacs.d",
    ".devcontainer",
    ".cursor",
    ".windsurf",
    ".agents",
    ".claude",
    ".codex",
    ".gemini",
    ".opencode",
    ".kiro",
    ".roo",
    ".clinerules",
    ".continue",
    ".amazonq",
    ".augment",
    ".junie",
    ".trae",
    ".qwen",
    ".goose",
    ".crush",
    ".factory",
    ".husky",
    ".githooks",
    ".circleci",
    ".buildkite",
    ".cargo",
    ".mvn",
    ".yarn",
];

/// Folders and files that run later only inside a certain folder.
const EXECUTING_PAIRS: &[(&str, &str)] = &[
    (".github", "workflows"),
    (".github", "actions"),
    (".github", "instructions"),
    (".github", "prompts"),
    (".github", "chatmodes"),
    (".github", "agents"),
    (".config", "autostart"),
    (".config", "systemd"),
    ("library", "launchagents"),
    // The index of memories, which prompts show.
    ("memory", "index.md"),
];

/// Files that run later, at any depth.
const EXECUTING_FILES: &[&str] = &[
    // Editors.
    ".nvim.lua",
    ".nvimrc",
    ".exrc",
    ".vimrc",
    ".gvimrc",
    ".lvimrc",
    ".kakrc",
    ".emacs",
    ".dir-locals.el",
    ".dir-locals-2.el",
    ".devcontainer.json",
    // Git and its hooks.
    ".gitmodules",
    ".gitconfig",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    ".pre-commit-hooks.yaml",
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    ".lintstagedrc",
    ".lintstagedrc.json",
    // Builds, package scripts, test set-up.
    "package.json",
    "makefile",
    "gnumakefile",
    "bsdmakefile",
    "justfile",
    ".justfile",
    "taskfile.yml",
    "taskfile.yaml",
    "rakefile",
    "build.rs",
    "rust-toolchain",
    "rust-toolchain.toml",
    "setup.py",
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "bunfig.toml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".envrc",
    "mise.toml",
    ".mise.toml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gradlew",
    "gradlew.bat",
    "mvnw",
    "mvnw.cmd",
    "jenkinsfile",
    ".gitlab-ci.yml",
    // Shells.
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    ".zlogout",
    ".inputrc",
    ".tmux.conf",
    ".ripgreprc",
    "config.fish",
    // Tools that an editor starts on its own.
    "rust-analyzer.toml",
    ".rust-analyzer.toml",
    ".clangd",
    ".ccls",
    ".luarc.json",
    "omnisharp.json",
    ".tool-versions",
    // Servers that agents start.
    ".mcp.json",
    "mcp.json",
    // Instructions that agents follow.
    "agents.md",
    "agents.override.md",
    "claude.md",
    "claude.local.md",
    "gemini.md",
    "system_prompt.md",
    "skill.md",
    "soul.md",
    "identity.md",
    "user.md",
    "tools.md",
    "bootstrap.md",
    "memory.md",
    "relations.md",
    ".openclaw.md",
    "copilot-instructions.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".roorules",
    ".rules",
    ".goosehints",
    ".aider.conf.yml",
    ".crush.json",
    "crush.json",
    "opencode.json",
    "opencode.jsonc",
    "agent.md",
    "crush.md",
    "opencode.md",
    "qwen.md",
    "warp.md",
];

const EXECUTING_SUFFIXES: &[&str] = &[".code-workspace", ".sublime-project", ".mk", ".pth"];

/// Names at the top of a root that a confined command cannot create: an editor, a shell, git or an
/// agent would obey them at once, and an empty folder of the name means nothing to any of them.
pub const UNBORN: &[&str] = &[
    ".agents",
    ".claude",
    ".codex",
    ".cursor",
    ".devcontainer",
    ".dir-locals.el",
    ".envrc",
    ".exrc",
    ".gemini",
    ".git",
    ".githooks",
    ".helix",
    ".husky",
    ".idea",
    ".interline",
    ".kiro",
    ".lvimrc",
    ".mcp.json",
    ".nvim",
    ".nvim.lua",
    ".nvimrc",
    ".opencode",
    ".roo",
    ".vim",
    ".vscode",
    ".windsurf",
    ".zed",
];

/// Ordinary files of a project that decide what its builds, tests and checks run. The agent may
/// edit them like any other, but allowed commands then ask again.
const BUILD_FILES: &[&str] = &[
    ".babelrc",
    ".bazelrc",
    ".eslintrc",
    ".pylintrc",
    ".swcrc",
    "angular.json",
    "build.bazel",
    "build.sbt",
    "build.xml",
    "build.zig",
    "build.zig.zon",
    "cargo.toml",
    "cmakelists.txt",
    "compose.yaml",
    "compose.yml",
    "composer.json",
    "deno.json",
    "deno.jsonc",
    "deps.edn",
    "docker-compose.yaml",
    "docker-compose.yml",
    "dodo.py",
    "dune-project",
    "fabfile.py",
    "flake.nix",
    "gemfile",
    "go.mod",
    "go.work",
    "gulpfile.js",
    "gruntfile.js",
    "lerna.json",
    "meson.build",
    "mix.exs",
    "module.bazel",
    "noxfile.py",
    "nx.json",
    "package.swift",
    "phpunit.xml",
    "podfile",
    "pom.xml",
    "pnpm-workspace.yaml",
    "procfile",
    "project.clj",
    "pubspec.yaml",
    "pyproject.toml",
    "pytest.ini",
    "rebar.config",
    "sconstruct",
    "setup.cfg",
    "shell.nix",
    "snakefile",
    "stack.yaml",
    "tasks.py",
    "tox.ini",
    "tsconfig.json",
    "turbo.json",
    "vagrantfile",
    "workspace.bazel",
    "wscript",
];

/// The same, by a part of the name: `vite.config.ts`, `Dockerfile.dev`, `.eslintrc.cjs`.
const BUILD_PARTS: &[&str] = &[
    ".config.",
    ".conf.js",
    "dockerfile",
    "containerfile",
    ".eslintrc.",
    ".gradle",
    ".cabal",
    ".gemspec",
    ".cmake",
    ".csproj",
    ".props",
    ".targets",
];

/// Folders of secrets, at any depth.
const SECRET_FOLDERS: &[&str] = &[
    ".ssh",
    ".aws",
    ".gnupg",
    ".azure",
    ".kube",
    ".password-store",
];

/// Folders and files that hold secrets only inside a certain folder.
const SECRET_PAIRS: &[(&str, &str)] = &[
    (".docker", "config.json"),
    (".config", "gh"),
    (".config", "gcloud"),
    ("share", "keyrings"),
    ("library", "keychains"),
    ("etc", "shadow"),
    ("etc", "gshadow"),
    ("etc", "sudoers"),
];

const SECRET_FILES: &[&str] = &[
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".dockercfg",
    ".htpasswd",
    ".git-credentials",
    ".vault-token",
    ".s3cfg",
    ".boto",
    ".bash_history",
    ".zsh_history",
    "credentials",
    "secrets.json",
    "secrets.toml",
    "secrets.yml",
    "secrets.yaml",
];

const SECRET_SUFFIXES: &[&str] = &[
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".p8",
    ".jks",
    ".keystore",
    ".kdbx",
    ".ppk",
];

/// Beginnings of secret files, and the endings that they need.
const SECRET_PREFIXES: &[(&str, &[&str])] = &[
    ("id_rsa", &[""]),
    ("id_dsa", &[""]),
    ("id_ecdsa", &[""]),
    ("id_ed25519", &[""]),
    (
        "credentials",
        &[".json", ".toml", ".yml", ".yaml", ".ini", ".csv"],
    ),
    ("client_secret", &[".json"]),
    ("service-account", &[".json"]),
    ("service_account", &[".json"]),
];

/// Samples that are meant to be read.
const ENV_SAMPLES: &[&str] = &[".env.example", ".env.sample", ".env.template", ".env.dist"];

/// The class of `path` (canonical, absolute; or relative names below a root).
pub fn class(path: &Path, own: &[PathBuf]) -> Class {
    let names = names(path);
    let absolute = path.is_absolute();
    let mut class = Class::default();
    for folder in own {
        let folder = self::names(folder);
        if let Some(below) = strip(&names, &folder) {
            class.own = true;
            class.output |= below.first().is_some_and(|name| name == OUTPUT) && below.len() > 1;
            class.skill |= below.first().is_some_and(|name| name == SKILLS);
            class.hidden |= !(class.output || class.skill);
        }
    }
    if absolute && let Some(top) = names.first() {
        // `/dev/shm` holds ordinary files.
        let memory = top == "dev" && names.get(1).is_some_and(|name| name == "shm");
        class.special = matches!(top.as_str(), "proc" | "sys" | "dev") && !memory;
    }
    for (index, name) in names.iter().enumerate() {
        let next = names.get(index + 1).map(String::as_str);
        class.own |= matches!(name.as_str(), ".interline" | ".interlineignore");
        class.hidden |= chat_folder(name, next);
        class.git |= name == ".git" || git_short_name(name);
        class.secret |= secret_folder(name, next);
        class.executes_later |= EXECUTING_FOLDERS.contains(&name.as_str())
            || is_pair(EXECUTING_PAIRS, name, next)
            // A bare repository inside the workspace.
            || (name.ends_with(".git") && matches!(next, Some("hooks" | "config" | "info")));
    }
    if let Some(name) = names.last() {
        class.own |= name == ETCODE;
        class.builds |= BUILD_FILES.contains(&name.as_str())
            || BUILD_PARTS.iter().any(|part| name.contains(part));
        class.secret |= secret_file(name);
        class.executes_later |= EXECUTING_FILES.contains(&name.as_str())
            || EXECUTING_SUFFIXES
                .iter()
                .any(|suffix| name.ends_with(suffix));
    }
    class
}

fn is_pair(pairs: &[(&str, &str)], name: &str, next: Option<&str>) -> bool {
    let is = |(first, second): &(&str, &str)| name == *first && next == Some(second);
    pairs.iter().any(is)
}

/// Whether this folder with the next name is one of our transcripts.
fn chat_folder(name: &str, next: Option<&str>) -> bool {
    name == ".interline" && next == Some(CHAT)
}

/// Whether this folder, or its entry `next`, makes everything below it secret.
fn secret_folder(name: &str, next: Option<&str>) -> bool {
    SECRET_FOLDERS.contains(&name) || is_pair(SECRET_PAIRS, name, next)
}

fn secret_file(name: &str) -> bool {
    let env = name == ".env" || name == ".envrc" || name.starts_with(".env.");
    (env && !ENV_SAMPLES.contains(&name))
        || SECRET_FILES.contains(&name)
        || SECRET_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
        || (!name.ends_with(".pub")
            && SECRET_PREFIXES.iter().any(|(prefix, suffixes)| {
                name.starts_with(prefix) && suffixes.iter().any(|suffix| name.ends_with(suffix))
            }))
}

/// NTFS's short name of `.git`.
fn git_short_name(name: &str) -> bool {
    name.strip_prefix("git~")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The folded names of a path's components.
fn names(path: &Path) -> Vec<String> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(fold(&name.to_string_lossy())),
            Component::ParentDir => Some("..".to_owned()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}

/// One name as the most forgiving file system would see it: case folded (also `ſ`, `K`), hidden
/// characters removed (HFS+ ignores them), trailing dots, spaces and a stream's name removed (NTFS).
fn fold(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    if name.bytes().all(plain) && !name.ends_with('.') {
        return name.to_ascii_lowercase();
    }
    fold_any(name)
}

fn fold_any(name: &str) -> String {
    let mut folded: String = name
        .chars()
        .filter(|c| !hidden(*c))
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect();
    if let Some(colon) = folded.find(':')
        && colon > 0
    {
        folded.truncate(colon);
    }
    let trimmed = folded.trim_end_matches(['.', ' ']).len();
    if trimmed > 0 {
        folded.truncate(trimmed);
    }
    folded
}

fn strip<'a>(names: &'a [String], folder: &[String]) -> Option<&'a [String]> {
    if folder.is_empty() {
        return None;
    }
    names.strip_prefix(folder)
}
