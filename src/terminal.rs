//! Door 3: `interline run`, a host that applies edits to files, and `interline demo`, an LSP
//! client in a box that drives our own binary.

pub mod client;
pub mod demo;
pub mod host;
pub mod run;
pub mod segments;

pub use demo::{DemoArgs, demo};
pub use run::{RunArgs, run};

pub use crate::session::export::checklist;

/// A line for a person. A reader that went away ends nothing here.
pub fn print(text: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}");
    let _ = out.flush();
}

/// A piece of a line, shown at once.
pub fn print_part(text: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}
