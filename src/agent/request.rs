//! From a conversation, its surroundings and the user's input to the next request. Turns and
//! previews share it.

pub mod attachments;
pub mod compose;
pub mod context;
pub mod draft;
pub mod facts;
pub mod language_tools;
pub mod mcp_tools;
pub mod nested_instructions;
pub mod reviewed;
pub mod transform_hook;
