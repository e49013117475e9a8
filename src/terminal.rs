//! Door 3: `interline run`, a host that applies edits to files, and `interline demo`, an LSP
//! client that drives our own binary.

pub mod client;
pub mod demo;
pub mod host;
pub mod run;
pub mod segments;

pub use demo::{DemoArgs, demo};
pub use run::{RunArgs, run};

pub use crate::session::export::checklist;

use std::io::{IsTerminal as _, Write};
use std::path::Path;
use std::sync::Arc;

use crate::visible;
use crate::workspace::{Root, Uri, Workspace};

/// A line of output. Nothing in it controls the terminal or hides. A closed reader ends
/// nothing here.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{}", visible::prose(text));
    let _ = out.flush();
}

/// A piece of a line, shown at once.
pub fn print_part(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(visible::prose(text).as_bytes());
    let _ = out.flush();
}

/// JSON text: characters that control a terminal or hide are JSON escapes, so every reader
/// gets the same values.
pub fn print_json(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{}", visible::json(text));
    let _ = out.flush();
}

/// A line on standard error, next to the output.
pub fn complain(text: &str) {
    let _ = writeln!(
        std::io::stderr().lock(),
        "interline: {}",
        visible::prose(text)
    );
}

/// A workspace of one folder.
pub fn workspace_of(folder: &Path) -> Arc<Workspace> {
    let workspace = Workspace::new();
    let root = Root::new(Uri::from_path(folder), None);
    workspace.set_roots(root.into_iter().collect());
    workspace
}

/// The user reads the output and can answer.
pub fn interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Standard error for lines of the log.
#[derive(Clone, Copy, Debug, Default)]
pub struct Complaints;

impl Write for Complaints {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = visible::prose(&String::from_utf8_lossy(bytes));
        std::io::stderr().lock().write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().lock().flush()
    }
}
