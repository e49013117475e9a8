//! What the commands of `workspace/executeCommand` do. The table that names them is
//! [`crate::lsp::commands`]. Commands start work and return; the work reports through progress,
//! messages and events.

pub mod arguments;
pub mod chat;
pub mod comment;
pub mod mcp;
pub mod prompts;
pub mod revert;
pub mod sessions;
pub mod settings;
pub mod show;
pub mod trust;
pub mod turns;
pub mod unsaved;
