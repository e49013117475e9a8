//! The hazards of tower-lsp's own transport, one test each (a2, b1 …), and the E rows of the fault
//! catalogue, over OS pipes.

mod bad_frames;
pub(crate) mod client;
mod end;
mod order;
mod output;
mod requests;
