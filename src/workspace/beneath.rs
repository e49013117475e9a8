//! Finding and opening files below the roots without following links out of them. What it
//! returns are facts for policy, never a decision.

use std::path::{Path, PathBuf};

use super::file_kind::links;
use super::open::split;
use super::resolve::{Resolved, identity, resolve};
use super::roots::containing;
use super::uri::path_key;
use super::{FileError, FileKind, Root, Uri, Workspace};

pub use super::open::{Folder, bounded, open_beneath, open_inside, open_named};

/// The facts about a path argument of a tool, after links were resolved.
#[derive(Clone, Debug)]
pub struct Located {
    /// The URI to answer with: the open document's own spelling, else `file:` of `path`.
    pub uri: Uri,
    /// Absolute, links resolved as far as the path exists. For documents without a path
    /// (`untitled:`) the URI's string.
    pub path: PathBuf,
    /// Index of the root that contains `path`, and the path relative to it.
    pub root: Option<(usize, PathBuf)>,
    /// The argument passed through a symbolic link inside a root, or through any link to a place
    /// outside. Links above a root that lead into it (`/tmp` on macOS) are ignored.
    pub through_link: bool,
    pub kind: FileKind,
    /// Hard links to the file (1 normally, 0 when missing).
    pub links: u64,
    /// Mirrored as an open document.
    pub open: bool,
    /// The user keeps it, or a link that was followed to it, from the model
    /// ([`Workspace::excludes`]).
    pub excluded: bool,
}

impl Located {
    /// The path as shown to model and user: relative to its root, after the root's name if there
    /// are several roots; absolute outside the roots.
    pub fn display(&self, workspace: &Workspace) -> String {
        let roots = workspace.roots();
        let Some((index, relative)) = &self.root else {
            return self.path.display().to_string();
        };
        let shown = match roots.get(*index) {
            Some(root) if roots.len() > 1 => Path::new(&root.name).join(relative),
            Some(_) => relative.clone(),
            None => self.path.clone(),
        };
        if shown.as_os_str().is_empty() {
            return ".".to_owned();
        }
        // `join` with an empty path leaves a trailing slash.
        let shown: PathBuf = shown.components().collect();
        shown.display().to_string()
    }

    /// The document's key ([`Uri::key`]), without accessing the file system again.
    pub fn key(&self) -> String {
        if self.path.is_absolute() {
            path_key(&self.path)
        } else {
            self.uri.as_str().to_owned()
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocateError {
    #[error("the path is empty")]
    Empty,
    #[error("the path contains a NUL or a control character")]
    Control,
    #[error("Interline does not open network paths: {0}")]
    Network(String),
    #[error("no document with the scheme of {0} is open")]
    Scheme(String),
    #[error("the home folder is unknown here: use an absolute path instead of {0}")]
    Home(String),
    #[error("{0} is not the URI of a file on this machine")]
    Malformed(String),
}

/// Resolves a tool's path argument: absolute, relative to `cwd`, `~/…`, or a document's URI.
pub fn locate(workspace: &Workspace, cwd: &Path, argument: &str) -> Result<Located, LocateError> {
    if argument.trim().is_empty() {
        return Err(LocateError::Empty);
    }
    if argument.chars().any(char::is_control) {
        return Err(LocateError::Control);
    }
    if remote(argument) {
        return Err(LocateError::Network(argument.to_owned()));
    }
    if let Some(scheme) = scheme(argument) {
        let uri = Uri::new(argument);
        if scheme.eq_ignore_ascii_case("file") {
            return locate_file_uri(workspace, argument);
        }
        if let Some(document) = workspace.document_by_key(argument) {
            return Ok(pathless(document.uri));
        }
        let known = matches!(scheme, "untitled" | "git" | "output") || uri.read_only();
        if known || argument[scheme.len()..].starts_with("://") {
            return Err(LocateError::Scheme(argument.to_owned()));
        }
        // A file name may contain a colon.
    }
    let path = match argument.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => workspace
            .home()
            .ok_or_else(|| LocateError::Home(argument.to_owned()))?
            .join(rest.trim_start_matches('/')),
        _ => cwd.join(argument),
    };
    Ok(locate_path(workspace, &path))
}

/// The facts about an absolute path.
pub fn locate_path(workspace: &Workspace, path: &Path) -> Located {
    located(workspace, resolve(path))
}

/// The facts about the entry `name` of a canonical folder: like [`locate_existing`], without
/// resolving the folder's links again.
pub fn locate_entry(workspace: &Workspace, folder: &Path, name: &str) -> Option<Located> {
    let path = folder.join(name);
    let data = std::fs::symlink_metadata(&path);
    if data.as_ref().is_ok_and(std::fs::Metadata::is_symlink) {
        return locate_existing(workspace, &path);
    }
    let resolved = Resolved {
        path,
        facts: Some(facts(data)),
        ..Resolved::default()
    };
    existing(workspace, resolved)
}

/// The facts about an absolute path where something is or may be open; `None` if there is nothing.
pub fn locate_existing(workspace: &Workspace, path: &Path) -> Option<Located> {
    existing(workspace, resolve(path))
}

fn existing(workspace: &Workspace, resolved: Resolved) -> Option<Located> {
    let missing = matches!(resolved.facts, Some((FileKind::Missing, _)));
    // Where the path is relative to the roots, and whether it is excluded, takes more calls than
    // finding nothing there.
    if missing && !workspace.may_be_open(&resolved.path) {
        return None;
    }
    let located = located(workspace, resolved);
    (located.kind != FileKind::Missing || located.open).then_some(located)
}

fn located(workspace: &Workspace, resolved: Resolved) -> Located {
    let roots = workspace.roots();
    let Resolved {
        mut path,
        links,
        looped,
        mut facts,
    } = resolved;
    let mut key = path_key(&path);
    if let Some(alias) = workspace.alias(&key) {
        path = PathBuf::from(&alias);
        key = alias;
        facts = None;
    }
    let root = containing(&roots, &path).or_else(|| same_folder(&roots, &path));
    if let Some((index, relative)) = &root
        && let Some(root) = roots.get(*index)
        && !root.contains(&path)
    {
        // The path spells the root differently: use the root's own spelling.
        path = root.path.join(relative);
        key = path_key(&path);
        facts = None;
    }
    let inside = |link: &PathBuf| containing(&roots, link).is_some();
    let through_link = !links.is_empty() && (root.is_none() || links.iter().any(inside));
    let (mut kind, count) = facts.unwrap_or_else(|| facts_of(&path));
    if looped {
        kind = FileKind::Special;
    }
    let document = workspace.document_by_key(&key);
    let folder = kind == FileKind::Directory;
    let excluded = workspace.excludes(&path, folder)
        || links.iter().any(|link| workspace.excludes(link, folder));
    Located {
        excluded,
        open: document.is_some(),
        uri: document.map_or_else(|| Uri::from_path(&path), |document| document.uri),
        path,
        root,
        through_link,
        kind,
        links: count,
    }
}

fn locate_file_uri(workspace: &Workspace, argument: &str) -> Result<Located, LocateError> {
    let url = url::Url::parse(argument).map_err(|_| LocateError::Malformed(argument.to_owned()))?;
    let local = matches!(url.host_str(), None | Some("" | "localhost"));
    // The parser drops superfluous slashes, so a share is recognised in the text itself.
    let share = argument.replace('\\', "/").contains(":////");
    if !local || share {
        return Err(LocateError::Network(argument.to_owned()));
    }
    if !Uri::new(argument).mirrored() {
        return Err(LocateError::Empty);
    }
    let path = url
        .to_file_path()
        .map_err(|()| LocateError::Malformed(argument.to_owned()))?;
    let text = path.to_string_lossy();
    // Percent-encoding must not hide control characters.
    if text.chars().any(char::is_control) {
        return Err(LocateError::Control);
    }
    if remote(&text) {
        return Err(LocateError::Network(argument.to_owned()));
    }
    Ok(locate_path(workspace, &path))
}

fn pathless(uri: Uri) -> Located {
    Located {
        path: PathBuf::from(uri.as_str()),
        uri,
        root: None,
        through_link: false,
        kind: FileKind::File,
        links: 0,
        open: true,
        excluded: false,
    }
}

/// Whether this is a UNC or device path of Windows. Just accessing one may send credentials, so
/// they are refused on every platform.
fn remote(text: &str) -> bool {
    let slashes = text.replace('\\', "/");
    let device = slashes.starts_with("//?/") || slashes.starts_with("//./");
    device || text.starts_with("\\\\") || slashes.starts_with("/??/")
}

/// The scheme of a URI; a single letter is a drive.
fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once(':')?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let valid = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(allowed);
    valid.then_some(scheme)
}

/// Like [`containing`], for a spelling of the root's folder that only the file system can identify
/// (case, normalisation, bind mount).
fn same_folder(roots: &[Root], path: &Path) -> Option<(usize, PathBuf)> {
    let known: Vec<_> = roots.iter().map(|root| identity(&root.path)).collect();
    path.ancestors().find_map(|folder| {
        let found = identity(folder)?;
        let index = known.iter().position(|known| *known == Some(found))?;
        let relative = path.strip_prefix(folder).ok()?;
        Some((index, relative.to_owned()))
    })
}

/// Opens the folder `located` as policy judged it: below its root, without following links.
pub fn open_located(workspace: &Workspace, located: &Located) -> Result<Folder, FileError> {
    let (root, relative) = base(workspace, located)?;
    Folder::open(&root, &relative)
}

/// The folder to open from, and the path below it: the root, or the top of the file system for
/// places outside all roots (policy allowed them).
pub(super) fn base(
    workspace: &Workspace,
    located: &Located,
) -> Result<(PathBuf, PathBuf), FileError> {
    let roots = workspace.roots();
    if let Some((index, _)) = &located.root {
        // The roots may have changed since `located` was made (E13).
        let root = roots.get(*index).ok_or(FileError::Escaped)?;
        let relative = located
            .path
            .strip_prefix(&root.path)
            .map_err(|_| FileError::Escaped)?;
        return Ok((root.path.clone(), relative.to_owned()));
    }
    split(&located.path).ok_or(FileError::Missing)
}

fn facts_of(path: &Path) -> (FileKind, u64) {
    facts(std::fs::symlink_metadata(path))
}

fn facts(found: std::io::Result<std::fs::Metadata>) -> (FileKind, u64) {
    match found {
        Err(_) => (FileKind::Missing, 0),
        Ok(metadata) if metadata.is_file() => (FileKind::File, links(&metadata)),
        Ok(metadata) if metadata.is_dir() => (FileKind::Directory, 1),
        Ok(_) => (FileKind::Special, 1),
    }
}

#[cfg(test)]
pub(super) mod tests;
