//! The files of transcripts and their location. They are private to the user, never behind a link,
//! and replaced as a whole.

use std::path::{Path, PathBuf};

use ropey::Rope;

use crate::agent::Shared;
use crate::config::ChatFolder;
use crate::conversation::SessionId;
use crate::env::{workspace_name, write_private};
use crate::policy::paths::CHAT;
use crate::workspace::{FileError, Located, Workspace, beneath, files};

/// The path of the transcript of a session in `root`: an existing one, else where the setting says;
/// and whether it exists.
pub fn path(
    shared: &Shared,
    folder: ChatFolder,
    root: &Path,
    id: &SessionId,
) -> Option<(PathBuf, bool)> {
    let name = format!("{}.md", id.file_name()?);
    let state = &shared.env.dirs.state;
    let own = state.join(CHAT).join(workspace_name(root)).join(&name);
    let beside = root.join(".interline").join(CHAT).join(&name);
    let (first, other) = match folder {
        ChatFolder::State => (own, beside),
        ChatFolder::Workspace => (beside, own),
    };
    Some(if first.exists() {
        (first, true)
    } else if other.exists() {
        (other, true)
    } else {
        (first, false)
    })
}

/// The location for the edit driver.
pub fn locate(workspace: &Workspace, path: &Path) -> Located {
    beneath::locate_path(workspace, path)
}

/// The file's text; `None` if there is no file.
pub fn read(workspace: &Workspace, located: &Located) -> Result<Option<String>, String> {
    match files::on_disk(workspace, located) {
        Ok(content) => Ok(Some(content.rope.to_string())),
        Err(FileError::Missing) => Ok(None),
        Err(FileError::TooLarge { limit, .. }) => Err(format!(
            "it is larger than {limit} bytes; start a new session"
        )),
        Err(error) => Err(error.to_string()),
    }
}

/// Replaces the file, or creates it with its folder. In a workspace the folder ignores itself.
pub fn write(shared: &Shared, located: &Located, text: &Rope) -> Result<(), String> {
    if located.path.starts_with(canonical(&shared.env.dirs.state)) {
        return write_private(&located.path, text.chunks().map(str::as_bytes))
            .map_err(|error| error.to_string());
    }
    let workspace = &shared.workspace;
    if let Some(folder) = located.path.parent() {
        let ignore = beneath::locate_path(workspace, &folder.join(".gitignore"));
        match files::write(workspace, &ignore, None, &Rope::from_str("*\n")) {
            Ok(()) | Err(FileError::Changed | FileError::Open) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    let current = match files::read(workspace, located) {
        Ok(content) => Some(content.hash()),
        Err(FileError::Missing) => None,
        Err(error) => return Err(error.to_string()),
    };
    files::write(workspace, located, current.as_deref(), text).map_err(|error| error.to_string())
}

fn canonical(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
