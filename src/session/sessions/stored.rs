//! Lists, renames, deletes and exports sessions, including those not open here. A session whose log
//! another process writes is not changed.

use std::path::{Path, PathBuf};

use super::Sessions;
use super::storage::{log_failure, off_thread};
use crate::conversation::entry::StoredSettings;
use crate::conversation::{Entry, Failure, FailureKind, Recorder as _, SessionId};
use crate::env::private::Place;
use crate::env::tasks;
use crate::knowledge::memory;
use crate::session::actor;
use crate::session::api::{ListSessions, SessionList, SessionRow};
use crate::session::resume::Resumed;
use crate::session::store::Log;
use crate::session::{checkpoint, export, index, resume, store};
use crate::workspace::Uri;

impl Sessions {
    pub async fn list(&self, query: ListSessions) -> Result<SessionList, Failure> {
        let (sessions, next_cursor) = self.list_with_folders(query).await?;
        Ok(SessionList {
            sessions: sessions.into_iter().map(|(row, _)| row).collect(),
            next_cursor,
        })
    }

    /// As [`Self::list`], each session with its directory; and the next cursor.
    pub async fn list_with_folders(
        &self,
        query: ListSessions,
    ) -> Result<(Vec<(SessionRow, String)>, Option<String>), Failure> {
        let folder = self.folder()?;
        let mut stored = tasks::blocking(move || index::list(&folder))
            .await
            .unwrap_or_default();
        let handles = self.state(|state| state.open.clone());
        let asked = query
            .cwd
            .as_ref()
            .and_then(|cwd| Uri::new(cwd.as_str()).path());
        for item in &mut stored {
            if item.cwd.is_empty()
                && let Some(place) = self.place_of_unnamed(&item.path, asked.as_deref())
            {
                item.cwd = place.display().to_string();
            }
            if item.row.state == "interrupted" && store::written(&item.path) {
                // Its turn runs in another process.
                item.row.state = "running".to_owned();
            }
            if let Some(handle) = handles.get(&item.row.session_id)
                && let Ok(row) = handle.ask(|actor| actor.row()).await
            {
                let updated_at = std::mem::take(&mut item.row.updated_at);
                item.row = SessionRow { updated_at, ..row };
            }
        }
        stored.retain(|item| {
            let here = |path: &PathBuf| Path::new(&item.cwd).starts_with(path);
            let placed = query.cwd.is_none() || asked.as_ref().is_some_and(here);
            placed && query.query.as_ref().is_none_or(|text| item.mentions(text))
        });
        let start = query
            .cursor
            .and_then(|cursor| cursor.parse::<usize>().ok())
            .unwrap_or(0);
        let limit = query.limit.unwrap_or(50).clamp(1, 500) as usize;
        let end = (start + limit).min(stored.len());
        let next_cursor = (end < stored.len()).then(|| end.to_string());
        let page = stored.into_iter().skip(start).take(limit);
        let placed = page.map(|item| (item.row, item.cwd)).collect();
        Ok((placed, next_cursor))
    }

    pub async fn rename(&self, id: &SessionId, title: String) -> Result<(), Failure> {
        if let Ok(handle) = self.handle(id) {
            if !handle.writable {
                return Err(actor::read_only());
            }
            return handle.ask(|actor| actor.set_title(title)).await;
        }
        let path = self.stored(id)?;
        let (log, recalled) = off_thread(&path, |path| {
            Ok((Log::open(path)?, checkpoint::recall(path)?))
        })
        .await?;
        let log = log.ok_or_else(actor::read_only)?;
        log.record(settings(recalled.resumed, Some(title)));
        Ok(())
    }

    /// Closes the session if it is open and removes its log, those of its sub-agents, and its
    /// memories.
    pub async fn delete(&self, id: &SessionId) -> Result<(), Failure> {
        let path = self.stored(id)?;
        let open = self.handle(id).is_ok();
        if self.handle(id).is_ok_and(|handle| handle.writable) {
            self.close(id).await?;
        } else {
            // An unreadable log belongs to no one: it may go.
            if let Ok(None) = Log::open(&path) {
                return Err(actor::read_only());
            }
            if open {
                self.close(id).await?;
            }
        }
        let removed = Place::of(&path).and_then(|place| place.remove());
        removed.map_err(|error| log_failure(&path, &error.into()))?;
        checkpoint::remove(&path);
        self.delete_children(&path, id).await;
        if let Err(error) = memory::forget(&self.shared.env, id) {
            tracing::warn!("what session {id} remembered could not be removed: {error}");
        }
        Ok(())
    }

    /// Only the parent's log names the sessions of sub-agents.
    async fn delete_children(&self, path: &Path, id: &SessionId) {
        let (beside, parent) = (path.to_owned(), id.clone());
        let found = tasks::blocking(move || store::children(&beside, &parent)).await;
        for (child, path) in found.unwrap_or_default() {
            if self.handle(&child).is_ok() {
                // It ends by itself; what cannot be closed is gone already.
                let _ = self.close(&child).await;
            }
            checkpoint::remove(&path);
            if let Err(error) = Place::of(&path).and_then(|place| place.remove()) {
                tracing::warn!("the log of sub-agent {child} could not be removed: {error}");
            }
        }
    }

    /// The session as text; `format` is `markdown`.
    pub async fn export(&self, id: &SessionId, format: &str) -> Result<String, Failure> {
        if format != "markdown" {
            return Err(Failure::invalid(
                format!("The export format {format:?} does not exist."),
                "Use markdown.",
            ));
        }
        let path = self.stored(id)?;
        let loaded = off_thread(&path, store::read).await?;
        let title = resume::title(&loaded.entries).map(str::to_owned);
        let items = resume::items(id, loaded.entries);
        Ok(export::markdown(title.as_deref(), &items))
    }

    pub(super) fn stored(&self, id: &SessionId) -> Result<PathBuf, Failure> {
        store::find(&self.folder()?, id).ok_or_else(|| {
            Failure::new(
                FailureKind::UnknownSession,
                format!("There is no session {id}."),
                "Choose one from the list of stored sessions.",
            )
        })
    }
}

/// The settings with another title.
pub(super) fn settings(resumed: Resumed, title: Option<String>) -> Entry {
    Entry::Configure(Box::new(StoredSettings {
        layout: resumed.layout().to_owned(),
        title,
        ..resumed.settings
    }))
}
