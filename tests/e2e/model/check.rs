//! What the provider would refuse, and what would lose its cache: shapes, pairing of calls and
//! results, signatures bound to the prefix, and a prefix that only grows.

use serde_json::{Value, json};

use super::http::Head;
use super::openai::Wire;
use super::{Reply, RequestView};
use crate::fixture::sha256;

/// What earlier requests and answers bind.
#[derive(Default)]
pub struct Book {
    /// Prefix-relevant form of each request: fixed part and messages, marks removed.
    known: Vec<(String, Vec<String>)>,
    /// Complete answers by the request's messages.
    answers: Vec<(Vec<String>, Vec<Value>)>,
    free: bool,
}

impl Book {
    pub fn allow_new_epoch(&mut self) {
        self.free = true;
        self.answers.clear();
    }

    pub fn check(&mut self, request: &RequestView) -> Vec<String> {
        let mut found = shape(request.body());
        found.extend(pairing(request.messages()));
        found.extend(signatures(request));
        found.extend(self.prefix(request));
        found.extend(self.replay(request));
        found
    }

    pub fn answered(&mut self, request: &RequestView, reply: &Reply) {
        if reply.complete() {
            let (_, messages) = stable(request);
            self.answers.push((messages, reply.blocks.clone()));
        }
    }

    #[cfg(test)]
    pub fn last_answer(&self) -> Option<&(Vec<String>, Vec<Value>)> {
        self.answers.last()
    }

    /// Some earlier request must be a prefix of this one, unless a conversation begins.
    fn prefix(&mut self, request: &RequestView) -> Vec<String> {
        let (fixed, messages) = stable(request);
        let grows = request.wire != Wire::Messages;
        let extends = |known: &(String, Vec<String>)| {
            known.0 == fixed && begins_with(&messages, &known.1, grows)
        };
        let begins = messages.len() == 1 || self.shortened(request);
        let fine = begins || self.free || self.known.iter().any(extends);
        self.free = false;
        let report = (!fine).then(|| self.difference(&fixed, &messages));
        self.known.push((fixed, messages));
        report.into_iter().collect()
    }

    /// The history was compacted: it begins with another message than all before.
    fn shortened(&mut self, request: &RequestView) -> bool {
        let (_, messages) = stable(request);
        let first = messages.first().map(String::as_str).unwrap_or_default();
        let shorter = first.contains("[Previous conversation summary]")
            && !self
                .known
                .iter()
                .any(|known| known.1.first().map(String::as_str) == Some(first));
        if shorter {
            self.answers.clear();
        }
        shorter
    }

    fn difference(&self, fixed: &str, messages: &[String]) -> String {
        let Some((old_fixed, old)) = self.known.last() else {
            return "the first request already carries a history".into();
        };
        if let Some(at) = first_difference(old_fixed, fixed) {
            return format!("tools, system or parameters changed: {at}");
        }
        for (n, (before, now)) in old.iter().zip(messages).enumerate() {
            if let Some(at) = first_difference(before, now) {
                return format!("message {n} changed: {at}");
            }
        }
        format!("{} messages became {}", old.len(), messages.len())
    }

    /// An answer is sent back exactly as it was given.
    fn replay(&self, request: &RequestView) -> Vec<String> {
        let (_, messages) = stable(request);
        let mut found = Vec::new();
        for (prefix, blocks) in &self.answers {
            if messages.len() <= prefix.len() || !messages.starts_with(prefix) {
                continue;
            }
            let back = &request.messages()[prefix.len()];
            if back["role"] != "assistant" {
                continue;
            }
            let sent = json!(blocks);
            let mut back = back["content"].clone();
            strip(&mut back);
            let same = back == sent || (blocks.len() == 1 && back == blocks[0]["text"]);
            let known = self.answers.iter().filter(|(other, _)| other == prefix);
            if !same && known.count() == 1 {
                found.push(format!(
                    "an answer came back changed: sent {sent}, got {back}"
                ));
            }
        }
        found
    }
}

/// Whether `messages` begin with `known`. Where texts of the user in a row are one message
/// (`grows`), the last known one may be continued.
fn begins_with(messages: &[String], known: &[String], grows: bool) -> bool {
    let Some((last, before)) = known.split_last().filter(|_| grows) else {
        return messages.starts_with(known);
    };
    let end = last.trim_end_matches(['"', '}', ']']);
    messages.starts_with(before)
        && messages
            .get(before.len())
            .is_some_and(|it| it.starts_with(end))
}

/// The signature of a thinking block: bound to tools, system and all messages before it.
pub fn signature(body: &Value, before: &[Value], thinking: &str) -> String {
    let mut prefix = json!([body["tools"], body["system"], before, thinking]);
    strip(&mut prefix);
    format!("Eq{}", sha256(&prefix.to_string()))
}

/// Method, path, headers, and no key in the body.
pub fn head(head: &Head, raw: &[u8], key: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut expect = |fine: bool, what: &str| {
        if !fine {
            found.push(what.to_owned());
        }
    };
    expect(head.method == "POST", "not a POST");
    expect(head.path == "/v1/messages", &format!("path {}", head.path));
    expect(head.header("x-api-key") == Some(key), "wrong x-api-key");
    expect(
        head.header("anthropic-version").is_some(),
        "no anthropic-version",
    );
    let json = head
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("application/json"));
    expect(json, "content-type is not application/json");
    let body = String::from_utf8_lossy(raw);
    expect(!body.contains(key), "the key is in the body");
    found
}

fn shape(body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut expect = |fine: bool, what: &str| {
        if !fine {
            found.push(what.to_owned());
        }
    };
    expect(body["stream"] == true, "not streamed");
    expect(
        body["max_tokens"].as_u64().is_some_and(|n| n > 0),
        "no max_tokens",
    );
    expect(body["model"].is_string(), "no model");
    for name in ["temperature", "top_p", "top_k"] {
        expect(
            body.get(name).is_none(),
            &format!("{name} is refused by this model"),
        );
    }
    expect(
        body["thinking"]["type"] != "enabled",
        "budgeted thinking is refused by this model",
    );
    let forced = matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool"));
    expect(!forced, "forced tool_choice is refused by this model");
    let marks = marks(body);
    expect(marks <= 4, &format!("{marks} cache_control marks"));
    let tools = body["tools"].as_array().map_or(&[][..], Vec::as_slice);
    for tool in tools {
        let name = tool["name"].as_str().unwrap_or_default();
        expect(
            legal_id(name) && name.len() <= 64,
            &format!("tool name {name:?}"),
        );
        expect(
            tool["input_schema"]["type"] == "object",
            &format!("schema of {name}"),
        );
        let described = tool["description"]
            .as_str()
            .is_some_and(|text| !text.is_empty());
        expect(described, &format!("{name} has no description"));
    }
    found.extend(turns(
        body["messages"].as_array().map_or(&[], Vec::as_slice),
    ));
    found
}

/// Roles alternate; `system` only after a user message and before an assistant's or the end.
fn turns(messages: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    let role = |n: usize| {
        messages
            .get(n)
            .and_then(|m| m["role"].as_str())
            .unwrap_or("end")
    };
    if role(0) != "user" {
        found.push(format!("the first message is {}", role(0)));
    }
    for n in 1..messages.len() {
        let fine = match (role(n - 1), role(n)) {
            ("user", "assistant") | ("assistant", "user") => true,
            ("system", "assistant") => true,
            ("user", "system") => matches!(role(n + 1), "assistant" | "end"),
            _ => false,
        };
        if !fine {
            found.push(format!("message {n} is {} after {}", role(n), role(n - 1)));
        }
    }
    if role(messages.len().saturating_sub(1)) == "assistant" {
        found.push("prefill is refused by this model".into());
    }
    for (n, message) in messages.iter().enumerate() {
        let content = &message["content"];
        let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
        let blank = |text: &Value| text.as_str().is_some_and(|text| text.trim().is_empty());
        let empty = blank(content)
            || (content.is_array() && blocks.is_empty())
            || blocks
                .iter()
                .any(|b| b["type"] == "text" && blank(&b["text"]));
        if empty {
            found.push(format!("message {n} has empty text"));
        }
    }
    found
}

/// Each tool_use is answered once, at the beginning of the next user message; nothing else is.
fn pairing(messages: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    let ids = |message: Option<&Value>, kind: &str, key: &str| -> Vec<String> {
        let blocks = message.and_then(|m| m["content"].as_array());
        let blocks = blocks.into_iter().flatten().filter(|b| b["type"] == kind);
        blocks
            .map(|b| b[key].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    for (n, message) in messages.iter().enumerate() {
        if message["role"] == "assistant" {
            let mut asked = ids(Some(message), "tool_use", "id");
            let mut answered = ids(messages.get(n + 1), "tool_result", "tool_use_id");
            if !asked.iter().all(|id| legal_id(id)) {
                found.push(format!("message {n} has an illegal tool id: {asked:?}"));
            }
            asked.sort();
            answered.sort();
            if asked != answered {
                found.push(format!(
                    "message {n} calls {asked:?}, answered are {answered:?}"
                ));
            }
        } else if n == 0 || messages[n - 1]["role"] != "assistant" {
            let orphans = ids(Some(message), "tool_result", "tool_use_id");
            if !orphans.is_empty() {
                found.push(format!("message {n} answers nothing: {orphans:?}"));
            }
        }
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        let is_result = |block: &Value| block["type"] == "tool_result";
        let first_other = blocks.iter().position(|block| !is_result(block));
        let last_result = blocks.iter().rposition(is_result);
        if let (Some(other), Some(last)) = (first_other, last_result)
            && other < last
        {
            found.push(format!("message {n} has something before a tool_result"));
        }
    }
    found
}

fn signatures(request: &RequestView) -> Vec<String> {
    let mut found = Vec::new();
    for (n, message) in request.messages().iter().enumerate() {
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        for block in blocks.iter().filter(|block| block["type"] == "thinking") {
            let text = block["thinking"].as_str().unwrap_or_default();
            let expected = signature(request.body(), &request.messages()[..n], text);
            if block["signature"] != expected.as_str() {
                found.push(format!(
                    "Invalid `signature` in `thinking` block of message {n}. The block is bound \
                     to a different conversation."
                ));
            }
        }
    }
    found
}

/// Parameters, tools and system as one text; each message as a text. Marks are left out.
fn stable(request: &RequestView) -> (String, Vec<String>) {
    let mut body = request.body().clone();
    strip(&mut body);
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    if let Some(body) = body.as_object_mut() {
        body.remove("messages");
        body.remove("diagnostics");
    }
    let messages = messages.iter().map(Value::to_string).collect();
    (body.to_string(), messages)
}

/// Removes cache marks everywhere outside tool inputs and schemas.
fn strip(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.shift_remove("cache_control");
            for (key, inner) in map.iter_mut() {
                if key != "input" && key != "input_schema" {
                    strip(inner);
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(strip),
        _ => {}
    }
}

fn marks(value: &Value) -> usize {
    match value {
        Value::Object(map) => {
            let own = usize::from(map.contains_key("cache_control"));
            let inner = map
                .iter()
                .filter(|(key, _)| *key != "input" && *key != "input_schema");
            own + inner.map(|(_, value)| marks(value)).sum::<usize>()
        }
        Value::Array(all) => all.iter().map(marks).sum(),
        _ => 0,
    }
}

fn legal_id(id: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !id.is_empty() && id.chars().all(legal)
}

/// Where two texts part, with what follows on each side.
fn first_difference(a: &str, b: &str) -> Option<String> {
    if a == b {
        return None;
    }
    let mut at = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    while !a.is_char_boundary(at) || !b.is_char_boundary(at) {
        at -= 1;
    }
    let show = |text: &str| text[at..].chars().take(120).collect::<String>();
    Some(format!("byte {at}: {:?} became {:?}", show(a), show(b)))
}
