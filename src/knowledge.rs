//! Finding and reading what the agent should know: instruction files, persona files, active
//! files, agents, skills, memories, what is kept, the trust store. Buffers first. `prompt` only renders what
//! this finds.

pub mod active;
pub mod agents;
pub mod companions;
pub mod documents;
pub mod etcode;
pub mod front;
pub mod git;
pub mod instructions;
pub mod kept;
pub mod memory;
pub mod persona;
mod place;
pub mod skills;
pub mod trust;
pub mod unchanged;

pub use place::Standing;

use std::fs::File;
use std::path::Path;

/// Opens a regular file of our own or of git's for reading, without waiting on a FIFO that was
/// put in its place.
pub fn open_regular(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    }
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
