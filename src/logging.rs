//! Logs: a 0600 file in the state folder, warnings also on stderr; stdout carries only the protocol
//! (INV-10). `INTERLINE_LOG` sets the filter (`debug`, `interline::edit=trace`, …).

use std::fs::File;
use std::path::Path;
use std::sync::Mutex;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

use crate::env::{Env, private};

#[cfg(test)]
mod tests;

/// At startup a log larger than this is moved aside.
const ROTATE: u64 = 5 * 1024 * 1024;

/// rmcp's log lines quote MCP servers, which may send anything.
const SILENT: &str = "rmcp";

/// Starts logging. If the log cannot be written, Interline starts without it.
pub fn start(env: &Env, quiet: bool) {
    let filter = filter(env.var("INTERLINE_LOG").unwrap_or_default());
    let (file, refused) = match open(&env.log_path()) {
        Ok(file) => (Some(file), None),
        Err(error) => (None, Some(error)),
    };
    let file = file.map(|file| {
        fmt::layer()
            .json()
            .with_writer(Mutex::new(file))
            .with_filter(filter)
    });
    let level = match quiet {
        true => LevelFilter::ERROR,
        false => LevelFilter::WARN,
    };
    let warnings = Targets::new().with_default(level);
    let stderr = fmt::layer()
        .with_ansi(false)
        .without_time()
        .with_writer(|| crate::terminal::Complaints)
        .with_filter(warnings.with_target(SILENT, LevelFilter::OFF));
    // A second start in one process (tests) keeps the first subscriber.
    let _ = tracing_subscriber::registry()
        .with(file)
        .with(stderr)
        .try_init();
    if let Some(error) = refused {
        tracing::error!("cannot write the log file: {error}");
    }
    log_panics();
}

/// The filter of the log: levels and targets. The spans and fields of `EnvFilter` are promised
/// nowhere, and cost code.
fn filter(text: &str) -> Targets {
    let parts = text.split(',').map(str::trim).filter(|it| !it.is_empty());
    let parts: Vec<&str> = parts.collect();
    let chosen = match parts.is_empty() {
        true => None,
        false => parts.join(",").parse::<Targets>().ok(),
    };
    chosen
        .unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO))
        .with_target(SILENT, LevelFilter::OFF)
}

fn open(path: &Path) -> std::io::Result<File> {
    private::own_folder(path.parent().unwrap_or(Path::new(".")))?;
    if std::fs::symlink_metadata(path).is_ok_and(|meta| meta.len() > ROTATE) {
        let _ = std::fs::rename(path, path.with_extension("log.1"));
    }
    private::log_file(path)
}

/// Panics go to the log, without a payload that could hold a user's text beyond the message.
fn log_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info
            .location()
            .map_or_else(String::new, |at| format!("{}:{}", at.file(), at.line()));
        let message = info
            .payload()
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| info.payload().downcast_ref::<String>().cloned())
            .unwrap_or_default();
        tracing::error!(place, "panic: {message}");
    }));
}
