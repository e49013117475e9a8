//! Turns the chunks of a Chat Completions stream into [`ModelEvent`]s. Calls are emitted at the
//! end, the stop only after a finish reason or `[DONE]` (INV-7): a stream that ends without either
//! was cut. What is unknown is ignored if nothing is lost.

#[cfg(test)]
pub mod tests;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::conversation::{Block, Usage};
use crate::provider::decode::{Decode, Streaming, broken, cut, text};
use crate::provider::openai::names::Names;
use crate::provider::openai::{read, read_usage};
use crate::provider::{Events, ModelEvent, ProviderError, StopReason, failures, sse};

use super::body::DETAILS;
use super::calls::Calls;
use super::think_tags::{Piece, ThinkTags};

/// The state of one answer.
#[derive(Debug, Default)]
pub struct Decoder {
    names: Names,
    think_tags: ThinkTags,
    streaming: Streaming,
    calls: Calls,
    /// Reasoning in a router's own format, which must be sent back.
    details: Vec<Value>,
    finish: Option<String>,
    refused: Option<String>,
    usage: Usage,
    begun: bool,
    ended: bool,
}

/// The fields of a chunk that are read. Unknown fields are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wire {
    choices: Value,
    usage: Value,
    error: Value,
    /// Set by servers that send an error as the chunk itself.
    object: Value,
    message: Value,
}

impl Decode for Decoder {
    fn event(&mut self, event: &sse::Event, out: &mut Events) -> Result<(), ProviderError> {
        let data = event.data.trim();
        if self.ended || data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            return match self.begun {
                true => self.end(out),
                false => Err(cut(false)),
            };
        }
        match read::<Wire>(data) {
            Ok(wire) => self.take(&wire, out),
            Err(error) => Err(broken(&format!("a chunk cannot be read: {error}"))),
        }
    }

    fn finish(&mut self, out: &mut Events) -> Result<(), ProviderError> {
        if self.ended {
            return Ok(());
        }
        match self.finish {
            Some(_) => self.end(out),
            None => Err(cut(self.begun)),
        }
    }

    fn begun(&self) -> bool {
        self.begun
    }

    fn ended(&self) -> bool {
        self.ended
    }
}

impl Decoder {
    /// `names` translates names on the wire to the names of tools.
    pub fn new(names: Names) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    fn take(&mut self, wire: &Wire, out: &mut Events) -> Result<(), ProviderError> {
        if is_error(&wire.error) {
            return Err(failures::in_stream(&wire.error));
        }
        if wire.object == "error" {
            return Err(failures::in_stream(&json!({ "message": wire.message })));
        }
        self.begun = true;
        let choices = wire.choices.as_array().map_or(&[][..], Vec::as_slice);
        for choice in choices {
            let index = choice.get("index").and_then(Value::as_u64);
            if index.unwrap_or(0) == 0 {
                self.choice(choice, out)?;
            }
        }
        let mut usages = choices.iter().filter_map(|choice| choice.get("usage"));
        let usage = match wire.usage.is_object() {
            true => Some(&wire.usage),
            false => usages.find(|usage| usage.is_object()),
        };
        if usage.is_some_and(|usage| read_usage(usage, &mut self.usage)) {
            out.push(ModelEvent::Usage(self.usage));
        }
        Ok(())
    }

    fn choice(&mut self, choice: &Value, out: &mut Events) -> Result<(), ProviderError> {
        if let Some(error) = choice.get("error").filter(|error| is_error(error)) {
            return Err(failures::in_stream(error));
        }
        let delta = ["delta", "message"].iter().find_map(|it| choice.get(*it));
        if let Some(delta) = delta.filter(|delta| delta.is_object()) {
            self.delta(delta, out);
        }
        if let Some(reason) = text(choice, "finish_reason") {
            if reason == "error" {
                return Err(failures::in_stream(&Value::Null));
            }
            self.finish = Some(reason.to_owned());
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, out: &mut Events) {
        if let Some(Value::Array(details)) = delta.get(DETAILS) {
            details.iter().for_each(|detail| self.detail(detail));
        }
        let fields = ["reasoning_content", "reasoning", "thinking"];
        if let Some(thought) = fields.iter().find_map(|field| text(delta, field)) {
            self.push(Piece::Thought(thought.to_owned()), out);
        }
        match delta.get("content") {
            Some(Value::String(content)) => self.content(content, out),
            Some(Value::Array(parts)) => parts.iter().for_each(|part| self.part(part, out)),
            _ => {}
        }
        if let Some(refusal) = text(delta, "refusal") {
            let all = self.refused.get_or_insert_default();
            all.push_str(refusal);
            self.push(Piece::Text(refusal.to_owned()), out);
        }
        match delta.get("tool_calls") {
            Some(Value::Array(calls)) => calls.iter().for_each(|call| self.call(call, out)),
            Some(call @ Value::Object(_)) => self.call(call, out),
            _ => {}
        }
        if let Some(call @ Value::Object(_)) = delta.get("function_call") {
            self.call(call, out);
        }
    }

    /// A part of a text that is a list of parts.
    fn part(&mut self, part: &Value, out: &mut Events) {
        match part.get("thinking") {
            Some(Value::String(thought)) => self.push(Piece::Thought(thought.clone()), out),
            Some(Value::Array(all)) => {
                for thought in all.iter().filter_map(|one| text(one, "text")) {
                    self.push(Piece::Thought(thought.to_owned()), out);
                }
            }
            _ => self.content(text(part, "text").unwrap_or_default(), out),
        }
    }

    fn content(&mut self, content: &str, out: &mut Events) {
        for piece in self.think_tags.push(content) {
            self.push(piece, out);
        }
    }

    fn push(&mut self, piece: Piece, out: &mut Events) {
        match piece {
            Piece::Text(text) => self.streaming.push(&text, false, out),
            Piece::Thought(text) => self.streaming.push(&text, true, out),
        }
    }

    fn call(&mut self, call: &Value, out: &mut Events) {
        if !call.is_object() {
            return;
        }
        if let Some(piece) = self.think_tags.flush() {
            self.push(piece, out);
        }
        self.streaming.close(out);
        self.calls.take(call, &mut self.streaming, &self.names, out);
    }

    /// Pieces of one entry have the same index and type: texts are appended, other values replaced.
    fn detail(&mut self, detail: &Value) {
        let Some(piece) = detail.as_object() else {
            return;
        };
        let same = |known: &&mut Value| {
            known["type"] == detail["type"]
                && detail
                    .get("index")
                    .is_some_and(|index| known["index"] == *index)
        };
        let Some(known) = self.details.last_mut().filter(same) else {
            self.details.push(detail.clone());
            return;
        };
        for (key, value) in piece.iter().filter(|(key, _)| *key != "type") {
            let grows = matches!(key.as_str(), "text" | "summary" | "data");
            match (&mut known[key.as_str()], value) {
                (Value::String(all), Value::String(more)) if grows => all.push_str(more),
                (_, Value::Null) => {}
                (slot, value) => *slot = value.clone(),
            }
        }
    }

    fn end(&mut self, out: &mut Events) -> Result<(), ProviderError> {
        if let Some(piece) = self.think_tags.flush() {
            self.push(piece, out);
        }
        self.streaming.close(out);
        let reason = self.finish.take().unwrap_or_default();
        if reason == "insufficient_system_resource" {
            return Err(failures::in_stream(&json!({
                "type": "overloaded_error",
                "message": "the server ran out of resources during the answer",
            })));
        }
        if !self.details.is_empty() {
            let value = json!({"type": DETAILS, "details": std::mem::take(&mut self.details)});
            self.streaming.complete(Block::Opaque { value }, out);
        }
        let called = !self.calls.is_empty();
        let whole = !matches!(reason.as_str(), "length" | "content_filter");
        self.calls.close(whole, &self.names, out)?;
        let stop = match (reason.as_str(), self.refused.take()) {
            ("length" | "max_tokens", _) => StopReason::MaxTokens,
            ("content_filter", _) => StopReason::Refusal(Some(reason)),
            (_, Some(why)) => StopReason::Refusal(Some(why.chars().take(200).collect())),
            // Some servers send `stop` with calls, and `tool_calls` without (P28).
            _ if called => StopReason::ToolUse,
            _ => StopReason::EndTurn,
        };
        out.push(ModelEvent::Stop(stop));
        self.ended = true;
        Ok(())
    }
}

/// Servers that send every field send an empty error.
fn is_error(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        _ => true,
    }
}
