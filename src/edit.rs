//! Edits: finding the place in the text that the model saw, rebasing onto the current text, and
//! the one driver that sends, verifies and journals ([`apply`]). Independent of tools and
//! protocols.

pub mod apply;
pub mod lanes;
pub mod line_ends;
pub mod lines;
pub mod matching;
pub mod places;
pub mod plan;
pub mod proposal;
pub mod rebase;
pub mod revert;
pub mod seen;
pub mod unified_diff;
pub mod v4a;

pub use apply::{EditJob, Outcome, apply};
pub use lanes::{LaneState, Lanes};
pub use plan::Plan;
pub use seen::{Seen, SeenText};

/// A replacement of bytes `start..end` of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    pub start: usize,
    pub end: usize,
    pub text: String,
}

impl Hunk {
    /// How much longer it makes the text.
    fn growth(&self) -> isize {
        self.text.len().cast_signed() - (self.end - self.start).cast_signed()
    }
}

/// The hunks of an edit, each with its start in the text after the edit.
fn with_new_starts(hunks: &[Hunk]) -> impl Iterator<Item = (usize, &Hunk)> {
    let mut grown = 0isize;
    hunks.iter().map(move |hunk| {
        let start = hunk.start.saturating_add_signed(grown);
        grown += hunk.growth();
        (start, hunk)
    })
}
