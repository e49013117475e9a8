//! A model's answer as it arrived: pieces with their times, and what a replay compares of the
//! request. The transport finds the current request in a task-local, so that the wire formats do
//! not know about recordings.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::Recording;
use super::scrub::{MARK, Scrubber};
use crate::conversation::{Block, Message, Request, Role, sha256};
use crate::provider::{Batch, Body, Provider, ProviderError};

/// The most bytes of one answer.
const MOST: usize = 8 << 20;

/// The most bytes of a refusal.
const REFUSAL: usize = 4 << 10;

/// Characters of the user's message that a replay compares.
const COMPARED: usize = 160;

tokio::task_local! {
    static TAKING: Arc<Taking>;
}

/// The request that this task is sending, if it is recorded.
pub fn current() -> Option<Arc<Taking>> {
    TAKING.try_with(Arc::clone).ok()
}

/// A provider whose answers are recorded.
pub struct Recorded {
    inner: Arc<dyn Provider>,
    api: String,
    recording: Recording,
}

impl Recorded {
    pub fn new(inner: Arc<dyn Provider>, api: &str, recording: Recording) -> Self {
        Self {
            inner,
            api: api.to_owned(),
            recording,
        }
    }
}

#[async_trait]
impl Provider for Recorded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn documents(&self) -> bool {
        self.inner.documents()
    }

    fn body(&self, request: &Request) -> Body {
        self.inner.body(request)
    }

    async fn stream(
        &self,
        request: &Request,
        body: Bytes,
    ) -> Result<BoxStream<'static, Batch>, ProviderError> {
        let taking = self.recording.taking(&self.api, self.name(), request);
        TAKING.scope(taking, self.inner.stream(request, body)).await
    }
}

/// One request, which may be sent more than once.
pub struct Taking {
    recording: Recording,
    api: String,
    model: String,
    at: Value,
    expect: Value,
    /// The number of the last attempt.
    number: AtomicU64,
}

impl Taking {
    pub(super) fn new(recording: Recording, api: &str, name: &str, request: &Request) -> Self {
        let mut expect = expected(request, recording.scrubber());
        recording.scrubber().scrub(&mut expect);
        Self {
            api: api.to_owned(),
            model: format!("{name}/{}", request.model),
            at: position(&request.messages),
            expect,
            recording,
            number: AtomicU64::new(0),
        }
    }

    /// Removes `value` from all lines from now on.
    pub fn hide(&self, value: &str) {
        self.recording.hide(value);
    }

    /// The body is being sent.
    pub fn sent(&self, body: &[u8]) {
        let number = self.recording.next();
        self.number.store(number, Ordering::SeqCst);
        self.recording.entry(json!({
            "sent": {
                "n": number,
                "ms": self.recording.now(),
                "api": self.api,
                "model": self.model,
                "sha256": sha256(body),
                "bytes": body.len(),
            }
        }));
    }

    /// The answer is not a stream.
    pub fn refused(&self, status: u16, body: &str) {
        let clean = self.recording.scrubber().scrubbed(body);
        let mut body = clean.unwrap_or_else(|| body.to_owned());
        let mut end = body.len().min(REFUSAL);
        while !body.is_char_boundary(end) {
            end -= 1;
        }
        body.truncate(end);
        self.recording.entry(json!({
            "refused": {
                "n": self.number.load(Ordering::SeqCst),
                "ms": self.recording.now(),
                "status": status,
                "body": body,
            }
        }));
    }

    /// The answer's stream begins.
    pub fn stream(self: &Arc<Self>) -> Stream {
        Stream {
            taking: Arc::clone(self),
            number: self.number.load(Ordering::SeqCst),
            began: self.recording.now(),
            raw: Mutex::default(),
        }
    }
}

/// An answer that is arriving. Dropping it writes it.
pub struct Stream {
    taking: Arc<Taking>,
    number: u64,
    began: u64,
    raw: Mutex<Raw>,
}

#[derive(Default)]
struct Raw {
    bytes: Vec<u8>,
    /// Milliseconds, and the end in `bytes`.
    marks: Vec<(u64, usize)>,
    full: bool,
    end: Option<&'static str>,
}

impl Stream {
    pub fn chunk(&self, bytes: &[u8]) {
        let mut raw = self.raw.lock();
        if raw.bytes.len() + bytes.len() > MOST {
            raw.full = true;
            return;
        }
        raw.bytes.extend_from_slice(bytes);
        let mark = (
            self.taking.recording.now().saturating_sub(self.began),
            raw.bytes.len(),
        );
        raw.marks.push(mark);
    }

    /// The answer is complete (`whole`) or broken off (`cut`). Without this it was dropped.
    pub fn end(&self, how: &'static str) {
        let mut raw = self.raw.lock();
        raw.end.get_or_insert(how);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let raw = std::mem::take(self.raw.get_mut());
        let (pieces, kept) = pieces(&raw, self.taking.recording.scrubber());
        let end = match (kept, raw.full) {
            (false, _) => "secret",
            (_, true) => "limit",
            _ => raw.end.unwrap_or("dropped"),
        };
        let taking = &self.taking;
        taking.recording.entry(json!({
            "n": self.number,
            "api": taking.api,
            "model": taking.model,
            "at": taking.at,
            "expect": taking.expect,
            "stream": pieces,
            "end": end,
        }));
    }
}

/// The pieces of an answer as `[ms, text]`. False: a secret is spread over several pieces, so
/// nothing of the answer is recorded.
fn pieces(raw: &Raw, scrubber: &Scrubber) -> (Vec<Value>, bool) {
    let whole = String::from_utf8_lossy(&raw.bytes);
    if let Some(clean) = scrubber.scrubbed(&whole) {
        if has_spread_secret(&clean, scrubber) {
            return (Vec::new(), false);
        }
        let last = raw.marks.last().map_or(0, |mark| mark.0);
        return (vec![json!([last, clean])], true);
    }
    if has_spread_secret(&whole, scrubber) {
        return (Vec::new(), false);
    }
    let mut pieces = Vec::with_capacity(raw.marks.len());
    let mut start = 0;
    for (n, (ms, end)) in raw.marks.iter().enumerate() {
        // A character may arrive in two parts.
        let mut end = *end;
        while n + 1 < raw.marks.len() && !is_boundary(&raw.bytes, end) && end > start {
            end -= 1;
        }
        let text = String::from_utf8_lossy(&raw.bytes[start..end]);
        pieces.push(json!([ms, text]));
        start = end;
    }
    (pieces, true)
}

/// Whether a character begins at `at`.
fn is_boundary(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|byte| byte & 0xC0 != 0x80)
}

/// Whether a secret is in the strings of the events, joined by field as a client joins them.
fn has_spread_secret(text: &str, scrubber: &Scrubber) -> bool {
    let mut joined = std::collections::BTreeMap::new();
    for line in text.lines() {
        let data = line.strip_prefix("data:").unwrap_or_default();
        if let Ok(event) = serde_json::from_str::<Value>(data.trim()) {
            join(&event, "", &mut joined);
        }
    }
    joined
        .values()
        .any(|text| scrubber.scrubbed(text).is_some())
}

fn join(value: &Value, name: &str, joined: &mut std::collections::BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| join(value, name, joined)),
        Value::Array(items) => items.iter().for_each(|item| join(item, name, joined)),
        Value::String(text) => joined.entry(name.to_owned()).or_default().push_str(text),
        _ => {}
    }
}

/// Identifies a conversation and the position in it: the digest of its first message, and the
/// number of answers.
pub fn position(messages: &[Message]) -> Value {
    let first = messages.first().and_then(first_text).unwrap_or_default();
    let answers = messages
        .iter()
        .filter(|message| message.role == Role::Assistant);
    json!({ "first": &sha256(first.as_bytes())[..16], "answers": answers.count() })
}

/// The first text of a message, which is what the user wrote.
pub fn first_text(message: &Message) -> Option<&str> {
    message.content.iter().find_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        _ => None,
    })
}

/// What a replay compares (`expect`).
fn expected(request: &Request, scrubber: &Scrubber) -> Value {
    let mut expect = json!({});
    let last = request
        .messages
        .iter()
        .rfind(|message| message.role == Role::User);
    let Some(last) = last else { return expect };
    let calls: Vec<(&str, &str)> = request
        .messages
        .iter()
        .flat_map(Message::tool_uses)
        .map(|(id, name, _)| (id, name))
        .collect();
    let results: Vec<Value> = last
        .content
        .iter()
        .filter_map(|block| match block {
            Block::ToolResult {
                tool_use_id,
                is_error,
                ..
            } => {
                let (_, name) = calls.iter().rfind(|(id, _)| id == tool_use_id)?;
                Some(json!({ "name": name, "isError": is_error }))
            }
            _ => None,
        })
        .collect();
    if results.is_empty() {
        if let Some(text) = first_text(last) {
            let cut: String = text.chars().take(COMPARED).collect();
            // Up to the first secret.
            let clean = scrubber.scrubbed(&cut);
            let shown = match &clean {
                Some(clean) => clean.split(MARK).next().unwrap_or_default(),
                None => &cut,
            };
            expect["lastUserContains"] = shown.into();
        }
    } else {
        expect["toolResults"] = results.into();
    }
    let tools: Vec<&str> = request
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    if !tools.is_empty() {
        expect["offers"] = tools.into();
    }
    expect
}
