//! One lane per document in the process: orders the edits of all sessions, and remembers unsettled
//! ones and held files. Nothing is settled by guessing: a lane opens on evidence or when the user
//! acts.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use ropey::Rope;
use tokio::sync::{OwnedMutexGuard, watch};

use crate::env::order;
use crate::workspace::{Document, Located, Source, Workspace, files};

/// Shared by all sessions as `Arc<Lanes>`.
#[derive(Default)]
pub struct Lanes {
    lanes: Mutex<HashMap<String, Arc<Lane>>>,
}

/// What blocks the next edit of a document.
#[derive(Clone, Debug, Default)]
pub enum LaneState {
    #[default]
    Free,
    /// An edit was sent and neither shown nor refused; a late answer or didChange settles it.
    Unconfirmed {
        /// The client has not answered, and applies the edit to this version only: of this edit
        /// and another one for the same version, at most one lands.
        fence: Option<i32>,
    },
    /// An edit landed differently than planned, until the user saves, undoes or reopens the
    /// document.
    Diverged,
    /// The client claims to have edited a closed file, but did not open it for us.
    Held { text: Rope },
}

impl LaneState {
    /// One lower-case word for `interline/status`.
    pub fn status_name(&self) -> &'static str {
        match self {
            Self::Free => "open",
            Self::Unconfirmed { .. } => "unconfirmed",
            Self::Diverged => "diverged",
            Self::Held { .. } => "held",
        }
    }

    /// Whether an edit of `document` is possible all the same.
    pub(super) fn fenced(&self, document: Option<&Document>) -> bool {
        let Self::Unconfirmed { fence, .. } = self else {
            return false;
        };
        document.is_some_and(|document| *fence == Some(document.version))
    }

    /// Why no edit is possible now, and what opens the lane; `None` if it is free.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Free => None,
            Self::Unconfirmed { .. } => Some(
                "the editor neither showed nor refused an earlier edit of this document, so \
                 nothing is sent. A late answer settles it, or reopening the document",
            ),
            Self::Diverged => Some(
                "an earlier edit landed differently than planned, so the document needs review. \
                 Save, undo or reopen it in the editor to allow edits again",
            ),
            Self::Held { .. } => Some(
                "the editor has an earlier edit of this file in a buffer that Interline cannot \
                 see. Save or open the file in the editor to allow edits again",
            ),
        }
    }
}

impl Lanes {
    /// The state of the document with this key ([`crate::workspace::Uri::key`]).
    pub fn state(&self, key: &str) -> LaneState {
        self.known(key).map_or(LaneState::Free, |lane| lane.state())
    }

    /// The text of a held file for reads: the planned one, which is not on disk.
    pub fn held_text(&self, key: &str) -> Option<Rope> {
        match self.state(key) {
            LaneState::Held { text } => Some(text),
            _ => None,
        }
    }

    /// Held files with their texts, sorted by path: commands list them as unsaved.
    pub fn held(&self) -> Vec<(Located, Rope)> {
        // Copied, because a lane reads the disk.
        let lanes: Vec<Arc<Lane>> = self.lanes.lock().values().map(Arc::clone).collect();
        let mut held: Vec<_> = lanes.iter().filter_map(|lane| lane.held()).collect();
        order::sort_by(&mut held, |(a, _), (b, _)| a.path.cmp(&b.path));
        held
    }

    /// Opens the lane at the user's request.
    pub fn release(&self, key: &str) {
        if let Some(lane) = self.known(key) {
            *lane.unsettled.lock() = Unsettled::Free;
        }
    }

    pub(super) fn lane(&self, key: &str) -> Arc<Lane> {
        let mut lanes = self.lanes.lock();
        Arc::clone(lanes.entry(key.to_owned()).or_default())
    }

    fn known(&self, key: &str) -> Option<Arc<Lane>> {
        self.lanes.lock().get(key).map(Arc::clone)
    }
}

/// Identifies one blocking of a lane, so that a late settlement cannot undo another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(u64);

#[derive(Default)]
pub(super) struct Lane {
    /// Held from before the plan is placed in the current text until the outcome; first come,
    /// first served.
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
    /// Waits for this edit's turn. Dropping the future gives up its place in the queue.
    pub(super) async fn enter(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.gate).lock_owned().await
    }

    pub(super) fn state(&self) -> LaneState {
        let unsettled = self.unsettled.lock().clone();
        match unsettled {
            Unsettled::Free => LaneState::Free,
            Unsettled::Shut(_, state) => state,
            // The disk is read outside the lock.
            Unsettled::Held(file) if file.settled() => {
                let mut now = self.unsettled.lock();
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
        *self.unsettled.lock() = Unsettled::Shut(ticket, state);
        ticket
    }

    pub(super) fn hold(&self, text: Rope, located: Located, workspace: Arc<Workspace>) {
        let mut signals = workspace.watch(&located.uri);
        signals.mark_unchanged();
        let file = HeldFile {
            text,
            located,
            workspace,
            signals,
        };
        *self.unsettled.lock() = Unsettled::Held(Arc::new(file));
    }

    pub(super) fn is_shut(&self, ticket: Ticket) -> bool {
        matches!(&*self.unsettled.lock(), Unsettled::Shut(own, _) if *own == ticket)
    }

    /// Replaces the state that `ticket` identifies; does nothing if another one has replaced it.
    pub(super) fn settle(&self, ticket: Ticket, state: LaneState) {
        let mut now = self.unsettled.lock();
        if matches!(&*now, Unsettled::Shut(own, _) if *own == ticket) {
            *now = match state {
                LaneState::Free => Unsettled::Free,
                state => Unsettled::Shut(ticket, state),
            };
        }
    }

    fn held(&self) -> Option<(Located, Rope)> {
        match (self.state(), self.unsettled.lock().clone()) {
            (LaneState::Held { text }, Unsettled::Held(file)) => Some((file.located.clone(), text)),
            _ => None,
        }
    }
}
