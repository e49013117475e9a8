//! A reactive scripted model that speaks Gemini's wire format over real HTTP. Every request is
//! checked as that provider would check it, and a violation fails the story.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::http::{Head, read_request};
use crate::fixture::KEY;

/// Refused in a schema.
const REFUSED: [&str; 4] = ["additionalProperties", "$ref", "oneOf", "format"];

/// One answer.
#[derive(Clone)]
pub struct Answer {
    status: u16,
    /// Parts of one event each.
    events: Vec<Vec<Value>>,
    raw: Option<String>,
    /// The line is dropped before the last event.
    cut: bool,
}

type Script = Box<dyn FnMut(usize, &[Value]) -> Answer + Send>;

struct State {
    script: Script,
    requests: Vec<Value>,
    /// Parts of each complete answer, and where in the contents they must be sent back.
    given: Vec<(usize, Vec<Value>)>,
    violations: Vec<String>,
}

pub struct Google {
    state: Arc<Mutex<State>>,
    port: u16,
}

impl Answer {
    fn new(events: Vec<Vec<Value>>) -> Self {
        Self {
            status: 200,
            events,
            raw: None,
            cut: false,
        }
    }

    pub fn text(text: &str) -> Self {
        let (head, tail) = text.split_at(text.len() / 2);
        Self::new(vec![
            vec![json!({"text": head})],
            vec![json!({"text": tail})],
        ])
    }

    /// A thought, then calls in one event, without ids; the first is signed.
    pub fn calls(calls: &[(&str, Value)]) -> Self {
        let mut parts: Vec<Value> = calls
            .iter()
            .map(|(name, args)| json!({"functionCall": {"name": name, "args": args}}))
            .collect();
        parts[0]["thoughtSignature"] = "c2lnbmVk".into();
        Self::new(vec![vec![json!({"text": "hm", "thought": true})], parts])
    }

    /// 429 with pacing in the body.
    pub fn limited(delay: &str) -> Self {
        let info =
            json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay});
        let error = json!({"code": 429, "message": "Resource exhausted", "details": [info]});
        Self {
            status: 429,
            raw: Some(json!({ "error": error }).to_string()),
            ..Self::new(Vec::new())
        }
    }

    pub fn cut(mut self) -> Self {
        self.cut = true;
        self
    }

    fn body(&self) -> String {
        if let Some(raw) = &self.raw {
            return raw.clone();
        }
        let last = self.events.len() - usize::from(self.cut);
        let mut out = String::new();
        for (n, parts) in self.events.iter().take(last).enumerate() {
            let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
            if n + 1 == self.events.len() {
                candidate["finishReason"] = "STOP".into();
            }
            let usage = json!({"promptTokenCount": 1000, "cachedContentTokenCount": 400,
                "candidatesTokenCount": 30, "thoughtsTokenCount": 10});
            let event = json!({"candidates": [candidate], "usageMetadata": usage});
            out.push_str(&format!("data: {event}\r\n\r\n"));
        }
        out
    }

    /// What must be sent back of it: no thoughts, pieces of a text as one.
    fn replayed(&self) -> Vec<Value> {
        let mut parts: Vec<Value> = Vec::new();
        for part in self.events.iter().flatten() {
            let text = part["text"].as_str();
            match (text, parts.last_mut()) {
                _ if part["thought"] == true => {}
                (Some(text), Some(last)) if last.get("text").is_some() => {
                    let all = format!("{}{text}", last["text"].as_str().unwrap_or_default());
                    last["text"] = all.into();
                }
                _ => parts.push(part.clone()),
            }
        }
        parts
    }
}

impl Google {
    /// The script sees the number of the request and its contents.
    pub fn start(script: impl FnMut(usize, &[Value]) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(Mutex::new(State {
            script: Box::new(script),
            requests: Vec::new(),
            given: Vec::new(),
            violations: Vec::new(),
        }));
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { state, port }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn count(&self) -> usize {
        lock(&self.state).requests.len()
    }

    pub fn last(&self) -> Value {
        lock(&self.state)
            .requests
            .last()
            .cloned()
            .expect("a request")
    }

    pub fn contents(&self, n: usize) -> Vec<Value> {
        contents(&lock(&self.state).requests[n])
    }
}

impl Drop for Google {
    fn drop(&mut self) {
        let found = std::mem::take(&mut lock(&self.state).violations);
        if !found.is_empty() && !std::thread::panicking() {
            panic!("the model's requests were wrong:\n{}", found.join("\n"));
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn contents(body: &Value) -> Vec<Value> {
    body["contents"].as_array().cloned().unwrap_or_default()
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) {
    let Ok(copy) = stream.try_clone() else { return };
    let mut reader = BufReader::new(copy);
    while let Ok(Some((head, raw))) = read_request(&mut reader) {
        let answer = lock(state).answer(&head, &raw);
        let kind = match answer.status {
            200 => "text/event-stream",
            _ => "application/json",
        };
        let body = answer.body();
        // A cut answer promises more than comes.
        let length = body.len() + usize::from(answer.cut);
        let head = format!(
            "HTTP/1.1 {} scripted\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n",
            answer.status
        );
        let sent = stream.write_all(format!("{head}{body}").as_bytes());
        if sent.is_err() || answer.cut {
            return;
        }
    }
}

impl State {
    fn answer(&mut self, head: &Head, raw: &[u8]) -> Answer {
        let n = self.requests.len();
        let body: Value = serde_json::from_slice(raw).unwrap_or_default();
        let mut found = check_head(head, raw);
        found.extend(check_schemas(&body));
        let contents = contents(&body);
        found.extend(check_turns(&contents));
        found.extend(self.check_history(&contents));
        self.violations
            .extend(found.iter().map(|what| format!("request #{n}: {what}")));
        let answer = (self.script)(n, &contents);
        if answer.status == 200 && !answer.cut {
            self.given.push((contents.len(), answer.replayed()));
        }
        self.requests.push(body);
        answer
    }

    /// Every answer is sent back as it was given, and contents only grow.
    fn check_history(&self, contents: &[Value]) -> Vec<String> {
        let mut found = Vec::new();
        for (at, parts) in &self.given {
            let mut back = contents.get(*at).map(|turn| turn["parts"].clone());
            for part in back.iter_mut().filter_map(Value::as_array_mut).flatten() {
                if let Some(call) = part.get_mut("functionCall").and_then(Value::as_object_mut) {
                    call.shift_remove("id");
                }
            }
            if back.is_some_and(|back| back != json!(parts)) {
                found.push(format!("an answer came back changed: {}", contents[*at]));
            }
        }
        let before = self.requests.last().map(self::contents).unwrap_or_default();
        if let Some((last, whole)) = before.split_last() {
            // A prompt after a crash joins the turn that got no answer.
            let grown = contents.get(whole.len()).is_some_and(|now| {
                let parts = |turn: &Value| turn["parts"].as_array().cloned().unwrap_or_default();
                parts(now).starts_with(&parts(last))
            });
            if !contents.starts_with(whole) || !grown {
                found.push("the contents do not begin with those before".to_owned());
            }
        }
        found
    }
}

fn check_head(head: &Head, raw: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let path = "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse";
    if head.path != path {
        found.push(format!("path {}", head.path));
    }
    if head.header("x-goog-api-key") != Some(KEY) {
        found.push("wrong x-goog-api-key".to_owned());
    }
    if String::from_utf8_lossy(raw).contains(KEY) {
        found.push("the key is in the body".to_owned());
    }
    found
}

fn check_schemas(body: &Value) -> Vec<String> {
    let tools = body["tools"][0]["functionDeclarations"].as_array();
    let Some(tools) = tools.filter(|tools| !tools.is_empty()) else {
        return vec!["no function declarations".to_owned()];
    };
    let text: String = tools
        .iter()
        .map(|it| it["parameters"].to_string())
        .collect();
    let refused = REFUSED
        .iter()
        .filter(|key| text.contains(&format!("\"{key}\":")));
    refused.map(|key| format!("a schema with {key}")).collect()
}

/// Roles alternate from the user on; the turn after calls begins with their responses in order.
fn check_turns(contents: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    let ids = |turn: &Value, kind: &str| -> Vec<Value> {
        let parts = turn["parts"].as_array().into_iter().flatten();
        let of_kind = parts.filter_map(|part| part.get(kind));
        of_kind.map(|it| json!([it["id"], it["name"]])).collect()
    };
    let mut open = Vec::new();
    for (n, turn) in contents.iter().enumerate() {
        let role = if n % 2 == 0 { "user" } else { "model" };
        if turn["role"] != role {
            found.push(format!("turn {n} is of {}", turn["role"]));
        }
        let answered = ids(turn, "functionResponse");
        if answered != std::mem::take(&mut open) {
            found.push(format!("turn {n} answers {answered:?}"));
        }
        let called = ids(turn, "functionCall");
        let signed = |part: &Value| {
            part.get("functionCall").is_none() || part.get("thoughtSignature").is_some()
        };
        let first = turn["parts"]
            .as_array()
            .and_then(|all| all.iter().find(|part| part.get("functionCall").is_some()));
        if first.is_some_and(|part| !signed(part)) {
            found.push(format!("turn {n} lacks a thought_signature"));
        }
        open = called;
    }
    if contents.len().is_multiple_of(2) {
        found.push("the last turn is the model's".to_owned());
    }
    found
}
