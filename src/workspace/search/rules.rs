//! Which paths the ignore files of a tree leave out: `.ignore` before `.gitignore` before
//! `.git/info/exclude` before the user's own list, the innermost folder first, and whatever these
//! say, what is excluded (`workspace/excluded.rs`). The files are opened here, like all files that a
//! repository names; the `ignore` crate only matches lines.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::workspace::FileError;
use crate::workspace::Workspace;
use crate::workspace::beneath::{Folder, bounded, open_beneath, open_inside};
use crate::workspace::excluded::{self, Excluding, LIMIT};
use crate::workspace::git::GitFolder;

/// What a folder with rules contains.
pub(super) const NAMES: [&str; 4] = [".ignore", ".gitignore", ".git", excluded::NAME];

/// The rules that apply in one folder: for each kind of file the lists that are not empty, the
/// innermost first.
#[derive(Clone)]
pub(super) struct Rules {
    kinds: [Arc<[Arc<Gitignore>]>; 3],
    user: Arc<Gitignore>,
    /// `None`: excluded places are shown too.
    excluding: Option<Excluding>,
}

impl Rules {
    /// The rules in the canonical `folder`, which is in `top`. Includes those of all folders above,
    /// as the workspace may be a subfolder of a repository. `with_excluded`: what is excluded is
    /// shown too.
    pub fn new(workspace: &Workspace, folder: &Path, top: &Path, with_excluded: bool) -> Self {
        let user = workspace.user_git().and_then(|user| user.ignores(LIMIT));
        let excluding = || workspace.user_patterns(top);
        let mut rules = Self {
            kinds: std::array::from_fn(|_| Arc::default()),
            user: Arc::new(matcher(top, user.as_deref())),
            excluding: (!with_excluded).then(excluding),
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

    /// The rules in `path`, a folder opened as `folder`; `there`: which of [`NAMES`] it contains.
    pub fn below(&self, path: &Path, top: &Path, folder: &Folder, there: [bool; 4]) -> Self {
        self.with(path, top, there, &|name| folder.file(OsStr::new(name)))
    }

    fn with(
        &self,
        path: &Path,
        top: &Path,
        there: [bool; 4],
        open: &dyn Fn(&str) -> Result<File, FileError>,
    ) -> Self {
        if !there.contains(&true) {
            return self.clone();
        }
        let [ignore, git, repository, excluding] = there;
        let file = |name: &str| match open(name) {
            Err(FileError::Escaped) => {
                open_inside(top, &path.strip_prefix(top).unwrap_or(path).join(name))
            }
            result => result,
        };
        let own = |there: bool, name: &str| {
            let file = there.then(|| file(name));
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
        let mut rules = self.clone();
        for (lists, list) in rules.kinds.iter_mut().zip(files) {
            if !list.is_empty() {
                let outer = lists.iter().cloned();
                *lists = std::iter::once(Arc::new(list)).chain(outer).collect();
            }
        }
        if let Some(known) = rules.excluding.as_mut().filter(|_| excluding) {
            *known = known.with(path, file(excluded::NAME));
        }
        rules
    }

    /// Whether these rules leave out `path`. They must be the rules of its folder.
    pub fn leave_out(&self, path: &Path, folder: bool) -> bool {
        if let Some(lists) = &self.excluding
            && lists.names(path, folder)
        {
            return true;
        }
        let lists = self.kinds.iter().flat_map(|lists| lists.iter());
        for list in lists.chain([&self.user]) {
            match list.matched(path, folder) {
                Match::None => {}
                found => return found.is_ignore(),
            }
        }
        false
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
