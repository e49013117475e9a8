//! Which paths the ignore files of a tree exclude: `.ignore` before `.gitignore` before
//! `.git/info/exclude` before the user's own list, the innermost folder first. The files are
//! opened here, like all files that a repository names; the `ignore` crate only matches lines.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::workspace::beneath::{Folder, bounded, open_beneath, open_inside};
use crate::workspace::git::{GitFolder, UserGit};
use crate::workspace::{FileError, FileKind};

/// Larger ignore files are skipped: compiling them would take seconds.
pub(super) const LIMIT: u64 = 256 * 1024;

const NAMES: [&str; 3] = [".ignore", ".gitignore", ".git"];

/// The rules that apply in one folder.
#[derive(Clone)]
pub(super) struct Rules {
    innermost: Option<Arc<Level>>,
    user: Arc<Gitignore>,
}

/// The rules of one folder that has any, in order of precedence.
struct Level {
    files: [Gitignore; 3],
    outer: Option<Arc<Level>>,
}

impl Rules {
    /// The rules in the canonical `folder`, which is in `top`. Includes those of all folders above,
    /// as the workspace may be a subfolder of a repository. `user`: the user's own patterns.
    pub fn new(folder: &Path, top: &Path, user: Option<&UserGit>) -> Self {
        let user = user.and_then(|user| user.ignores(LIMIT));
        let mut rules = Self {
            innermost: None,
            user: Arc::new(matcher(top, user.as_deref())),
        };
        let mut folders: Vec<&Path> = folder.ancestors().collect();
        folders.reverse();
        for path in folders {
            // Links must not lead out of the root or, above it, out of the file's own folder.
            let around = if path.starts_with(top) { top } else { path };
            rules = rules.inside(path, around);
        }
        rules
    }

    /// The rules in the folder `path` below `top`, which need not exist.
    pub fn inside(&self, path: &Path, top: &Path) -> Self {
        let there = NAMES.map(|name| std::fs::symlink_metadata(path.join(name)).is_ok());
        self.with(path, top, there, &|name| {
            let relative = path.strip_prefix(top).unwrap_or(path).join(name);
            open_beneath(top, &relative)
        })
    }

    /// The rules in `path`, a folder opened as `folder` whose `entries` are sorted by name.
    pub fn below(
        &self,
        path: &Path,
        top: &Path,
        folder: &Folder,
        entries: &[(PathBuf, Option<FileKind>)],
    ) -> Self {
        let there = NAMES.map(|name| {
            let name = Some(OsStr::new(name));
            let found = entries.binary_search_by(|(path, _)| path.file_name().cmp(&name));
            found.is_ok()
        });
        self.with(path, top, there, &|name| folder.file(OsStr::new(name)))
    }

    fn with(
        &self,
        path: &Path,
        top: &Path,
        there: [bool; 3],
        open: &dyn Fn(&str) -> Result<File, FileError>,
    ) -> Self {
        if !there.contains(&true) {
            return self.clone();
        }
        let [ignore, git, repository] = there;
        let own = |there: bool, name: &str| {
            let file = there.then(|| match open(name) {
                Err(FileError::Escaped) => {
                    open_inside(top, &path.strip_prefix(top).unwrap_or(path).join(name))
                }
                result => result,
            });
            matcher(
                path,
                file.and_then(|file| read(file, path, name)).as_deref(),
            )
        };
        let exclude = repository.then(|| GitFolder::find(path)).flatten();
        let exclude = exclude.and_then(|git| {
            let name = "info/exclude";
            read(open_inside(&git.common, Path::new(name)), path, name)
        });
        let files = [
            own(ignore, NAMES[0]),
            own(git, NAMES[1]),
            matcher(path, exclude.as_deref()),
        ];
        if files.iter().all(Gitignore::is_empty) {
            return self.clone();
        }
        let outer = self.innermost.clone();
        Self {
            innermost: Some(Arc::new(Level { files, outer })),
            user: Arc::clone(&self.user),
        }
    }

    /// Whether these rules exclude `path`. They must be the rules of its folder.
    pub fn leave_out(&self, path: &Path, folder: bool) -> bool {
        for kind in 0..NAMES.len() {
            let mut level = self.innermost.as_deref();
            while let Some(Level { files, outer }) = level {
                match files[kind].matched(path, folder) {
                    Match::None => level = outer.as_deref(),
                    found => return found.is_ignore(),
                }
            }
        }
        self.user.matched(path, folder).is_ignore()
    }
}

/// The text of an ignore file. One that cannot be read is treated as empty.
fn read(file: Result<File, FileError>, folder: &Path, name: &str) -> Option<Vec<u8>> {
    match file.and_then(|mut file| bounded(&mut file, LIMIT)) {
        Ok(text) => Some(text),
        Err(FileError::Missing) => None,
        Err(error) => {
            let folder = folder.display();
            tracing::warn!(%folder, name, %error, "skipped an ignore file");
            None
        }
    }
}

/// The patterns of an ignore file's text, relative to `folder`. An invalid line is skipped; a line
/// that is not UTF-8 ends the list.
fn matcher(folder: &Path, text: Option<&[u8]>) -> Gitignore {
    let Some(text) = text else {
        return Gitignore::empty();
    };
    let valid = match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => {
            let text = std::str::from_utf8(&text[..error.valid_up_to()]).unwrap_or_default();
            text.rsplit_once('\n').map_or("", |(whole, _)| whole)
        }
    };
    let mut builder = GitignoreBuilder::new(folder);
    for line in valid.trim_start_matches('\u{feff}').lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|error| {
        let folder = folder.display();
        tracing::warn!(%folder, %error, "skipped ignore patterns");
        Gitignore::empty()
    })
}
