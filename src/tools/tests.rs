//! The tools on a real folder, a real mirror and an editor that does what it is told.

mod background;
pub(crate) mod bench;
mod commands;
mod delegation;
mod edits;
mod limits;
mod memories;
mod modes;
mod own;
mod plans;
mod projects;
mod questions;
mod reads;
mod settings;
mod shown;
mod skills;
mod texts;
