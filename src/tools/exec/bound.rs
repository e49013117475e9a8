//! What a command line names and runs of the files that are there: an approval is remembered with
//! their content, because whoever may rewrite `check.sh` decides what `sh check.sh` does (A07).
//! Looks, bounded; runs nothing. Names that only a program's own rules make (`cargo test`,
//! `make`) are not found: of those the question says that they run what the agent writes.

use std::collections::{BTreeSet, VecDeque};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::conversation::{sha256, sha256_of};
use crate::knowledge::open_regular;
use crate::knowledge::user_state::UserState;
use crate::tools::ToolContext;
use crate::workspace::{Uri, files};

#[cfg(test)]
mod tests;

/// Most files, and most names that are looked for: what has more is not remembered.
const FILES: usize = 200;
const LOOKS: usize = 20_000;
/// Largest file that is hashed, and largest that is read for names.
const LARGEST: u64 = 64 * 1024 * 1024;
const READ: usize = 256 * 1024;

/// Where the machine keeps its programs, which no edit of ours reaches.
const SYSTEM: [&str; 4] = ["/usr", "/bin", "/sbin", "/lib"];

/// Ends of files that are run by an interpreter and name others without their end.
const SCRIPTS: &[&str] = &[
    "sh", "bash", "zsh", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "php", "lua",
];

/// One entry for each text that counts, sorted: of a document with unsaved text both its texts.
pub fn contents(cx: &ToolContext, command: &str, cwd: &Path) -> Vec<String> {
    let mut found = Found {
        cx,
        cwd,
        files: BTreeSet::new(),
        open: VecDeque::new(),
        looks: LOOKS,
        endless: false,
    };
    for name in names(command) {
        found.look(cwd, name, None);
    }
    while let Some((path, text)) = found.open.pop_front() {
        found.follow(&path, &text);
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

/// The variables that are kept for commands count as what they run does.
fn variables(cx: &ToolContext) -> Option<String> {
    let kept = UserState::new(&cx.env).read().ok()?;
    let any = kept.variable_names().next().is_some();
    any.then(|| format!("variables {}", kept.variables_hash()))
}

/// The words of a command line that may be files. What a redirection writes to is none.
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

struct Found<'a> {
    cx: &'a ToolContext,
    cwd: &'a Path,
    files: BTreeSet<PathBuf>,
    /// Scripts whose names are not looked for yet.
    open: VecDeque<(PathBuf, String)>,
    looks: usize,
    endless: bool,
}

impl Found<'_> {
    /// Takes the file of that name in `folder`, if there is one. `suffix`: of the script that
    /// names it.
    fn look(&mut self, folder: &Path, name: &str, suffix: Option<&str>) {
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
                self.take(&path);
            }
        }
    }

    fn document(&self, path: &Path) -> bool {
        self.cx.workspace.document(&Uri::from_path(path)).is_some()
    }

    fn take(&mut self, path: &Path) {
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

    /// The files that a script names in its turn: beside itself, or from where it is run.
    fn follow(&mut self, path: &Path, text: &str) {
        let suffix = path.extension().and_then(|suffix| suffix.to_str());
        let suffix = suffix.map(str::to_owned);
        let ends = |c: char| !(c.is_alphanumeric() || "._-/~@+".contains(c));
        let words: BTreeSet<&str> = text.split(ends).filter(|word| !word.is_empty()).collect();
        let beside = path.parent().map(Path::to_owned);
        for word in words {
            for folder in [beside.as_deref(), Some(self.cwd)].into_iter().flatten() {
                self.look(folder, word, suffix.as_deref());
            }
        }
    }
}

/// The text as the command will find it once it is saved, as far as it is read for names.
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

/// What the file holds on disk, and in the editor if that differs.
fn entries(cx: &ToolContext, path: &Path) -> Vec<String> {
    let shown = path.display();
    let mut entries = Vec::new();
    if let Some(hash) = on_disk(cx, path) {
        entries.push(format!("{shown} {hash}"));
    }
    if let Some(document) = cx.workspace.document(&Uri::from_path(path))
        && cx.workspace.dirty(&document)
    {
        entries.push(format!("{shown} {}", files::rope_hash(&document.rope)));
    }
    entries
}

/// The hash of the text as an editor would carry it, so that saving changes nothing; `None`:
/// there is no file.
fn on_disk(cx: &ToolContext, path: &Path) -> Option<String> {
    let file = open_regular(path).ok()?;
    let mut bytes = Vec::new();
    if file.metadata().ok()?.len() <= READ as u64 {
        file.take(READ as u64 + 1).read_to_end(&mut bytes).ok()?;
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        return Some(sha256(text));
    }
    // What is too large to look at is never what it was.
    Some(sha256_of(file, LARGEST).unwrap_or_else(|| cx.env.id("large")))
}
