//! The agent's memory, as Markdown that a person can read, edit and diff: `topics/*.md` has one
//! memory per bullet and is the only part that is read back; `INDEX.md` lists the topics, `daily/`
//! is a diary. Three scopes: the user's (config folder), a project's and a session's (state folder,
//! never the repository). Nothing that looks like a secret gets in or out. Other code decides what
//! is shown where.

mod bullets;
mod cached;
mod folder;
mod index;
mod profile;
mod rank;
mod save;
mod tree;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::conversation::SessionId;
use crate::env::{Env, workspace_name};
use crate::secrets::Detector;
use crate::workspace::canonicalize;

pub use cached::{CachedMemories, MemoryCache};
pub use index::index;
pub use profile::{project_profile, user_profile};
pub use rank::best_texts;
pub use rank::{Hit, related, search};
pub use save::{Saved, Unsaved};
pub use tree::{Page, Tree, is_page, tree, without_secrets};

/// Most characters of a memory.
pub const LONGEST: usize = 2_000;
/// Most memories that are read of one scope.
pub const MOST: usize = 5_000;
/// Largest file that is read or written, in bytes.
const FILE_LIMIT: u64 = 1024 * 1024;

/// The type of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Preference,
    Fact,
    Skill,
    Habit,
    Constraint,
}

impl Kind {
    pub const ALL: [Kind; 5] = [
        Kind::Preference,
        Kind::Fact,
        Kind::Skill,
        Kind::Habit,
        Kind::Constraint,
    ];

    /// Also the name of the topic for new memories of this kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Preference => "preference",
            Kind::Fact => "fact",
            Kind::Skill => "skill",
            Kind::Habit => "habit",
            Kind::Constraint => "constraint",
        }
    }

    /// Ignores case and a plural, because people write the files, too.
    fn parse(text: &str) -> Option<Kind> {
        let text = text.trim();
        let one = text.strip_suffix(['s', 'S']).unwrap_or(text);
        Kind::ALL.into_iter().find(|kind| {
            let name = kind.as_str();
            text.eq_ignore_ascii_case(name) || one.eq_ignore_ascii_case(name)
        })
    }
}

/// Where a memory applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// In all projects.
    User,
    /// In this project.
    Project,
    /// In this session.
    Session,
}

impl Scope {
    pub const ALL: [Scope; 3] = [Scope::User, Scope::Project, Scope::Session];

    pub fn as_str(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
            Scope::Session => "session",
        }
    }
}

/// One memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: Kind,
    pub scope: Scope,
    /// One paragraph, at most [`LONGEST`] characters, without control characters or secrets.
    pub text: String,
    /// When it was saved; a line written by a person may have no date.
    pub date: Option<Date>,
    /// The file that holds it.
    pub path: PathBuf,
}

/// All memories that apply in a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The user's, then the project's, then the session's, each in the order of its files.
    pub entries: Vec<Entry>,
    /// `(source, reason)`: memories not used; shown, never fatal.
    pub problems: Vec<(String, String)>,
}

/// The memories for a workspace's root and a session.
#[derive(Clone)]
pub struct Memory {
    env: Env,
    /// Canonical.
    root: PathBuf,
    session: Option<SessionId>,
}

impl Memory {
    /// `root` is the session's workspace root, or its directory where it has none.
    pub fn new(env: &Env, root: &Path, session: Option<&SessionId>) -> Self {
        // A root that no longer exists keeps its name.
        let canonical = canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
        Self::of(env, canonical, session)
    }

    /// Like [`Memory::new`], of a canonical root.
    pub fn of(env: &Env, root: PathBuf, session: Option<&SessionId>) -> Self {
        Self {
            env: env.clone(),
            root,
            session: session.cloned(),
        }
    }

    /// All memories. Never fails: a file that cannot be read is a problem. Without a session there
    /// is no session scope.
    pub fn load(env: &Env, root: &Path, session: Option<&SessionId>) -> Loaded {
        Self::new(env, root, session).read()
    }

    /// Like [`Memory::load`].
    pub fn read(&self) -> Loaded {
        let detector = Detector::new(self.env.vars());
        let mut loaded = Loaded::default();
        for scope in Scope::ALL {
            let Some(place) = self.place(scope) else {
                continue;
            };
            let found = folder::read(&place, scope, &detector, &mut loaded.problems);
            loaded.entries.extend(found);
        }
        loaded
    }

    /// The folder of a scope, which may not exist yet; `None` for the session scope without a
    /// session.
    pub fn folder(&self, scope: Scope) -> Option<PathBuf> {
        self.place(scope).map(|place| place.path())
    }

    fn place(&self, scope: Scope) -> Option<folder::Place> {
        let (base, below) = match scope {
            Scope::User => (&self.env.dirs.config, PathBuf::from("memory")),
            Scope::Project => {
                let below = Path::new("memory").join(workspace_name(&self.root));
                (&self.env.dirs.state, below)
            }
            Scope::Session => {
                let id = self.session.as_ref()?.file_name()?;
                (&self.env.dirs.state, Path::new(SESSIONS).join(id))
            }
        };
        Some(folder::Place {
            base: base.clone(),
            below,
        })
    }
}

/// Cannot be a workspace's name, which ends in a hash.
const SESSIONS: &str = "memory/sessions";

/// Removes the memories of a deleted session.
pub fn forget(env: &Env, session: &SessionId) -> std::io::Result<()> {
    let Some(id) = session.file_name() else {
        return Ok(());
    };
    match std::fs::remove_dir_all(env.dirs.state.join(SESSIONS).join(id)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
