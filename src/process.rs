//! Every child process: its own session and group, an allowlisted environment, no stdin, limits,
//! killed as a tree. Some are waited for, some run in a session's background, some are the user's
//! filters. Whether a process may run, and how far a confined one reaches, is decided elsewhere.

pub mod background;
pub mod command;
pub mod confine;
pub mod environment;
mod folder;
pub mod kept_output;
pub mod pipe_command;
pub mod script;
pub mod server;
mod spill;
mod tree;
pub mod warden;

pub use tree::{is_running, start_time};

/// Stops the user's other processes, including commands that we start, from reading this one's
/// environment and memory, which hold keys. Also prevents core dumps. Root can still read them.
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

/// Makes a write beyond the file size limit (`ulimit -f`) fail like one on a full disk, instead of
/// ending the process by a signal.
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
