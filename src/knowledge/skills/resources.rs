//! The names of the files beside a skill's `SKILL.md`. They are listed when the skill is loaded; the
//! model reads them with its own tools.

use std::path::{Path, PathBuf};

use super::{FILE, Skill, slashes};

/// Most names, depth of folders, and most entries that are read.
const NAMES: usize = 50;
const DEPTH: usize = 4;
const ENTRIES: usize = 2_000;

/// The files beside a `SKILL.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Relative to the skill's folder, with `/`, sorted. Not escaped.
    pub names: Vec<String>,
    /// There are more files.
    pub more: bool,
}

/// Names of the regular files in a skill's folder; links and hidden files are left out.
pub fn resources(skill: &Skill) -> Resources {
    let mut out = Resources::default();
    let mut entries = 0;
    let mut open: Vec<(PathBuf, usize)> = vec![(PathBuf::new(), 1)];
    while let Some((relative, depth)) = open.pop() {
        let Ok(listing) = std::fs::read_dir(skill.folder().join(&relative)) else {
            continue;
        };
        for entry in listing.flatten() {
            entries += 1;
            if entries > ENTRIES {
                out.more = true;
                open.clear();
                break;
            }
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let name = entry.file_name();
            let hidden = name.as_encoded_bytes().starts_with(b".") || name == "node_modules";
            let path = relative.join(name);
            if hidden || path == Path::new(FILE) {
                continue;
            }
            if kind.is_dir() && depth < DEPTH {
                open.push((path, depth + 1));
            } else if kind.is_dir() {
                out.more = true;
            } else if kind.is_file() && path.to_str().is_some() {
                out.names.push(slashes(&path));
            }
        }
    }
    out.names.sort();
    out.more |= out.names.len() > NAMES;
    out.names.truncate(NAMES);
    out
}
