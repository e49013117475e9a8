//! The hazards of tower-lsp's own transport, one test each (names: a2, b1 …), and the fault
//! catalogue's E rows, over OS pipes.

mod bad_frames;
mod end;
mod order;
mod output;
mod requests;
