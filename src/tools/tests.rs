//! The tools on a real folder, a real mirror and an obedient editor.

mod background;
pub(crate) mod bench;
mod commands;
mod delegation;
mod edits;
mod limits;
mod media;
mod memories;
mod modes;
mod plans;
mod projects;
mod questions;
mod reads;
mod self_tools;
mod settings;
mod skills;
mod texts;
