//! Stories: the real program over stdio, driven by a scripted editor and a reactive scripted
//! model over real HTTP. Timeouts, leftover messages and the comparison of buffers with the
//! server's mirror live in the harness; a story reads as a user would describe it.

mod editor;
mod fixture;
mod model;
mod text;

mod acp;
mod agents;
mod approvals;
mod background;
mod clients;
mod comments;
mod compactions;
mod contents;
mod delegation;
mod edits;
mod escapes;
mod foreign_logs;
mod gemini;
mod guards;
mod hazards;
mod hierarchy;
mod hostile_files;
mod layouts;
mod logins;
mod losses;
mod mcp;
mod memories;
mod modes;
mod nested;
mod oddities;
mod offered;
mod openai;
mod own;
mod plans;
mod prompts;
mod providers;
mod questions;
mod races;
mod recordings;
mod records;
mod reverts;
mod routing;
mod rules;
mod segments;
mod sessions;
mod settings;
mod summaries;
mod sums;
mod terminal;
mod transcripts;
mod turns;
mod web;
