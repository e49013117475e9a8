//! One planned edit, its outcomes and its journal entries.

use std::sync::Arc;
use std::time::Duration;

use ropey::Rope;
use tokio_util::sync::CancellationToken;

use super::flight::{self, Flight};
use super::sent_edit::Sent;
use crate::config::ClosedFiles;
use crate::conversation::{Entry, FileShape, ItemId, Recorder, SessionId, TurnId};
use crate::edit::rebase::Conflict;
use crate::edit::{Lanes, Plan, places};
use crate::host::{EditRequest, Fidelity, Host};
use crate::workspace::{Author, Document, Located, Revision, Workspace, files};

/// How long an edit waits for answer and didChange before it is unconfirmed.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// One planned edit of one document.
#[derive(Clone)]
pub struct EditJob {
    pub session: SessionId,
    pub turn: TurnId,
    pub item: ItemId,
    pub label: String,
    pub located: Located,
    pub plan: Plan,
    /// The revision of `plan.base` in the mirror; `None`: it came from disk or is new.
    pub base_revision: Option<Revision>,
    /// The file does not exist and is created.
    pub create: bool,
    /// The edit empties the file, which [`super::together`] then deletes.
    pub delete: bool,
    /// Of a review: a change that touches a hunk, also at its edge, is a conflict, because undo may
    /// have brought back what the hunk inserts, or what it followed.
    pub strict: bool,
    /// Of a file that is created or deleted, if an editor would not create it like that.
    pub shape: Option<FileShape>,
    /// The setting `edits.closedFiles`.
    pub closed_files: ClosedFiles,
    /// Normally [`DEADLINE`].
    pub deadline: Duration,
    pub workspace: Arc<Workspace>,
    pub lanes: Arc<Lanes>,
    pub host: Arc<dyn Host>,
    pub recorder: Arc<dyn Recorder>,
    pub cancel: CancellationToken,
}

/// The five outcomes of an edit that was sent, and those decided before sending.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The mirror shows exactly the expected text.
    Applied(Landed),
    /// As `Applied`, but rebased onto the user's concurrent changes.
    Rebased(Landed),
    /// The client or the harness said no, and the text lacks the edit.
    Refused {
        reason: String,
    },
    /// It landed differently than planned. `restored`: an inverse edit put the old text back.
    Diverged {
        restored: bool,
    },
    /// Neither shown nor refused within the deadline; the lane stays blocked, nothing is resent.
    Unconfirmed,
    /// The editor's text does not show whether it contains the edit, and never will. Holds the
    /// current text.
    Unknown {
        now: Rope,
        revision: Option<Revision>,
    },
    /// Decided before sending: nothing changed. Holds the current text.
    Conflict {
        conflict: Conflict,
        now: Rope,
        revision: Option<Revision>,
    },
    /// Earlier edits of this document are unsettled (unconfirmed, diverged or held).
    Blocked {
        reason: String,
    },
    /// Claimed applied on a closed file, but the client did not open it for us.
    Held(Landed),
    Cancelled,
}

impl Outcome {
    /// The word in the log.
    pub fn log_name(&self) -> &'static str {
        match self {
            Self::Applied(_) => "applied",
            Self::Rebased(_) => "rebased",
            Self::Refused { .. } => "refused",
            Self::Diverged { restored: true } => "restored",
            Self::Diverged { restored: false } => "diverged",
            Self::Unconfirmed => "unconfirmed",
            Self::Unknown { .. } => "unknown",
            Self::Conflict { .. } => "conflict",
            Self::Blocked { .. } => "blocked",
            Self::Held(_) => "held",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Where an edit landed.
#[derive(Clone, Debug)]
pub struct Landed {
    pub text: Rope,
    pub version: Option<i32>,
    pub revision: Option<Revision>,
    pub added: u32,
    pub removed: u32,
    /// Unified diff of the change.
    pub diff: String,
    /// Who else changed the text since the edit was planned; empty if unknown.
    pub others: Vec<Author>,
    /// What was sent.
    pub(crate) sent: Arc<Sent>,
}

impl Landed {
    /// Whether the edit changed nothing.
    pub fn is_empty(&self) -> bool {
        self.added == 0 && self.removed == 0
    }

    /// The text that the edit met.
    pub fn before(&self) -> String {
        String::from(&self.sent.before)
    }
}

impl EditJob {
    pub(super) fn document(&self) -> Option<Document> {
        self.workspace.document(&self.located.uri)
    }

    pub(super) fn key(&self) -> String {
        self.document()
            .map_or_else(|| self.located.key(), |document| document.key)
    }

    /// INV-2 and its exceptions, for a file that is not open.
    pub(super) fn to_disk(&self) -> bool {
        self.host.fidelity() == Fidelity::Disk
            || self.closed_files == ClosedFiles::Disk
            || (self.create && (self.shape.is_some() || !self.host.creates()))
            || self.host.attaches(&self.suffix()) == Some(false)
            || !self.host.takes(&self.located)
    }

    /// The key by which a client attaches servers: the extension, or the file name if there is
    /// none.
    pub(super) fn suffix(&self) -> String {
        let path = &self.located.path;
        path.extension()
            .or_else(|| path.file_name())
            .map(|suffix| suffix.to_string_lossy().into_owned())
            .unwrap_or_default()
    }

    /// Journals the intent and sends (INV-6: in this order).
    pub(super) fn launch(&self, sent: Sent, document: Option<&Document>) -> Flight {
        let version = document.map(|document| document.version);
        let uri = document.map_or(&self.located.uri, |document| &document.uri);
        let before = files::rope_hash(&sent.before);
        self.record_intent(&sent, version, &before);
        let request = EditRequest {
            session: self.session.clone(),
            turn: self.turn.clone(),
            item: self.item.clone(),
            label: self.label.clone(),
            uri: uri.clone(),
            version,
            hash: before,
            edits: flight::text_edits(&sent, self.host.encoding()),
            create: self.create && document.is_none(),
            exact: self.strict,
        };
        // For an open document, the recorded changes show where the hunks are.
        let named = match document {
            Some(_) => Vec::new(),
            None => self.plan.named.clone(),
        };
        Flight::launch(&*self.host, &self.workspace, request, sent, named)
    }

    pub(super) fn record_intent(&self, sent: &Sent, version: Option<i32>, before: &str) {
        self.recorder.record(Entry::EditIntent {
            item: self.item.clone(),
            uri: self.located.uri.to_string(),
            version,
            before: before.to_owned(),
            hash: files::rope_hash(&sent.expected),
            hunks: places::logged(&sent.before, &sent.expected, &sent.hunks),
            create: self.create,
            delete: self.delete,
            shape: self.shape.filter(|_| self.create || self.delete),
        });
    }

    /// `text`: the document's current text.
    pub(super) fn record_outcome(&self, outcome: &str, version: Option<i32>, text: &Rope) {
        self.recorder.record(Entry::EditOutcome {
            item: self.item.clone(),
            uri: self.located.uri.to_string(),
            outcome: outcome.to_owned(),
            version,
            hash: files::rope_hash(text),
        });
    }

    /// [`Self::record_outcome`] with the mirror's text, or `otherwise` if the document is not open.
    pub(super) fn record_present(&self, outcome: &str, otherwise: &Rope) {
        match self.document() {
            Some(document) => {
                self.record_outcome(outcome, Some(document.version), &document.rope);
            }
            None => self.record_outcome(outcome, None, otherwise),
        }
    }

    pub(super) fn landed(&self, sent: &Sent, document: Option<&Document>) -> Landed {
        let diff = flight::diff(sent, &self.located.display(&self.workspace));
        Landed {
            text: document.map_or_else(|| sent.expected.clone(), |document| document.rope.clone()),
            version: document.map(|document| document.version),
            revision: document.map(|document| document.revision),
            added: diff.added,
            removed: diff.removed,
            diff: diff.text,
            others: Vec::new(),
            sent: Arc::new(sent.clone()),
        }
    }

    pub(super) fn unknown(&self, before: &Rope) -> Outcome {
        self.record_present("unknown", before);
        let document = self.document();
        Outcome::Unknown {
            revision: document.as_ref().map(|document| document.revision),
            now: document.map_or_else(|| before.clone(), |document| document.rope),
        }
    }

    pub(super) fn conflict(&self, conflict: Conflict, now: Rope) -> Outcome {
        Outcome::Conflict {
            conflict,
            now,
            revision: self.document().map(|document| document.revision),
        }
    }
}
