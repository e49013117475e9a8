//! The folder that a process starts in, as a descriptor: the process enters exactly the folder
//! that was checked, wherever the path leads by then.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

/// An open folder and its path, which is for messages.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    descriptor: Arc<OwnedFd>,
}

impl Folder {
    pub fn new(path: impl Into<PathBuf>, descriptor: OwnedFd) -> Self {
        Self {
            path: path.into(),
            descriptor: Arc::new(descriptor),
        }
    }

    /// The folder that is at `path` now.
    pub fn at(path: &Path) -> std::io::Result<Self> {
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
    pub fn entrance(&self) -> std::io::Result<PathBuf> {
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

    fn changed_error(&self, what: &str) -> std::io::Error {
        let words = format!("the folder {} {what}", self.path.display());
        std::io::Error::new(std::io::ErrorKind::NotADirectory, words)
    }
}
