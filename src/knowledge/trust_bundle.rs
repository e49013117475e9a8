//! Files that the user trusts together with an active file: the workspace's programs that its
//! servers start and its hooks name, and the files beside a SKILL.md. One digest covers all of them;
//! a different digest ends the trust. Reads are bounded; nothing is run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::conversation::{sha256, sha256_of};

#[cfg(test)]
mod tests;

/// Most files, depth of folders, and bytes of one file; beyond that nothing is trusted.
const FILES: usize = 500;
const DEPTH: usize = 8;
const LARGEST: u64 = 64 * 1024 * 1024;

/// The digest of the companions of the active file `path` with content `text`; `None` without any.
pub fn digest(path: &Path, text: &str) -> Option<String> {
    let files = files(path, text);
    if files.is_empty() {
        return None;
    }
    let mut lines = String::new();
    for file in files.iter().take(FILES + 1) {
        // A file that cannot be read has no digest, so it is never trusted.
        let hash = hash(file)?;
        lines.push_str(&format!("{hash} {}\n", file.display()));
    }
    (files.len() <= FILES).then(|| sha256(lines.as_bytes()))
}

/// The active file has companions.
pub fn any(path: &Path, text: &str) -> bool {
    !files(path, text).is_empty()
}

/// The companions, canonical.
pub fn files(path: &Path, text: &str) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    match path.file_name().and_then(|name| name.to_str()) {
        Some("SKILL.md") => {
            if let Some(folder) = path.parent() {
                walk(folder, path, DEPTH, &mut found);
            }
        }
        Some(".mcp.json") => {
            let servers = serde_json::from_str(text).unwrap_or(Value::Null);
            programs(path.parent(), &servers, &mut found);
        }
        Some("config.toml") => {
            let servers = toml::from_str(text).unwrap_or(Value::Null);
            let root = path.parent().and_then(Path::parent);
            programs(root, &servers, &mut found);
        }
        Some("hooks.json" | "settings.json") => {
            let root = path.parent().and_then(Path::parent);
            found = root.map_or(found, |root| named_by_hooks(root, text));
        }
        _ => {}
    }
    found
}

/// The files below `folder` that the commands of hooks name, canonical.
pub fn named_by_hooks(folder: &Path, text: &str) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let Ok(top) = std::fs::canonicalize(folder) else {
        return found;
    };
    let hooks = serde_json::from_str(text).unwrap_or(Value::Null);
    let mut commands = Vec::new();
    collect_commands(&hooks["hooks"], &mut commands);
    let ends = |c: char| c.is_whitespace() || "\"'`;&|()<>=".contains(c);
    for command in commands {
        let command = ["${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR"]
            .iter()
            .fold(command.to_owned(), |it, name| {
                it.replace(name, &top.to_string_lossy())
            });
        // A quote may end directly before the rest of a path.
        let joined = command.replace(['"', '\''], "");
        let words = command.split(ends).chain(joined.split(ends));
        for word in words.filter(|word| !word.is_empty()) {
            let path = std::fs::canonicalize(top.join(word));
            found.extend(
                path.ok()
                    .filter(|path| path.starts_with(&top) && path.is_file()),
            );
        }
    }
    found
}

fn collect_commands<'v>(value: &'v Value, out: &mut Vec<&'v str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|it| collect_commands(it, out)),
        Value::Object(fields) => {
            out.extend(fields.get("command").and_then(Value::as_str));
            fields.values().for_each(|it| collect_commands(it, out));
        }
        _ => {}
    }
}

/// Every file below a skill's folder except its SKILL.md; links are not followed.
fn walk(folder: &Path, but: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        if found.len() > FILES || path == but {
            continue;
        }
        match kind {
            Ok(kind) if kind.is_dir() && depth > 0 => walk(&path, but, depth - 1, found),
            Ok(kind) if !kind.is_dir() => {
                found.insert(path);
            }
            _ => {}
        }
    }
}

/// The workspace's files among the commands and arguments of the servers.
fn programs(root: Option<&Path>, settings: &Value, found: &mut BTreeSet<PathBuf>) {
    let Some(root) = root.and_then(|root| std::fs::canonicalize(root).ok()) else {
        return;
    };
    let servers = settings.get("mcpServers").and_then(Value::as_object);
    for server in servers.into_iter().flat_map(|servers| servers.values()) {
        let folder = root.join(server["cwd"].as_str().unwrap_or("."));
        let words = [&server["command"]];
        let words = words
            .into_iter()
            .chain(server["args"].as_array().into_iter().flatten());
        for word in words.filter_map(Value::as_str) {
            // `--flag=file` names a file, too.
            let word = word.rsplit('=').next().unwrap_or(word);
            for folder in [&folder, &root] {
                let path = std::fs::canonicalize(folder.join(word));
                if let Ok(path) = path
                    && path.starts_with(&root)
                    && path.is_file()
                {
                    found.insert(path);
                }
            }
        }
    }
}

fn hash(path: &Path) -> Option<String> {
    let data = std::fs::symlink_metadata(path).ok()?;
    if data.is_symlink() {
        // The link's target is part of what is trusted.
        let to = std::fs::canonicalize(path).ok()?;
        return Some(format!("{} {}", to.display(), hash(&to)?));
    }
    let file = super::open_regular(path).ok()?;
    sha256_of(file, LARGEST)
}
