//! One mirrored document: a rope, the client's version, and the recent changes that rebasing
//! needs.

use ropey::Rope;

use super::Uri;
use super::text::Range;

/// Counts the changes that the mirror recorded in this process; never reused, never the
/// client's version (versions jump and restart).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

/// Who made a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    User,
    /// A session's confirmed edit.
    Session(String),
    Formatter,
    Disk,
}

/// A recorded change in byte offsets of the text before it; several from one notification are
/// recorded one by one, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The revision after this change.
    pub revision: Revision,
    pub start: usize,
    pub removed: String,
    pub inserted: String,
    pub author: Author,
}

/// A change as the client sends it; without a range the whole text.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
pub struct ContentChange {
    pub range: Option<Range>,
    pub text: String,
}

/// Whether the mirror can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncState {
    InSync,
    /// No edits until a didOpen or a full-text change heals it; says what went wrong.
    OutOfSync(String),
}

/// A cheap immutable view of a mirrored document.
#[derive(Clone, Debug)]
pub struct Document {
    /// Exactly as the client spells it.
    pub uri: Uri,
    /// [`Uri::key`] at the time it was opened.
    pub key: String,
    pub language: String,
    /// The version that the client last sent.
    pub version: i32,
    pub revision: Revision,
    pub rope: Rope,
    pub sync: SyncState,
    /// False: known only from changes without a didOpen; `rope` is empty and not its text.
    pub opened: bool,
    /// A session's confirmed edit is among its changes.
    pub agent_touched: bool,
}
