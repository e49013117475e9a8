//! Where git keeps its files for a work tree, and the user's own ignore file. Never runs git. A
//! repository controls the content of its `.git`, so files of another place are used only if that
//! place names the work tree itself.

use std::path::{Path, PathBuf};

use super::open::{bounded, open_beneath, open_document};
use super::{FileKind, kind_without_links};
use crate::env::Env;

/// Most bytes of a `.git` file, `gitdir`, `commondir`, and of a configuration file.
const SMALL: u64 = 4096;
const CONFIG: u64 = 1024 * 1024;

/// The folders of a work tree's repository, canonical.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitFolder {
    /// Contains HEAD.
    pub own: PathBuf,
    /// Contains what all work trees of the repository share.
    pub common: PathBuf,
}

impl GitFolder {
    /// The repository of the work tree whose canonical top is `top`.
    pub fn find(top: &Path) -> Option<Self> {
        let git = top.join(".git");
        let kind = kind_without_links(&git);
        let own = if kind == Some(FileKind::Missing) {
            return None;
        } else if kind == Some(FileKind::Directory) {
            git
        } else if std::fs::metadata(&git).ok()?.is_dir() {
            std::fs::canonicalize(&git).ok()?
        } else {
            let text = read_small(top, ".git")?;
            let target = text.trim().strip_prefix("gitdir:")?.trim();
            std::fs::canonicalize(top.join(target)).ok()?
        };
        if !own.starts_with(top) && !points_back(&own, top) {
            return None;
        }
        let common = common(&own).unwrap_or_else(|| own.clone());
        Some(Self { own, common })
    }
}

/// The common folder of the repository to which the linked work tree's folder `own` belongs. It
/// must contain `own`: a work tree must not read another repository's refs.
fn common(own: &Path) -> Option<PathBuf> {
    let text = read_small(own, "commondir")?;
    let common = std::fs::canonicalize(own.join(text.trim())).ok()?;
    own.starts_with(&common).then_some(common)
}

/// Whether the repository at `own` names `top` as its work tree: in `gitdir` for a linked work tree,
/// in `core.worktree` for a submodule.
fn points_back(own: &Path, top: &Path) -> bool {
    let leads_to = |text: &str, place: &Path| {
        let target = std::fs::canonicalize(own.join(text.trim()));
        target.is_ok_and(|target| target == place)
    };
    read_small(own, "gitdir").is_some_and(|text| leads_to(&text, &top.join(".git")))
        || read_text(own, "config", CONFIG)
            .and_then(|config| value(&config, "worktree"))
            .is_some_and(|path| leads_to(&path, top))
}

fn read_small(folder: &Path, name: &str) -> Option<String> {
    read_text(folder, name, SMALL)
}

fn read_text(folder: &Path, name: &str, most: u64) -> Option<String> {
    let mut file = open_beneath(folder, Path::new(name)).ok()?;
    String::from_utf8(bounded(&mut file, most).ok()?).ok()
}

/// The last value of `key` in a git configuration, in any section.
fn value(config: &str, key: &str) -> Option<String> {
    let mut values = config.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        let value = value.trim().trim_matches('"').trim();
        (name.trim().eq_ignore_ascii_case(key) && !value.is_empty()).then(|| value.to_owned())
    });
    values.next_back()
}

/// Where the user's own git configuration may name an ignore file.
#[derive(Clone, Debug, Default)]
pub struct UserGit {
    home: PathBuf,
    /// The first one that names a file is used.
    configs: Vec<PathBuf>,
    default: PathBuf,
}

impl UserGit {
    pub fn new(env: &Env) -> Self {
        let home = env.dirs.home.clone();
        let user = env
            .var("XDG_CONFIG_HOME")
            .map_or_else(|| home.join(".config"), PathBuf::from)
            .join("git");
        let mut configs = match env.var("GIT_CONFIG_GLOBAL") {
            Some(path) => vec![PathBuf::from(path)],
            None => vec![home.join(".gitconfig"), user.join("config")],
        };
        let system = env.var("GIT_CONFIG_SYSTEM").unwrap_or("/etc/gitconfig");
        configs.push(PathBuf::from(system));
        Self {
            home,
            configs,
            default: user.join("ignore"),
        }
    }

    /// The bytes of the user's ignore file, if there is one with at most `most` bytes.
    pub fn ignores(&self, most: u64) -> Option<Vec<u8>> {
        let named = self.configs.iter().find_map(|config| {
            let bytes = read(config, CONFIG)?;
            value(&String::from_utf8_lossy(&bytes), "excludesfile")
        });
        let path = match named
            .as_deref()
            .map(|named| named.strip_prefix("~/").ok_or(named))
        {
            Some(Ok(below)) => self.home.join(below),
            Some(Err(named)) => PathBuf::from(named),
            None => self.default.clone(),
        };
        read(&path, most)
    }
}

/// Reads a file of the user's own and follows links. A relative path is refused, because it would
/// depend on the folder where we were started, which may be a repository.
fn read(path: &Path, most: u64) -> Option<Vec<u8>> {
    let mut file = path.is_absolute().then(|| open_document(path).ok())??;
    bounded(&mut file, most).ok()
}

#[cfg(test)]
mod tests;
