//! The entry points of the fuzz targets in `fuzz/`, and the models and scripts that they compare
//! the parsers with. Property tests run the same functions. Compiled for tests and with the feature
//! `fuzzing` only; production code never imports it.

pub mod acp;
pub mod answers;
mod bytes;
pub mod changes;
pub mod commands;
pub mod edits;
pub mod frames;
pub mod log;
pub mod reviews;
pub mod script;
pub mod sse;
#[cfg(test)]
mod tests;
pub mod wire;

pub use acp::fuzz_messages;
pub use answers::{
    decode_all, fuzz_anthropic, fuzz_gemini, fuzz_openai_chat, fuzz_openai_responses,
};
pub use changes::fuzz_changes;
pub use commands::fuzz_commands;
pub use edits::{fuzz_matching, fuzz_patches};
pub use frames::fuzz_frames;
pub use log::fuzz_log;
pub use reviews::{fuzz_rebase, fuzz_review};
pub use sse::fuzz_sse;

/// The data in two halves, and in pieces of a size that the data itself decides.
pub fn splits(data: &[u8]) -> [Vec<&[u8]>; 2] {
    let (first, second) = data.split_at(data.len() / 2);
    let sum: usize = data.iter().map(|byte| usize::from(*byte)).sum();
    [vec![first, second], data.chunks(1 + sum % 13).collect()]
}
