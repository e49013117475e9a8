//! What the tests of the wire formats share.

pub mod ask;
pub mod server;
