//! What the user keeps from the model: the places that the user's own list and the files
//! `.interlineignore` of the folders above exclude. Each list only adds to the others, so that no
//! file that a repository carries or a command creates takes anything out again.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use parking_lot::Mutex;

use super::dirty::Stamp;
use super::listings::Listings;
use super::open::{bounded, open_beneath, open_document, open_inside};
use super::roots::containing;
use super::{FileError, Root};

/// The file of a folder, with gitignore's syntax.
pub const NAME: &str = ".interlineignore";

/// The user's own list in the config folder, with patterns relative to each root.
pub const USER: &str = "ignore";

/// Larger ignore files are not compiled, which would take seconds.
pub const LIMIT: u64 = 256 * 1024;

/// How long what is above a root applies before it is read again.
const ABOVE: Duration = Duration::from_secs(2);

/// Most lists that stay compiled.
const MOST: usize = 256;

/// The lists that apply in one folder.
#[derive(Clone, Default)]
pub(super) struct Excluding(Arc<[Arc<Gitignore>]>);

impl Excluding {
    /// With the list of the folder `path`, which is the opened file.
    pub fn with(&self, path: &Path, file: Result<File, FileError>) -> Self {
        self.and(Arc::new(compiled(file, path, NAME)))
    }

    fn and(&self, list: Arc<Gitignore>) -> Self {
        if list.is_empty() {
            return self.clone();
        }
        let known = self.0.iter().cloned();
        Self(known.chain([list]).collect())
    }

    /// Whether a list names this place itself. They must be the lists of its folder.
    pub fn names(&self, path: &Path, folder: bool) -> bool {
        let names = |list: &Arc<Gitignore>| list.matched(path, folder).is_ignore();
        self.0.iter().any(names)
    }
}

/// The patterns of a list, and the stamp of its file.
type Compiled = (Stamp, Arc<Gitignore>);

/// The lists that were read. Each is read again once it changed.
#[derive(Default)]
pub(super) struct Lists {
    /// Which folders have one.
    pub listings: Listings,
    /// By file and the folder that its patterns are relative to.
    compiled: Mutex<HashMap<(PathBuf, PathBuf), Compiled>>,
    above: Mutex<HashMap<PathBuf, (Instant, Excluding)>>,
}

impl Lists {
    /// The user's own list, for the places below `top`.
    pub fn user(&self, config: Option<&Path>, top: &Path) -> Excluding {
        let none = Excluding::default();
        let Some(config) = config else {
            return none;
        };
        let known = self.listings.look(config, config);
        match known.may_have(config, USER) {
            true => none.and(self.list(&config.join(USER), top, open_document)),
            false => none,
        }
    }

    /// The lists in the folders above a root, which may be a part of a repository.
    fn above(&self, top: &Path) -> Excluding {
        if let Some((since, known)) = self.above.lock().get(top)
            && since.elapsed() < ABOVE
        {
            return known.clone();
        }
        let mut lists = Excluding::default();
        for folder in top.ancestors().skip(1) {
            lists = self.inside(&lists, folder, folder);
        }
        let entry = (Instant::now(), lists.clone());
        self.above.lock().insert(top.to_path_buf(), entry);
        lists
    }

    /// With the list that `folder` contains, if any. No link leads out of `around`.
    fn inside(&self, lists: &Excluding, folder: &Path, around: &Path) -> Excluding {
        let open = |file: &Path| {
            let relative = file.strip_prefix(around).unwrap_or(file);
            match open_beneath(around, relative) {
                Err(FileError::Escaped) => open_inside(around, relative),
                result => result,
            }
        };
        lists.and(self.list(&folder.join(NAME), folder, open))
    }

    /// The patterns of `file`, relative to `base`.
    fn list(
        &self,
        file: &Path,
        base: &Path,
        open: impl FnOnce(&Path) -> Result<File, FileError>,
    ) -> Arc<Gitignore> {
        let Ok(data) = std::fs::symlink_metadata(file) else {
            return Arc::new(Gitignore::empty());
        };
        let stamp = Stamp::new(&data);
        let key = (file.to_path_buf(), base.to_path_buf());
        if let Some((then, list)) = self.compiled.lock().get(&key)
            && *then == stamp
        {
            return Arc::clone(list);
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let list = Arc::new(compiled(open(file), base, &name));
        let mut all = self.compiled.lock();
        // A link's stamp says nothing about its target.
        if data.is_file() && stamp.settled(SystemTime::now()) {
            if all.len() >= MOST {
                all.clear();
            }
            all.insert(key, (stamp, Arc::clone(&list)));
        }
        list
    }

    /// Whether a canonical path is excluded, by itself or with a folder above it. A root is not: the
    /// user opened it. Outside the roots only the user's own list applies.
    pub fn exclude(
        &self,
        roots: &[Root],
        config: Option<&Path>,
        (path, folder): (&Path, bool),
    ) -> bool {
        let root = containing(roots, path).and_then(|(index, _)| roots.get(index));
        let top = root.map_or_else(|| Path::new("/"), |root| root.path.as_path());
        let Some(parent) = path.parent().filter(|it| it.starts_with(top)) else {
            return false;
        };
        let mut lists = self.user(config, top);
        let mut known = None;
        if root.is_some() {
            let above = self.above(top);
            let above = above.0.iter().cloned();
            lists = above.fold(lists, |lists, list| lists.and(list));
            known = Some(self.listings.look(top, parent));
        }
        let mut places: Vec<&Path> = path.ancestors().take_while(|it| *it != top).collect();
        places.reverse();
        for place in places {
            let above = place.parent().unwrap_or(top);
            if known.as_ref().is_some_and(|it| it.may_have(above, NAME)) {
                lists = self.inside(&lists, above, top);
            }
            if lists.names(place, folder || place != path) {
                return true;
            }
        }
        false
    }
}

/// The patterns of an opened list. One that exists and cannot be read excludes everything: what it
/// would keep from the model is unknown.
fn compiled(file: Result<File, FileError>, base: &Path, name: &str) -> Gitignore {
    let warn = |error: &dyn std::fmt::Display, what: &str| {
        let folder = base.display();
        tracing::warn!(%folder, name, %error, "{what}");
    };
    let text = match file.and_then(|mut file| bounded(&mut file, LIMIT)) {
        Ok(text) => text,
        Err(FileError::Missing) => return Gitignore::empty(),
        Err(error) => {
            warn(&error, "a list cannot be read, so it excludes everything");
            b"*".to_vec()
        }
    };
    let mut builder = GitignoreBuilder::new(base);
    let text = String::from_utf8_lossy(&text);
    for line in text.trim_start_matches('\u{feff}').lines() {
        if let Err(error) = builder.add_line(None, line) {
            warn(&error, "skipped a pattern");
        }
    }
    builder.build().unwrap_or_else(|error| {
        warn(&error, "skipped a list");
        Gitignore::empty()
    })
}

#[cfg(test)]
mod tests;
