//! Every child process: own session and group, allowlisted environment, no stdin, limits,
//! killed as a tree; waited for, or in the background of a session; and filters of the user's
//! own. Decides nothing about whether one may run.

pub mod background;
pub mod command;
pub mod environment;
pub mod filter;
mod folder;
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

/// Other processes of the user, commands of ours among them, cannot read this one's environment
/// and memory, where keys are. It leaves no core dump either. Root reads them anyway.
pub fn unreadable() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            tracing::warn!(%error, "other processes of the user can read this one's memory");
        }
    }
}

pub use background::Background;
pub use command::{End, Finished, Spec, run};
pub use folder::Folder;

/// A file that reaches the limit of file size (`ulimit -f`) ends a process by a signal, unless
/// somebody listens for it: then the write fails, which is reported like a full disk.
#[cfg(unix)]
pub fn outlive_file_limits(runtime: &tokio::runtime::Runtime) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let _inside = runtime.enter();
    // The handler stays when the listener goes.
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
}

#[cfg(test)]
mod tests {
    /// R32: the signal is caught, so a write beyond the limit fails and ends nothing.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_limit_of_file_size_ends_no_process() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        super::outlive_file_limits(&runtime).unwrap();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let mut lines = status.lines();
        let caught = lines.find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = u64::from_str_radix(caught.unwrap().trim(), 16).unwrap();
        let signal = rustix::process::Signal::XFSZ.as_raw();
        assert_ne!(caught & (1 << (signal - 1)), 0, "{status}");
    }
}
