//! Files that the `instructions` setting names: relative, absolute, `~/…`, globs. The setting can
//! come from a repository, so its reach is bounded, and a relative entry stays in the workspace or
//! beside the user's own `config.toml` that names it.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use super::excluded::is_vendored;
use super::{Gatherer, Origin, Tried};
use crate::config::Config;
use crate::env::order;

/// Most folder entries that one glob reads, most files that it finds, and its depth.
const VISITS: usize = 20_000;
const MATCHES: usize = 100;
const DEPTH: usize = 12;

/// A folder in which an entry is searched.
struct Base {
    folder: PathBuf,
    /// It belongs to the user's own settings file, which may name files anywhere.
    own: bool,
}

impl Gatherer<'_> {
    /// `globs`: the entry may be a pattern; otherwise it is always a path.
    pub(super) fn configured(&mut self, entry: &str, config: &Config, globs: bool) {
        let (bases, pattern) = self.bases(entry, config);
        if pattern.is_empty() {
            let reason = "the entry is empty".to_owned();
            self.problems
                .push((format!("instructions: {entry:?}"), reason));
            return;
        }
        let relative = !Path::new(entry).is_absolute() && !entry.starts_with("~/");
        let mut led_out = false;
        for Base { folder, own } in &bases {
            let path = lexical(&folder.join(&pattern));
            // Wildcards do not match `..`, so a glob can be judged like a path.
            if relative && !own && !self.texts.in_workspace(&path) {
                led_out = true;
                continue;
            }
            let tried = if globs && is_glob(&pattern) {
                self.glob(entry, folder, &pattern)
            } else {
                let source = self.texts.shown(&path);
                self.add_file(&path, source, Origin::Configured)
            };
            if tried == Tried::Exists {
                return;
            }
        }
        let reason = if led_out {
            "it leads out of the workspace's folders; name such a file by an absolute path or ~/"
        } else if !globs && is_glob(&pattern) {
            "there is no such file; it is named by the setting `instructions`, and the layout \
             takes patterns for paths"
        } else {
            "there is no such file; it is named by the setting `instructions`"
        };
        self.problems.push((entry.to_owned(), reason.to_owned()));
    }

    /// The folders to search, in order, and the pattern to search for.
    fn bases(&self, entry: &str, config: &Config) -> (Vec<Base>, String) {
        let base = |folder: &Path| Base {
            folder: folder.to_path_buf(),
            own: false,
        };
        let dirs = &self.texts.env.dirs;
        if let Some(rest) = entry.strip_prefix("~/") {
            return (vec![base(&dirs.home)], rest.to_owned());
        }
        let path = Path::new(entry);
        if path.is_absolute() {
            let top = path.ancestors().last().unwrap_or(path);
            let rest = path.strip_prefix(top).unwrap_or(path);
            return (vec![base(top)], rest.to_string_lossy().into_owned());
        }
        let mut bases = Vec::new();
        if config.own_instructions.iter().any(|own| own == entry) {
            bases.push(Base {
                folder: dirs.config.clone(),
                own: true,
            });
        }
        bases.push(base(&self.texts.cwd));
        for root in &self.texts.roots {
            if root.path != self.texts.cwd {
                bases.push(base(&root.path));
            }
        }
        (bases, entry.to_owned())
    }

    fn glob(&mut self, entry: &str, base: &Path, pattern: &str) -> Tried {
        let parts: Vec<&str> = pattern.split('/').filter(|part| *part != ".").collect();
        let fixed = parts.iter().take_while(|part| !is_glob(part)).count();
        let folder = lexical(&base.join(parts[..fixed].join("/")));
        let rest = &parts[fixed..];
        let glob = GlobBuilder::new(&rest.join("/"))
            .literal_separator(true)
            .build();
        let matcher = match glob {
            Ok(glob) => glob.compile_matcher(),
            Err(error) => {
                self.problems.push((entry.to_owned(), error.to_string()));
                return Tried::Exists;
            }
        };
        let deep = rest.contains(&"**");
        let mut walk = Walk {
            matcher,
            top: folder.clone(),
            depth: if deep { DEPTH } else { rest.len().min(DEPTH) },
            visits: 0,
            found: Vec::new(),
            capped: false,
        };
        walk.folder(&folder, 1);
        if walk.capped {
            let reason = format!(
                "the pattern reaches too far: only the first {} files within {VISITS} entries \
                 are used",
                walk.found.len()
            );
            self.problems.push((entry.to_owned(), reason));
        }
        let mut tried = Tried::Missing;
        for path in walk.found {
            let source = self.texts.shown(&path);
            self.add_file(&path, source, Origin::Configured);
            tried = Tried::Exists;
        }
        tried
    }
}

fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// `.` and `..` resolved without the file system, so that a relative entry is judged by where it
/// leads.
pub(super) fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

/// A bounded walk in name order that follows no link and enters no vendored folder.
struct Walk {
    matcher: GlobMatcher,
    top: PathBuf,
    depth: usize,
    visits: usize,
    found: Vec<PathBuf>,
    capped: bool,
}

impl Walk {
    fn folder(&mut self, folder: &Path, depth: usize) {
        let Ok(entries) = std::fs::read_dir(folder) else {
            return;
        };
        let mut entries: Vec<_> = entries
            .filter_map(Result::ok)
            .take(VISITS.saturating_sub(self.visits) + 1)
            .collect();
        order::sort_by_key(&mut entries, std::fs::DirEntry::file_name);
        for entry in entries {
            self.visits += 1;
            if self.visits > VISITS || self.found.len() >= MATCHES {
                self.capped = true;
                return;
            }
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let path = entry.path();
            if kind.is_dir() {
                let vendored = is_vendored(&entry.file_name().to_string_lossy());
                if depth < self.depth && !vendored {
                    self.folder(&path, depth + 1);
                    if self.capped {
                        return;
                    }
                }
                continue;
            }
            let relative = path.strip_prefix(&self.top).unwrap_or(&path);
            if self.matcher.is_match(relative) {
                self.found.push(path);
            }
        }
    }
}
