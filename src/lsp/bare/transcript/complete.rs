//! Completion in a transcript: files after `@`, skills after a `/` that begins the prompt. Also finds
//! the files that a prompt mentions this way.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::{Value, json};

use super::format;
use crate::agent::Shared;
use crate::config::Config;
use crate::conversation::Input;
use crate::knowledge::skills;
use crate::policy::Policy;
use crate::prompt::fence;
use crate::workspace::search::{self, Bounds, Found};
use crate::workspace::{Document, Encoding, FileKind, Position, Uri, beneath, text as positions};

/// Most items of one answer.
const ROWS: usize = 100;
/// From this many letters on, files are found by name in all folders.
const ANYWHERE: usize = 2;

/// The time limit of one search: the user is typing.
const TIME: Duration = Duration::from_secs(2);
/// Most files of one prompt.
const FILES: usize = 20;
/// LSP's kinds of completion items.
const FILE: u8 = 17;
/// The kind of folders, whose names end in a slash.
pub const FOLDER: u8 = 19;
const SKILL: u8 = 3;

/// The kind and beginning of the completed word.
#[derive(Debug, PartialEq, Eq)]
enum Wanted<'a> {
    File(&'a str),
    Skill(&'a str),
}

/// The completion items at a position.
pub fn items(
    shared: &Shared,
    config: &Config,
    root: &Path,
    document: &Document,
    (position, encoding): (Position, Encoding),
) -> Vec<Value> {
    let Ok(at) = positions::offset(&document.rope, position, encoding) else {
        return Vec::new();
    };
    let text = String::from(&document.rope);
    let Some(wanted) = wanted(&text, at) else {
        return Vec::new();
    };
    let (kind_rows, typed) = match wanted {
        Wanted::File(typed) => (files(shared, root, typed), typed),
        Wanted::Skill(typed) => (commands(shared, config, root, typed), typed),
    };
    let start = positions::position(&document.rope, at - typed.len(), encoding);
    let rows = kind_rows.into_iter().take(ROWS);
    rows.enumerate()
        .map(|(index, (name, kind, detail))| {
            json!({
                "label": name,
                "kind": kind,
                "detail": detail,
                "filterText": name,
                "sortText": format!("{index:04}"),
                "textEdit": {
                    "range": { "start": start, "end": position },
                    "newText": name,
                },
            })
        })
        .collect()
}

/// The word that ends at byte `at`.
fn wanted(text: &str, at: usize) -> Option<Wanted<'_>> {
    let line = text[..at].rsplit('\n').next().unwrap_or("");
    if let Some(name) = line.strip_prefix('/') {
        let (_, start) = format::prompt(text)
            .map(|(words, _)| (words, words.as_ptr().addr() - text.as_ptr().addr()))?;
        let first = at - line.len() == start;
        let word = name.chars().all(|c| !c.is_whitespace() && c != '/');
        return (first && word).then_some(Wanted::Skill(name));
    }
    let (before, name) = line.rsplit_once('@')?;
    let begins = before.chars().last().is_none_or(|c| !c.is_alphanumeric());
    let word = !name.chars().any(char::is_whitespace);
    (begins && word).then_some(Wanted::File(name))
}

/// Name, LSP's kind, detail.
pub type Row = (String, u8, String);

/// Files and folders that match the text after an `@`.
pub fn files(shared: &Shared, root: &Path, typed: &str) -> Vec<Row> {
    let (folder, name) = typed.rsplit_once('/').unwrap_or(("", typed));
    let workspace = &shared.workspace;
    let Ok(inside) = beneath::locate(
        workspace,
        root,
        if folder.is_empty() { "." } else { folder },
    ) else {
        return Vec::new();
    };
    if inside.root.is_none() || inside.excluded || inside.kind != FileKind::Directory {
        return Vec::new();
    }
    // Only what `read` would show.
    let readable = Policy::of_names(&shared.env.dirs);
    let never = AtomicBool::new(false);
    let bounds = Bounds::new(&never, TIME);
    let found = search::list(workspace, &inside, &readable, 10 * ROWS, &bounds);
    let mut found = found.unwrap_or_default();
    let begins = |path: &Path| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        file.to_lowercase().starts_with(&name.to_lowercase())
    };
    found.paths.retain(|(path, _)| begins(path));
    if folder.is_empty() && name.chars().count() >= ANYWHERE {
        let pattern = format!("**/*{}*", globset::escape(name));
        let more = search::glob(workspace, &inside, &pattern, &readable, ROWS, &bounds);
        let Found { paths, .. } = more.unwrap_or_default();
        for (path, folder) in paths {
            if !found.paths.iter().any(|(known, _)| *known == path) {
                found.paths.push((path, folder));
            }
        }
    }
    let row = |(path, folder): (PathBuf, bool)| {
        let name = path.strip_prefix(root).ok()?.to_str()?.to_owned();
        let plain = fence::name(&name) == name && !name.contains(char::is_whitespace);
        plain.then(|| match folder {
            true => (format!("{name}/"), FOLDER, String::new()),
            false => (name, FILE, String::new()),
        })
    };
    found.paths.into_iter().filter_map(row).collect()
}

/// Skills whose names begin with the text after a `/`.
pub fn commands(shared: &Shared, config: &Config, root: &Path, typed: &str) -> Vec<Row> {
    let trusted = shared.trusted(root);
    let found = skills::find(&shared.workspace, &shared.env, config, root, trusted);
    let skills = found.skills.into_iter().filter(|skill| skill.for_user);
    skills
        .filter(|skill| skill.name.starts_with(typed))
        .map(|skill| (skill.name, SKILL, fence::name(&skill.description)))
        .collect()
}

/// The files that a prompt mentions with `@`, as parts of it. Other words stay text.
pub fn mentioned(shared: &Shared, root: &Path, words: &str) -> Vec<Input> {
    let mut named: Vec<Input> = Vec::new();
    for word in words.split_whitespace() {
        let Some(name) = word.strip_prefix('@') else {
            continue;
        };
        let name = name.trim_end_matches(['.', ',', ';', ':', '?', '!', ')']);
        let Ok(located) = beneath::locate(&shared.workspace, root, name) else {
            continue;
        };
        let file = located.open || located.kind == FileKind::File;
        if name.is_empty() || !file || located.root.is_none() || named.len() == FILES {
            continue;
        }
        let part = Input::Resource {
            uri: Uri::as_str(&located.uri).to_owned(),
            range: None,
            version: None,
            text: None,
            label: None,
        };
        if !named.contains(&part) {
            named.push(part);
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::{Wanted, wanted};
    use crate::conversation::SessionId;
    use crate::lsp::bare::transcript::format;

    fn asks(words: &str) -> Option<String> {
        let text = format!("{}{words}", format::new_transcript(&SessionId::from("s_1")));
        wanted(&text, text.len()).map(|wanted| match wanted {
            Wanted::File(name) => format!("file {name}"),
            Wanted::Skill(name) => format!("skill {name}"),
        })
    }

    #[test]
    fn files_follow_an_at_and_skills_a_slash_that_begins_the_prompt() {
        assert_eq!(asks("look at @src/l").as_deref(), Some("file src/l"));
        assert_eq!(asks("(@").as_deref(), Some("file "));
        assert_eq!(asks("/rev").as_deref(), Some("skill rev"));
        assert_eq!(asks("/").as_deref(), Some("skill "));
        for none in ["", "ada@example", "and/or", "do it\n/rev", "/a/b", "@a b"] {
            assert_eq!(asks(none), None, "{none}");
        }
    }
}
