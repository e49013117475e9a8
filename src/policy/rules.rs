//! Rules of a session: exactly what the user allowed, nothing wider (A43).

use std::path::{Path, PathBuf};

/// "This exact command in this folder, for this session."
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    Command { command: String, cwd: PathBuf },
}

impl Rule {
    /// The rule allows exactly this command line in exactly this folder.
    pub fn allows(&self, command: &str, cwd: &Path) -> bool {
        let Rule::Command {
            command: allowed,
            cwd: folder,
        } = self;
        allowed == command && folder == cwd
    }
}
