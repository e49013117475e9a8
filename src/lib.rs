//! Interline: a coding agent that an editor starts like any language server.
//!
//! Rows of modules, top to bottom; a row uses only rows below it and never its neighbours
//! (`tests/tidy.rs` enforces it). ARCHITECTURE.md tells what each owns.

#[cfg(not(unix))]
compile_error!("Interline needs a Unix system: Linux, or macOS (never tried)");

pub mod cli;
pub mod logging;

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;

pub mod acp;
pub mod lsp;
pub mod terminal;

pub mod session;

pub mod agent;

pub mod mcp;

pub mod tools;

pub mod prompt;
pub mod provider;

pub mod knowledge;

pub mod edit;
pub mod languages;

pub mod host;

pub mod policy;

pub mod workspace;

pub mod http;
pub mod process;
pub mod rpc;

pub mod config;
pub mod conversation;
pub mod env;
pub mod secrets;
pub mod visible;
