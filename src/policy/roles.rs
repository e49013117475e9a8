//! What plays a part in a session now, however it is called: instruction files and what they name,
//! files of a layout, skills with their scripts, programs that the user's settings or trusted
//! servers start. Whoever writes such a file gives orders, so its change asks. Pure.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use globset::GlobSet;

/// The files and folders with a part; empty: none is known yet.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// Canonical; of a folder everything below.
    pub paths: BTreeSet<PathBuf>,
    /// Names that are instructions in every folder, in lower case.
    pub names: BTreeSet<String>,
    /// Absolute patterns of the setting `instructions`: a file that fits counts once it is made.
    pub patterns: GlobSet,
}

impl Roles {
    pub fn has(&self, path: &Path) -> bool {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().to_lowercase());
        path.ancestors().any(|above| self.paths.contains(above))
            || name.is_some_and(|name| self.names.contains(&name))
            || self.patterns.is_match(path)
    }
}
