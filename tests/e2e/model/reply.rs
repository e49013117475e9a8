//! What the scripted model answers, and its form on the wire.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::RequestView;
use super::check::signature;
use super::openai::{self, Wire};

/// Holds an answer back until the story opens it.
#[derive(Clone, Default)]
pub struct Gate(Arc<AtomicBool>);

impl Gate {
    pub fn open(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub fn is_open(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Where the connection breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    Never,
    BeforeHead,
    /// After so many bytes of the body, without the last chunk.
    After(usize),
}

/// One answer. Blocks become the event stream; `raw` is sent as it is.
#[derive(Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub blocks: Vec<Value>,
    pub stop_reason: String,
    pub cut: Cut,
    /// Bytes per chunk; none: one chunk.
    pub piece: Option<usize>,
    /// Characters per delta.
    pub delta: usize,
    pub before: Option<Gate>,
    /// A gate in the middle of the body, at this byte.
    pub midway: Option<(usize, Gate)>,
    raw: Option<Vec<u8>>,
    /// Tokens that it reports for its request.
    tokens: u64,
    /// The number of the request that it answers.
    number: Option<usize>,
    /// The format of that request.
    wire: Wire,
}

impl Reply {
    fn new(blocks: Vec<Value>, stop_reason: &str) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type".into(), "text/event-stream".into())],
            blocks,
            stop_reason: stop_reason.into(),
            cut: Cut::Never,
            piece: None,
            delta: 7,
            before: None,
            midway: None,
            raw: None,
            tokens: 3120,
            number: None,
            wire: Wire::default(),
        }
    }

    pub fn text(text: &str) -> Self {
        Self::new(vec![json!({ "type": "text", "text": text })], "end_turn")
    }

    pub fn call(tool: &str, input: Value) -> Self {
        Self::new(Vec::new(), "tool_use").and_call(tool, input)
    }

    pub fn read(path: &str) -> Self {
        Self::call("read", json!({ "path": path }))
    }

    pub fn edit(path: &str, old: &str, new: &str) -> Self {
        let input = json!({ "path": path, "old_string": old, "new_string": new });
        Self::call("edit", input)
    }

    pub fn exec(command: &str) -> Self {
        Self::call("exec", json!({ "command": command }))
    }

    /// Another call in the same message.
    pub fn and_call(mut self, tool: &str, input: Value) -> Self {
        let block = json!({ "type": "tool_use", "id": "", "name": tool, "input": input });
        self.blocks.push(block);
        self.stop_reason = "tool_use".into();
        self
    }

    /// A thinking block in front; its signature is bound to the request.
    pub fn thinking(mut self, text: &str) -> Self {
        let block = json!({ "type": "thinking", "thinking": text, "signature": "" });
        self.blocks.insert(0, block);
        self
    }

    /// Text in front of what is there.
    pub fn saying(mut self, text: &str) -> Self {
        let at = usize::from(!self.blocks.is_empty() && self.blocks[0]["type"] == "thinking");
        let block = json!({ "type": "text", "text": text });
        self.blocks.insert(at, block);
        self
    }

    pub fn stopping(mut self, reason: &str) -> Self {
        self.stop_reason = reason.into();
        self
    }

    /// Reports that the request had so many tokens.
    pub fn counting(mut self, tokens: u64) -> Self {
        self.tokens = tokens;
        self
    }

    /// The refusal of a request that is too long.
    pub fn too_long() -> Self {
        let words = "prompt is too long: 1200000 tokens > 1000000 maximum";
        Self::error(400, "invalid_request_error", words)
    }

    /// An error answer in the API's form.
    pub fn error(status: u16, kind: &str, message: &str) -> Self {
        let body = json!({ "type": "error", "error": { "type": kind, "message": message } });
        Self::raw(status, "application/json", body.to_string().into_bytes())
    }

    pub fn unauthorized() -> Self {
        Self::error(401, "authentication_error", "invalid x-api-key")
    }

    pub fn rate_limited(retry_after: &str) -> Self {
        Self::error(429, "rate_limit_error", "slow down").header("retry-after", retry_after)
    }

    pub fn overloaded() -> Self {
        Self::error(529, "overloaded_error", "Overloaded")
    }

    /// A rate limit as OpenAI reports it; over at once.
    pub fn limited() -> Self {
        let body = json!({ "error": { "message": "Rate limit reached", "type": "requests",
            "param": null, "code": "rate_limit_exceeded" } });
        let body = body.to_string().into_bytes();
        Self::raw(429, "application/json", body).header("retry-after-ms", "5")
    }

    pub fn html() -> Self {
        let page = "<!doctype html><title>Sign in</title>";
        Self::raw(200, "text/html", page.as_bytes().to_vec())
    }

    pub fn raw(status: u16, content_type: &str, body: Vec<u8>) -> Self {
        let mut reply = Self::new(Vec::new(), "");
        reply.status = status;
        reply.headers = vec![("content-type".into(), content_type.into())];
        reply.raw = Some(body);
        reply
    }

    /// The answer to an invalid request: a 400 that is never retried.
    pub fn violation(what: &str) -> Self {
        Self::error(400, "invalid_request_error", what)
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.cut = Cut::After(bytes);
        self
    }

    pub fn cut_before_head(mut self) -> Self {
        self.cut = Cut::BeforeHead;
        self
    }

    /// The body in chunks of so many bytes.
    pub fn in_pieces(mut self, bytes: usize) -> Self {
        self.piece = Some(bytes);
        self
    }

    pub fn after(mut self, gate: &Gate) -> Self {
        self.before = Some(gate.clone());
        self
    }

    /// Stops in the middle of the body until the gate opens.
    pub fn pausing(mut self, gate: &Gate) -> Self {
        self.midway = Some((self.body().len() / 2, gate.clone()));
        self
    }

    pub fn request(&self) -> Option<usize> {
        self.number
    }

    /// Whether the client can have received all of it.
    pub fn complete(&self) -> bool {
        self.raw.is_none() && self.cut == Cut::Never
    }

    /// Gives ids to the calls and signatures to the thinking, as an answer to `request`.
    pub fn signed(mut self, request: &RequestView) -> Self {
        self.number = Some(request.n);
        self.wire = request.wire;
        for (at, block) in self.blocks.iter_mut().enumerate() {
            match block["type"].as_str() {
                Some("tool_use") if block["id"] == "" => {
                    block["id"] = format!("toolu_{}_{at}", request.n).into();
                }
                Some("thinking") if self.wire != Wire::Messages => {
                    let text = block["thinking"].as_str().unwrap_or_default();
                    *block = openai::thought(self.wire, text, request.n);
                }
                Some("thinking") => {
                    let text = block["thinking"].as_str().unwrap_or_default().to_owned();
                    block["signature"] =
                        signature(request.body(), request.messages(), &text).into();
                }
                _ => {}
            }
        }
        self
    }

    pub fn body(&self) -> Vec<u8> {
        if let Some(raw) = &self.raw {
            return raw.clone();
        }
        if self.wire != Wire::Messages {
            return openai::stream(self.wire, self).into_bytes();
        }
        let usage = json!({ "input_tokens": 120, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": self.tokens - 120, "output_tokens": 1 });
        let message = json!({ "id": format!("msg_{}", self.number.unwrap_or(0)), "type": "message", "role": "assistant",
            "model": "claude-opus-5-5", "content": [], "stop_reason": null,
            "stop_sequence": null, "usage": usage });
        let mut out = String::new();
        let mut event = |kind: &str, mut data: Value| {
            data["type"] = kind.into();
            out.push_str(&format!("event: {kind}\ndata: {data}\n\n"));
        };
        event("message_start", json!({ "message": message }));
        event("ping", json!({}));
        for (index, block) in self.blocks.iter().enumerate() {
            let (start, deltas) = self.block_events(block);
            event(
                "content_block_start",
                json!({ "index": index, "content_block": start }),
            );
            for delta in deltas {
                event(
                    "content_block_delta",
                    json!({ "index": index, "delta": delta }),
                );
            }
            event("content_block_stop", json!({ "index": index }));
        }
        let delta = json!({ "stop_reason": self.stop_reason, "stop_sequence": null });
        let usage = json!({ "output_tokens": 40 });
        event("message_delta", json!({ "delta": delta, "usage": usage }));
        event("message_stop", json!({}));
        out.into_bytes()
    }

    fn block_events(&self, block: &Value) -> (Value, Vec<Value>) {
        let string = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        match block["type"].as_str() {
            Some("thinking") => {
                let pieces = pieces(&string("thinking"), self.delta);
                let mut deltas: Vec<Value> = pieces
                    .map(|text| json!({ "type": "thinking_delta", "thinking": text }))
                    .collect();
                let signature = string("signature");
                deltas.push(json!({ "type": "signature_delta", "signature": signature }));
                let start = json!({ "type": "thinking", "thinking": "", "signature": "" });
                (start, deltas)
            }
            Some("tool_use") => {
                let first = json!({ "type": "input_json_delta", "partial_json": "" });
                let input = block["input"].to_string();
                let rest = pieces(&input, self.delta)
                    .map(|text| json!({ "type": "input_json_delta", "partial_json": text }));
                let mut start = block.clone();
                start["input"] = json!({});
                (start, std::iter::once(first).chain(rest).collect())
            }
            _ => {
                let deltas = pieces(&string("text"), self.delta)
                    .map(|text| json!({ "type": "text_delta", "text": text }))
                    .collect();
                (json!({ "type": "text", "text": "" }), deltas)
            }
        }
    }
}

/// The text in runs of `size` characters.
pub fn pieces(text: &str, size: usize) -> impl Iterator<Item = String> + use<> {
    let characters: Vec<char> = text.chars().collect();
    let runs: Vec<String> = characters
        .chunks(size.max(1))
        .map(|run| run.iter().collect())
        .collect();
    runs.into_iter()
}
