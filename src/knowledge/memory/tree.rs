//! The memory tree inside the session's directory: `memory/INDEX.md`, else `MEMORY.md`, and folders
//! below `memory/`. Anyone who can write to the repository can write it, so its text is trusted no
//! more than AGENTS.md. Only read here, never written. Open buffers come first.

use std::path::Path;

use super::FILE_LIMIT;
use crate::env::Env;
use crate::secrets::Detector;
use crate::workspace::beneath::{self, Located};
use crate::workspace::{FileKind, Workspace, files};

/// Names relative to the directory: the index, its replacement, the parts of the tree.
const INDEX: &str = "memory/INDEX.md";
const LEGACY: &str = "MEMORY.md";
const PARTS: [&str; 4] = [
    "memory/core",
    "memory/projects",
    "memory/daily",
    "memory/topics",
];

/// Most lines of one file that are reported.
const PROBLEMS: usize = 20;

/// A file of the tree that a prompt may show in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Relative to the directory: `memory/INDEX.md` or `MEMORY.md`.
    pub label: &'static str,
    /// Without the lines that look like a secret.
    pub text: String,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The index if it has text, else `MEMORY.md` if that has.
    pub page: Option<Page>,
    /// The index or a folder of the tree exists.
    pub exists: bool,
    /// `(source, reason)`: shown, never fatal.
    pub problems: Vec<(String, String)>,
}

impl Tree {
    /// Advice for the user about a `MEMORY.md` that replaces the index, with its cost.
    pub fn advice(&self) -> Option<String> {
        let page = self.page.as_ref().filter(|page| page.label == LEGACY)?;
        Some(format!(
            "{LEGACY} is shown in full, {} bytes in each prompt: turn it into {INDEX}, and move \
             its details to files below memory/topics/",
            page.text.len()
        ))
    }
}

/// The memory tree in `cwd` (canonical).
pub fn tree(workspace: &Workspace, env: &Env, cwd: &Path) -> Tree {
    let mut tree = Tree::default();
    let index = page(workspace, env, cwd, INDEX, &mut tree);
    let part = |name: &str| std::fs::symlink_metadata(cwd.join(name)).is_ok_and(|it| it.is_dir());
    tree.exists = index.is_some() || PARTS.into_iter().any(part);
    tree.page = match index.filter(|page| !page.text.trim().is_empty()) {
        Some(page) => Some(page),
        None => {
            page(workspace, env, cwd, LEGACY, &mut tree).filter(|page| !page.text.trim().is_empty())
        }
    };
    tree
}

fn page(
    workspace: &Workspace,
    env: &Env,
    cwd: &Path,
    label: &'static str,
    tree: &mut Tree,
) -> Option<Page> {
    let mut add_problem = |reason: String| tree.problems.push((label.to_owned(), reason));
    let located = beneath::locate_existing(workspace, &cwd.join(label))?;
    let text = match read(workspace, cwd, &located) {
        Ok(text) => text,
        Err(reason) => {
            add_problem(reason);
            return None;
        }
    };
    let (text, problems) = without_secrets(env, label, &text);
    tree.problems.extend(problems);
    Some(Page { label, text })
}

/// A file of the tree has this name, so its text must go through [`without_secrets`].
pub fn is_page(name: &str) -> bool {
    [INDEX, LEGACY].contains(&name)
}

/// The text without the lines that look like a secret, and `(source, reason)` for each.
pub fn without_secrets(env: &Env, label: &str, text: &str) -> (String, Vec<(String, String)>) {
    let detector = Detector::new(env.vars());
    let mut kept = String::with_capacity(text.len());
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        match detector.find(line) {
            None => kept.push_str(line),
            Some(_) if problems.len() >= PROBLEMS => {}
            Some(secret) => {
                let reason = format!("line {number} is not used: it looks like {secret}");
                problems.push((label.to_owned(), reason));
            }
        }
    }
    (kept, problems)
}

fn read(workspace: &Workspace, cwd: &Path, located: &Located) -> Result<String, String> {
    // A link may lead to a file that the repository must not show.
    if located.through_link || !located.path.starts_with(cwd) {
        return Err("it is a link; it was not read".to_owned());
    }
    if !located.open {
        match located.kind {
            FileKind::Special => {
                return Err("it is not a regular file and was not opened".to_owned());
            }
            FileKind::Directory => return Err("it is a directory".to_owned()),
            FileKind::File | FileKind::Missing => {}
        }
        let bytes = std::fs::symlink_metadata(&located.path).map_or(0, |data| data.len());
        if bytes > FILE_LIMIT {
            return Err(format!(
                "it has {bytes} bytes, more than the limit of {FILE_LIMIT}: split it"
            ));
        }
    }
    let content = files::read(workspace, located).map_err(|error| error.to_string())?;
    Ok(content.rope.to_string())
}
