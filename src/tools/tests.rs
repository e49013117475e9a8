//! The tools on a real folder, a real mirror and an editor that does what it is told.

pub(super) mod bench;
mod commands;
mod edits;
mod plans;
mod reads;
mod skills;
mod texts;
