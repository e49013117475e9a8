//! The tools on a real folder, a real mirror and an editor that does what it is told.

pub(super) mod bench;
mod commands;
mod edits;
mod memories;
mod modes;
mod plans;
mod questions;
mod reads;
mod skills;
mod texts;
