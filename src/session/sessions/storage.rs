//! The folder in which sessions are stored: whether it can be trusted, and the error when it or a
//! log cannot be used.

use std::path::{Path, PathBuf};

use super::Sessions;
use crate::conversation::{Failure, FailureKind};
use crate::env::private;
use crate::env::tasks;
use crate::session::store::StoreError;

impl Sessions {
    /// Where the logs are; a folder that is not the user's own is not used.
    pub(super) fn folder(&self) -> Result<PathBuf, Failure> {
        self.storage.clone()?;
        let folder = self.shared.env.dirs.state.join("sessions");
        // A link of the user's own may lead there; below it no link is followed.
        Ok(folder.canonicalize().unwrap_or(folder))
    }
}

/// Whether the state folder can be used, and a notice for the user if not.
pub(super) fn check_folder(state: &Path) -> (Result<(), Failure>, Vec<String>) {
    match private::check_state_folders(state) {
        Ok(open) if open.is_empty() => (Ok(()), Vec::new()),
        Ok(open) => {
            let names: Vec<String> = open.iter().map(|it| it.display().to_string()).collect();
            let text = format!(
                "Other users of this machine could write to {}; Interline removed that permission. \
                 Check your stored sessions and trusted folders if someone may have used it.",
                names.join(", ")
            );
            tracing::warn!("{text}");
            (Ok(()), vec![text])
        }
        Err(error) => {
            tracing::error!("the state folder is not used: {error}");
            let failure = Failure::new(
                FailureKind::Storage,
                format!("Sessions cannot be stored: {error}."),
                format!(
                    "Make {} a folder that you own and can write, or set XDG_STATE_HOME.",
                    state.display()
                ),
            );
            (Err(failure), Vec::new())
        }
    }
}

/// A log can be long: it is read on a blocking thread.
pub(super) async fn off_thread<T: Send + 'static>(
    path: &Path,
    read: impl FnOnce(&Path) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Failure> {
    let log = path.to_owned();
    tasks::blocking(move || read(&log))
        .await
        .unwrap_or_else(|error| Err(std::io::Error::other(error).into()))
        .map_err(|error| log_failure(path, &error))
}

/// Why a log cannot be used, for the user.
pub(super) fn log_failure(path: &Path, error: &StoreError) -> Failure {
    let path = path.display();
    match error {
        StoreError::Io(error) => Failure::new(
            FailureKind::Storage,
            format!("The session log {path} cannot be used: {error}."),
            "Check the folder's permissions and the free space on its disk.",
        ),
        _ => Failure::invalid(
            format!("The session log {path} cannot be used: {error}."),
            "Restore it from a backup, or delete the session; other sessions are not affected.",
        ),
    }
}
