//! What the commands of `workspace/executeCommand` do. The table that names them is
//! [`crate::lsp::commands`]. Commands start work and return; the work reports through progress,
//! messages and events.

pub mod chat;
pub mod prompts;
pub mod sessions;
pub mod settings;
pub mod show;
pub mod turns;
