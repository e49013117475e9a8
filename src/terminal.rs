//! Door 3: `interline run`, a host that applies edits to files, and `interline demo`, an LSP
//! client that drives our own binary.

pub mod client;
pub mod demo;
pub mod host;
pub mod markdown;
pub mod markup;
pub mod run;
pub mod screen;
pub mod segments;
pub mod stream;
pub mod table;

pub use demo::{DemoArgs, demo};
pub use run::{RunArgs, run};

pub use crate::session::export::checklist;

use std::io::{IsTerminal as _, Write};
use std::path::Path;
use std::sync::Arc;

use crate::conversation::{Failure, FailureKind};
use crate::provider::registry::NO_KEY;
use crate::visible;
use crate::workspace::{Root, Uri, Workspace};
use markdown::Look;
use markup::{PLAIN, Span};

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

/// Lines of which only their styles and our own codes control the terminal.
pub fn print_lines(lines: &[markup::Line]) {
    let styles = look().is_some_and(|look| look.styles);
    let mut text = String::new();
    for line in lines {
        text.push_str(&line.paint(styles));
        text.push('\n');
    }
    draw(&text);
}

/// A paragraph, wrapped on a terminal.
pub fn print_wrapped(text: &str) {
    match look() {
        Some(look) => print_lines(&markup::wrapped("", text, PLAIN, look.width)),
        None => print(text),
    }
}

/// Text and codes for a terminal, made by `screen`.
fn draw(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

/// The same on standard error.
fn draw_beside(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// JSON text: characters that control a terminal or hide are JSON escapes, so every reader
/// gets the same values.
pub fn print_json(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{}", visible::json(text));
    let _ = out.flush();
}

/// A line on standard error, next to the output; wrapped on a terminal.
pub fn complain(text: &str) {
    let width = complaints_are_seen().then(columns);
    let text = match width.flatten() {
        Some(width) => {
            let (name, none) = (Span::new("interline: ", PLAIN), Span::new("", PLAIN));
            let lines = markup::wrap(&[Span::new(text, PLAIN)], &name, &none, width);
            let lines: Vec<String> = lines.iter().map(|line| line.paint(false)).collect();
            lines.join("\n")
        }
        None => format!("interline: {}", visible::prose(text)),
    };
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// What failed and what to do. Without a key: two lines, with the command to run.
pub fn failure(failure: &Failure) -> String {
    if failure.kind == FailureKind::NoModel && failure.message == NO_KEY {
        return "No API key found. Run: interline login anthropic\n\
                Or openai, gemini; docs/models.md lists other ways."
            .to_owned();
    }
    failure.sentences()
}

/// The columns of the terminal at one of the standard streams, or else `COLUMNS`.
pub fn columns() -> Option<usize> {
    let of = |found: rustix::io::Result<rustix::termios::Winsize>| {
        found.ok().map(|size| usize::from(size.ws_col))
    };
    let sizes = [
        of(rustix::termios::tcgetwinsize(std::io::stdout())),
        of(rustix::termios::tcgetwinsize(std::io::stderr())),
    ];
    let named = || std::env::var("COLUMNS").ok()?.parse().ok();
    let found = sizes.into_iter().flatten().find(|columns| *columns > 0);
    found.or_else(named).map(|columns: usize| columns.max(20))
}

/// How text is shown if standard output is a terminal; `None` if it is not.
pub fn look() -> Option<Look> {
    let out = std::io::stdout();
    out.is_terminal().then(|| Look {
        width: columns().unwrap_or(80),
        styles: anstream::AutoStream::choice(&out) != anstream::ColorChoice::Never,
    })
}

/// Standard error is a terminal.
fn complaints_are_seen() -> bool {
    std::io::stderr().is_terminal()
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
