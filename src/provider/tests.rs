//! What the adapters' tests share.

pub mod ask;
pub mod server;
