//! Skills (agentskills.io): folders with a `SKILL.md`, of the user and, where trusted, of the
//! workspace. This finds and reads them, buffers first, bounded, and decides which count: a
//! workspace's skill needs its folder's trust and that of its text (INV-9). Nothing here fails;
//! what is not used is told. Names, descriptions and paths are raw: whoever shows them fences.

mod install;
mod matching;
mod needs;
mod parse;
mod resources;
mod walk;

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
use crate::config::Config;
use crate::conversation::sha256;
use crate::env::Env;
use crate::workspace::{Root, Stamp, Workspace};
use parse::Parsed;
use walk::{Place, Raw, Walker};

/// The file that makes a folder a skill.
pub const FILE: &str = "SKILL.md";
/// Where skills lie below a root, the session's directory and the user's home.
const FOLDERS: [&str; 3] = [".agents/skills", ".interline/skills", ".claude/skills"];
/// Bytes of a body that are kept; the rest is left to `read`.
pub const BODY: usize = 64 * 1024;
/// Larger files are not read at all.
const FILE_LIMIT: u64 = 1024 * 1024;
/// Told problems of one search.
const PROBLEMS: usize = 100;

/// One skill that may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Letters, digits and a few marks, at most 64 characters.
    pub name: String,
    /// On one line, at most 1,024 characters.
    pub description: String,
    pub keywords: Vec<String>,
    /// The whole body rides in every prompt (`inject: always`).
    pub always: bool,
    /// The model may load it; otherwise only the user starts it, and no catalogue lists it.
    pub for_model: bool,
    /// The user may start it with `/name`.
    pub for_user: bool,
    /// It explains what is connected under this name: its body stands in the prompt as long as
    /// that is there, and no catalogue lists it.
    pub connector: Option<String>,
    pub origin: Origin,
    /// The path of its `SKILL.md` as it is shown: `~/…` or relative to its root, with `/`.
    pub location: String,
    /// Of its `SKILL.md`; absolute, canonical.
    pub path: PathBuf,
    /// What follows the front matter, at most [`BODY`].
    pub body: Arc<str>,
    /// The body is longer than what is kept of it.
    pub cut: bool,
    /// Of the file's whole text.
    pub hash: String,
}

impl Skill {
    /// The folder that its resources lie in.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }
}

/// Whose word a skill is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    User,
    /// The canonical folder whose trust covers it.
    Workspace {
        root: PathBuf,
    },
}

/// A workspace's skill that does not count (yet).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untrusted {
    pub name: String,
    pub location: String,
    pub path: PathBuf,
    /// Of the text that would be trusted.
    pub hash: String,
    /// For a person: why, and what to do.
    pub reason: String,
}

/// A skill that cannot be used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gated {
    pub name: String,
    pub location: String,
    /// What is missing, for a person.
    pub reason: String,
}

/// What was found; each list by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Enabled and believed, one of each name.
    pub skills: Vec<Skill>,
    /// Switched off by themselves (`enabled: false`) or by `skills.disabled`.
    pub disabled: Vec<Skill>,
    pub untrusted: Vec<Untrusted>,
    /// Those that need something that this machine lacks.
    pub gated: Vec<Gated>,
    /// `(location, reason)`: shown, never fatal.
    pub problems: Vec<(String, String)>,
}

impl Found {
    /// The skill of that name; capitals only matter when two names differ in them.
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

/// Skills for a session in `cwd`: the session's directory first, then its root, other roots, the
/// user's folders; of one name the first counts. `trusted`: the session's folder is trusted,
/// perhaps for this process only. Blocking.
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
        trust: TrustStore::new(env).snapshot(),
        roots: workspace.roots(),
        session: None,
        trusted,
        out: Found::default(),
    };
    if !config.skills.enabled {
        return finder.out;
    }
    let places = finder.places(cwd);
    let mut walker = Walker::new(workspace, cache, &places);
    for place in &places {
        let (raws, problems) = walker.walk(place);
        for (path, reason) in problems {
            finder.problem(&path, reason);
        }
        for raw in raws {
            finder.take(place, raw);
        }
    }
    finder.done()
}

/// What a `SKILL.md` says, for as long as it does.
pub struct ParsedFile {
    /// Of the whole text, and its length.
    hash: String,
    bytes: usize,
    parsed: Result<Parsed, String>,
}

impl ParsedFile {
    /// Of the text of a `SKILL.md` in a folder of that name.
    fn of(text: &str, folder: &str) -> Self {
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
    trust: Snapshot,
    roots: Vec<Root>,
    /// The folder that `trusted` is about.
    session: Option<PathBuf>,
    trusted: bool,
    out: Found,
}

impl Finder<'_> {
    /// The folders with skills that exist, nearest first, the user's last; none twice.
    fn places(&mut self, cwd: &Path) -> Vec<Place> {
        let cwd = std::fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_path_buf());
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
        // A folder of the user's is the user's, even below a root.
        let mut known: BTreeSet<PathBuf> = user.iter().map(|it| it.folder.clone()).collect();
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
                    places.push(Place {
                        folder: found,
                        origin: Origin::Workspace { root: root.clone() },
                    });
                }
            }
        }
        places.extend(user);
        places
    }

    fn user_places(&mut self) -> Vec<Place> {
        let dirs = &self.env.dirs;
        let mut folders = vec![dirs.config.join("skills")];
        folders.extend(FOLDERS.map(|name| dirs.home.join(name)));
        let standard = folders.len();
        let configured = self.config.skills.folders.iter();
        folders.extend(configured.map(|name| match name.strip_prefix("~/") {
            Some(rest) => dirs.home.join(rest),
            None => dirs.config.join(name),
        }));
        let mut places: Vec<Place> = Vec::new();
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
                places.push(Place { folder, origin });
            }
        }
        places
    }

    /// The canonical folder, if there is one.
    fn existing(&mut self, path: &Path) -> Option<PathBuf> {
        match std::fs::canonicalize(path) {
            Ok(folder) if folder.is_dir() => Some(folder),
            Ok(_) => {
                self.problem(path, "it is no folder".to_owned());
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
    fn take(&mut self, place: &Place, raw: Raw) {
        let folder = raw.path.parent().and_then(Path::file_name);
        let folder = folder.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let known = raw.known.clone();
        let parsed = known.parsed.as_ref();
        let name = parsed.map_or(folder, |parsed| parsed.name.clone());
        let off = self.config.skills.disabled.contains(&name)
            || parsed.is_ok_and(|parsed| !parsed.enabled);
        if let Origin::Workspace { root } = &place.origin
            && let Some(reason) = self.distrust(root, &raw)
        {
            // A skill that is switched off anyway needs no decision.
            if !off {
                self.out.untrusted.push(Untrusted {
                    name,
                    location: self.shown(&raw.path),
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
                location: self.shown(&raw.path),
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
            location: self.shown(&raw.path),
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
            // The same skill for several agents is usual, and no news.
            Some(first) if first.hash == skill.hash => {}
            Some(first) => {
                let reason = format!("not used: {} has the same name and is used", first.location);
                self.problem(&skill.path, reason);
            }
        }
    }

    /// Why a workspace's skill does not count, and what to do; `None` when it is trusted.
    fn distrust(&self, root: &Path, raw: &Raw) -> Option<String> {
        let session = self.trusted && self.session.as_deref() == Some(root);
        let (folder, file) = (quoted(root), quoted(&raw.path));
        if !(session || self.trust.folder(root)) {
            return Some(format!(
                "its folder is not trusted: look at it, then run `interline trust {folder}` and \
                 `interline trust {file}`"
            ));
        }
        let known = self.trust.hash(&raw.path);
        let same = known == Some(raw.known.hash.as_str());
        if same && self.trust.companions(&raw.path, "") {
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
            "{why}: look at it, {save}then run `interline trust {file}`"
        ))
    }

    fn problem(&mut self, path: &Path, reason: String) {
        if self.out.problems.len() < PROBLEMS {
            let shown = self.shown(path);
            self.out.problems.push((shown, reason));
        }
    }

    /// The path as it is shown.
    fn shown(&self, path: &Path) -> String {
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
        match path.strip_prefix(&self.env.dirs.home) {
            Ok(relative) => format!("~/{}", slashes(relative)),
            Err(_) => path.display().to_string(),
        }
    }

    fn done(mut self) -> Found {
        let used: BTreeSet<&PathBuf> = self.out.skills.iter().map(|skill| &skill.path).collect();
        // The user may have named a folder of the workspace as one of their own.
        self.out.untrusted.retain(|one| !used.contains(&one.path));
        let by_name = |a: &Skill, b: &Skill| (&a.name, &a.path).cmp(&(&b.name, &b.path));
        self.out.skills.sort_by(by_name);
        self.out.disabled.sort_by(by_name);
        let key = |one: &Untrusted| (one.name.clone(), one.path.clone());
        self.out.untrusted.sort_by_key(key);
        self.out
    }
}

/// The names of a path with `/` between them.
fn slashes(path: &Path) -> String {
    let parts = path.components();
    let parts: Vec<_> = parts
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.join("/")
}

/// A path as one word of a shell's line.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%,:\\".contains(c);
    if text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(all(test, unix))]
mod tests;
