//! Reads text files for the prompt from a session's point of view: open buffers first, regular
//! files only, bounded, each with its standing. A file that cannot be used has a reason. Decides
//! nothing about trust.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use super::git::{self, Head, HeadCache};
use super::trust::TrustStore;
use crate::env::Env;
use crate::workspace::beneath::{self, Located};
use crate::workspace::{FileKind, Root, Source, Workspace, files};

/// Larger files are not read at all.
pub(super) const FILE_LIMIT: u64 = 1024 * 1024;

/// Whom a text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The user's own: outside every folder of the workspace.
    User,
    /// The session's folder: as trusted as that folder.
    Session,
    /// Another folder of the workspace, or the repository that the session's folder is part of.
    Folder { trusted: bool },
}

/// How far a name may lead, depending on who gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Our own folder: the user's text, wherever links lead.
    Own,
    /// Only into the workspace's folders and, if it is included, the repository around them.
    Inside,
    /// Also elsewhere, unless the name looks as if it were in the workspace.
    Anywhere,
}

/// One text that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceText {
    /// Canonical.
    pub path: PathBuf,
    pub text: String,
    /// Of the complete text.
    pub hash: String,
    /// From an open buffer with unsaved text.
    pub unsaved: bool,
    pub standing: Standing,
}

/// The result for one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    Missing,
    /// It exists but cannot be used; the reason.
    Unusable(String),
    Found(SourceText),
}

pub(super) struct TextSource<'a> {
    pub workspace: &'a Workspace,
    pub env: &'a Env,
    pub cwd: PathBuf,
    /// The session's directory exists, so `cwd` contains no link.
    canonical: bool,
    /// The root that contains the session's directory; without one, the directory itself.
    pub top: PathBuf,
    pub roots: Vec<Root>,
    /// `None`: files above the opened folder do not count.
    heads: Option<&'a HeadCache>,
    head: OnceCell<Option<Head>>,
    repository: OnceCell<Option<Repository>>,
}

/// The git work tree that `top` is a folder of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Repository {
    /// Canonical, above `top`.
    pub top: PathBuf,
    pub trusted: bool,
}

impl<'a> TextSource<'a> {
    pub fn new(workspace: &'a Workspace, env: &'a Env, cwd: &Path) -> Self {
        // The session's directory may not exist yet; then it contains nothing.
        let found = workspace.canonical(cwd);
        let canonical = found.is_ok();
        let cwd = found.unwrap_or_else(|_| cwd.to_path_buf());
        let roots = workspace.roots();
        let root = roots
            .iter()
            .filter(|root| root.contains(&cwd))
            .max_by_key(|root| root.path.components().count());
        Self {
            workspace,
            env,
            top: root.map_or_else(|| cwd.clone(), |root| root.path.clone()),
            cwd,
            canonical,
            roots,
            heads: None,
            head: OnceCell::new(),
            repository: OnceCell::new(),
        }
    }

    /// Includes the files of the repository above the opened folder. They are trusted only if the
    /// repository itself is.
    pub fn in_repository(mut self, heads: &'a HeadCache) -> Self {
        self.heads = Some(heads);
        self
    }

    /// The head of the work tree around the session's directory, looked up once.
    pub fn head(&self) -> Option<&Head> {
        let find = || git::head(&self.cwd, self.heads.filter(|_| self.canonical)?);
        self.head.get_or_init(find).as_ref()
    }

    /// The included repository above the opened folder, looked up once.
    pub fn repository(&self) -> Option<&Repository> {
        let find = || {
            let top = &self.head()?.top;
            (self.top != *top && self.top.starts_with(top)).then(|| Repository {
                trusted: TrustStore::new(self.env).folder(top),
                top: top.clone(),
            })
        };
        self.repository.get_or_init(find).as_ref()
    }

    /// The top of the repository or, without one, of the opened folder.
    pub fn outermost(&self) -> &Path {
        let repository = self.repository();
        repository.map_or(&self.top, |repository| &repository.top)
    }

    pub fn in_workspace(&self, path: &Path) -> bool {
        path.starts_with(&self.top) || self.roots.iter().any(|root| root.contains(path))
    }

    /// The innermost folder of the workspace that contains `path`.
    pub fn top_of(&self, path: &Path) -> Option<&Path> {
        self.roots
            .iter()
            .map(|root| root.path.as_path())
            .chain([self.top.as_path()])
            .filter(|top| path.starts_with(top))
            .max_by_key(|top| top.components().count())
    }

    /// Reads the file at `path` (absolute).
    pub fn read(&self, path: &Path, reach: Reach) -> Lookup {
        let located = match self.locate(path) {
            Ok(Some(located)) => located,
            Ok(None) => return Lookup::Missing,
            Err(reason) => return Lookup::Unusable(reason),
        };
        self.judge(path, &located, reach)
            .and_then(|standing| self.load(&located, standing))
            .map_or_else(Lookup::Unusable, Lookup::Found)
    }

    /// The facts about `path` (absolute); `None` if it does not exist.
    pub fn locate(&self, path: &Path) -> Result<Option<Located>, String> {
        let there = || std::fs::symlink_metadata(path).is_ok();
        let Some(argument) = path.to_str() else {
            // A name that is not UTF-8 cannot be shown.
            return match there() {
                true => Err("the path is not UTF-8".to_owned()),
                false => Ok(None),
            };
        };
        if let Some((folder, name)) = self.on_the_way(path, argument) {
            return Ok(beneath::locate_entry(self.workspace, folder, name));
        }
        if plain(argument) {
            return Ok(beneath::locate_existing(self.workspace, path));
        }
        match beneath::locate(self.workspace, &self.cwd, argument) {
            Ok(located) if located.kind == FileKind::Missing && !located.open => Ok(None),
            Ok(located) => Ok(Some(located)),
            Err(error) if there() => Err(error.to_string()),
            Err(_) => Ok(None),
        }
    }

    /// The folder and the name of an entry of the session's directory or of a folder above it. These
    /// folders are canonical already, and deep directories have many of them.
    fn on_the_way<'p>(&self, path: &'p Path, argument: &str) -> Option<(&'p Path, &'p str)> {
        let (folder, name) = (path.parent()?, path.file_name()?.to_str()?);
        (plain(argument)
            && argument.ends_with(name)
            && self.canonical
            && self.cwd.starts_with(folder))
        .then_some((folder, name))
    }

    /// The file's standing, or why it may not be read. Opens nothing.
    pub fn judge(&self, path: &Path, located: &Located, reach: Reach) -> Result<Standing, String> {
        let standing = self.standing(path, located, reach)?;
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
        if crate::policy::paths::transcript(&located.path, &self.env.dirs.state) {
            return Err("it is a transcript, which is never read for a prompt".to_owned());
        }
        // A repository can give the name, and the text goes to the model without a question.
        if crate::policy::paths::class(&located.path, &[]).secret {
            return Err("it probably holds secrets and was not read".to_owned());
        }
        if located.excluded && standing != Standing::User {
            return Err("an ignore file excludes it from prompts, and it was not read".to_owned());
        }
        Ok(standing)
    }

    pub fn load(&self, located: &Located, standing: Standing) -> Result<SourceText, String> {
        let bytes = std::fs::symlink_metadata(&located.path).map_or(0, |data| data.len());
        if !located.open && bytes > FILE_LIMIT {
            return Err(format!(
                "it has {bytes} bytes, more than the limit of {FILE_LIMIT}; shorten it, or split \
                 it and name the parts in AGENTS.md"
            ));
        }
        let content = files::read(self.workspace, located).map_err(|error| error.to_string())?;
        Ok(SourceText {
            path: located.path.clone(),
            text: content.rope.to_string(),
            hash: content.hash(),
            unsaved: matches!(content.source, Source::Buffer { dirty: true, .. }),
            standing,
        })
    }

    /// A path that looks as if it were in the workspace but leads out of it is refused: a
    /// repository must not choose which of the user's files are read (A04, A13).
    fn standing(&self, path: &Path, located: &Located, reach: Reach) -> Result<Standing, String> {
        if reach == Reach::Own {
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
        if reach == Reach::Inside
            && let Some(repository) = self.repository()
            && target.starts_with(&repository.top)
        {
            let trusted = repository.trusted;
            return Ok(Standing::Folder { trusted });
        }
        let looks_inside = path.starts_with(&self.top)
            || path.starts_with(&self.cwd)
            || self.roots.iter().any(|root| path.starts_with(&root.path));
        if looks_inside || reach == Reach::Inside {
            return Err("it leads out of the workspace's folders and was not followed".to_owned());
        }
        Ok(Standing::User)
    }

    /// The path as tools show it.
    pub fn shown(&self, path: &Path) -> String {
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
            Some(relative) => super::slashes(&relative),
            None => self.at_home(path),
        }
    }

    pub fn at_home(&self, path: &Path) -> String {
        super::at_home(self.env, path)
    }
}

/// Whether a path argument is just an absolute path, which [`beneath::locate`] would take as it is.
fn plain(argument: &str) -> bool {
    let mut chars = argument.chars();
    chars.next() == Some('/')
        && !matches!(chars.next(), Some('/' | '\\' | '?'))
        && !argument.chars().any(char::is_control)
}

/// A link from a well-known name may lead to a text document only, never to `.env` or a key.
fn is_prose(path: &Path) -> bool {
    let suffix = path.extension().and_then(|suffix| suffix.to_str());
    suffix.is_some_and(|suffix| {
        ["md", "mdc", "markdown", "txt"].contains(&suffix.to_ascii_lowercase().as_str())
    })
}
