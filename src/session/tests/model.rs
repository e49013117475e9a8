//! A model on loopback. Stores the exact bodies; answers with signed thinking and a text, with a
//! call if the prompt says `use TOOL ARGUMENTS`, with an error if it says `fail` or if it gets back
//! signatures that it no longer knows.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

type Shared = Arc<Mutex<Kept>>;

#[derive(Default)]
struct Kept {
    bodies: Vec<Vec<u8>>,
    /// Signatures that were issued, and those no longer known.
    given: Vec<String>,
    forgotten: Vec<String>,
}

pub struct Model {
    pub url: String,
    kept: Shared,
}

impl Model {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let kept = Shared::default();
        let shared = kept.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, shared.clone()));
            }
        });
        Self { url, kept }
    }

    /// The bodies since the last such call.
    pub fn taken(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.kept.lock().bodies)
    }

    /// From now on it rejects the signatures issued so far.
    pub fn forget(&self) {
        let mut kept = self.kept.lock();
        kept.forgotten = kept.given.clone();
    }
}

async fn serve(mut socket: TcpStream, kept: Shared) {
    let mut rest = Vec::new();
    while let Some(body) = body(&mut socket, &mut rest).await {
        let answer = {
            let mut kept = kept.lock();
            let answer = kept.answer(&body);
            kept.bodies.push(body);
            answer
        };
        if socket.write_all(&answer).await.is_err() {
            return;
        }
    }
}

/// The next request's body; later bytes stay in `rest`.
async fn body(socket: &mut TcpStream, rest: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        let end = rest.windows(4).position(|it| it == b"\r\n\r\n");
        if let Some(end) = end.map(|end| end + 4) {
            let head = String::from_utf8_lossy(&rest[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| {
                let value = line.strip_prefix("content-length: ")?;
                value.trim().parse::<usize>().ok()
            });
            let whole = end + length.unwrap_or(0);
            if rest.len() >= whole {
                let body = rest[end..whole].to_vec();
                rest.drain(..whole);
                return Some(body);
            }
        }
        let mut buffer = [0; 1 << 16];
        match socket.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => rest.extend_from_slice(&buffer[..read]),
        }
    }
}

impl Kept {
    fn answer(&mut self, body: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(body);
        if self.forgotten.iter().any(|it| text.contains(it.as_str())) {
            return refusal("messages.1.content.0: Invalid `signature` in `thinking` block");
        }
        let signature = format!("signed-{}", crate::conversation::sha256(body));
        self.given.push(signature.clone());
        answer(body, &signature)
    }
}

fn refusal(message: &str) -> Vec<u8> {
    let error = json!({ "type": "error",
        "error": { "type": "invalid_request_error", "message": message } });
    whole("400 Bad Request", "application/json", &error.to_string())
}

fn answer(body: &[u8], signature: &str) -> Vec<u8> {
    let request: Value = serde_json::from_slice(body).unwrap();
    let messages = request["messages"].as_array().unwrap();
    let last = &messages[messages.len() - 1];
    let asked = asked(last);
    if asked == "fail" {
        return refusal("not today");
    }
    let mut events = vec![json!({ "type": "message_start",
        "message": { "usage": { "input_tokens": 1 } } })];
    block(
        &mut events,
        0,
        json!({ "type": "thinking", "thinking": "", "signature": "" }),
        &[
            json!({ "type": "thinking_delta", "thinking": "hm" }),
            json!({ "type": "signature_delta", "signature": signature }),
        ],
    );
    let words: Vec<&str> = asked.splitn(3, ' ').collect();
    let stop = match words[..] {
        ["use", tool, arguments] => {
            let id = format!("call_{}", messages.len());
            block(
                &mut events,
                1,
                json!({ "type": "tool_use", "id": id, "name": tool, "input": {} }),
                &[json!({ "type": "input_json_delta", "partial_json": arguments })],
            );
            "tool_use"
        }
        _ => {
            block(
                &mut events,
                1,
                json!({ "type": "text", "text": "" }),
                &[json!({ "type": "text_delta", "text": "done" })],
            );
            "end_turn"
        }
    };
    events.push(
        json!({ "type": "message_delta", "delta": { "stop_reason": stop },
        "usage": { "output_tokens": 1 } }),
    );
    events.push(json!({ "type": "message_stop" }));
    let stream: String = events.iter().map(|it| format!("data: {it}\n\n")).collect();
    whole("200 OK", "text/event-stream", &stream)
}

/// What the newest prompt asks for, unless this answers a call.
fn asked(message: &Value) -> String {
    let blocks = message["content"].as_array().unwrap();
    if blocks.iter().any(|block| block["type"] == "tool_result") {
        return String::new();
    }
    // In some layouts the editor's blocks are in the same text, below the prompt.
    let mut texts = blocks.iter().rev().filter_map(|block| {
        let text = block["text"].as_str()?;
        text.lines().next()
    });
    let wish = |text: &&str| *text == "fail" || text.starts_with("use ") || *text == "go";
    texts.find(wish).unwrap_or_default().to_owned()
}

fn block(events: &mut Vec<Value>, index: usize, start: Value, deltas: &[Value]) {
    events.push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
    for delta in deltas {
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
    }
    events.push(json!({ "type": "content_block_stop", "index": index }));
}

fn whole(status: &str, kind: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}
