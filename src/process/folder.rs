//! The folder that a process starts in, as a descriptor: the process enters exactly the folder
//! that was checked, wherever the path leads by then.

use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(unix)]
pub type Descriptor = std::os::fd::OwnedFd;
#[cfg(not(unix))]
pub type Descriptor = ();

/// An open folder and its path, which is for messages.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    descriptor: Arc<Descriptor>,
}

impl Folder {
    pub fn new(path: impl Into<PathBuf>, descriptor: Descriptor) -> Self {
        Self {
            path: path.into(),
            descriptor: Arc::new(descriptor),
        }
    }

    /// The folder that is at `path` now.
    #[cfg(unix)]
    pub fn at(path: &Path) -> std::io::Result<Self> {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self::new(
            path,
            rustix::fs::open(path, flags, Mode::empty())?,
        ))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path that a child changes its directory to. Valid as long as `self` lives.
    #[cfg(unix)]
    pub fn entrance(&self) -> std::io::Result<PathBuf> {
        use std::os::fd::AsRawFd as _;
        let here = rustix::fs::fstat(&*self.descriptor)?;
        if here.st_nlink == 0 {
            return Err(self.changed_error("no longer exists"));
        }
        // The child resolves it after the fork through the inherited descriptor. There is no
        // other safe way to set a child's directory by descriptor.
        let own = PathBuf::from(format!("/proc/self/fd/{}", self.descriptor.as_raw_fd()));
        if cfg!(target_os = "linux") && own.exists() {
            return Ok(own);
        }
        let there = rustix::fs::stat(&self.path)?;
        match (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino) {
            true => Ok(self.path.clone()),
            false => Err(self.changed_error("is no longer the folder that was checked")),
        }
    }

    #[cfg(unix)]
    fn changed_error(&self, what: &str) -> std::io::Error {
        let words = format!("the folder {} {what}", self.path.display());
        std::io::Error::new(std::io::ErrorKind::NotADirectory, words)
    }
}
