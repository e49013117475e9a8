//! `interline lsp --record FILE`: every frame as one line of JSON, secrets removed, written by a
//! thread of its own so that the transport is not slowed down.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};

use crate::rpc::Direction;

/// Fields whose values are never written.
const SECRET: [&str; 6] = [
    "secret",
    "authorization",
    "x-api-key",
    "x-goog-api-key",
    "apikey",
    "headers",
];

/// Creates the file (for its owner only) and the tap that fills it.
pub fn start(path: &Path) -> std::io::Result<impl Fn(Direction, &str) + Send + Sync + 'static> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let file = options.open(path)?;
    let (send, frames) = channel();
    std::thread::Builder::new()
        .name("lsp-record".to_owned())
        .spawn(move || write(file, &frames))?;
    Ok(tap(send))
}

fn tap(send: Sender<(Direction, String)>) -> impl Fn(Direction, &str) + Send + Sync + 'static {
    move |direction, text| {
        // Fails only when the disk is full, which the writer has logged.
        let _ = send.send((direction, text.to_owned()));
    }
}

fn write(file: File, frames: &Receiver<(Direction, String)>) {
    let mut out = BufWriter::new(file);
    while let Ok((direction, text)) = frames.recv() {
        let written = writeln!(out, "{}", line(direction, &text)).and_then(|()| out.flush());
        if let Err(error) = written {
            tracing::error!(%error, "the recording ends here");
            return;
        }
    }
}

/// One line of the recording.
pub fn line(direction: Direction, text: &str) -> Value {
    let direction = match direction {
        Direction::In => "in",
        Direction::Out => "out",
    };
    match serde_json::from_str::<Value>(text) {
        Ok(mut frame) => {
            redact(&mut frame);
            json!({ "direction": direction, "frame": frame })
        }
        // Text that is no JSON cannot be searched for secrets.
        Err(_) => json!({ "direction": direction, "unreadable": text.len() }),
    }
}

fn redact(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                if SECRET.contains(&name.to_ascii_lowercase().as_str()) {
                    *value = Value::from("(removed)");
                } else {
                    redact(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
