//! A small LSP client over a child's stdin and stdout: frames, requests, and one text buffer per
//! document. The demo uses it to drive our own binary; it knows the wire, not the core.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use ropey::Rope;
use serde_json::{Value, json};

use crate::workspace::text::{self, Encoding};
use crate::workspace::{Position, Range};

/// No answer within this time means that something is broken.
const PATIENCE: Duration = Duration::from_secs(20);

/// A client and its buffers.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    frames: Receiver<Value>,
    next: i64,
    /// Frames that arrived while waiting for an answer.
    waiting: VecDeque<Value>,
    pub buffers: BTreeMap<String, Buffer>,
    /// Prints each frame.
    pub trace: bool,
}

/// An open document as this client shows it.
pub struct Buffer {
    pub text: Rope,
    pub version: i32,
}

impl Client {
    /// Starts `program lsp` in `folder` with a separate home.
    pub fn start(program: &Path, folder: &Path, home: &Path, trace: bool) -> anyhow::Result<Self> {
        let mut child = Command::new(program)
            .arg("lsp")
            .current_dir(folder)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_STATE_HOME", home.join("state"))
            .env("XDG_RUNTIME_DIR", home.join("run"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("the child has no stdout")?;
        let (send, frames) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            while let Ok(Some(frame)) = read_frame(&mut reader) {
                if send.send(frame).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            child,
            stdin,
            frames,
            next: 0,
            waiting: VecDeque::new(),
            buffers: BTreeMap::new(),
            trace,
        })
    }

    fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        if self.trace {
            super::print(&format!("→ {message}"));
        }
        let body = message.to_string();
        let stdin = self
            .stdin
            .as_mut()
            .context("the server's input is closed")?;
        write!(stdin, "Content-Length: {}\r\n\r\n{body}", body.len())?;
        stdin.flush()?;
        Ok(())
    }

    pub fn notify(&mut self, method: &str, params: Value) -> anyhow::Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    /// Answers one of the server's requests.
    pub fn answer(&mut self, id: &Value, result: Value) -> anyhow::Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    /// Sends a request and awaits its answer; other frames are queued for [`Client::incoming`].
    pub fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let frame = self.receive()?;
            if frame.get("method").is_none() && frame.get("id") == Some(&json!(id)) {
                if let Some(error) = frame.get("error") {
                    bail!(
                        "{method}: {}",
                        error["message"].as_str().unwrap_or("failed")
                    );
                }
                return Ok(frame.get("result").cloned().unwrap_or_default());
            }
            self.waiting.push_back(frame);
        }
    }

    /// The next request or notification of the server.
    pub fn incoming(&mut self) -> anyhow::Result<Value> {
        match self.waiting.pop_front() {
            Some(frame) => Ok(frame),
            None => self.receive(),
        }
    }

    fn receive(&mut self) -> anyhow::Result<Value> {
        let frame = self
            .frames
            .recv_timeout(PATIENCE)
            .map_err(|error| match error {
                RecvTimeoutError::Timeout => anyhow!("the server did not answer in {PATIENCE:?}"),
                RecvTimeoutError::Disconnected => anyhow!("the server ended unexpectedly"),
            })?;
        if self.trace {
            super::print(&format!("← {frame}"));
        }
        Ok(frame)
    }

    pub fn open(&mut self, uri: &str, language: &str, text: &str) -> anyhow::Result<()> {
        self.buffers.insert(
            uri.to_owned(),
            Buffer {
                text: Rope::from_str(text),
                version: 1,
            },
        );
        self.notify(
            "textDocument/didOpen",
            json!({"textDocument": {"uri": uri, "languageId": language, "version": 1, "text": text}}),
        )
    }

    /// Replaces bytes `start..end` of a buffer and notifies the server.
    pub fn change(&mut self, uri: &str, start: usize, end: usize, new: &str) -> anyhow::Result<()> {
        let buffer = self.buffers.get_mut(uri).context("no such buffer")?;
        let range = Range {
            start: text::position(&buffer.text, start, Encoding::Utf16),
            end: text::position(&buffer.text, end, Encoding::Utf16),
        };
        replace(&mut buffer.text, start, end, new);
        buffer.version += 1;
        let version = buffer.version;
        self.notify(
            "textDocument/didChange",
            json!({
                "textDocument": {"uri": uri, "version": version},
                "contentChanges": [{"range": range, "text": new}],
            }),
        )
    }

    /// Byte offset of a position in a buffer.
    pub fn offset(&self, uri: &str, position: &Value) -> anyhow::Result<usize> {
        let buffer = self.buffers.get(uri).context("no such buffer")?;
        let position: Position = serde_json::from_value(position.clone())?;
        Ok(text::offset(&buffer.text, position, Encoding::Utf16)?)
    }

    /// `shutdown`, `exit`, and the child's end.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        self.request("shutdown", Value::Null)?;
        self.notify("exit", Value::Null)?;
        self.stdin = None;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn replace(rope: &mut Rope, start: usize, end: usize, new: &str) {
    let (from, to) = (rope.byte_to_char(start), rope.byte_to_char(end));
    rope.remove(from..to);
    rope.insert(from, new);
}

fn read_frame(reader: &mut impl std::io::BufRead) -> anyhow::Result<Option<Value>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length:") {
            length = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}
