//! Checks on the text of a command line: control characters, size, known programs. They never
//! prove that a command is safe: what they let run unasked runs in the sandbox.

mod grammar;
mod judge;
mod limits;
mod patterns;
mod scan;

pub use judge::{Verdict, judge};
pub use patterns::{Found, Pattern, Seen, allowed, derived};

use crate::visible::{blank, hidden};

#[cfg(test)]
mod tests;

/// Longer command lines are refused: no one reads them before approving (A23, A40).
pub const LONGEST: usize = 10 * 1024;

/// Longest run of blanks. A longer one can push the rest of a command out of sight.
const LONGEST_BLANK: usize = 80;

/// The command cannot be shown as it is: it is too long, or has control characters other than tab
/// and line feed, or characters that reorder or hide text (A40).
pub fn has_hidden_characters(command: &str) -> bool {
    command.len() > LONGEST || command.chars().any(unseen)
}

/// Programs that build, test or start a project by the project's own rules.
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

/// The command builds, tests or starts the project, so it runs code that it does not name.
pub fn runs_the_project(command: &str) -> bool {
    let ends = |c: char| c.is_whitespace() || "\"'`;&|()<>{}=$".contains(c);
    let mut words = command.split(ends).filter(|word| !word.is_empty());
    words.any(|word| {
        let program = word.rsplit('/').next().unwrap_or(word);
        BUILDERS.contains(&program)
    })
}

/// A part of the command is easy to overlook, so the user is asked every time.
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
