//! Finding and reading what the agent should know: instruction files, persona files, active files,
//! agents, skills, memories, the user's state, the trust store. Open buffers come before the disk.
//! `prompt` renders what this finds.

pub mod agents;
pub mod control_files;
pub mod documents;
pub mod etcode;
mod file_cache;
pub mod front;
pub mod git;
pub mod hooks;
pub mod instructions;
pub mod lasting_rules;
pub mod memory;
pub mod persona;
mod private_json;
pub mod skills;
mod text_source;
pub mod trust;
pub mod trust_bundle;
pub mod user_state;

pub use text_source::Standing;

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::OFlags;

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

/// A folder that the user's settings name: `~/…`, absolute, or relative to the config folder.
fn user_folder(env: &Env, name: &str) -> PathBuf {
    match name.strip_prefix("~/") {
        Some(rest) => env.dirs.home.join(rest),
        None => env.dirs.config.join(name),
    }
}

/// Opens a regular file of ours or of git's for reading, without waiting on a FIFO in its place.
pub fn open_regular(path: &Path) -> Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::options()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or(0))
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(Error::new(
            ErrorKind::InvalidInput,
            "it is not a regular file",
        )),
    }
}
