//! A model on loopback: keeps the exact bodies, answers with signed thinking and a text, with a
//! call where the prompt says `use TOOL ARGUMENTS`, with an error where it says `fail`.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

type Bodies = Arc<Mutex<Vec<Vec<u8>>>>;

pub struct Model {
    pub url: String,
    bodies: Bodies,
}

impl Model {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let bodies = Bodies::default();
        let kept = bodies.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, kept.clone()));
            }
        });
        Self { url, bodies }
    }

    /// The bodies that came since the last such call.
    pub fn taken(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.bodies.lock().unwrap())
    }
}

async fn serve(mut socket: TcpStream, bodies: Bodies) {
    let mut rest = Vec::new();
    while let Some(body) = body(&mut socket, &mut rest).await {
        let answer = answer(&body);
        bodies.lock().unwrap().push(body);
        if socket.write_all(&answer).await.is_err() {
            return;
        }
    }
}

/// The next request's body; what came after it stays in `rest`.
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

fn answer(body: &[u8]) -> Vec<u8> {
    let request: Value = serde_json::from_slice(body).unwrap();
    let messages = request["messages"].as_array().unwrap();
    let last = &messages[messages.len() - 1];
    let asked = asked(last);
    if asked == "fail" {
        let error = json!({ "type": "error",
            "error": { "type": "invalid_request_error", "message": "not today" } });
        return whole("400 Bad Request", "application/json", &error.to_string());
    }
    let mut events = vec![json!({ "type": "message_start",
        "message": { "usage": { "input_tokens": 1 } } })];
    let signature = format!("signed-{}", crate::conversation::sha256(body));
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

/// What the newest prompt asks for, unless this is the answer to a call.
fn asked(message: &Value) -> String {
    let blocks = message["content"].as_array().unwrap();
    if blocks.iter().any(|block| block["type"] == "tool_result") {
        return String::new();
    }
    let mut texts = blocks
        .iter()
        .rev()
        .filter_map(|block| block["text"].as_str());
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
