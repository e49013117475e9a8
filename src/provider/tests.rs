//! What the adapters' tests share.

pub mod server;
