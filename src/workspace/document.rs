//! One mirrored document: a rope and the client's version; and the form of a change. The mirror
//! (`workspace/mirror.rs`) keeps the recent changes that rebasing needs.

use ropey::Rope;

use super::Uri;
use super::text::Range;

/// Counts the changes recorded by the mirror in this process. Never reused, and unrelated to the
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

/// A recorded change, in byte offsets of the text before it. The changes of one notification are
/// recorded one by one, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The revision after this change.
    pub revision: Revision,
    pub start: usize,
    pub removed: String,
    pub inserted: String,
    pub author: Author,
    /// The client replaced a longer text with this change and the next one at once: the text
    /// between them was never in the editor.
    pub continues: bool,
}

/// A change as sent by the client; without a range it replaces the whole text.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
pub struct ContentChange {
    pub range: Option<Range>,
    pub text: String,
}

/// Whether the mirror can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncState {
    InSync,
    /// Why the mirror is wrong. No edits until a didOpen or a full-text change heals it.
    OutOfSync(String),
}

/// A cheap immutable view of a mirrored document.
#[derive(Clone, Debug)]
pub struct Document {
    /// Exactly as spelled by the client.
    pub uri: Uri,
    /// [`Uri::key`] at the time it was opened.
    pub key: String,
    pub language: String,
    /// The version that the client last sent.
    pub version: i32,
    pub revision: Revision,
    pub rope: Rope,
    pub sync: SyncState,
    /// False: the document is known only from changes without a didOpen, and `rope` is empty
    /// because the text is unknown.
    pub opened: bool,
    /// A session's confirmed edit is among its changes.
    pub agent_touched: bool,
}

/// The text before `changes` led to `text`.
pub fn text_before(text: &Rope, changes: &[Change]) -> Rope {
    let mut text = text.clone();
    for change in changes.iter().rev() {
        let start = text.byte_to_char(change.start);
        let end = text.byte_to_char(change.start + change.inserted.len());
        text.remove(start..end);
        text.insert(start, &change.removed);
    }
    text
}
