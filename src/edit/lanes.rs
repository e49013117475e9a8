//! One lane per document in the process: orders the edits of all sessions, remembers unsettled
//! ones and held files. Settles nothing by guessing: a lane opens on evidence or on the user's
//! act.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ropey::Rope;
use tokio::sync::{OwnedMutexGuard, watch};
use tokio::time::Instant;

use crate::workspace::{Document, Located, Source, Workspace, files};

/// Shared by all sessions as `Arc<Lanes>`.
#[derive(Default)]
pub struct Lanes {
    lanes: Mutex<HashMap<String, Arc<Lane>>>,
}

/// What stands in the way of the next edit of a document.
#[derive(Clone, Debug, Default)]
pub enum LaneState {
    #[default]
    Free,
    /// An edit was sent and neither shown nor refused; a late answer or didChange settles it.
    Unconfirmed {
        since: Instant,
        expected: Rope,
        /// The client never answered, and applies the edit on this version only: of it and
        /// another edit for the version one lands at most.
        fence: Option<i32>,
    },
    /// An edit landed otherwise; the user saves, undoes or reopens the document.
    Diverged { since: Instant },
    /// Claimed applied on a closed file that the client did not open for us.
    Held { text: Rope },
}

impl LaneState {
    /// One lower-case word for `interline/status`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Free => "open",
            Self::Unconfirmed { .. } => "unconfirmed",
            Self::Diverged { .. } => "diverged",
            Self::Held { .. } => "held",
        }
    }

    /// Whether an edit of `document` may go there all the same.
    pub(super) fn fenced(&self, document: Option<&Document>) -> bool {
        let Self::Unconfirmed { fence, .. } = self else {
            return false;
        };
        document.is_some_and(|document| *fence == Some(document.version))
    }

    /// Why no edit may go there now, and what opens the lane; `None` when it is free.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Free => None,
            Self::Unconfirmed { .. } => Some(
                "an earlier edit of this document was neither shown nor refused by the editor; \
                 nothing was sent again. A late answer of the editor settles it, or reopening \
                 the document",
            ),
            Self::Diverged { .. } => Some(
                "an earlier edit landed otherwise than planned and the document needs review; \
                 saving, undoing or reopening it in the editor lets edits through again",
            ),
            Self::Held { .. } => Some(
                "the editor holds an earlier edit of this file in a buffer that it does not \
                 show us; saving or opening the file in the editor lets edits through again",
            ),
        }
    }
}

impl Lanes {
    /// The state of the document with this key ([`crate::workspace::Uri::key`]).
    pub fn state(&self, key: &str) -> LaneState {
        self.known(key).map_or(LaneState::Free, |lane| lane.state())
    }

    /// What a read of a held file answers: the planned text, which the disk does not show.
    pub fn held_text(&self, key: &str) -> Option<Rope> {
        match self.state(key) {
            LaneState::Held { text } => Some(text),
            _ => None,
        }
    }

    /// Held files with their texts, by path: commands name them as unsaved.
    pub fn held(&self) -> Vec<(Located, Rope)> {
        let mut held: Vec<_> = self
            .all()
            .into_iter()
            .filter_map(|lane| lane.held())
            .collect();
        held.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
        held
    }

    /// Opens the lane because the user said so.
    pub fn release(&self, key: &str) {
        if let Some(lane) = self.known(key) {
            lane.put(Unsettled::Free);
        }
    }

    pub(super) fn lane(&self, key: &str) -> Arc<Lane> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(lanes.entry(key.to_owned()).or_default())
    }

    fn known(&self, key: &str) -> Option<Arc<Lane>> {
        let lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.get(key).map(Arc::clone)
    }

    fn all(&self) -> Vec<Arc<Lane>> {
        let lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.values().map(Arc::clone).collect()
    }
}

/// Names one shutting of a lane, so that what settles it late cannot open another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(u64);

#[derive(Default)]
pub(super) struct Lane {
    /// Held from before planning against the present until the outcome; first come first served.
    gate: Arc<tokio::sync::Mutex<()>>,
    unsettled: Mutex<Unsettled>,
}

#[derive(Clone, Default)]
enum Unsettled {
    #[default]
    Free,
    Shut(Ticket, LaneState),
    Held(Arc<HeldFile>),
}

struct HeldFile {
    text: Rope,
    located: Located,
    workspace: Arc<Workspace>,
    /// Any signal (didOpen, didSave) since holding settles it.
    signals: watch::Receiver<u64>,
}

impl HeldFile {
    fn settled(&self) -> bool {
        if self.signals.has_changed().unwrap_or(true)
            || self.workspace.document(&self.located.uri).is_some()
        {
            return true;
        }
        files::read(&self.workspace, &self.located).is_ok_and(|content| {
            matches!(content.source, Source::Disk) && content.rope == self.text
        })
    }
}

impl Lane {
    /// Waits for the turn of this edit. Dropping the future gives the place up.
    pub(super) async fn enter(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.gate).lock_owned().await
    }

    pub(super) fn state(&self) -> LaneState {
        let unsettled = self.get();
        match unsettled {
            Unsettled::Free => LaneState::Free,
            Unsettled::Shut(_, state) => state,
            // The disk is read outside the lock.
            Unsettled::Held(file) if file.settled() => {
                let mut now = self.lock();
                if matches!(&*now, Unsettled::Held(other) if Arc::ptr_eq(other, &file)) {
                    *now = Unsettled::Free;
                }
                LaneState::Free
            }
            Unsettled::Held(file) => LaneState::Held {
                text: file.text.clone(),
            },
        }
    }

    pub(super) fn shut(&self, state: LaneState) -> Ticket {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let ticket = Ticket(NEXT.fetch_add(1, Ordering::Relaxed));
        self.put(Unsettled::Shut(ticket, state));
        ticket
    }

    pub(super) fn hold(&self, text: Rope, located: Located, workspace: Arc<Workspace>) {
        let mut signals = workspace.watch(&located.uri);
        signals.mark_unchanged();
        self.put(Unsettled::Held(Arc::new(HeldFile {
            text,
            located,
            workspace,
            signals,
        })));
    }

    pub(super) fn is_shut(&self, ticket: Ticket) -> bool {
        matches!(&*self.lock(), Unsettled::Shut(own, _) if *own == ticket)
    }

    /// Replaces the state that `ticket` names; nothing when another took its place.
    pub(super) fn settle(&self, ticket: Ticket, state: LaneState) {
        let mut now = self.lock();
        if matches!(&*now, Unsettled::Shut(own, _) if *own == ticket) {
            *now = match state {
                LaneState::Free => Unsettled::Free,
                state => Unsettled::Shut(ticket, state),
            };
        }
    }

    fn held(&self) -> Option<(Located, Rope)> {
        match (self.state(), self.get()) {
            (LaneState::Held { text }, Unsettled::Held(file)) => Some((file.located.clone(), text)),
            _ => None,
        }
    }

    fn get(&self) -> Unsettled {
        self.lock().clone()
    }

    fn put(&self, state: Unsettled) {
        *self.lock() = state;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Unsettled> {
        self.unsettled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
