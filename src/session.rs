//! Sessions: each a task that owns one conversation and takes commands ([`actor`]); the log
//! ([`store`]); the fan-out of events to the host. Knows no client protocol.

pub mod actor;
pub mod agents;
pub mod api;
pub mod checkpoint;
pub mod child;
pub mod export;
pub mod fanout;
pub mod index;
pub mod journal;
pub mod layouts;
pub mod preview;
pub mod resume;
pub mod revert;
pub mod review;
pub mod routing;
pub mod sessions;
pub mod store;
pub mod unsaid;

pub use actor::Leaving;
pub use api::*;
pub use sessions::{Sessions, not_logged_in};

#[cfg(test)]
mod tests;
