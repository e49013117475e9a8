//! What a command line says about itself: control characters, size. It never proves safety.

use crate::visible::{blank, hidden};

#[cfg(test)]
mod tests;

/// Longer command lines are refused: nobody reads them before saying yes (A23, A40).
pub const LONGEST: usize = 10 * 1024;

/// A run of blanks that can push the rest of a command out of sight.
const LONGEST_BLANK: usize = 80;

/// The command cannot be shown as it is: control characters but tab and line feed, characters
/// that reorder or hide text, or too long (A40).
pub fn dangerous(command: &str) -> bool {
    command.len() > LONGEST || command.chars().any(unseen)
}

/// Programs that build, test or start a project by its own rules.
const BUILDERS: &[&str] = &[
    "ant",
    "bazel",
    "bundle",
    "bun",
    "bunx",
    "cabal",
    "cargo",
    "cmake",
    "composer",
    "ctest",
    "dart",
    "deno",
    "docker",
    "dotnet",
    "elixir",
    "flutter",
    "gem",
    "go",
    "gradle",
    "gradlew",
    "jest",
    "just",
    "lein",
    "make",
    "gmake",
    "meson",
    "mix",
    "mocha",
    "mvn",
    "mvnw",
    "ninja",
    "nix",
    "node",
    "nox",
    "npm",
    "npx",
    "perl",
    "php",
    "phpunit",
    "pip",
    "pnpm",
    "podman",
    "poetry",
    "pre-commit",
    "pytest",
    "python",
    "python3",
    "rake",
    "rspec",
    "ruby",
    "sbt",
    "scons",
    "stack",
    "swift",
    "task",
    "tox",
    "tsx",
    "ts-node",
    "uv",
    "uvx",
    "vite",
    "vitest",
    "webpack",
    "yarn",
    "zig",
];

/// The command builds, tests or starts the project: it runs code that no word of it names.
pub fn runs_the_project(command: &str) -> bool {
    let ends = |c: char| c.is_whitespace() || "\"'`;&|()<>{}=$".contains(c);
    let mut words = command.split(ends).filter(|word| !word.is_empty());
    words.any(|word| {
        let program = word.rsplit('/').next().unwrap_or(word);
        BUILDERS.contains(&program)
    })
}

/// The command can be shown, but a part of it is easy to overlook: it is asked every time.
pub fn easy_to_overlook(command: &str) -> bool {
    let mut run = 0;
    command.chars().any(|c| {
        run = if blank(c) { run + 1 } else { 0 };
        run > LONGEST_BLANK
    })
}

fn unseen(c: char) -> bool {
    hidden(c) && !matches!(c, '\n' | '\t')
}
