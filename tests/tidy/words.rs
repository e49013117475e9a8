//! Comments, docs, messages and names of tests are plain English: phrases of the dialect in
//! CONTRIBUTING.md's glossary are not used.

use crate::{File, files, report};

/// Phrases that a native speaker would not write here, and what to write instead.
const PHRASES: [(&str, &str); 35] = [
    ("is none", "is not one"),
    ("are none", "are not"),
    ("no more", "no longer"),
    ("taken back", "reverted, withdrawn"),
    ("takes back", "reverts"),
    ("take back", "revert"),
    ("took back", "reverted"),
    ("goes on", "continues"),
    ("go on with", "continue"),
    ("went on with", "continued"),
    ("gone on with", "continued"),
    ("told of", "informed about"),
    ("is told", "learns, is notified"),
    ("are told", "learn, are notified"),
    ("was told", "learnt, was notified"),
    ("be told", "learn, be notified"),
    ("made shorter", "compacted"),
    ("makes shorter", "compacts"),
    ("amid", "during"),
    ("of before", "previous"),
    ("what else notices", "which other tests fail"),
    ("is there no", "does not exist"),
    ("somebody", "someone, the user"),
    ("anew", "again"),
    ("laid over", "merged over"),
    ("put away", "dismissed"),
    ("stands in", "is in"),
    ("stand in", "are in"),
    ("lies in", "is in"),
    ("present text", "current text"),
    ("for persons", "for people"),
    ("is had", "exists"),
    ("are had", "exist"),
    ("of old", "old"),
    ("besides that", "also"),
];

/// What follows a phrase where it is plain English: "no more than", "stands in for".
const IDIOMS: [&str; 2] = [" than", " for"];

/// Where prose is read by people.
const ENDS: [&str; 13] = [
    ".rs",
    ".md",
    ".toml",
    ".py",
    ".sh",
    ".lua",
    ".ts",
    ".mjs",
    ".el",
    ".kak",
    ".txt",
    "/mutants",
    "package.json",
];

/// Test data, a page made of test names, and files that must name the phrases.
const APART: [&str; 7] = [
    "tests/conformance/README.md",
    "tests/fixtures/",
    "tests/tidy/words.rs",
    "fuzz/seeds/",
    "CONTRIBUTING.md",
    "src/prompt/assemble/golden/",
    "tests/foreign/",
];

/// Lines that may hold a phrase: the file and a part of the line.
const ALLOWED: [(&str, &str); 2] = [
    ("prompts/results/exec-timed-out.md", "input (there is none)"),
    ("prompts/tools/exec.md", "You are told when it ends"),
];

/// Areas that are not clean yet.
const EXEMPT: [&str; 2] = [
    "editors/nvim/lua/interline/protocol.lua",
    "editors/vscode/src/protocol.ts",
];

/// The phrases in a line. In a function's name underscores are spaces; `None` is code.
fn found(line: &str) -> Vec<&'static (&'static str, &'static str)> {
    let start = line.trim_start();
    let function = [
        "fn ",
        "async fn ",
        "pub fn ",
        "pub async fn ",
        "pub(crate) fn ",
    ];
    let named = function.iter().any(|word| start.starts_with(word));
    let mut text = line.replace("None", "\0").to_lowercase();
    if named {
        text = text.replace('_', " ");
    }
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let is_there = |phrase: &str| {
        text.match_indices(phrase).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + phrase.len()..]);
            let idiom = IDIOMS.iter().any(|end| after.starts_with(end));
            !idiom && !before.ends_with(word) && !after.starts_with(word)
        })
    };
    PHRASES
        .iter()
        .filter(|(phrase, _)| is_there(phrase))
        .collect()
}

fn is_read(file: &File) -> bool {
    ENDS.iter().any(|end| file.name.ends_with(end))
        && !APART.iter().any(|start| file.name.starts_with(start))
        && !EXEMPT.iter().any(|start| file.name.starts_with(start))
}

#[test]
fn prose_is_plain_english() {
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| is_read(file)) {
        for (n, line) in file.text.lines().enumerate() {
            let allowed = |(name, part): &&(&str, &str)| file.name == *name && line.contains(part);
            if ALLOWED.iter().any(|row| allowed(&row)) {
                continue;
            }
            for (phrase, better) in found(line) {
                findings.push(format!("{}:{}: “{phrase}”: {better}", file.name, n + 1));
            }
        }
    }
    report(
        "phrases to avoid (see the glossary in CONTRIBUTING.md)",
        findings,
    );
}

#[test]
fn phrases_are_found_in_prose_and_names_and_not_in_code() {
    let seen =
        |line: &str| -> Vec<&str> { found(line).iter().map(|(phrase, _)| *phrase).collect() };
    assert_eq!(seen("/// Nobody is told of it."), ["told of", "is told"]);
    assert_eq!(seen("    async fn the_turn_goes_on() {"), ["goes on"]);
    assert!(seen("let x = turn.goes_on; // the pyramid is None").is_empty());
}
