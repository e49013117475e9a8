//! `--record FILE`: frames and model streams without secrets, one JSON text per line, in the format
//! that `replay` plays. A thread writes them, so that nothing waits for the disk. The size is
//! bounded, and the last line says how the recording ended. Prompts are never recorded, only the
//! digest of a request and what a replay compares.

pub mod scrub;
mod streams;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::conversation::Request;
use crate::env::Env;
use crate::rpc::Direction;
use scrub::Scrubber;
pub use streams::{Recorded, Stream, Taking, current, position};

/// The most bytes that one process writes.
const MOST: u64 = 64 << 20;

/// How long writing the last lines may take.
const LAST: Duration = Duration::from_secs(1);

/// A recording in progress. Cheap to clone.
#[derive(Clone)]
pub struct Recording {
    shared: Arc<Shared>,
}

struct Shared {
    lines: Mutex<Sender<Line>>,
    scrubber: Arc<Scrubber>,
    /// The number of the last request.
    number: AtomicU64,
    began: Instant,
}

enum Line {
    Frame(Direction, String),
    Entry(Value),
    End(SyncSender<()>),
}

impl Recording {
    /// Creates the file, for its owner only, or appends to it.
    pub fn start(path: &Path, env: &Env) -> std::io::Result<Self> {
        Self::with_limit(path, env, MOST)
    }

    fn with_limit(path: &Path, env: &Env, limit: u64) -> std::io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600);
        let file = options.open(path)?;
        let (lines, received) = channel();
        let scrubber = Arc::new(Scrubber::new(env));
        let known = Arc::clone(&scrubber);
        std::thread::Builder::new()
            .name("record".to_owned())
            .spawn(move || write(file, &received, &known, limit))?;
        let recording = Self {
            shared: Arc::new(Shared {
                lines: Mutex::new(lines),
                scrubber,
                number: AtomicU64::new(0),
                began: Instant::now(),
            }),
        };
        recording.entry(json!({
            "interline": "replay",
            "version": 1,
            "program": concat!("interline ", env!("CARGO_PKG_VERSION")),
        }));
        Ok(recording)
    }

    /// The transport calls it with each frame.
    pub fn tap(&self) -> impl Fn(Direction, &str) + Send + Sync + 'static {
        let recording = self.clone();
        move |direction, text| recording.send(Line::Frame(direction, text.to_owned()))
    }

    /// Removes `value` from all lines from now on.
    pub fn hide(&self, value: &str) {
        self.shared.scrubber.hide(value);
    }

    /// A request that the provider `name` is about to send, in the format `api`.
    pub fn taking(&self, api: &str, name: &str, request: &Request) -> Arc<Taking> {
        Arc::new(Taking::new(self.clone(), api, name, request))
    }

    /// Writes the queued lines and the last one. Nothing is recorded after it.
    pub fn finish(&self) {
        let (done, wait) = sync_channel(1);
        self.send(Line::End(done));
        if wait.recv_timeout(LAST).is_err() {
            tracing::warn!("could not finish the recording in time");
        }
    }

    fn next(&self) -> u64 {
        self.shared.number.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Milliseconds since the recording began.
    fn now(&self) -> u64 {
        u64::try_from(self.shared.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn scrubber(&self) -> &Scrubber {
        &self.shared.scrubber
    }

    fn entry(&self, value: Value) {
        self.send(Line::Entry(value));
    }

    fn send(&self, line: Line) {
        let lines = self.shared.lines.lock();
        // Fails only after the end, or when the disk is full, which the writer has logged.
        let _ = lines.send(line);
    }
}

fn write(file: File, lines: &Receiver<Line>, scrubber: &Scrubber, limit: u64) {
    let mut out = BufWriter::new(file);
    let mut written = 0;
    while let Ok(line) = lines.recv() {
        let (text, done) = match line {
            Line::Frame(direction, text) => (frame(direction, &text, scrubber).to_string(), None),
            Line::Entry(value) => (value.to_string(), None),
            Line::End(done) => (json!({ "ended": "closed" }).to_string(), Some(done)),
        };
        written += text.len() as u64 + 1;
        let full = written > limit && done.is_none();
        let text = match full {
            true => json!({ "ended": "limit", "bytes": limit }).to_string(),
            false => text,
        };
        let wrote = writeln!(out, "{text}").and_then(|()| out.flush());
        if let Err(error) = &wrote {
            tracing::error!(%error, "the recording ends here");
        }
        if let Some(done) = done {
            let _ = done.send(());
        } else if full {
            tracing::warn!(limit, "the recording is full and ends here");
        } else if wrote.is_ok() {
            continue;
        }
        return;
    }
}

/// One frame as a line.
fn frame(direction: Direction, text: &str, scrubber: &Scrubber) -> Value {
    let direction = match direction {
        Direction::In => "in",
        Direction::Out => "out",
    };
    match serde_json::from_str::<Value>(text) {
        Ok(mut frame) => {
            scrubber.scrub(&mut frame);
            if let Some(params) = frame.get_mut("params") {
                without_pieces(params);
            }
            json!({ "direction": direction, "frame": frame })
        }
        // Text that is not JSON cannot be searched for fields that carry secrets.
        Err(_) => json!({ "direction": direction, "unreadable": text.len() }),
    }
}

/// Each piece of a streamed text could contain a part of a secret. The recorded stream of the model
/// has the text as well, and is searched as a whole.
fn without_pieces(params: &mut Value) {
    let delta = params["event"]["type"]
        .as_str()
        .is_some_and(|kind| kind.ends_with("Delta"));
    let chunk = params["update"]["sessionUpdate"]
        .as_str()
        .is_some_and(|kind| kind.starts_with("agent_") && kind.ends_with("_chunk"));
    let text = match (delta, chunk) {
        (true, _) => &mut params["event"]["text"],
        (_, true) => &mut params["update"]["content"]["text"],
        _ => return,
    };
    if let Some(length) = text.as_str().map(|text| text.chars().count()) {
        *text = format!("({length} characters)").into();
    }
}
