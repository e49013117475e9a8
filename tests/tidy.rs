//! The tree keeps its shape: imports point down, files and functions stay small, texts and code
//! name each other. Works on the files that git knows, on text alone.

#[path = "tidy/clients.rs"]
mod clients;
#[path = "tidy/conformance.rs"]
mod conformance;
#[path = "tidy/cycles.rs"]
mod cycles;
#[path = "tidy/editors.rs"]
mod editors;
#[path = "tidy/facts.rs"]
mod facts;
#[path = "tidy/features.rs"]
mod features;
#[path = "tidy/ids.rs"]
mod ids;
#[path = "tidy/imports.rs"]
mod imports;
#[path = "tidy/messages.rs"]
mod messages;
#[path = "tidy/mutations.rs"]
mod mutations;
#[path = "tidy/sizes.rs"]
mod sizes;
#[path = "tidy/texts.rs"]
mod texts;
#[path = "tidy/troubleshooting.rs"]
mod troubleshooting;
#[path = "tidy/visible.rs"]
mod visible;
#[path = "tidy/words.rs"]
mod words;

use std::path::{Path, PathBuf};
use std::process::Command;

/// One file of the tree.
struct File {
    /// Relative to the root, with `/`.
    name: String,
    text: String,
    bytes: u64,
}

impl File {
    /// The text before the first inline test module.
    fn code(&self) -> &str {
        let end = self.text.find("#[cfg(test)]\nmod tests {");
        &self.text[..end.unwrap_or(self.text.len())]
    }

    /// Test code: integration tests, sibling tests and what only they use (`testing.rs`).
    fn is_test(&self) -> bool {
        let ends = ["/tests.rs", "/testing.rs"];
        self.name.starts_with("tests/")
            || ends.iter().any(|end| self.name.ends_with(end))
            || self.name.contains("/tests/")
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// All files that git tracks or would track. Texts of binary files are empty.
fn files() -> Vec<File> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files");
    let names = String::from_utf8(output.stdout).expect("names in UTF-8");
    let mut found = Vec::new();
    for name in names.lines() {
        let path = root().join(name);
        let Ok(facts) = std::fs::metadata(&path) else {
            continue; // Deleted, not committed yet.
        };
        found.push(File {
            name: name.to_owned(),
            text: std::fs::read_to_string(&path).unwrap_or_default(),
            bytes: facts.len(),
        });
    }
    assert!(
        !found.is_empty(),
        "git lists no files below {}",
        root().display()
    );
    found
}

fn sources() -> Vec<File> {
    let mut all = files();
    all.retain(|file| file.name.starts_with("src/") && file.name.ends_with(".rs"));
    all
}

/// Fails with all findings at once.
fn report(rule: &str, findings: Vec<String>) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}
