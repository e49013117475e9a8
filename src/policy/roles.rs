//! Files that influence a session, whatever their names: instruction files and files they include,
//! a layout's files, skills with their scripts, programs that the user's settings or trusted
//! servers start. Writing such a file directs the agent, so a change of one asks. Pure.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use globset::GlobSet;

/// The files and folders known to influence the session.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// Canonical. A folder stands for everything below it.
    pub paths: BTreeSet<PathBuf>,
    /// Names that are instructions in every folder, in lower case.
    pub names: BTreeSet<String>,
    /// Absolute patterns of the setting `instructions`, for files that do not exist yet.
    pub patterns: GlobSet,
}

impl Roles {
    pub fn contains(&self, path: &Path) -> bool {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().to_lowercase());
        path.ancestors().any(|above| self.paths.contains(above))
            || name.is_some_and(|name| self.names.contains(&name))
            || self.patterns.is_match(path)
    }
}
