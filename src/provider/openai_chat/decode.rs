//! Chunks of a Chat Completions stream into [`ModelEvent`]s. Calls are given out only with the
//! end, the stop only when a finish reason or `[DONE]` came (INV-7): an end without either is a
//! cut stream. What is not understood is ignored where nothing is lost.

#[cfg(test)]
pub mod tests;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::conversation::{Block, Usage};
use crate::provider::openai::names::Names;
use crate::provider::openai::{broken, count, cut, read, text};
use crate::provider::transport::Decode;
use crate::provider::{ModelEvent, ProviderError, StopReason, failures, sse};

use super::body::DETAILS;
use super::calls::Calls;
use super::think_tags::{Piece, ThinkTags};

/// The state of one answer.
#[derive(Debug, Default)]
pub struct Decoder {
    names: Names,
    think_tags: ThinkTags,
    /// The text or thought under way.
    saying: Option<Saying>,
    calls: Calls,
    /// A router's own form of the reasoning, which it wants back.
    details: Vec<Value>,
    next: usize,
    finish: Option<String>,
    refused: Option<String>,
    usage: Usage,
    begun: bool,
    ended: bool,
}

#[derive(Debug)]
struct Saying {
    index: usize,
    thought: bool,
    text: String,
}

/// One chunk, as far as it is read. Unknown fields are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wire {
    choices: Value,
    usage: Value,
    error: Value,
    /// Of servers that send an error as the chunk itself.
    object: Value,
    message: Value,
}

impl Decode for Decoder {
    fn event(
        &mut self,
        event: &sse::Event,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ProviderError> {
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

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        if self.ended {
            return Ok(());
        }
        match self.finish {
            Some(_) => self.end(out),
            None => Err(cut(self.begun)),
        }
    }

    fn ended(&self) -> bool {
        self.ended
    }
}

impl Decoder {
    /// For an answer to a request with these tools.
    pub fn new(names: Names) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    fn take(&mut self, wire: &Wire, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
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
        if usage.is_some_and(|usage| count(usage, &mut self.usage)) {
            out.push(ModelEvent::Usage(self.usage));
        }
        Ok(())
    }

    fn choice(&mut self, choice: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
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

    fn delta(&mut self, delta: &Value, out: &mut Vec<ModelEvent>) {
        if let Some(Value::Array(details)) = delta.get(DETAILS) {
            details.iter().for_each(|detail| self.detail(detail));
        }
        let fields = ["reasoning_content", "reasoning", "thinking"];
        if let Some(thought) = fields.iter().find_map(|field| text(delta, field)) {
            self.say(Piece::Thought(thought.to_owned()), out);
        }
        match delta.get("content") {
            Some(Value::String(content)) => self.content(content, out),
            Some(Value::Array(parts)) => parts.iter().for_each(|part| self.part(part, out)),
            _ => {}
        }
        if let Some(refusal) = text(delta, "refusal") {
            let all = self.refused.get_or_insert_default();
            all.push_str(refusal);
            self.say(Piece::Text(refusal.to_owned()), out);
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

    /// A part of a text that comes as a list of them.
    fn part(&mut self, part: &Value, out: &mut Vec<ModelEvent>) {
        match part.get("thinking") {
            Some(Value::String(thought)) => self.say(Piece::Thought(thought.clone()), out),
            Some(Value::Array(all)) => {
                for thought in all.iter().filter_map(|one| text(one, "text")) {
                    self.say(Piece::Thought(thought.to_owned()), out);
                }
            }
            _ => self.content(text(part, "text").unwrap_or_default(), out),
        }
    }

    fn content(&mut self, content: &str, out: &mut Vec<ModelEvent>) {
        for said in self.think_tags.push(content) {
            self.say(said, out);
        }
    }

    fn say(&mut self, said: Piece, out: &mut Vec<ModelEvent>) {
        let (thought, piece) = match said {
            Piece::Text(text) => (false, text),
            Piece::Thought(text) => (true, text),
        };
        if piece.is_empty() {
            return;
        }
        if self.saying.as_ref().is_some_and(|it| it.thought != thought) {
            self.fall_silent(out);
        }
        let saying = self.saying.get_or_insert_with(|| {
            self.next += 1;
            Saying {
                index: self.next - 1,
                thought,
                text: String::new(),
            }
        });
        saying.text.push_str(&piece);
        let (index, text) = (saying.index, piece);
        out.push(match thought {
            true => ModelEvent::ThoughtDelta { index, text },
            false => ModelEvent::TextDelta { index, text },
        });
    }

    fn fall_silent(&mut self, out: &mut Vec<ModelEvent>) {
        let Some(Saying {
            index,
            thought,
            text,
        }) = self.saying.take()
        else {
            return;
        };
        let block = match thought {
            true => Block::Thinking {
                thinking: text,
                signature: String::new(),
            },
            false => Block::Text { text },
        };
        out.push(ModelEvent::Block {
            index,
            block,
            invalid: None,
        });
    }

    fn call(&mut self, call: &Value, out: &mut Vec<ModelEvent>) {
        if !call.is_object() {
            return;
        }
        if let Some(said) = self.think_tags.flush() {
            self.say(said, out);
        }
        self.fall_silent(out);
        if self.calls.take(call, self.next, &self.names, out) {
            self.next += 1;
        }
    }

    /// Pieces of one entry have one index and type: texts grow, the rest is set.
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

    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        if let Some(said) = self.think_tags.flush() {
            self.say(said, out);
        }
        self.fall_silent(out);
        let reason = self.finish.take().unwrap_or_default();
        let busy = reason == "insufficient_system_resource";
        if busy {
            return Err(failures::in_stream(&json!({
                "type": "overloaded_error",
                "message": "the server ran out of resources amid the answer",
            })));
        }
        if !self.details.is_empty() {
            let value = json!({"type": DETAILS, "details": std::mem::take(&mut self.details)});
            out.push(ModelEvent::Block {
                index: self.next,
                block: Block::Opaque { value },
                invalid: None,
            });
            self.next += 1;
        }
        let called = !self.calls.is_empty();
        let whole = !matches!(reason.as_str(), "length" | "content_filter");
        self.calls.close(whole, &self.names, out)?;
        let stop = match (reason.as_str(), self.refused.take()) {
            ("length" | "max_tokens", _) => StopReason::MaxTokens,
            ("content_filter", _) => StopReason::Refusal(Some(reason)),
            (_, Some(why)) => StopReason::Refusal(Some(why.chars().take(200).collect())),
            // Servers say `stop` with calls, and `tool_calls` without (P28).
            _ if called => StopReason::ToolUse,
            _ => StopReason::EndTurn,
        };
        out.push(ModelEvent::Stop(stop));
        self.ended = true;
        Ok(())
    }
}

/// Servers that say every field say this one empty.
fn is_error(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        _ => true,
    }
}
