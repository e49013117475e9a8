//! Instruction files of folders that the work touches and that the walk does not reach. Only finds
//! and reads them; the caller knows which were reported before.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::excluded;
use super::{Each, Exclusions, Group, Instruction, Order, Origin, Search, budget, instruction};
use crate::env::Env;
use crate::knowledge::Caches;
use crate::knowledge::text_source::{Lookup, Reach, TextSource};
use crate::workspace::Workspace;
use crate::workspace::listings::{KnownNames, Listings};

/// A file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nested {
    /// The folder that it applies to.
    pub folder: PathBuf,
    /// Its path: absolute, with a link of its own name not followed.
    pub at: PathBuf,
    pub one: Instruction,
}

/// Most bytes of all texts in one message.
const BUDGET: usize = 16 * 1024;

/// Looks for nested files, from a session's point of view.
pub struct Finder<'a> {
    texts: TextSource<'a>,
    search: &'a Search,
    listings: &'a Listings,
}

impl<'a> Finder<'a> {
    pub fn new(
        workspace: &'a Workspace,
        env: &'a Env,
        cwd: &Path,
        search: &'a Search,
        caches: &'a Caches,
    ) -> Self {
        let texts = TextSource::new(workspace, env, cwd).in_repository(&caches.heads);
        Self {
            texts,
            search,
            listings: workspace.listings(),
        }
    }

    /// The folders of `touched` and those above them, inside the workspace's folders, up to the folders
    /// of the walk, topmost first.
    pub fn folders(&self, touched: &[PathBuf]) -> Vec<PathBuf> {
        let (texts, search) = (&self.texts, self.search);
        let mut found = BTreeSet::new();
        for folder in touched {
            let Some(top) = texts.top_of(folder) else {
                continue;
            };
            let above = folder
                .ancestors()
                .take_while(|above| above.starts_with(top) && !search.reaches(texts, above));
            found.extend(above.map(Path::to_path_buf));
        }
        found.into_iter().collect()
    }

    /// What is in these folders and above them. Vendored folders are large and do not count.
    fn names(&self, folders: &[&PathBuf]) -> KnownNames {
        let mut known = KnownNames::default();
        for folder in folders {
            let below = |other: &&PathBuf| other != folder && other.starts_with(folder);
            let Some(top) = self.texts.top_of(folder) else {
                continue;
            };
            if !folders.iter().any(below) && excluded::vendored(top, folder).is_none() {
                known.extend(self.listings.look(top, folder));
            }
        }
        known
    }

    /// The instruction files of exactly these folders, and `(source, reason)` of those that cannot be
    /// used; without the walk's folders and vendored, ignored and submodule folders. Texts are not
    /// truncated.
    pub fn nested(&self, folders: &[PathBuf]) -> (Vec<Nested>, Vec<(String, String)>) {
        let (texts, search) = (&self.texts, self.search);
        let (mut found, mut problems) = (Vec::new(), Vec::new());
        if !search.nested || !search.origins.contains(&Group::Workspace) {
            return (found, problems);
        }
        let folders: Vec<&PathBuf> = folders
            .iter()
            .filter(|it| !search.reaches(texts, it))
            .collect();
        let known = self.names(&folders);
        let mut exclusions = Exclusions::knowing(known.clone());
        for folder in folders {
            let counts = texts
                .top_of(folder)
                .is_some_and(|top| exclusions.reason(top, folder).is_none());
            if counts {
                of_folder(texts, folder, search, &known, &mut found, &mut problems);
            }
        }
        if search.order == Order::NearestFirst {
            found.reverse();
        }
        (found, problems)
    }
}

fn of_folder(
    texts: &TextSource<'_>,
    folder: &Path,
    search: &Search,
    known: &KnownNames,
    found: &mut Vec<Nested>,
    problems: &mut Vec<(String, String)>,
) {
    for name in &search.names {
        let at = folder.join(name);
        let first = name.split('/').next().unwrap_or(name);
        if !known.may_have(folder, first) && !texts.workspace.may_be_open(&at) {
            continue;
        }
        let source = texts.shown(&at);
        match texts.read(&at, Reach::Inside) {
            Lookup::Missing => continue,
            Lookup::Unusable(reason) => problems.push((source, reason)),
            Lookup::Found(prose) if prose.text.trim().is_empty() => {}
            Lookup::Found(prose) => {
                let one = instruction(source, prose, Origin::Nested);
                let folder = folder.to_path_buf();
                found.push(Nested { folder, at, one });
            }
        }
        if search.each == Each::First {
            return;
        }
    }
}

/// The folder that the file `at` applied to; a name may contain folders.
pub fn folder_of(search: &Search, at: &Path) -> Option<PathBuf> {
    let name = search.names.iter().find(|name| at.ends_with(name))?;
    let depth = Path::new(name).components().count();
    at.ancestors().nth(depth).map(Path::to_path_buf)
}

/// The path as tools show it.
pub fn shown(workspace: &Workspace, env: &Env, cwd: &Path, path: &Path) -> String {
    TextSource::new(workspace, env, cwd).shown(path)
}

/// Truncates the texts of one message until they fit, each with a mark.
pub fn fit<'a>(found: impl Iterator<Item = &'a mut Instruction>) {
    budget::share(&mut found.collect::<Vec<_>>(), BUDGET, &mut Vec::new());
}
