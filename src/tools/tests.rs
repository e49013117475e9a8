//! The tools on a real folder, a real mirror and an obedient editor.

mod background;
pub(crate) mod bench;
mod commands;
mod delegation;
mod edits;
mod fixtures;
mod limits;
mod media;
mod memories;
mod modes;
mod patches;
mod plans;
mod projects;
mod questions;
mod reads;
pub(crate) mod schemas;
mod self_tools;
mod settings;
mod skills;
mod texts;
