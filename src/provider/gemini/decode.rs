//! Events of a Gemini stream into [`ModelEvent`]s. A part with a call is whole when it comes; the
//! stop is given out only when the stream has ended and a finish reason was seen (INV-7), because
//! parts and usage may follow the reason. What is not understood is kept whole where it is a
//! part, ignored where nothing is lost, and a typed error otherwise. Does no I/O.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::{Value, json};

use super::history::{continuation_block, signature_block};
use crate::conversation::{Block, Failure, FailureKind, Usage};
use crate::provider::openai::names::Names;
use crate::provider::transport::Decode;
use crate::provider::{ModelEvent, ProviderError, StopReason, arguments, failures, sse};

/// The state of one answer.
#[derive(Debug, Default)]
pub struct Decoder {
    names: Names,
    /// The text under way, with the index that we give out.
    open: Option<(usize, Open)>,
    next: usize,
    ids: HashSet<String>,
    called: bool,
    counts: Counts,
    stop: Option<StopReason>,
    /// Why the prompt was not answered at all.
    blocked: Option<String>,
    continuation: Option<String>,
    /// Any event came.
    begun: bool,
    ended: bool,
}

#[derive(Debug)]
enum Open {
    Text(String),
    Thought(String),
}

/// Running totals as the provider reports them.
#[derive(Debug, Default)]
struct Counts {
    prompt: u64,
    tool_prompt: u64,
    cached: u64,
    answer: u64,
    thoughts: u64,
}

impl Decode for Decoder {
    fn event(
        &mut self,
        event: &sse::Event,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ProviderError> {
        Decoder::event(self, event, out)
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        Decoder::finish(self, out)
    }

    fn ended(&self) -> bool {
        self.ended
    }
}

impl Decoder {
    /// Gives calls the names that their tools have of their own.
    pub fn new(names: Names) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    /// Takes one event of the stream.
    pub fn event(
        &mut self,
        event: &sse::Event,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ProviderError> {
        let data = event.data.trim();
        // Gateways close with the mark of another format.
        if self.ended || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let mended = arguments::mend_surrogates(data);
        let value: Value = serde_json::from_str(&mended)
            .map_err(|error| broken(&format!("an event is not JSON: {error}")))?;
        let twice = match mended.contains("\"functionCall\"") {
            // Of a key that comes twice the tree above kept one.
            true => arguments::strict(&mended).err(),
            false => None,
        };
        // Without `alt=sse` understood, a gateway sends a list.
        let answers = match &value {
            Value::Array(answers) => answers.as_slice(),
            answer => std::slice::from_ref(answer),
        };
        for answer in answers {
            self.take(answer, twice.as_deref(), out)?;
        }
        Ok(())
    }

    fn take(
        &mut self,
        answer: &Value,
        twice: Option<&str>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ProviderError> {
        if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
            return Err(in_stream(error));
        }
        self.begun = true;
        self.usage(answer.get("usageMetadata"), out);
        let feedback = answer.get("promptFeedback");
        if let Some(reason) = feedback.and_then(|it| text(it, "blockReason")) {
            self.blocked = Some(words(reason));
        }
        let Some(candidate) = answer.get("candidates").and_then(|all| all.get(0)) else {
            return Ok(());
        };
        let parts = candidate.pointer("/content/parts");
        for part in parts.and_then(Value::as_array).into_iter().flatten() {
            self.part(part, twice, out);
        }
        if let Some(token) = text(candidate, "continuationToken").filter(|it| !it.is_empty()) {
            self.continuation = Some(token.to_owned());
        }
        if let Some(reason) = text(candidate, "finishReason") {
            self.finished(reason, text(candidate, "finishMessage"))?;
        }
        Ok(())
    }

    fn part(&mut self, part: &Value, twice: Option<&str>, out: &mut Vec<ModelEvent>) {
        let Some(fields) = part.as_object() else {
            return;
        };
        let signature = text(part, "thoughtSignature").unwrap_or_default();
        if let Some(call) = fields.get("functionCall").filter(|call| call.is_object()) {
            self.close(out);
            self.call(call, twice, out);
            if !signature.is_empty() {
                self.whole(signature_block(signature), out);
            }
            return;
        }
        let other =
            |key: &&String| !matches!(key.as_str(), "text" | "thought" | "thoughtSignature");
        if !fields.contains_key("text") && fields.keys().any(|key| other(&key)) {
            self.close(out);
            let value = part.clone();
            return self.whole(Block::Opaque { value }, out);
        }
        let said = text(part, "text").unwrap_or_default();
        let thought = part.get("thought") == Some(&Value::Bool(true));
        match (said.is_empty(), signature.is_empty()) {
            (true, true) => {}
            // It must come back in a part of its own.
            (true, false) => {
                self.close(out);
                let value = json!({"text": "", "thoughtSignature": signature});
                self.whole(Block::Opaque { value }, out);
            }
            (false, true) => self.said(said, thought, out),
            (false, false) => {
                self.said(said, thought, out);
                self.close_signed(signature, out);
            }
        }
    }

    fn said(&mut self, said: &str, thought: bool, out: &mut Vec<ModelEvent>) {
        let same = matches!(
            (&self.open, thought),
            (Some((_, Open::Text(_))), false) | (Some((_, Open::Thought(_))), true)
        );
        if !same {
            self.close(out);
            let open = match thought {
                true => Open::Thought(String::new()),
                false => Open::Text(String::new()),
            };
            self.open = Some((self.index(), open));
        }
        let Some((index, open)) = &mut self.open else {
            return;
        };
        let (index, text) = (*index, said.to_owned());
        out.push(match open {
            Open::Text(all) => {
                all.push_str(said);
                ModelEvent::TextDelta { index, text }
            }
            Open::Thought(all) => {
                all.push_str(said);
                ModelEvent::ThoughtDelta { index, text }
            }
        });
    }

    fn close(&mut self, out: &mut Vec<ModelEvent>) {
        self.close_signed("", out);
    }

    /// Pieces of one text are one part, as an answer that is not streamed has it; so its
    /// signature belongs to all of them.
    fn close_signed(&mut self, signature: &str, out: &mut Vec<ModelEvent>) {
        let Some((index, open)) = self.open.take() else {
            return;
        };
        let (block, signed) = match open {
            Open::Text(text) => (Block::Text { text }, !signature.is_empty()),
            Open::Thought(thinking) => {
                let signature = signature.to_owned();
                let block = Block::Thinking {
                    thinking,
                    signature,
                };
                (block, false)
            }
        };
        out.push(ModelEvent::Block {
            index,
            block,
            invalid: None,
        });
        if signed {
            self.whole(signature_block(signature), out);
        }
    }

    fn whole(&mut self, block: Block, out: &mut Vec<ModelEvent>) {
        out.push(ModelEvent::Block {
            index: self.index(),
            block,
            invalid: None,
        });
    }

    fn index(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    fn call(&mut self, call: &Value, twice: Option<&str>, out: &mut Vec<ModelEvent>) {
        let index = self.index();
        let id = self.unique(text(call, "id").unwrap_or_default());
        let name = self.names.own(text(call, "name").unwrap_or_default());
        self.called = true;
        let given = call.get("args").filter(|args| !args.is_null());
        let given = given.map(Value::to_string).unwrap_or_default();
        let partial = ["partialArgs", "willContinue"].iter().any(|key| {
            call.get(key)
                .is_some_and(|value| *value != Value::Bool(false))
        });
        let parsed = match (twice, partial) {
            (Some(error), _) => Err(error.to_owned()),
            (None, true) => Err("the arguments came in pieces, which nobody asked for".to_owned()),
            (None, false) => arguments::parse(&given),
        };
        out.push(ModelEvent::ToolStart {
            index,
            id: id.clone(),
            name: name.clone(),
        });
        if !given.is_empty() {
            let text = given.clone();
            out.push(ModelEvent::ToolInputDelta { index, text });
        }
        let (input, invalid) = match parsed {
            Ok(input) => (input, None),
            Err(error) => (Value::String(given), Some(error)),
        };
        out.push(ModelEvent::Block {
            index,
            block: Block::ToolUse { id, name, input },
            invalid,
        });
    }

    /// An id that no other call of this answer has (P25): many models of this provider give none.
    fn unique(&mut self, id: &str) -> String {
        let base = if id.is_empty() { "call" } else { id };
        let mut unique = match id.is_empty() {
            true => format!("call{}", self.ids.len()),
            false => id.to_owned(),
        };
        let mut n = self.ids.len();
        while !self.ids.insert(unique.clone()) {
            n += 1;
            unique = format!("{base}x{n}");
        }
        unique
    }

    fn finished(&mut self, reason: &str, why: Option<&str>) -> Result<(), ProviderError> {
        let because = || match why.filter(|why| !why.trim().is_empty()) {
            Some(why) => format!("{}: {why}", words(reason)),
            None => words(reason),
        };
        self.stop = Some(match reason {
            "" | "FINISH_REASON_UNSPECIFIED" => return Ok(()),
            "STOP" if self.called => StopReason::ToolUse,
            "STOP" => StopReason::EndTurn,
            "MAX_TOKENS" => StopReason::MaxTokens,
            "CONTINUATION" => StopReason::Pause,
            "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
                StopReason::Refusal(Some(because()))
            }
            "MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "MALFORMED_RESPONSE" => {
                return Err(retry(
                    &format!("the model's answer was not usable ({})", because()),
                    "the step is tried again; if this repeats, choose another model",
                ));
            }
            image if image.starts_with("IMAGE_") => StopReason::Refusal(Some(because())),
            other => StopReason::Other(other.to_owned()),
        });
        Ok(())
    }

    /// The input is over.
    pub fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        if self.ended {
            return Ok(());
        }
        let hint = "the step is tried again; if this repeats, check the network and any proxy \
                    between";
        let stop = match (self.stop.take(), self.blocked.take()) {
            (Some(stop), _) => stop,
            (None, Some(reason)) => StopReason::Refusal(Some(reason)),
            (None, None) if self.begun => {
                let message = "the stream was cut before the answer was complete";
                return Err(retry(message, hint));
            }
            (None, None) => return Err(retry("the provider sent an empty response", hint)),
        };
        self.close(out);
        if stop == StopReason::EndTurn && self.next == 0 {
            return Err(retry(
                "the provider sent an answer with nothing in it",
                hint,
            ));
        }
        // The reason may have come before a call did.
        let stop = match stop {
            StopReason::EndTurn if self.called => StopReason::ToolUse,
            other => other,
        };
        if let (StopReason::Pause, Some(token)) = (&stop, self.continuation.take()) {
            self.whole(continuation_block(&token), out);
        }
        out.push(ModelEvent::Stop(stop));
        self.ended = true;
        Ok(())
    }

    /// Counts are running totals; absent ones keep their last value (P26).
    fn usage(&mut self, usage: Option<&Value>, out: &mut Vec<ModelEvent>) {
        let Some(usage) = usage.filter(|usage| usage.is_object()) else {
            return;
        };
        let set = |field: &mut u64, name: &str| {
            if let Some(count) = usage.get(name).and_then(count) {
                *field = count;
            }
        };
        let counts = &mut self.counts;
        set(&mut counts.prompt, "promptTokenCount");
        set(&mut counts.tool_prompt, "toolUsePromptTokenCount");
        set(&mut counts.cached, "cachedContentTokenCount");
        set(&mut counts.answer, "candidatesTokenCount");
        set(&mut counts.thoughts, "thoughtsTokenCount");
        let fresh = counts.prompt.saturating_sub(counts.cached);
        out.push(ModelEvent::Usage(Usage {
            input: fresh.saturating_add(counts.tool_prompt),
            output: counts.answer.saturating_add(counts.thoughts),
            // What is cached is a part of the prompt.
            cache_read: counts.cached.min(counts.prompt),
            ..Usage::default()
        }));
    }
}

/// Numbers beyond 64 bits saturate, negative ones are none.
fn count(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_f64().map(|float| float as u64))
}

fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str)
}

/// A constant of the wire as words.
fn words(constant: &str) -> String {
    constant.to_lowercase().replace('_', " ")
}

/// An error object after the stream had begun; its code is an HTTP status.
fn in_stream(error: &Value) -> ProviderError {
    let kind = match error.get("code").and_then(Value::as_u64) {
        Some(400) => "invalid_request_error",
        Some(401) => "authentication_error",
        Some(402) => "billing_error",
        Some(403) => "permission_error",
        Some(404) => "not_found_error",
        Some(413) => "request_too_large",
        Some(429) => "rate_limit_error",
        Some(503) => "overloaded_error",
        _ => text(error, "type").unwrap_or("api_error"),
    };
    let message = match error {
        Value::String(message) => message.as_str(),
        _ => text(error, "message").unwrap_or_default(),
    };
    failures::in_stream(&json!({"type": kind, "message": message}))
}

fn broken(what: &str) -> ProviderError {
    retry(
        &format!("the provider's stream is malformed: {what}"),
        "the step is tried again; if this repeats, check the base URL and any gateway between",
    )
}

fn retry(message: &str, hint: &str) -> ProviderError {
    ProviderError::Retry {
        failure: Failure::new(FailureKind::Network, message, hint),
        after: None,
    }
}
