//! Every child process: own session and group, allowlisted environment, no stdin, limits,
//! killed as a tree; waited for, or in the background of a session; and filters of the user's
//! own. Decides nothing about whether one may run.

pub mod background;
pub mod command;
pub mod environment;
pub mod filter;
pub mod output;
pub mod server;
mod spill;
#[cfg(unix)]
mod tree;
#[cfg(unix)]
pub mod warden;

#[cfg(unix)]
pub use tree::{lives, started};

/// Without a table of processes nobody is known to be dead.
#[cfg(not(unix))]
pub fn lives(_: i32) -> bool {
    true
}

#[cfg(not(unix))]
pub fn started(_: i32) -> Option<u64> {
    None
}

pub use background::Background;
pub use command::{End, Finished, Spec, run};
