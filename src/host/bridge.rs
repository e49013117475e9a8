//! The wire between processes of one user that work in the same folder: `interline acp` reads and
//! edits documents that are open in the editor of an `interline lsp` (docs/acp.md). Both sides
//! decide with [`permitted`] before anything else.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::TextEdit;
use crate::conversation::{ItemId, SessionId, TurnId};
use crate::env::Dirs;
use crate::policy::{Access, Decision, Fact, Policy, Reason, decide};
use crate::workspace::Located;

/// Request with [`ReadBuffer`]; the answer is a [`Buffer`], or null if the file is not open.
pub const READ: &str = "buffer/read";

/// Request with [`EditBuffer`]; the answer is an [`EditedBuffer`].
pub const EDIT: &str = "buffer/edit";

/// Notification: the editor has closed, and its buffers with it. A connection that ends without it
/// was lost.
pub const CLOSED: &str = "buffer/closed";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadBuffer {
    /// Canonical.
    pub path: PathBuf,
}

/// An open document.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Buffer {
    pub text: String,
    /// Of the text, in the serving process: later texts have larger ones.
    pub revision: u64,
    /// It differs from the file.
    pub dirty: bool,
}

/// One edit of an open document, computed on the text at `revision`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EditBuffer {
    pub path: PathBuf,
    pub revision: u64,
    /// Hash of that text.
    pub hash: String,
    /// Positions in UTF-8.
    pub edits: Vec<TextEdit>,
    pub label: String,
    pub session: SessionId,
    pub turn: TurnId,
    pub item: ItemId,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EditedBuffer {
    pub outcome: BufferOutcome,
    /// Why nothing was changed.
    #[serde(default)]
    pub reason: String,
    /// The text that the edit met, if it was applied.
    #[serde(default)]
    pub before: Option<String>,
    /// The document now; `None`: it is no longer open.
    pub buffer: Option<Buffer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BufferOutcome {
    Applied,
    /// Placed around what the user typed.
    Rebased,
    /// The user's typing overlaps. Nothing was changed.
    Conflict,
    /// Nothing was changed.
    Refused,
    /// The editor neither showed nor refused the edit in time.
    Unknown,
}

/// Whether a document may be read or edited by another process at all: below a root of this one,
/// readable without asking, and writable with or without asking. Secrets never are.
pub fn permitted(dirs: &Dirs, located: &Located, access: Access) -> bool {
    let policy = Policy::of_names(dirs);
    let decision = |access| {
        let located = located.clone();
        decide(&policy, &[Fact::Path { located, access }])
    };
    located.root.is_some()
        && decision(Access::Read) == Decision::Allow(Reason::InsideRoots)
        && (access == Access::Read || !matches!(decision(Access::Write), Decision::Deny(_)))
}
