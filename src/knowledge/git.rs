//! Branch and head of a work tree, read from `.git` files (also linked work trees and submodules).
//! Git never runs, so nothing that a repository configures runs either. Every read is bounded and
//! stays in the work tree's own repository.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::file_cache::{FileCache, Mark};
use crate::workspace::FileError;
use crate::workspace::beneath::open_inside;
use crate::workspace::git::GitFolder;

/// Most bytes of HEAD or a loose ref that are read.
const SMALL: u64 = 4096;
/// Most bytes of `packed-refs` that are read.
const PACKED: u64 = 16 * 1024 * 1024;
/// Most folders that are checked on the way up.
const LEVELS: usize = 128;
/// Symbolic refs that are followed, as in git.
const HOPS: usize = 5;

/// The work trees by the directory they were found from.
pub type HeadCache = FileCache<PathBuf, (), Project>;

/// Branch and abbreviated head of the work tree that contains the canonical `path`, and its top
/// folder. The work tree is found once, and its files are opened again only when their stamps
/// change.
pub fn head(path: &Path, cache: &HeadCache) -> Option<Head> {
    let known = cache.get(&path.to_path_buf(), &());
    if let Some(head) = known.and_then(|project| project.head(cache)) {
        return Some(head);
    }
    let (project, head) = path.ancestors().take(LEVELS).find_map(|top| {
        let git = GitFolder::find(top)?;
        let top = top.to_path_buf();
        let project = Project {
            top,
            git,
            read: Mutex::default(),
        };
        let head = project.head(cache)?;
        Some((project, head))
    })?;
    cache.put(path.to_path_buf(), (), Arc::new(project));
    Some(head)
}

/// A work tree and the head that was last read.
pub struct Project {
    top: PathBuf,
    git: GitFolder,
    /// What was read last, with the stamps of all files it depends on.
    read: Mutex<Option<Known>>,
}

/// A head with the state of the files it was read from.
struct Known {
    marks: Vec<(PathBuf, Mark)>,
    head: Head,
}

impl Project {
    fn head(&self, cache: &HeadCache) -> Option<Head> {
        let mut read = self.read.lock();
        let same = |(path, mark): &(PathBuf, Mark)| cache.mark(path).as_ref() == Some(mark);
        if let Some(known) = &*read
            && known.marks.iter().all(same)
        {
            return Some(known.head.clone());
        }
        let mut files = Files {
            cache,
            marks: Some(Vec::new()),
        };
        let head = files.small(&self.git.own, "HEAD")?;
        let (branch, commit) = resolve(&mut files, &self.git, head.trim());
        let head = Head {
            top: self.top.clone(),
            branch,
            commit: commit.map(|id| id.chars().take(12).collect()),
        };
        *read = files.marks.map(|marks| Known {
            marks,
            head: head.clone(),
        });
        Some(head)
    }
}

/// The files below `.git` that a head is read from.
struct Files<'a> {
    cache: &'a HeadCache,
    /// The state of each before it was read; `None` if one was written a moment ago.
    marks: Option<Vec<(PathBuf, Mark)>>,
}

impl Files<'_> {
    fn note(&mut self, path: PathBuf, opened: &Result<File, FileError>) {
        let mark = match opened {
            Ok(file) => self.cache.mark_of(file),
            Err(FileError::Missing) => Some(Mark::Absent),
            Err(_) => self.cache.mark(&path),
        };
        let marks = self.marks.take().zip(mark);
        self.marks = marks.map(|(mut marks, mark)| {
            marks.push((path, mark));
            marks
        });
    }

    fn small(&mut self, folder: &Path, name: &str) -> Option<String> {
        let opened = open_inside(folder, Path::new(name));
        self.note(folder.join(name), &opened);
        let mut bytes = Vec::with_capacity(256);
        opened.ok()?.take(SMALL).read_to_end(&mut bytes).ok()?;
        String::from_utf8(bytes).ok()
    }

    fn packed(&mut self, common: &Path, name: &str) -> Option<String> {
        let opened = open_inside(common, Path::new("packed-refs"));
        self.note(common.join("packed-refs"), &opened);
        packed(opened.ok()?, name)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub top: std::path::PathBuf,
    /// `None` when detached.
    pub branch: Option<String>,
    /// 12 hex digits; `None` before the first commit.
    pub commit: Option<String>,
}

fn resolve(files: &mut Files<'_>, git: &GitFolder, head: &str) -> (Option<String>, Option<String>) {
    let Some(mut name) = reference(head) else {
        return (None, commit_id(head));
    };
    let branch = name.strip_prefix("refs/heads/").map(str::to_owned);
    // With the reftable format HEAD names a branch that cannot exist.
    let branch = branch.filter(|branch| branch != ".invalid");
    for _ in 0..HOPS {
        let Some(value) = value_of(files, git, &name) else {
            return (branch, None);
        };
        match reference(value.trim()) {
            Some(next) => name = next,
            None => return (branch, commit_id(value.trim())),
        }
    }
    (branch, None)
}

/// The name after `ref:`, if git would accept it as a path below `.git`.
fn reference(text: &str) -> Option<String> {
    let name = text.strip_prefix("ref:")?.trim();
    let sound = name.starts_with("refs/")
        && !name.contains("..")
        && !name.contains(['\\', ':', '~', '^', '?', '*', '[', ' '])
        && !name.chars().any(char::is_control);
    sound.then(|| name.to_owned())
}

fn commit_id(text: &str) -> Option<String> {
    let hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (hex && matches!(text.len(), 40 | 64)).then(|| text.to_ascii_lowercase())
}

/// A ref's value: loose in this work tree, else loose in the common folder, else packed there.
fn value_of(files: &mut Files<'_>, git: &GitFolder, name: &str) -> Option<String> {
    let folders = [&git.own, &git.common];
    // Only in linked work trees they differ.
    let folders = &folders[usize::from(git.own == git.common)..];
    let loose = folders.iter().find_map(|folder| files.small(folder, name));
    loose.or_else(|| files.packed(&git.common, name))
}

fn packed(file: File, name: &str) -> Option<String> {
    for line in BufReader::new(file.take(PACKED)).lines() {
        // A line that is not UTF-8 cannot be the wanted one.
        let Ok(line) = line else { continue };
        if let Some((id, found)) = line.split_once(' ')
            && found == name
        {
            return Some(id.to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests;
