//! The current session of each root: the one for commands that name no session.

use std::path::{Path, PathBuf};

use super::Sessions;
use crate::config::Config;
use crate::conversation::{Failure, SessionId};
use crate::env::tasks;
use crate::policy::paths;
use crate::session::api::{NewSession, OpenSession, SessionRow};
use crate::session::{index, store};
use crate::workspace::Uri;

impl Sessions {
    /// The session for commands that name none: the last used of the root that contains `uri`, else
    /// a new one there.
    pub async fn current(&self, uri: Option<&str>) -> Result<SessionId, Failure> {
        if let Some(known) = self.known(uri)? {
            return Ok(known);
        }
        let cwd = match self.root_of_document(uri)? {
            Some(folder) => folder,
            None => self.named_folder(None)?.path,
        };
        let info = self.create_in(cwd, NewSession::default()).await?;
        Ok(info.session_id)
    }

    /// As [`Self::current`], without creating one.
    pub fn known(&self, uri: Option<&str>) -> Result<Option<SessionId>, Failure> {
        let folder = self.root_of_document(uri)?;
        let known = self.state(|state| match &folder {
            Some(folder) => state.current.get(folder).cloned(),
            None if state.current.len() == 1 => state.current.values().next().cloned(),
            None => self
                .shared
                .workspace
                .roots()
                .first()
                .and_then(|root| state.current.get(&root.path).cloned()),
        });
        Ok(known.filter(|id| self.handle(id).is_ok()))
    }

    /// The root of a document, else its folder.
    fn root_of_document(&self, uri: Option<&str>) -> Result<Option<PathBuf>, Failure> {
        let Some(path) = uri.and_then(|uri| Uri::new(uri).path()) else {
            return Ok(None);
        };
        // A transcript does not say where the user works.
        if paths::transcript(&path, &self.shared.env.dirs.state) {
            return Ok(None);
        }
        match self.shared.workspace.root_for(&path) {
            Some(root) => Ok(Some(root.path)),
            // A file's folder does not become a root: every edit there asks.
            None => {
                let folder = path.parent().and_then(Path::to_str);
                Ok(Some(self.named_folder(folder)?.path))
            }
        }
    }

    /// Opens a stored session if needed, and makes it the current one of its root.
    pub async fn choose(&self, id: &SessionId) -> Result<(), Failure> {
        if !self.handle(id).is_ok_and(|handle| handle.writable) {
            self.open(OpenSession {
                session_id: id.clone(),
                before: None,
                limit: Some(0),
                cwd: None,
            })
            .await?;
        }
        self.enter(self.handle(id)?);
        Ok(())
    }

    /// The settings in force.
    pub fn config(&self) -> Config {
        self.state(|state| state.settings.config.clone())
    }

    /// The root that an open session works in, else its folder.
    pub fn root(&self, id: &SessionId) -> Result<PathBuf, Failure> {
        Ok(self.root_of(&self.handle(id)?.cwd))
    }

    /// The previous session of this root before `id`, if its last turn was cut off and no process
    /// continues it.
    pub async fn interrupted(&self, id: &SessionId) -> Option<SessionRow> {
        let (root, id) = (self.root(id).ok()?, id.clone());
        let folder = self.folder().ok()?;
        let looked = tasks::blocking(move || {
            let stored = index::list(&folder).into_iter();
            let mut here = stored.filter(|item| Path::new(&item.cwd).starts_with(&root));
            let last = here.find(|item| item.row.session_id != id)?;
            let cut_off = last.row.state == "interrupted" && !store::written(&last.path);
            cut_off.then_some(last)
        });
        looked.await.ok().flatten().map(|item| item.row)
    }
}
