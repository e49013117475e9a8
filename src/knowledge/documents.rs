//! The knowledge base: documents in folders that the user names, text and Markdown, searched by
//! their words. Reads are bounded and follow no links. Nothing here fails; problems are reported.

use std::path::{Path, PathBuf};

use super::memory::best_texts;
use crate::env::Env;
use crate::env::order;

/// Most files, depth of folders, bytes of one file and of all.
const FILES: usize = 500;
const DEPTH: usize = 6;
const FILE: u64 = 512 * 1024;
const ALL: usize = 8 * 1024 * 1024;
/// Most characters of one passage.
const PASSAGE: usize = 1_500;
/// File name extensions of documents.
const SUFFIXES: [&str; 6] = ["md", "markdown", "txt", "rst", "adoc", "org"];

/// A document; its name is the path below the folder, with `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub name: String,
    pub path: PathBuf,
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    pub document: String,
    /// 1-based.
    pub line: usize,
    pub text: String,
}

/// The documents in the folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Library {
    /// By name.
    pub documents: Vec<Document>,
    /// `(folder, reason)`.
    pub problems: Vec<(String, String)>,
}

impl Library {
    /// Lists the folders of the setting `knowledge.folders`. Blocking.
    pub fn list(env: &Env, folders: &[String]) -> Self {
        let mut library = Self::default();
        for name in folders {
            match std::fs::canonicalize(super::user_folder(env, name)) {
                Ok(top) if top.is_dir() => library.walk(&top, &top, DEPTH),
                _ => library.problems.push((
                    name.clone(),
                    "there is no such folder: correct the setting `knowledge.folders`".to_owned(),
                )),
            }
        }
        order::sort_by(&mut library.documents, |a, b| a.name.cmp(&b.name));
        library.documents.dedup_by(|a, b| a.path == b.path);
        library
    }

    fn walk(&mut self, top: &Path, folder: &Path, deep: usize) {
        let Ok(entries) = std::fs::read_dir(folder) else {
            return;
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let hidden = path
                .file_name()
                .is_none_or(|name| name.to_string_lossy().starts_with('.'));
            // Does not follow links.
            let Ok(data) = std::fs::symlink_metadata(&path) else {
                continue;
            };
            if hidden || self.documents.len() == FILES {
                continue;
            }
            if data.is_dir() && deep > 0 {
                self.walk(top, &path, deep - 1);
            } else if data.is_file() && data.len() <= FILE && is_text(&path) {
                let name = super::slashes(path.strip_prefix(top).unwrap_or(&path));
                self.documents.push(Document { name, path });
            }
        }
    }

    /// The passages that match the query best. Blocking.
    pub fn search(&self, query: &str, limit: usize) -> Vec<Passage> {
        let mut passages = Vec::new();
        let mut bytes = 0;
        for document in &self.documents {
            let Ok(text) = std::fs::read_to_string(&document.path) else {
                continue;
            };
            bytes += text.len();
            if bytes > ALL {
                break;
            }
            passages.extend(parts(&document.name, &text));
        }
        let texts: Vec<&str> = passages.iter().map(|it| it.text.as_str()).collect();
        let best = best_texts(&texts, query, limit);
        best.into_iter().map(|at| passages[at].clone()).collect()
    }
}

fn is_text(path: &Path) -> bool {
    let suffix = path
        .extension()
        .map(|it| it.to_string_lossy().to_lowercase());
    suffix.is_some_and(|suffix| SUFFIXES.contains(&suffix.as_str()))
}

/// The text in passages: whole lines, a new passage at each heading.
fn parts(document: &str, text: &str) -> Vec<Passage> {
    let mut parts: Vec<Passage> = Vec::new();
    let mut open: Option<Passage> = None;
    for (at, line) in text.lines().enumerate() {
        let full = open
            .as_ref()
            .is_some_and(|it| it.text.len() + line.len() > PASSAGE);
        let heading = line.starts_with('#');
        if full || heading {
            parts.extend(open.take());
        }
        let passage = open.get_or_insert_with(|| Passage {
            document: document.to_owned(),
            line: at + 1,
            text: String::new(),
        });
        passage.text.extend(line.chars().take(PASSAGE));
        passage.text.push('\n');
    }
    parts.extend(open);
    parts.retain(|part| !part.text.trim().is_empty());
    parts
}

#[cfg(test)]
mod tests;
