//! Skills (agentskills.io): folders with a `SKILL.md`, the user's and, where trusted, the
//! workspace's. This finds and reads them, open buffers first, bounded, and decides which are used:
//! a workspace's skill needs trust in its folder and in its text (INV-9). Nothing here fails; what
//! is not used is reported. Names, descriptions and paths are not escaped.

mod install;
mod matching;
mod needs;
mod parse;
mod resources;
mod walk;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use install::{
    InstallError, Installed, Outline, install, install_exact, installed, outline, uninstall,
};
pub use matching::matching;
pub use resources::{Resources, resources};

use super::file_cache::FileCache;
use super::trust::{Snapshot, TrustStore};
use super::{at_home, slashes};
use crate::config::Config;
use crate::conversation::sha256;
use crate::env::Env;
use crate::env::order;
use crate::workspace::{FileKind, Root, Stamp, Workspace, kind_without_links};
use parse::Parsed;
use walk::{SkillFile, SkillFolder, Walker};

/// The file that makes a folder a skill.
pub const FILE: &str = "SKILL.md";
/// Folders of skills below a root, the session's directory and the user's home.
const FOLDERS: [&str; 3] = [".agents/skills", ".interline/skills", ".claude/skills"];
/// Most bytes of a body; `read` shows the rest.
pub const BODY: usize = 64 * 1024;
/// Most bytes of a file; larger ones are not read at all.
const FILE_LIMIT: u64 = 1024 * 1024;
/// Most problems reported by one search.
const PROBLEMS: usize = 100;

/// One skill that may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Letters, digits and a few marks, at most 64 characters.
    pub name: String,
    /// On one line, at most 1,024 characters.
    pub description: String,
    pub keywords: Vec<String>,
    /// Every prompt contains the complete body (`inject: always`).
    pub always: bool,
    /// The model may load it; otherwise only the user can start it, and no catalogue lists it.
    pub for_model: bool,
    /// The user may start it with `/name`.
    pub for_user: bool,
    /// The connector that it explains: the prompt contains its body while that is connected, and no
    /// catalogue lists it.
    pub connector: Option<String>,
    pub origin: Origin,
    /// The displayed path of its `SKILL.md`: `~/…` or relative to its root, with `/`.
    pub location: String,
    /// The canonical path of its `SKILL.md`.
    pub path: PathBuf,
    /// The text after the front matter, at most [`BODY`].
    pub body: Arc<str>,
    /// The body was truncated.
    pub cut: bool,
    /// Of the file's complete text.
    pub hash: String,
}

impl Skill {
    /// The folder of its resources.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }
}

/// Where a skill comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    User,
    /// `root`: the canonical folder whose trust covers it.
    Workspace {
        root: PathBuf,
    },
}

/// A workspace's skill that is not trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untrusted {
    pub name: String,
    pub location: String,
    pub path: PathBuf,
    /// Of the text that would be trusted.
    pub hash: String,
    /// Why, and what the user can do.
    pub reason: String,
}

/// A skill whose requirements are not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gated {
    pub name: String,
    pub location: String,
    /// What is missing, shown to the user.
    pub reason: String,
}

/// The skills found; each list sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Enabled and trusted, one for each name.
    pub skills: Vec<Skill>,
    /// Disabled by their own file (`enabled: false`) or by `skills.disabled`.
    pub disabled: Vec<Skill>,
    pub untrusted: Vec<Untrusted>,
    /// Those whose requirements this machine does not meet.
    pub gated: Vec<Gated>,
    /// `(location, reason)`: shown, never fatal.
    pub problems: Vec<(String, String)>,
}

impl Found {
    /// The skill with that name; case matters only if two names differ in it.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        let exact = self.skills.iter().find(|skill| skill.name == name);
        exact.or_else(|| {
            let same = |skill: &&Skill| skill.name.to_lowercase() == name.to_lowercase();
            self.skills.iter().find(same)
        })
    }

    /// The names that the model may load.
    pub fn for_model(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter().filter(|skill| skill.for_model)
    }

    /// The names that the user may start.
    pub fn for_user(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter().filter(|skill| skill.for_user)
    }
}

/// What each `SKILL.md` says, by its path.
pub type SkillCache = FileCache<PathBuf, Stamp, ParsedFile>;

/// The skills for a session in `cwd`, from the session's directory, its root, other roots, then the
/// user's folders; the first skill with a name is used. `trusted`: the session's folder is trusted,
/// possibly for this process only. Blocking.
pub fn find(workspace: &Workspace, env: &Env, config: &Config, cwd: &Path, trusted: bool) -> Found {
    let cache = SkillCache::default();
    find_with(workspace, env, config, cwd, trusted, &cache)
}

/// [`find`], but unchanged files are not read again.
pub fn find_with(
    workspace: &Workspace,
    env: &Env,
    config: &Config,
    cwd: &Path,
    trusted: bool,
    cache: &SkillCache,
) -> Found {
    let mut finder = Finder {
        env,
        config,
        workspace,
        trust: OnceCell::new(),
        roots: workspace.roots(),
        session: None,
        trusted,
        out: Found::default(),
    };
    if !config.skills.enabled {
        return finder.out;
    }
    let places = finder.places(cwd);
    let walker = Walker::new(workspace, cache, &places);
    for place in &places {
        let (raws, problems) = walker.walk(place);
        for (path, reason) in problems {
            finder.problem(&path, reason);
        }
        for raw in raws {
            finder.classify(place, raw);
        }
    }
    finder.finish()
}

/// A parsed `SKILL.md`.
pub struct ParsedFile {
    /// Hash and length of the complete text.
    hash: String,
    bytes: usize,
    parsed: Result<Parsed, String>,
}

impl ParsedFile {
    /// Parses the text of a `SKILL.md` in a folder with that name.
    fn parse(text: &str, folder: &str) -> Self {
        Self {
            hash: sha256(text.as_bytes()),
            bytes: text.len(),
            parsed: parse::parse(text, folder),
        }
    }
}

struct Finder<'a> {
    env: &'a Env,
    config: &'a Config,
    workspace: &'a Workspace,
    /// Read only if the workspace has skills.
    trust: OnceCell<Snapshot>,
    roots: Vec<Root>,
    /// The folder that `trusted` refers to.
    session: Option<PathBuf>,
    trusted: bool,
    out: Found,
}

impl Finder<'_> {
    /// The existing folders of skills without duplicates, nearest first, the user's last.
    fn places(&mut self, cwd: &Path) -> Vec<SkillFolder> {
        let found = self.workspace.canonical(cwd);
        let cwd = found.unwrap_or_else(|_| cwd.to_path_buf());
        let own = self
            .roots
            .iter()
            .filter(|root| root.contains(&cwd))
            .max_by_key(|root| root.path.components().count())
            .map_or_else(|| cwd.clone(), |root| root.path.clone());
        let user = self.user_places();
        let mut tops = vec![(cwd, own.clone()), (own.clone(), own.clone())];
        let others = self.roots.iter().map(|root| root.path.clone());
        tops.extend(others.map(|root| (root.clone(), root)));
        self.session = Some(own);
        let mut looked = BTreeSet::new();
        tops.retain(|(folder, _)| looked.insert(folder.clone()));
        // A folder of the user's stays the user's, even below a root.
        let mut known = order::set(user.iter().map(|it| it.folder.clone()));
        let mut places = Vec::new();
        for (folder, root) in tops {
            for name in FOLDERS {
                let path = folder.join(name);
                let Some(found) = self.existing(&path) else {
                    continue;
                };
                if !found.starts_with(&root) {
                    let reason = "it leads out of the workspace's folder and was not followed";
                    if known.insert(found) {
                        self.problem(&path, reason.to_owned());
                    }
                } else if known.insert(found.clone()) {
                    places.push(SkillFolder {
                        folder: found,
                        origin: Origin::Workspace { root: root.clone() },
                    });
                }
            }
        }
        places.extend(user);
        places
    }

    fn user_places(&mut self) -> Vec<SkillFolder> {
        let dirs = &self.env.dirs;
        let mut folders = vec![dirs.config.join("skills")];
        folders.extend(FOLDERS.map(|name| dirs.home.join(name)));
        let standard = folders.len();
        let configured = self.config.skills.folders.iter();
        folders.extend(configured.map(|name| super::user_folder(self.env, name)));
        let mut places: Vec<SkillFolder> = Vec::new();
        for (index, path) in folders.iter().enumerate() {
            let Some(folder) = self.existing(path) else {
                if index >= standard && std::fs::symlink_metadata(path).is_err() {
                    let reason = "there is no such folder: correct the setting `skills.folders`";
                    self.problem(path, reason.to_owned());
                }
                continue;
            };
            if places.iter().all(|place| place.folder != folder) {
                let origin = Origin::User;
                places.push(SkillFolder { folder, origin });
            }
        }
        places
    }

    /// The canonical folder, if it exists.
    fn existing(&mut self, path: &Path) -> Option<PathBuf> {
        match kind_without_links(path) {
            Some(FileKind::Missing) => return None,
            Some(FileKind::Directory) => return Some(path.components().collect()),
            _ => {}
        }
        match std::fs::canonicalize(path) {
            Ok(folder) if folder.is_dir() => Some(folder),
            Ok(_) => {
                self.problem(path, "it is not a folder".to_owned());
                None
            }
            Err(error) => {
                if std::fs::symlink_metadata(path).is_ok() {
                    self.problem(path, error.to_string());
                }
                None
            }
        }
    }

    /// Sorts one `SKILL.md` into the lists.
    fn classify(&mut self, place: &SkillFolder, raw: SkillFile) {
        let folder = raw.path.parent().and_then(Path::file_name);
        let folder = folder.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let known = raw.known.clone();
        let parsed = known.parsed.as_ref();
        let name = parsed.map_or(folder, |parsed| parsed.name.clone());
        let off = self.config.skills.disabled.contains(&name)
            || parsed.is_ok_and(|parsed| !parsed.enabled);
        if let Origin::Workspace { root } = &place.origin
            && let Some(reason) = self.untrusted_reason(root, &raw)
        {
            // A disabled skill needs no trust decision.
            if !off {
                self.out.untrusted.push(Untrusted {
                    name,
                    location: self.displayed(&raw.path),
                    path: raw.path,
                    hash: known.hash.clone(),
                    reason,
                });
            }
            return;
        }
        let parsed = match parsed {
            Ok(parsed) => parsed,
            Err(reason) => return self.problem(&raw.path, reason.clone()),
        };
        for reason in &parsed.problems {
            self.problem(&raw.path, reason.clone());
        }
        if !off && let Some(reason) = parsed.needs.missing(self.env) {
            self.out.gated.push(Gated {
                name,
                location: self.displayed(&raw.path),
                reason,
            });
            return;
        }
        let skill = Skill {
            name: parsed.name.clone(),
            description: parsed.description.clone(),
            keywords: parsed.keywords.clone(),
            always: parsed.always,
            for_model: parsed.for_model,
            for_user: parsed.for_user,
            connector: parsed.connector.clone(),
            origin: place.origin.clone(),
            location: self.displayed(&raw.path),
            body: parsed.body.clone(),
            cut: parsed.cut,
            path: raw.path,
            hash: known.hash.clone(),
        };
        if off {
            self.out.disabled.push(skill);
            return;
        }
        let same = self.out.skills.iter().find(|one| one.name == skill.name);
        match same {
            None => self.out.skills.push(skill),
            // The same skill for several agents is usual and not reported.
            Some(first) if first.hash == skill.hash => {}
            Some(first) => {
                let reason = format!("not used: {} has the same name and is used", first.location);
                self.problem(&skill.path, reason);
            }
        }
    }

    /// Why a workspace's skill is not trusted, and what to do; `None` if it is.
    fn untrusted_reason(&self, root: &Path, raw: &SkillFile) -> Option<String> {
        let session = self.trusted && self.session.as_deref() == Some(root);
        let (folder, file) = (shell_quoted(root), shell_quoted(&raw.path));
        let store = || TrustStore::new(self.env).snapshot();
        let trust = self.trust.get_or_init(store);
        if !(session || trust.folder(root)) {
            return Some(format!(
                "its folder is not trusted: review it, then run `interline trust {folder}` and \
                 `interline trust {file}`"
            ));
        }
        let known = trust.hash(&raw.path);
        let same = known == Some(raw.known.hash.as_str());
        if same && trust.companions(&raw.path, "") {
            return None;
        }
        let why = if same {
            "a file beside its SKILL.md changed since you trusted it"
        } else if known.is_some() {
            "it changed since you trusted it"
        } else {
            "it comes with the workspace"
        };
        let save = if raw.unsaved { "save it, " } else { "" };
        Some(format!(
            "{why}: review it, {save}then run `interline trust {file}`"
        ))
    }

    fn problem(&mut self, path: &Path, reason: String) {
        if self.out.problems.len() < PROBLEMS {
            let shown = self.displayed(path);
            self.out.problems.push((shown, reason));
        }
    }

    /// The displayed path.
    fn displayed(&self, path: &Path) -> String {
        let root = self
            .roots
            .iter()
            .filter(|root| root.contains(path))
            .max_by_key(|root| root.path.components().count());
        if let Some(root) = root
            && let Ok(relative) = path.strip_prefix(&root.path)
        {
            let relative = slashes(relative);
            return match self.roots.len() {
                1 => relative,
                _ => format!("{}/{relative}", root.name),
            };
        }
        at_home(self.env, path)
    }

    fn finish(mut self) -> Found {
        let used = order::set(self.out.skills.iter().map(|skill| &skill.path));
        // The user may have configured a folder of the workspace as their own.
        self.out.untrusted.retain(|one| !used.contains(&one.path));
        let by_name = |a: &Skill, b: &Skill| (&a.name, &a.path).cmp(&(&b.name, &b.path));
        order::sort_by(&mut self.out.skills, by_name);
        order::sort_by(&mut self.out.disabled, by_name);
        let key = |one: &Untrusted| (one.name.clone(), one.path.clone());
        order::sort_by_key(&mut self.out.untrusted, key);
        self.out
    }
}

/// The path quoted as one word for a shell.
fn shell_quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%,:\\".contains(c);
    if text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests;
