//! The text of every frame, for traces and recordings.

use std::sync::Arc;

/// Which way a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    In,
    Out,
}

/// Sees the text of every frame, for traces and recordings. Called on the transport's threads:
/// must be quick.
pub type Tap = Arc<dyn Fn(Direction, &str) + Send + Sync>;
