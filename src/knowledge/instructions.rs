//! Instruction files (AGENTS.md and the like): the global one, then from the repository's root
//! (else the workspace's) down to the session's directory, then those named by the `instructions`
//! setting. Open buffers come before the disk. Nothing here fails: a file that cannot be used is
//! reported as a problem. Trust is not decided here; [`Standing`] says where a text comes from.

mod budget;
mod configured;
mod excluded;
pub mod fetch;
pub mod nested;
mod references;
mod search;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use super::text_source::Standing;
pub use excluded::Exclusions;
pub use search::{Each, Group, Order, Search, Stop};

use super::git::{Head, HeadCache};
use super::text_source::{Reach, SourceText, TextSource};
use crate::config::Config;
use crate::env::Env;
use crate::workspace::Workspace;
use fetch::UrlCache;

/// Bytes of all instruction texts together, unless the layout says otherwise.
pub const BUDGET: usize = 32 * 1024;
/// Most instruction files.
const FILES: usize = 200;

/// One instruction file (or URL) that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// As shown to the model and the user; also the key of journal entries.
    pub source: String,
    /// Canonical; `None` for a URL.
    pub path: Option<PathBuf>,
    /// Possibly truncated, with a visible mark.
    pub text: String,
    /// Of the complete text.
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
    /// Found between the root and the session's directory.
    Workspace,
    /// Named by the `instructions` setting.
    Configured,
    /// Fetched from an address that the `instructions` setting names.
    Url,
    /// Named by a line of a workspace's file.
    Reference,
    /// In a folder that the work touched.
    Nested,
}

impl Origin {
    /// The name in a layout.
    pub fn as_str(self) -> &'static str {
        match self {
            Origin::Global => "global",
            Origin::Workspace => "workspace",
            Origin::Configured => "configured",
            Origin::Url => "urls",
            Origin::Reference => "reference",
            Origin::Nested => "nested",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    pub found: Vec<Instruction>,
    /// `(source, reason)`: shown, never fatal.
    pub problems: Vec<(String, String)>,
    /// Branch and commit of the work tree around the session's directory.
    pub head: Option<Head>,
    /// The repository around the opened folder, if it has instruction files and is not trusted.
    pub unverified: Option<PathBuf>,
}

/// Files in the order of the prompt: global, root … nearest, configured. Nothing is fetched.
pub fn gather(workspace: &Workspace, env: &Env, config: &Config, cwd: &Path) -> Gathered {
    let (urls, heads) = (UrlCache::default(), HeadCache::default());
    let search = Search::default();
    gather_with(workspace, env, config, cwd, &search, &urls, &heads)
}

/// [`gather`] with a layout's rules and the texts fetched before.
pub fn gather_with(
    workspace: &Workspace,
    env: &Env,
    config: &Config,
    cwd: &Path,
    search: &Search,
    urls: &UrlCache,
    heads: &HeadCache,
) -> Gathered {
    let mut gatherer = Gatherer {
        texts: TextSource::new(workspace, env, cwd).in_repository(heads),
        found: Vec::new(),
        problems: Vec::new(),
        paths: BTreeSet::new(),
    };
    for group in &search.origins {
        match group {
            Group::Global => gatherer.global(),
            Group::Workspace => gatherer.walk(search),
            Group::Configured => {
                for entry in config.instructions.iter().filter(|entry| !is_url(entry)) {
                    gatherer.configured(entry, config, search.globs);
                }
            }
            Group::Urls => gatherer.fetched(&urls_of(config), urls),
        }
    }
    gatherer.report_unused(config, search);
    let unverified = gatherer.unverified_repository();
    let head = gatherer.texts.head().cloned();
    let Gatherer {
        mut found,
        mut problems,
        ..
    } = gatherer;
    let mut texts: Vec<&mut Instruction> = found.iter_mut().collect();
    budget::share(&mut texts, search.budget, &mut problems);
    Gathered {
        found,
        problems,
        head,
        unverified,
    }
}

/// The addresses that a turn with this layout fetches. The rules for settings keep out those that
/// a repository named.
pub fn urls(config: &Config, search: &Search) -> Vec<String> {
    match search.origins.contains(&Group::Urls) {
        true => urls_of(config),
        false => Vec::new(),
    }
}

fn urls_of(config: &Config) -> Vec<String> {
    let mut urls: Vec<String> = Vec::new();
    for entry in config.instructions.iter().filter(|entry| is_url(entry)) {
        if !urls.contains(entry) {
            urls.push(entry.clone());
        }
    }
    urls
}

/// An entry of the setting, or a source, is an address.
pub fn is_url(entry: &str) -> bool {
    let lower = entry.to_ascii_lowercase();
    lower.starts_with("http://") || lower.starts_with("https://")
}

struct Gatherer<'a> {
    texts: TextSource<'a>,
    found: Vec<Instruction>,
    problems: Vec<(String, String)>,
    /// Canonical paths of the files found, so that none is used twice.
    paths: BTreeSet<PathBuf>,
}

/// The result for one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tried {
    /// The file exists, usable or reported as unusable: no further name is tried.
    Exists,
    Missing,
}

impl Gatherer<'_> {
    /// The path of the user's own file.
    fn own_file(&self) -> PathBuf {
        self.texts.env.dirs.config.join("AGENTS.md")
    }

    fn global(&mut self) {
        let path = self.own_file();
        let source = self.texts.at_home(&path);
        self.add_file(&path, source, Origin::Global);
    }

    fn walk(&mut self, search: &Search) {
        let mut folders = search.walk(&self.texts);
        if search.order == Order::RootFirst {
            folders.reverse();
        }
        let mut exclusions = Exclusions::default();
        for folder in folders {
            let opened = folder.starts_with(&self.texts.top);
            let within = if opened {
                &self.texts.top
            } else {
                self.texts.outermost()
            };
            if let Some(reason) = exclusions.reason(within, &folder) {
                if has_any(&folder, &search.names) {
                    let shown = self.texts.shown(&folder);
                    self.problems.push((shown, reason));
                }
                continue;
            }
            for name in &search.names {
                let path = folder.join(name);
                let (source, at) = (self.texts.shown(&path), self.found.len());
                if self.add_file(&path, source, Origin::Workspace) == Tried::Missing {
                    continue;
                }
                if search.references {
                    self.references(at);
                }
                if search.each == Each::First {
                    break;
                }
            }
        }
    }

    fn fetched(&mut self, urls: &[String], cache: &UrlCache) {
        for url in urls {
            let source = fetch::display_url(url);
            let Some(held) = cache.held(url) else {
                let reason = "not fetched yet: a turn fetches it, a preview only when asked to \
                              (fetch: true)";
                self.problems.push((source, reason.to_owned()));
                continue;
            };
            if let Some(reason) = held.problem {
                self.problems.push((source.clone(), reason));
            }
            if let Some(fetched) = held.text {
                self.push(Instruction {
                    source,
                    path: None,
                    text: fetched.text,
                    hash: fetched.hash,
                    origin: Origin::Url,
                    unsaved: false,
                    standing: Standing::User,
                });
            }
        }
    }

    /// The repository whose files above the opened folder are not trusted; reported as a problem.
    fn unverified_repository(&mut self) -> Option<PathBuf> {
        let repository = self.texts.repository().filter(|it| !it.trusted)?;
        let above =
            |path: &PathBuf| path.starts_with(&repository.top) && !self.texts.in_workspace(path);
        let of_walk = |one: &&Instruction| one.origin == Origin::Workspace;
        let mut paths = self
            .found
            .iter()
            .filter(of_walk)
            .filter_map(|one| one.path.as_ref());
        paths.any(above).then_some(())?;
        let top = repository.top.clone();
        let reason = format!(
            "the repository is not trusted, so its instruction files above the opened folder are \
             unverified text; `interline trust {}` trusts the whole repository",
            top.display()
        );
        self.problems.push((self.texts.shown(&top), reason));
        Some(top)
    }

    /// Reports sources that the layout does not use.
    fn report_unused(&mut self, config: &Config, search: &Search) {
        let global = self.own_file();
        if !search.origins.contains(&Group::Global) && std::fs::symlink_metadata(&global).is_ok() {
            let reason = "not used: the layout does not include your own AGENTS.md";
            let source = self.texts.at_home(&global);
            self.problems.push((source, reason.to_owned()));
        }
        for entry in &config.instructions {
            let (group, what) = match is_url(entry) {
                true => (Group::Urls, "fetched texts"),
                false => (Group::Configured, "files of the setting `instructions`"),
            };
            if !search.origins.contains(&group) {
                let source = fetch::display_url(entry);
                let reason = format!("not used: the layout does not include {what}");
                self.problems.push((source, reason));
            }
        }
    }

    /// Adds the file at `path` (absolute), if it exists.
    fn add_file(&mut self, path: &Path, source: String, origin: Origin) -> Tried {
        let located = match self.texts.locate(path) {
            Ok(Some(located)) => located,
            Ok(None) => return Tried::Missing,
            Err(reason) => {
                self.problems.push((source, reason));
                return Tried::Exists;
            }
        };
        let reach = match origin {
            Origin::Global => Reach::Own,
            Origin::Configured => Reach::Anywhere,
            _ => Reach::Inside,
        };
        let read = self
            .texts
            .judge(path, &located, reach)
            .and_then(|standing| {
                if self.paths.contains(&located.path) {
                    return Ok(None);
                }
                self.texts.load(&located, standing).map(Some)
            });
        match read {
            Ok(Some(prose)) => {
                self.paths.insert(prose.path.clone());
                self.push(instruction(source, prose, origin));
            }
            Ok(None) => {}
            Err(reason) => self.problems.push((source, reason)),
        }
        Tried::Exists
    }

    fn push(&mut self, one: Instruction) {
        if one.text.trim().is_empty() {
            return;
        }
        if self.found.len() >= FILES {
            let reason = format!("more than {FILES} instruction files: not used");
            self.problems.push((one.source, reason));
            return;
        }
        self.found.push(one);
    }
}

fn instruction(source: String, prose: SourceText, origin: Origin) -> Instruction {
    Instruction {
        source,
        path: Some(prose.path),
        text: prose.text,
        hash: prose.hash,
        origin,
        unsaved: prose.unsaved,
        standing: prose.standing,
    }
}

fn has_any(folder: &Path, names: &[String]) -> bool {
    names
        .iter()
        .any(|name| std::fs::symlink_metadata(folder.join(name)).is_ok())
}

#[cfg(test)]
mod tests;
