//! Folders whose instruction files belong to other projects: vendored, ignored, submodules (A03).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ignore::gitignore::GitignoreBuilder;

use crate::workspace::beneath::{bounded, open_beneath};
use crate::workspace::listings::KnownNames;

/// Folders that hold copies of other projects, whatever the ignore rules say.
const VENDORED: &[&str] = &[
    ".git",
    ".hg",
    ".jj",
    ".svn",
    ".tox",
    ".venv",
    "__pycache__",
    "bower_components",
    "jspm_packages",
    "node_modules",
    "site-packages",
    "third_party",
    "vendor",
    "venv",
];

/// Largest ignore file that is read.
const IGNORE_LIMIT: u64 = 256 * 1024;

/// Decides on folders; each file is read once, however many folders it concerns.
#[derive(Default)]
pub struct Exclusions {
    known: KnownNames,
    texts: HashMap<PathBuf, Option<String>>,
}

impl Exclusions {
    /// Reads no file that `known` says is missing.
    pub fn knowing(known: KnownNames) -> Self {
        Self {
            known,
            texts: HashMap::new(),
        }
    }

    /// Why instruction files in `folder`, which is `root` or below it, are not used; `None` if they
    /// are. The root's own files are always used.
    pub fn reason(&mut self, root: &Path, folder: &Path) -> Option<String> {
        let relative = folder.strip_prefix(root).ok()?;
        let mut present = root.to_path_buf();
        for part in relative.components() {
            present.push(part);
            let name = part.as_os_str().to_string_lossy();
            if is_vendored(&name) {
                return Some(format!("not used: it is in the vendored folder {name}"));
            }
            if self.is_submodule(&present) {
                return Some(format!("not used: {name} is a submodule"));
            }
        }
        self.ignored(root, folder)
            .then(|| "not used: the folder is ignored by .gitignore".to_owned())
    }

    /// A submodule's `.git` is a file that points into the outer repository's `modules`; a linked
    /// work tree's points into `worktrees` and is the user's own.
    fn is_submodule(&mut self, folder: &Path) -> bool {
        let Some(text) = self.text(folder, ".git", 4096) else {
            return false;
        };
        let target = text.trim().strip_prefix("gitdir:").map(str::trim);
        target.is_some_and(|target| target.replace('\\', "/").contains("/modules/"))
    }

    fn ignored(&mut self, root: &Path, folder: &Path) -> bool {
        if folder == root {
            return false;
        }
        let mut above: Vec<&Path> = folder
            .ancestors()
            .skip(1)
            .take_while(|path| path.starts_with(root))
            .collect();
        above.reverse();
        // One set per folder: a pattern is relative to the folder of its file. Later ones win.
        let mut verdict = false;
        for base in above {
            let Some(text) = self.text(base, ".gitignore", IGNORE_LIMIT) else {
                continue;
            };
            let mut builder = GitignoreBuilder::new(base);
            for line in text.lines() {
                // An invalid line ignores nothing.
                let _ = builder.add_line(None, line);
            }
            if let Ok(rules) = builder.build() {
                let found = rules.matched_path_or_any_parents(folder, true);
                if found.is_ignore() {
                    verdict = true;
                } else if found.is_whitelist() {
                    verdict = false;
                }
            }
        }
        verdict
    }

    /// As [`small_text`].
    fn text(&mut self, folder: &Path, name: &str, limit: u64) -> Option<&str> {
        let known = &self.known;
        let read = || {
            let there = known.may_have(folder, name);
            there.then(|| small_text(folder, name, limit)).flatten()
        };
        let text = self.texts.entry(folder.join(name)).or_insert_with(read);
        text.as_deref()
    }
}

/// The vendored folder that `folder`, which is below `root`, is or is in.
pub(super) fn vendored(root: &Path, folder: &Path) -> Option<String> {
    let parts = folder.strip_prefix(root).ok()?.components();
    let mut names = parts.map(|part| part.as_os_str().to_string_lossy().into_owned());
    names.find(|name| is_vendored(name))
}

pub(super) fn is_vendored(name: &str) -> bool {
    VENDORED
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// The text of a small regular file in a canonical folder; anything else, links included, is not
/// read.
fn small_text(folder: &Path, name: &str, limit: u64) -> Option<String> {
    let mut file = open_beneath(folder, Path::new(name)).ok()?;
    let bytes = bounded(&mut file, limit).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
