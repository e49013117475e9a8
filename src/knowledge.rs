//! Finding and reading what the agent should know: instruction files, persona files, active files,
//! agents, skills, memories, the user's state, the trust store. Open buffers come before the disk.
//! `prompt` renders what this finds.

pub mod active;
pub mod agents;
pub mod companions;
pub mod documents;
pub mod etcode;
mod file_cache;
pub mod front;
pub mod git;
pub mod instructions;
pub mod memory;
pub mod persona;
pub mod skills;
mod text_source;
pub mod trust;
pub mod user_state;

pub use text_source::Standing;

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::env::Env;

/// What a process holds of files that it has read.
#[derive(Default)]
pub struct Caches {
    pub heads: git::HeadCache,
    pub skills: skills::SkillCache,
    pub memories: memory::MemoryCache,
    used: AtomicBool,
}

impl Caches {
    /// `true` once: nothing can be cached yet.
    pub fn first_use(&self) -> bool {
        !self.used.swap(true, Ordering::Relaxed)
    }
}

/// The path with `/` between its names.
fn slashes(path: &Path) -> String {
    let parts = path.components();
    let parts: Vec<_> = parts
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.join("/")
}

/// The path as shown to the user: `~/…` below the home folder.
fn at_home(env: &Env, path: &Path) -> String {
    match path.strip_prefix(&env.dirs.home) {
        Ok(relative) => format!("~/{}", slashes(relative)),
        Err(_) => path.display().to_string(),
    }
}

/// Opens a regular file of ours or of git's for reading, without waiting on a FIFO in its place.
pub fn open_regular(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.read(true);
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        let message = "it is not a regular file";
        return Err(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            message,
        ));
    }
    Ok(file)
}
