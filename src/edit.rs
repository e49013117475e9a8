//! Edits: finding the place in the text that the model saw, rebasing onto the current text, and
//! the one driver that sends, verifies and journals ([`apply`]). Independent of tools and
//! protocols.

pub mod apply;
pub mod lanes;
pub mod lines;
pub mod matching;
pub mod plan;
pub mod rebase;
pub mod revert;
pub mod seen;

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
