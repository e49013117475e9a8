//! The socket of a process: only its user can connect, and both sides check that.

use std::fs::Permissions;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream as Stream;
use std::path::PathBuf;

use tokio::net::{UnixListener, UnixStream};

use super::{Card, Peers};
use crate::env::private::own_folder;

/// A place where other processes of the user connect.
pub struct Listener(UnixListener);

impl Peers {
    pub(super) fn socket(&self, process: i32) -> PathBuf {
        self.folder.join(format!("{process}.sock"))
    }

    /// Opens this process's socket.
    pub fn listen(&self) -> Result<Listener> {
        // No other user can connect before the mode is set: the folder admits none.
        own_folder(&self.folder)?;
        // An earlier process may have left its own with the same id.
        self.leave();
        let path = self.socket(self.process);
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        Ok(Listener(listener))
    }

    /// Connects to another process of the user.
    pub async fn connect(&self, card: &Card) -> Result<Stream> {
        own(UnixStream::connect(self.socket(card.process)).await?)
    }
}

impl Listener {
    /// The next connection of the user's.
    pub async fn accept(&self) -> Result<Stream> {
        own(self.0.accept().await?.0)
    }
}

/// The stream for reading and writing threads, if the user's own process is at its other end.
fn own(stream: UnixStream) -> Result<Stream> {
    if stream.peer_cred()?.uid() != rustix::process::geteuid().as_raw() {
        let why = "the process at the other end belongs to another user";
        return Err(Error::new(ErrorKind::PermissionDenied, why));
    }
    let stream = stream.into_std()?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}
