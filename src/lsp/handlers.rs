//! The handlers, one file for each group of methods. Each converts, delegates and returns.
//! Notification handlers are plain functions, so that none can wait (INV-1).

pub mod actions;
pub mod arguments;
pub mod commands;
pub mod complete;
pub mod context;
pub mod documents;
pub mod mcp;
pub mod prompt;
pub mod review;
pub mod session;
pub mod status;
pub mod transcript;
pub mod trust;
pub mod turn;
pub mod workspace;
