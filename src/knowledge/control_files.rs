//! The active files of a folder: files that control the agent (settings, servers, agents, prompts,
//! skills). Each is trusted by itself, with exactly its current content (INV-9). This finds and
//! reads them, bounded and never through a link that leads out; it applies none of them.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::trust::TrustStore;
use crate::conversation::sha256;
use crate::env::order;
use crate::workspace::{FileKind, Workspace, beneath, files};

/// Most bytes of an active file; larger files are not read, so they cannot be trusted.
pub const LIMIT: u64 = 1024 * 1024;
/// Most folder entries of one listing.
const ENTRIES: usize = 10_000;
/// Depth of the search below a location.
const DEPTH: usize = 8;
/// Most files of one listing.
const FILES: usize = 500;

/// What an active file controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Settings,
    Servers,
    Hooks,
    Agent,
    Prompt,
    SystemPrompt,
    Skill,
}

impl Kind {
    /// The kind as shown to the user.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Settings => "settings",
            Kind::Servers => "servers",
            Kind::Hooks => "hooks",
            Kind::Agent => "agent",
            Kind::Prompt => "prompt",
            Kind::SystemPrompt => "system prompt",
            Kind::Skill => "skill",
        }
    }
}

/// Where one kind of file is, below a root.
enum Location {
    File(&'static str),
    /// Markdown files directly in the folder.
    Markdown(&'static str),
    /// Every file below the folder.
    All(&'static str),
    /// Files with this name below the folder.
    Named(&'static str, &'static str),
}

/// The files of a workspace that may have hooks.
pub const HOOK_FILES: [&str; 2] = [".interline/hooks.json", ".claude/settings.json"];

const LOCATIONS: [(Location, Kind); 11] = [
    (Location::File(".interline/config.toml"), Kind::Settings),
    (Location::File(".mcp.json"), Kind::Servers),
    (Location::File(HOOK_FILES[0]), Kind::Hooks),
    (Location::File(HOOK_FILES[1]), Kind::Hooks),
    (Location::Markdown(".interline/agents"), Kind::Agent),
    (Location::Markdown(".claude/agents"), Kind::Agent),
    (Location::All(".interline/prompts"), Kind::Prompt),
    (Location::File("SYSTEM_PROMPT.md"), Kind::SystemPrompt),
    (Location::Named(".agents/skills", "SKILL.md"), Kind::Skill),
    (
        Location::Named(".interline/skills", "SKILL.md"),
        Kind::Skill,
    ),
    (Location::Named(".claude/skills", "SKILL.md"), Kind::Skill),
];

/// One active file in its current state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Active {
    /// Canonical; the key in the trust store.
    pub path: PathBuf,
    /// Relative to the folder, with `/`. Not escaped.
    pub shown: String,
    pub kind: Kind,
    pub bytes: u64,
    /// Of the text as in an editor: an open buffer's, without byte order mark.
    pub hash: String,
    /// The user trusts the file with exactly this text.
    pub trusted: bool,
    /// The trusted hash, if the file changed since.
    pub before: Option<String>,
}

/// The active files of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// By kind, then by path.
    pub files: Vec<Active>,
    /// `(path, reason)`: files that could not be read.
    pub problems: Vec<(String, String)>,
}

/// A text with the path and hash under which it is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Canonical.
    pub path: PathBuf,
    pub text: String,
    pub hash: String,
}

/// The active files of `root` (a folder of the workspace, or any other folder).
pub fn list(workspace: &Workspace, store: &TrustStore, root: &Path) -> Listed {
    listed(workspace, store, root, |_| true)
}

/// Those of one kind.
pub fn list_kind(workspace: &Workspace, store: &TrustStore, root: &Path, wanted: Kind) -> Listed {
    listed(workspace, store, root, |kind| kind == wanted)
}

fn listed(
    workspace: &Workspace,
    store: &TrustStore,
    root: &Path,
    wanted: impl Fn(Kind) -> bool,
) -> Listed {
    let mut out = Listed::default();
    let Ok(root) = std::fs::canonicalize(root) else {
        return out;
    };
    let mut entries = ENTRIES;
    for (location, kind) in LOCATIONS.iter().filter(|(_, kind)| wanted(*kind)) {
        let (paths, problems) = paths_at(&root, location, &mut entries);
        for (path, reason) in problems {
            out.problems.push((shown(&root, &path), reason));
        }
        for path in paths {
            let shown = shown(&root, &path);
            if out.files.len() >= FILES {
                let reason = format!("more than {FILES} active files: the rest is not used");
                out.problems.push((shown, reason));
                return out;
            }
            match read(workspace, &root, &path) {
                Ok(None) => {}
                // Another program's settings without hooks control nothing here.
                Ok(Some(text)) if *kind == Kind::Hooks && !has_hooks(&text.text) => {}
                Ok(Some(text)) => out.files.push(active(store, shown, *kind, &text)),
                Err(reason) => out.problems.push((shown, reason)),
            }
        }
    }
    order::sort_by(&mut out.files, |a, b| {
        (a.kind, &a.shown).cmp(&(b.kind, &b.shown))
    });
    out
}

/// The facts about one text.
pub fn active(store: &TrustStore, shown: String, kind: Kind, text: &Text) -> Active {
    let known = store.known(&text.path);
    let trusted = store.trusts(&text.path, &text.text);
    Active {
        path: text.path.clone(),
        shown,
        kind,
        bytes: text.text.len() as u64,
        hash: text.hash.clone(),
        trusted,
        before: known.filter(|_| !trusted),
    }
}

/// The kind of active file that `path` is, relative to any folder above it.
pub fn kind(path: &Path) -> Option<Kind> {
    path.ancestors()
        .skip(1)
        .filter_map(|folder| path.strip_prefix(folder).ok())
        .find_map(|relative| {
            let (_, kind) = LOCATIONS
                .iter()
                .find(|(location, _)| location.has(relative))?;
            Some(*kind)
        })
}

impl Location {
    fn has(&self, relative: &Path) -> bool {
        let in_folder = relative.parent();
        match self {
            Location::File(file) => relative == Path::new(file),
            Location::Markdown(folder) => {
                in_folder == Some(Path::new(folder)) && markdown(relative)
            }
            Location::All(folder) => relative.starts_with(folder) && relative != Path::new(folder),
            Location::Named(folder, name) => {
                relative.starts_with(folder) && relative.file_name().is_some_and(|it| it == *name)
            }
        }
    }
}

fn markdown(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix == "md")
}

/// Reads the file at `path` (absolute, below the canonical folder `top`): the open buffer, else a
/// regular file of at most [`LIMIT`] that is below `top` with links resolved. `None` if it does not
/// exist.
pub fn read(workspace: &Workspace, top: &Path, path: &Path) -> Result<Option<Text>, String> {
    let located = beneath::locate_path(workspace, path);
    if located.kind == FileKind::Missing && !located.open {
        // Links were resolved: a link at `path` would have led elsewhere.
        return match located.path != path && std::fs::symlink_metadata(path).is_ok() {
            true => Err("it is a link that leads nowhere".to_owned()),
            false => Ok(None),
        };
    }
    if !located.path.starts_with(top) {
        return Err("it leads out of the folder and was not followed".to_owned());
    }
    match located.kind {
        FileKind::Directory => return Err("it is a folder, not a file".to_owned()),
        FileKind::Special => return Err("it is not a regular file and was not opened".to_owned()),
        FileKind::File | FileKind::Missing => {}
    }
    if crate::policy::paths::class(&located.path, &[]).secret {
        return Err("it probably holds secrets and was not read".to_owned());
    }
    if located.excluded {
        return Err("an ignore file excludes it, and it was not read".to_owned());
    }
    let bytes = std::fs::symlink_metadata(&located.path).map_or(0, |data| data.len());
    if !located.open && bytes > LIMIT {
        return Err(too_large(bytes));
    }
    let content = files::read(workspace, &located).map_err(|error| error.to_string())?;
    let bytes = content.rope.len_bytes() as u64;
    if bytes > LIMIT {
        return Err(too_large(bytes));
    }
    Ok(Some(Text {
        hash: content.hash(),
        text: content.rope.to_string(),
        path: located.path,
    }))
}

/// The text of a file on disk, ignoring buffers: for files that the user names.
pub fn read_disk(path: &Path) -> Result<Text, String> {
    use std::io::Read as _;
    let message = |error: std::io::Error| error.to_string();
    let path = std::fs::canonicalize(path).map_err(message)?;
    let mut file = super::open_regular(&path).map_err(message)?;
    let mut bytes = Vec::new();
    let mut limited = (&mut file).take(LIMIT + 1);
    limited.read_to_end(&mut bytes).map_err(message)?;
    if bytes.len() as u64 > LIMIT {
        return Err(too_large(bytes.len() as u64));
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text")?;
    if text.contains('\0') {
        return Err("it is not UTF-8 text".to_owned());
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
    Ok(Text {
        hash: sha256(text.as_bytes()),
        text,
        path,
    })
}

/// The text has hooks; one that is not JSON may be meant to.
pub fn has_hooks(text: &str) -> bool {
    let value = serde_json::from_str::<serde_json::Value>(text);
    !value.is_ok_and(|value| value.get("hooks").is_none())
}

fn too_large(bytes: u64) -> String {
    format!("it has {bytes} bytes or more, and active files may have {LIMIT}")
}

type Problems = Vec<(PathBuf, String)>;

/// The paths at one location, sorted, and the problems found on the way.
fn paths_at(root: &Path, location: &Location, entries: &mut usize) -> (Vec<PathBuf>, Problems) {
    match location {
        Location::File(file) => (vec![root.join(file)], Vec::new()),
        Location::Markdown(folder) => walk(root, folder, 0, entries, &markdown),
        Location::All(folder) => walk(root, folder, DEPTH, entries, &|_| true),
        Location::Named(folder, name) => {
            let wanted = |path: &Path| path.file_name().is_some_and(|it| it == *name);
            walk(root, folder, DEPTH, entries, &wanted)
        }
    }
}

/// The wanted files below `folder`, down to `depth`; links to folders are not followed.
fn walk(
    root: &Path,
    folder: &str,
    depth: usize,
    entries: &mut usize,
    wanted: &dyn Fn(&Path) -> bool,
) -> (Vec<PathBuf>, Problems) {
    let (mut paths, mut problems) = (Vec::new(), Vec::new());
    let mut open = VecDeque::new();
    if plain_folder(root, folder) {
        open.push_back((root.join(folder), 0));
    } else if std::fs::symlink_metadata(root.join(folder)).is_ok() {
        let reason = "it is not a folder, or it is reached through a link: not followed";
        problems.push((root.join(folder), reason.to_owned()));
    }
    while let Some((folder, level)) = open.pop_front() {
        let listing = match std::fs::read_dir(&folder) {
            Ok(listing) => listing,
            Err(error) => {
                problems.push((folder, error.to_string()));
                continue;
            }
        };
        for entry in listing.flatten() {
            if *entries == 0 {
                let reason = format!("more than {ENTRIES} entries: the rest was not read");
                problems.push((folder.clone(), reason));
                paths.sort();
                return (paths, problems);
            }
            *entries -= 1;
            let path = entry.path();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() && level < depth {
                open.push_back((path, level + 1));
            } else if kind.is_symlink() && depth > 0 && path.is_dir() {
                problems.push((path, "it is a link to a folder: not followed".to_owned()));
            } else if !kind.is_dir() && wanted(&path) {
                paths.push(path);
            }
        }
    }
    paths.sort();
    (paths, problems)
}

/// Every part of the path is a folder, not a link.
fn plain_folder(root: &Path, folder: &str) -> bool {
    let mut path = root.to_owned();
    Path::new(folder).components().all(|part| {
        path.push(part);
        std::fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir())
    })
}

/// The path relative to the folder, with `/`.
pub fn shown(root: &Path, path: &Path) -> String {
    match path.strip_prefix(root) {
        Ok(relative) => super::slashes(relative),
        Err(_) => path.display().to_string(),
    }
}
