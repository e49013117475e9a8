//! `interline trust`: the user's decision about a folder.

use std::path::PathBuf;

use crate::env::Env;
use crate::knowledge::trust::TrustStore;
use crate::terminal;

#[derive(clap::Args)]
pub struct TrustArgs {
    /// Default: the present folder.
    dir: Option<PathBuf>,
    /// Take the trust back.
    #[arg(long)]
    remove: bool,
}

/// Stores the decision and says what it means.
pub fn trust(env: &Env, args: &TrustArgs) -> anyhow::Result<i32> {
    let dir = args.dir.clone().unwrap_or_else(|| PathBuf::from("."));
    let dir = std::fs::canonicalize(&dir)
        .map_err(|error| anyhow::anyhow!("{}: {error}", dir.display()))?;
    TrustStore::new(env).set_folder(&dir, !args.remove)?;
    if args.remove {
        terminal::print(&format!("{} is no longer trusted.", dir.display()));
    } else {
        terminal::print(&format!(
            "{} is trusted: its AGENTS.md files are instructions, and edits inside it run without asking. \
             Commands still ask. Endpoints, keys and allow-rules never come from a folder.",
            dir.display()
        ));
    }
    Ok(0)
}
