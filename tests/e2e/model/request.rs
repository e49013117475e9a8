//! A request as a script sees it.

use serde_json::Value;

use super::openai::{self, Wire};

/// One parsed request to the model.
pub struct RequestView {
    /// 0-based number over the server's life.
    pub n: usize,
    pub raw: Vec<u8>,
    pub wire: Wire,
    /// In the form of the Messages API, whatever came.
    body: Value,
}

impl RequestView {
    pub fn new(n: usize, raw: Vec<u8>, wire: Wire) -> Result<Self, String> {
        let mut body: Value = serde_json::from_slice(&raw)
            .map_err(|error| format!("request #{n} is not JSON: {error}"))?;
        if wire != Wire::Messages {
            body = openai::normal(wire, &body);
        }
        Ok(Self { n, raw, wire, body })
    }

    pub fn body(&self) -> &Value {
        &self.body
    }

    pub fn raw_text(&self) -> String {
        String::from_utf8_lossy(&self.raw).into_owned()
    }

    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// All text of the system slot.
    pub fn system(&self) -> String {
        texts(&self.body["system"]).join("\n")
    }

    pub fn tools(&self) -> Vec<String> {
        let tools = self.body["tools"].as_array();
        let names = tools.into_iter().flatten();
        names
            .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
            .collect()
    }

    /// All text that users' messages carry, results left out.
    pub fn user_text(&self) -> String {
        let users = self.messages().iter().filter(|m| m["role"] == "user");
        let all: Vec<String> = users.flat_map(|m| texts(&m["content"])).collect();
        all.join("\n")
    }

    /// All text of messages that are not the assistant's: tail, journal, steering.
    pub fn appended_text(&self) -> String {
        let others = self.messages().iter().filter(|m| m["role"] != "assistant");
        let all: Vec<String> = others.flat_map(|m| texts(&m["content"])).collect();
        all.join("\n")
    }

    /// Text blocks of the last user message.
    pub fn last_user_text(&self) -> String {
        let mut users = self.messages().iter().rev();
        let last = users.find(|m| m["role"] == "user");
        last.map_or_else(String::new, |m| texts(&m["content"]).join("\n"))
    }

    /// Finished steps of the running turn: assistant messages since the last prompt.
    pub fn step(&self) -> usize {
        let messages = self.messages();
        let is_prompt = |m: &Value| m["role"] == "user" && results(m).is_empty();
        let start = messages.iter().rposition(is_prompt).unwrap_or(0);
        let later = &messages[start.min(messages.len())..];
        later.iter().filter(|m| m["role"] == "assistant").count()
    }

    /// Results that the last user message brings: tool, text, whether an error.
    pub fn results(&self) -> Vec<(String, String, bool)> {
        let mut users = self.messages().iter().rev();
        let last = users.find(|m| m["role"] == "user");
        let results = last.map(results).unwrap_or_default();
        let describe = |block: &Value| {
            let id = block["tool_use_id"].as_str().unwrap_or_default();
            let error = block["is_error"].as_bool().unwrap_or(false);
            (self.tool_of(id), texts(&block["content"]).join("\n"), error)
        };
        results.into_iter().map(describe).collect()
    }

    /// The text of the newest result; empty at a prompt.
    pub fn result(&self) -> String {
        let newest = self.results().pop();
        newest.map_or_else(String::new, |(_, text, _)| text)
    }

    fn tool_of(&self, id: &str) -> String {
        let blocks = self.messages().iter().flat_map(|m| blocks(&m["content"]));
        let mut calls = blocks.filter(|block| block["type"] == "tool_use");
        let call = calls.find(|block| block["id"] == id);
        call.and_then(|block| block["name"].as_str())
            .unwrap_or_default()
            .to_owned()
    }
}

fn blocks(content: &Value) -> Vec<&Value> {
    content
        .as_array()
        .map(|all| all.iter().collect())
        .unwrap_or_default()
}

fn results(message: &Value) -> Vec<&Value> {
    let mut all = blocks(&message["content"]);
    all.retain(|block| block["type"] == "tool_result");
    all
}

/// The texts of a string or of text blocks.
fn texts(content: &Value) -> Vec<String> {
    if let Some(text) = content.as_str() {
        return vec![text.to_owned()];
    }
    let texts = blocks(content).into_iter().filter(|b| b["type"] == "text");
    texts
        .filter_map(|block| block["text"].as_str().map(str::to_owned))
        .collect()
}
