//! AGENTS.md and its kin: global, then from the workspace root down to the session's directory,
//! then what the `instructions` setting names. Buffers first. Nothing here fails: what cannot be
//! used is told as a problem. Whether a text may be believed is not decided here; [`Standing`]
//! says whose it is.

mod budget;
mod configured;
mod excluded;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

pub use excluded::excluded;

use super::trust::TrustStore;
use crate::config::Config;
use crate::env::Env;
use crate::workspace::beneath::{self, Located};
use crate::workspace::{FileKind, Root, Source, Workspace, files};

/// Bytes of all instruction texts together; what is over it is cut, fairly and visibly.
pub const BUDGET: usize = 32 * 1024;
/// Larger files are not read at all.
const FILE_LIMIT: u64 = 1024 * 1024;
/// Most instruction files; a session deeper than this has other problems.
const FILES: usize = 200;

/// One instruction file (or URL) that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// As shown to model and user; also the key of journal entries.
    pub source: String,
    pub path: Option<PathBuf>,
    /// Capped; a cut carries a visible mark.
    pub text: String,
    /// Of the whole text.
    pub hash: String,
    pub origin: Origin,
    /// From an open buffer with unsaved text.
    pub unsaved: bool,
    pub standing: Standing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `AGENTS.md` in the config folder.
    Global,
    /// Found on the way from the root to the session's directory.
    Workspace,
    /// Named by the `instructions` setting.
    Configured,
}

impl Origin {
    /// The name in a layout.
    pub fn as_str(self) -> &'static str {
        match self {
            Origin::Global => "global",
            Origin::Workspace => "workspace",
            Origin::Configured => "configured",
        }
    }
}

/// Whose word the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The user's own: outside every folder of the workspace.
    User,
    /// The session's folder: believed as far as that is trusted.
    Session,
    /// Another folder of the workspace.
    Folder { trusted: bool },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    pub found: Vec<Instruction>,
    /// `(source, reason)`: shown, never fatal.
    pub problems: Vec<(String, String)>,
}

/// Which files are looked for; data of a layout.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Search {
    /// File names; the first that is there counts, one per directory.
    pub names: Vec<String>,
    pub order: Order,
    pub stop: Stop,
}

/// The order within the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Order {
    /// Nearest last: the nearest has the last word.
    #[default]
    RootFirst,
    NearestFirst,
}

/// Where the walk upwards from the session's directory ends; never above the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stop {
    #[default]
    Root,
    /// The top of the git work tree.
    Git,
    /// Only the session's directory.
    Directory,
}

impl Default for Search {
    fn default() -> Self {
        let names = ["AGENTS.override.md", "AGENTS.md", "CLAUDE.md"];
        Self {
            names: names.map(str::to_owned).to_vec(),
            order: Order::default(),
            stop: Stop::default(),
        }
    }
}

/// Files in the order of the prompt: global, root … nearest, configured. No network (URLs are
/// listed as problems until they can be fetched).
pub fn gather(workspace: &Workspace, env: &Env, config: &Config, cwd: &Path) -> Gathered {
    gather_with(workspace, env, config, cwd, &Search::default())
}

/// [`gather`] under a layout's rules.
pub fn gather_with(
    workspace: &Workspace,
    env: &Env,
    config: &Config,
    cwd: &Path,
    search: &Search,
) -> Gathered {
    // The session's directory may not exist yet; then nothing is found in it.
    let cwd = std::fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_path_buf());
    let roots = workspace.roots();
    let root = roots
        .iter()
        .filter(|root| root.contains(&cwd))
        .max_by_key(|root| root.path.components().count())
        .cloned();
    let mut gatherer = Gatherer {
        workspace,
        env,
        top: root
            .as_ref()
            .map_or_else(|| cwd.clone(), |root| root.path.clone()),
        cwd,
        roots,
        found: Vec::new(),
        problems: Vec::new(),
        paths: BTreeSet::new(),
        texts: BTreeMap::new(),
    };
    gatherer.global();
    gatherer.walk(search);
    for entry in &config.instructions {
        gatherer.configured(entry);
    }
    let Gatherer {
        mut found,
        mut problems,
        ..
    } = gatherer;
    budget::share(&mut found, BUDGET, &mut problems);
    Gathered { found, problems }
}

struct Gatherer<'a> {
    workspace: &'a Workspace,
    env: &'a Env,
    cwd: PathBuf,
    /// The root that contains the session's directory; without one, the directory itself.
    top: PathBuf,
    roots: Vec<Root>,
    found: Vec<Instruction>,
    problems: Vec<(String, String)>,
    /// Canonical paths that were taken: the same file never twice.
    paths: BTreeSet<PathBuf>,
    /// Hash → source of each text: the same text never twice.
    texts: BTreeMap<String, String>,
}

/// What came of one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// Found, or there and unusable, which is told: no further name is tried.
    Yes,
    Missing,
}

impl Gatherer<'_> {
    fn global(&mut self) {
        let path = self.env.dirs.config.join("AGENTS.md");
        let source = self.at_home(&path);
        self.take(&path, source, Origin::Global);
    }

    fn walk(&mut self, search: &Search) {
        let end = match search.stop {
            Stop::Root => self.top.clone(),
            Stop::Git => super::git::head(&self.cwd)
                .map(|head| head.top)
                .filter(|top| top.starts_with(&self.top))
                .unwrap_or_else(|| self.cwd.clone()),
            Stop::Directory => self.cwd.clone(),
        };
        let mut folders: Vec<PathBuf> = self
            .cwd
            .ancestors()
            .take_while(|folder| folder.starts_with(&end))
            .map(Path::to_path_buf)
            .collect();
        if search.order == Order::RootFirst {
            folders.reverse();
        }
        for folder in folders {
            if let Some(reason) = excluded(&self.top, &folder) {
                if self.has_any(&folder, &search.names) {
                    let shown = self.shown(&folder);
                    self.problems.push((shown, reason));
                }
                continue;
            }
            for name in &search.names {
                let path = folder.join(name);
                let source = self.shown(&path);
                if self.take(&path, source, Origin::Workspace) == Taken::Yes {
                    break;
                }
            }
        }
    }

    fn has_any(&self, folder: &Path, names: &[String]) -> bool {
        names
            .iter()
            .any(|name| std::fs::symlink_metadata(folder.join(name)).is_ok())
    }

    /// Takes the file at `path` (absolute), if it is there.
    fn take(&mut self, path: &Path, source: String, origin: Origin) -> Taken {
        let Some(argument) = path.to_str() else {
            // A name that is not UTF-8 cannot be shown; it is no instruction file of anybody.
            let reason = "the path is not UTF-8".to_owned();
            if std::fs::symlink_metadata(path).is_ok() {
                self.problems.push((source, reason));
            }
            return Taken::Missing;
        };
        let located = match beneath::locate(self.workspace, &self.cwd, argument) {
            Ok(located) => located,
            Err(error) => {
                if std::fs::symlink_metadata(path).is_err() {
                    return Taken::Missing;
                }
                self.problems.push((source, error.to_string()));
                return Taken::Yes;
            }
        };
        if located.kind == FileKind::Missing && !located.open {
            return Taken::Missing;
        }
        match self.read(path, &located, origin) {
            Ok(Some(one)) => self.keep(Instruction { source, ..one }),
            Ok(None) => {}
            Err(reason) => self.problems.push((source, reason)),
        }
        Taken::Yes
    }

    /// Reads the file; `None` when it was taken before.
    fn read(
        &mut self,
        path: &Path,
        located: &Located,
        origin: Origin,
    ) -> Result<Option<Instruction>, String> {
        let standing = self.standing(path, located, origin)?;
        // Checked here too, because neither may even be opened for a look.
        match located.kind {
            FileKind::Special if !located.open => {
                return Err("it is not a regular file and was not opened".to_owned());
            }
            FileKind::Directory => return Err("it is a directory".to_owned()),
            _ => {}
        }
        if standing != Standing::User && located.through_link && !is_prose(&located.path) {
            return Err("it is a link to a file that is not Markdown or text".to_owned());
        }
        // The setting can come from a repository, and what is named goes to the model unasked.
        if crate::policy::paths::class(&located.path, &[]).secret {
            return Err("it probably holds secrets and was not read".to_owned());
        }
        if self.paths.contains(&located.path) {
            return Ok(None);
        }
        let bytes = std::fs::symlink_metadata(&located.path).map_or(0, |data| data.len());
        if !located.open && bytes > FILE_LIMIT {
            return Err(format!(
                "it has {bytes} bytes, more than the limit of {FILE_LIMIT}; make it shorter, or \
                 split it and name the parts in AGENTS.md"
            ));
        }
        let content = files::read(self.workspace, located).map_err(|error| error.to_string())?;
        self.paths.insert(located.path.clone());
        Ok(Some(Instruction {
            source: String::new(),
            path: Some(located.path.clone()),
            text: content.rope.to_string(),
            hash: content.hash(),
            origin,
            unsaved: matches!(content.source, Source::Buffer { dirty: true, .. }),
            standing,
        }))
    }

    fn keep(&mut self, one: Instruction) {
        if one.text.trim().is_empty() {
            return;
        }
        if let Some(first) = self.texts.get(&one.hash) {
            let reason = format!("the same text as {first}, which is used");
            self.problems.push((one.source, reason));
            return;
        }
        if self.found.len() >= FILES {
            let reason = format!("more than {FILES} instruction files: not used");
            self.problems.push((one.source, reason));
            return;
        }
        self.texts.insert(one.hash.clone(), one.source.clone());
        self.found.push(one);
    }

    /// Whose the file is. A path that looks as if it lay in the workspace and leads out of it is
    /// refused: a repository must not choose which of the user's files are read (A04, A13).
    fn standing(&self, path: &Path, located: &Located, origin: Origin) -> Result<Standing, String> {
        if origin == Origin::Global {
            return Ok(Standing::User);
        }
        let target = &located.path;
        if target.starts_with(&self.top) {
            return Ok(Standing::Session);
        }
        if let Some(root) = self.roots.iter().find(|root| root.contains(target)) {
            let trusted = TrustStore::new(self.env).folder(&root.path);
            return Ok(Standing::Folder { trusted });
        }
        let looks_inside = path.starts_with(&self.top)
            || path.starts_with(&self.cwd)
            || self.roots.iter().any(|root| path.starts_with(&root.path));
        if looks_inside || origin == Origin::Workspace {
            return Err("it leads out of the workspace's folders and was not followed".to_owned());
        }
        Ok(Standing::User)
    }

    /// The path as tools show it.
    fn shown(&self, path: &Path) -> String {
        let root = self
            .roots
            .iter()
            .filter(|root| root.contains(path))
            .max_by_key(|root| root.path.components().count());
        let relative = match root {
            Some(root) => {
                path.strip_prefix(&root.path)
                    .ok()
                    .map(|relative| match self.roots.len() {
                        1 => relative.to_path_buf(),
                        _ => Path::new(&root.name).join(relative),
                    })
            }
            None => path.strip_prefix(&self.cwd).ok().map(Path::to_path_buf),
        };
        match relative {
            Some(relative) => {
                let parts: Vec<_> = relative
                    .components()
                    .map(|part| part.as_os_str().to_string_lossy())
                    .collect();
                parts.join("/")
            }
            None => self.at_home(path),
        }
    }

    fn at_home(&self, path: &Path) -> String {
        match path.strip_prefix(&self.env.dirs.home) {
            Ok(relative) => format!("~/{}", relative.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

/// A link from an instruction file's name may lead to prose only, never to `.env` or a key.
fn is_prose(path: &Path) -> bool {
    let suffix = path.extension().and_then(|suffix| suffix.to_str());
    suffix.is_some_and(|suffix| {
        ["md", "mdc", "markdown", "txt"].contains(&suffix.to_ascii_lowercase().as_str())
    })
}

#[cfg(all(test, unix))]
mod tests;
