//! The floor: the smallest LSP-framed relay between a client and a model, on the crates that the
//! project uses. No agent, no mirror, no log, no checks. `parse` only parses incoming frames;
//! `read LISTING` reads and hashes the files and lists the folders that are named there, a line
//! each; `stat LISTING` asks for their state for each line of input.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Write, stdin, stdout};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (Some("parse"), _) => return parse(),
        (Some("read"), Some(listing)) => return read(&std::fs::read_to_string(listing)?),
        (Some("stat"), Some(listing)) => return stat(&std::fs::read_to_string(listing)?),
        _ => {}
    }
    let (sender, frames) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let mut input = BufReader::with_capacity(1 << 16, stdin());
        while let Ok(Some(body)) = frame(&mut input) {
            if sender.send(body).is_err() {
                break;
            }
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(serve(frames))
}

/// One digest of all files and of the names in all folders.
fn read(listing: &str) -> Result<(), Failure> {
    use sha2::Digest as _;
    let mut digest = sha2::Sha256::new();
    for path in listing.lines().map(Path::new) {
        if path.is_dir() {
            for entry in std::fs::read_dir(path)? {
                digest.update(entry?.file_name().as_encoded_bytes());
            }
        } else {
            digest.update(std::fs::read(path)?);
        }
    }
    writeln!(stdout(), "{:x?}", digest.finalize())?;
    Ok(())
}

fn stat(listing: &str) -> Result<(), Failure> {
    for line in stdin().lines() {
        line?;
        let mut bytes = 0;
        for path in listing.lines() {
            bytes += std::fs::symlink_metadata(path)?.len();
        }
        writeln!(stdout(), "{bytes}")?;
    }
    Ok(())
}

/// Parses every frame, answers requests with null.
fn parse() -> Result<(), Failure> {
    let mut input = BufReader::with_capacity(1 << 16, stdin());
    while let Some(body) = frame(&mut input)? {
        let message: Value = serde_json::from_slice(&body)?;
        if let Some(id) = message.get("id") {
            let mut out = Vec::new();
            put(
                &mut out,
                &json!({ "jsonrpc": "2.0", "id": id, "result": null }).to_string(),
            );
            write(&out)?;
        }
        if message["method"] == "exit" {
            break;
        }
    }
    Ok(())
}

fn frame(input: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim_end().strip_prefix("Content-Length: ") {
            Some(value) => length = value.parse().unwrap_or(0),
            None if line.trim_end().is_empty() => break,
            None => {}
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    Ok(Some(body))
}

fn put(out: &mut Vec<u8>, body: &str) {
    out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
    out.extend_from_slice(body.as_bytes());
}

fn write(out: &[u8]) -> std::io::Result<()> {
    let mut stdout = stdout().lock();
    stdout.write_all(out)?;
    stdout.flush()
}

async fn serve(mut frames: mpsc::UnboundedReceiver<Vec<u8>>) -> Result<(), Failure> {
    let mut client = None;
    while let Some(body) = frames.recv().await {
        let message: Value = serde_json::from_slice(&body)?;
        let method = message["method"].as_str().unwrap_or_default();
        if let Some(id) = message.get("id") {
            let result = match method {
                "initialize" => json!({ "capabilities": { "textDocumentSync": 2 } }),
                "interline/session/new" => json!({ "sessionId": "s" }),
                "interline/turn/start" => json!({ "turnId": "t", "state": "running" }),
                _ => Value::Null,
            };
            let mut out = Vec::new();
            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
            put(&mut out, &answer.to_string());
            write(&out)?;
        }
        match method {
            "interline/turn/start" => {
                let input = message["params"]["input"].clone();
                let client = match &client {
                    Some(client) => client,
                    None => client.insert(connect()?),
                };
                tokio::spawn(turn(client.clone(), input));
            }
            "exit" => break,
            _ => {}
        }
    }
    Ok(())
}

fn connect() -> Result<reqwest::Client, Failure> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Ok(reqwest::Client::builder().build()?)
}

async fn turn(client: reqwest::Client, input: Value) {
    let mut relay = Relay::default();
    let outcome = relay.run(&client, input).await;
    let reason = if outcome.is_ok() { "endTurn" } else { "error" };
    relay.notify("ended", &format!("\"stopReason\":\"{reason}\""));
    let _ = write(&relay.out);
}

/// As much of a stream's event as the relay needs.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    content_block: Option<Block<'a>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    partial_json: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
}

#[derive(Default)]
struct Relay {
    out: Vec<u8>,
    seq: u64,
    text: String,
    call: Option<(String, String)>,
    arguments: String,
}

impl Relay {
    fn notify(&mut self, kind: &str, rest: &str) {
        self.seq += 1;
        let seq = self.seq;
        let body = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"interline/turn/{kind}\",\"params\":{{\"sessionId\":\"s\",\
             \"turnId\":\"t\",\"seq\":{seq},{rest}}}}}"
        );
        put(&mut self.out, &body);
    }

    async fn run(&mut self, client: &reqwest::Client, input: Value) -> Result<(), Failure> {
        let base = std::env::var("ANTHROPIC_BASE_URL")?;
        let url = format!("{base}/v1/messages");
        let key = std::env::var("ANTHROPIC_API_KEY")?;
        self.notify("started", "\"origin\":\"client\"");
        let mut messages = vec![json!({ "role": "user", "content": input })];
        loop {
            let body = json!({ "model": "claude-opus-5-5", "max_tokens": 32000, "stream": true,
                "system": "x".repeat(12_000), "messages": messages });
            let request = client
                .post(&url)
                .header("x-api-key", &key)
                .header("anthropic-version", "2023-06-01")
                .header("content-type", "application/json")
                .body(body.to_string());
            self.stream(request.send().await?).await?;
            let Some((id, name)) = self.call.take() else {
                return Ok(());
            };
            let arguments: Value = serde_json::from_str(&self.arguments)?;
            self.arguments.clear();
            let path = arguments["path"].as_str().unwrap_or_default();
            let text = std::fs::read_to_string(path)?;
            messages.push(json!({ "role": "assistant", "content": [
                { "type": "tool_use", "id": id, "name": name, "input": arguments }] }));
            messages.push(json!({ "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": id, "content": text }] }));
        }
    }

    async fn stream(&mut self, mut answer: reqwest::Response) -> Result<(), Failure> {
        let mut buffer: Vec<u8> = Vec::new();
        while let Some(bytes) = answer.chunk().await? {
            buffer.extend_from_slice(&bytes);
            let mut start = 0;
            while let Some(length) = find(&buffer[start..]) {
                let event = start..start + length;
                start += length + 2;
                self.event(&buffer[event])?;
            }
            buffer.drain(..start);
            write(&self.out)?;
            self.out.clear();
        }
        if !self.text.is_empty() {
            let text = serde_json::to_string(&std::mem::take(&mut self.text))?;
            self.notify(
                "event",
                &format!("\"event\":{{\"type\":\"text\",\"itemId\":\"i\",\"text\":{text}}}"),
            );
        }
        Ok(())
    }

    fn event(&mut self, lines: &[u8]) -> Result<(), Failure> {
        let Some(at) = lines.windows(6).position(|window| window == b"data: ") else {
            return Ok(());
        };
        let event: Event = serde_json::from_slice(&lines[at + 6..])?;
        match (event.kind.as_ref(), event.delta, event.content_block) {
            (
                "content_block_start",
                _,
                Some(Block {
                    id: Some(id),
                    name: Some(name),
                }),
            ) => {
                self.call = Some((id.into_owned(), name.into_owned()));
            }
            (
                "content_block_delta",
                Some(Delta {
                    text: Some(text), ..
                }),
                _,
            ) => {
                self.text.push_str(&text);
                let text = serde_json::to_string(&text)?;
                let event = format!(
                    "\"event\":{{\"type\":\"textDelta\",\"itemId\":\"i\",\"text\":{text}}}"
                );
                self.notify("event", &event);
            }
            (
                "content_block_delta",
                Some(Delta {
                    partial_json: Some(part),
                    ..
                }),
                _,
            ) => {
                self.arguments.push_str(&part);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Bytes before the next blank line.
fn find(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(n) = bytes[at..].iter().position(|byte| *byte == b'\n') {
        at += n;
        if bytes.get(at + 1) == Some(&b'\n') {
            return Some(at);
        }
        at += 1;
    }
    None
}
