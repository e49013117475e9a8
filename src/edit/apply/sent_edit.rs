//! An edit as it is sent: hunks on a text.

use ropey::Rope;

use crate::edit::Hunk;
use crate::edit::plan::patch;
use crate::workspace::Revision;

/// An edit on its way.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// The text that the hunks were computed on.
    pub before: Rope,
    /// The mirror's revision of `before`; `None`: the file was closed.
    pub revision: Option<Revision>,
    pub hunks: Vec<Hunk>,
    /// `before` with the hunks.
    pub expected: Rope,
}

impl Sent {
    pub(crate) fn new(before: Rope, revision: Option<Revision>, hunks: Vec<Hunk>) -> Self {
        let expected = patch(&before, &hunks);
        Self {
            before,
            revision,
            hunks,
            expected,
        }
    }
}
