//! Observers of every frame, for traces and recordings.

use std::sync::Arc;

/// The direction of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    In,
    Out,
}

/// Observes the text of every frame. Called on the transport's threads, so it must be fast.
pub type Tap = Arc<dyn Fn(Direction, &str) + Send + Sync>;
