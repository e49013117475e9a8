//! The files that a command line names and runs. An approval is remembered with their content,
//! because whoever can rewrite `check.sh` decides what `sh check.sh` does (A07). Reads files within
//! limits and runs nothing. Files that a program finds by its own rules (`cargo test`, `make`) are
//! not found; for such programs the question says that they run the project's code.

use std::collections::{BTreeSet, VecDeque};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::conversation::{sha256, sha256_of};
use crate::env::order;
use crate::knowledge::open_regular;
use crate::knowledge::user_state::UserState;
use crate::tools::ToolContext;
use crate::workspace::{Uri, files};

#[cfg(test)]
mod tests;

/// Most files, and most names to look for. A command with more is never remembered.
const FILES: usize = 200;
const LOOKS: usize = 20_000;
/// Largest file to hash, and most bytes to read for names.
const LARGEST: u64 = 64 * 1024 * 1024;
const READ: usize = 256 * 1024;

/// Folders of system programs, which our edits cannot reach.
const SYSTEM: [&str; 4] = ["/usr", "/bin", "/sbin", "/lib"];

/// Suffixes of scripts, which may name other scripts without the suffix.
const SCRIPTS: &[&str] = &[
    "sh", "bash", "zsh", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "php", "lua",
];

/// One sorted entry per file, and a second one for a document with unsaved text.
pub fn contents(cx: &ToolContext, command: &str, cwd: &Path) -> Vec<String> {
    let mut found = Collector {
        cx,
        cwd,
        files: BTreeSet::new(),
        open: VecDeque::new(),
        looks: LOOKS,
        endless: false,
    };
    for name in names(command) {
        found.add_named(cwd, name, None);
    }
    while let Some((path, text)) = found.open.pop_front() {
        found.add_named_by(&path, &text);
    }
    let mut entries: Vec<String> = found
        .files
        .iter()
        .flat_map(|path| entries(cx, path))
        .collect();
    entries.extend(variables(cx));
    if found.endless {
        entries.push(cx.env.id("endless"));
    }
    entries.sort_unstable();
    entries.dedup();
    entries
}

/// The variables stored for commands, which influence what a command does.
fn variables(cx: &ToolContext) -> Option<String> {
    let kept = UserState::new(&cx.env).read().ok()?;
    let any = kept.variable_names().next().is_some();
    any.then(|| format!("variables {}", kept.variables_hash()))
}

/// The words of a command line that may be files, without targets of redirections.
fn names(command: &str) -> Vec<&str> {
    let ends = |c: char| c.is_whitespace() || "\"'`;&|()<>{}=,$".contains(c);
    let mut names = Vec::new();
    let mut at = 0;
    while at < command.len() {
        let rest = &command[at..];
        let end = rest.find(ends).unwrap_or(rest.len());
        let before = command[..at].trim_end_matches([' ', '\t', '"', '\'']);
        if end > 0 && !before.ends_with('>') {
            names.push(&rest[..end]);
        }
        let skip = rest[end..].chars().next().map_or(0, char::len_utf8);
        at += end + skip;
    }
    names
}

struct Collector<'a> {
    cx: &'a ToolContext,
    cwd: &'a Path,
    files: BTreeSet<PathBuf>,
    /// Scripts still to be searched for names.
    open: VecDeque<(PathBuf, String)>,
    looks: usize,
    endless: bool,
}

impl Collector<'_> {
    /// Adds the file of that name in `folder`, if it exists. `suffix`: that of the script that
    /// names it.
    fn add_named(&mut self, folder: &Path, name: &str, suffix: Option<&str>) {
        let home = name
            .strip_prefix("~/")
            .map(|rest| self.cx.env.dirs.home.join(rest));
        let path = home.unwrap_or_else(|| folder.join(name));
        let mut wanted = vec![path];
        if let Some(suffix) = suffix {
            let module = name.trim_start_matches('.').replace('.', "/");
            wanted.push(folder.join(format!("{name}.{suffix}")));
            wanted.push(folder.join(format!("{module}.{suffix}")));
            wanted.push(folder.join(&module).join(format!("__init__.{suffix}")));
            wanted.push(folder.join(name).join(format!("index.{suffix}")));
        }
        for path in wanted {
            if self.looks == 0 || self.files.len() >= FILES {
                self.endless = true;
                return;
            }
            self.looks -= 1;
            if std::fs::metadata(&path).is_ok_and(|data| data.is_file()) || self.document(&path) {
                self.add(&path);
            }
        }
    }

    fn document(&self, path: &Path) -> bool {
        self.cx.workspace.document(&Uri::from_path(path)).is_some()
    }

    fn add(&mut self, path: &Path) {
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if SYSTEM.iter().any(|folder| path.starts_with(folder)) || !self.files.insert(path.clone())
        {
            return;
        }
        let text = text(self.cx, &path);
        let suffix = path.extension().and_then(|suffix| suffix.to_str());
        let script = suffix.is_some_and(|suffix| SCRIPTS.contains(&suffix));
        if script || text.starts_with("#!") {
            self.open.push_back((path, text));
        }
    }

    /// Adds the files that a script names: beside itself, or where it is run.
    fn add_named_by(&mut self, path: &Path, text: &str) {
        let suffix = path.extension().and_then(|suffix| suffix.to_str());
        let suffix = suffix.map(str::to_owned);
        let ends = |c: char| !(c.is_alphanumeric() || "._-/~@+".contains(c));
        let words = order::set(text.split(ends).filter(|word| !word.is_empty()));
        let beside = path.parent().map(Path::to_owned);
        for word in words {
            for folder in [beside.as_deref(), Some(self.cwd)].into_iter().flatten() {
                self.add_named(folder, word, suffix.as_deref());
            }
        }
    }
}

/// The text that the command will see after saving, up to the limit for names.
fn text(cx: &ToolContext, path: &Path) -> String {
    if let Some(document) = cx.workspace.document(&Uri::from_path(path)) {
        return document.rope.to_string();
    }
    let mut bytes = Vec::new();
    if let Ok(file) = open_regular(path) {
        let _ = file.take(READ as u64).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The file's content on disk, and in the editor if that differs.
fn entries(cx: &ToolContext, path: &Path) -> Vec<String> {
    let shown = path.display();
    let mut entries = Vec::new();
    if let Some(hash) = disk_hash(cx, path) {
        entries.push(format!("{shown} {hash}"));
    }
    if let Some(document) = cx.workspace.document(&Uri::from_path(path))
        && cx.workspace.dirty(&document)
    {
        entries.push(format!("{shown} {}", files::rope_hash(&document.rope)));
    }
    entries
}

/// The hash of the text without a byte order mark, as an editor holds it, so that saving does not
/// change it.
fn disk_hash(cx: &ToolContext, path: &Path) -> Option<String> {
    let file = open_regular(path).ok()?;
    let mut bytes = Vec::new();
    if file.metadata().ok()?.len() <= READ as u64 {
        file.take(READ as u64 + 1).read_to_end(&mut bytes).ok()?;
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        return Some(sha256(text));
    }
    // A file too large to hash counts as changed.
    Some(sha256_of(file, LARGEST).unwrap_or_else(|| cx.env.id("large")))
}
