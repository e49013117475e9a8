//! The rules of a session: exactly what the user allowed, nothing more (A43).

use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// "This exact command in this folder, for this session", as long as the files that it names
    /// and runs are unchanged (`runs`).
    Command {
        command: String,
        cwd: PathBuf,
        runs: Vec<String>,
    },
    /// "Notes about the user, for this session."
    Memory,
    /// "Pages of this site, for this session": scheme, host and port.
    Site { origin: String },
    /// This tool of this MCP server, with any arguments, as long as the server does not change its
    /// description (`pin`).
    Mcp {
        server: String,
        tool: String,
        pin: String,
    },
}

impl Rule {
    /// The rule is about exactly this command line in exactly this folder.
    pub fn names(&self, command: &str, cwd: &Path) -> bool {
        matches!(self, Rule::Command { command: allowed, cwd: folder, .. }
            if allowed == command && folder == cwd)
    }

    /// The rule allows exactly this command line in exactly this folder, running these files.
    pub fn allows(&self, command: &str, cwd: &Path, runs: &[String]) -> bool {
        let known = |it: &String| matches!(self, Rule::Command { runs, .. } if runs.contains(it));
        self.names(command, cwd) && runs.iter().all(known)
    }
}
