//! Turns the events of a Gemini stream into [`ModelEvent`]s. A part with a call arrives complete.
//! The stop is emitted when the stream has ended with a finish reason (INV-7), because parts and
//! usage may follow the reason. What is unknown is kept unchanged if it is a part, ignored if
//! nothing is lost, and a typed error otherwise. Does no I/O.

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::history::{continuation_block, signature_block};
use crate::conversation::{Block, Usage};
use crate::provider::decode::{
    CallIds, Decode, Streaming, broken, close_arguments, count, cut, retry, text,
};
use crate::provider::openai::names::Names;
use crate::provider::{Events, ModelEvent, ProviderError, StopReason, arguments, failures, sse};

/// The state of one answer.
#[derive(Debug, Default)]
pub struct Decoder {
    names: Names,
    streaming: Streaming,
    ids: CallIds,
    called: bool,
    counts: Counts,
    stop: Option<StopReason>,
    /// Why the prompt was blocked.
    blocked: Option<String>,
    continuation: Option<String>,
    /// An event has arrived.
    begun: bool,
    ended: bool,
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
    fn event(&mut self, event: &sse::Event, out: &mut Events) -> Result<(), ProviderError> {
        let data = event.data.trim();
        // Gateways end the stream as another format does.
        if self.ended || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let mended = arguments::mend_surrogates(data);
        let value: Value = serde_json::from_str(&mended)
            .map_err(|error| broken(&format!("an event is not JSON: {error}")))?;
        let twice = match mended.contains("\"functionCall\"") {
            // The tree above has dropped a repeated key.
            true => arguments::strict(&mended).err(),
            false => None,
        };
        // A gateway that does not understand `alt=sse` sends a list.
        let answers = match &value {
            Value::Array(answers) => answers.as_slice(),
            answer => std::slice::from_ref(answer),
        };
        for answer in answers {
            self.take(answer, twice.as_deref(), out)?;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Events) -> Result<(), ProviderError> {
        if self.ended {
            return Ok(());
        }
        let stop = match (self.stop.take(), self.blocked.take()) {
            (Some(stop), _) => stop,
            (None, Some(reason)) => StopReason::Refusal(Some(reason)),
            (None, None) => return Err(cut(self.begun)),
        };
        self.streaming.close(out);
        if stop == StopReason::EndTurn && self.streaming.is_unused() {
            return Err(retry(
                "the provider sent an empty answer",
                "the step is retried; if this repeats, choose another model",
            ));
        }
        // A call may follow the reason.
        let stop = match stop {
            StopReason::EndTurn if self.called => StopReason::ToolUse,
            other => other,
        };
        if let (StopReason::Pause, Some(token)) = (&stop, self.continuation.take()) {
            self.streaming.complete(continuation_block(&token), out);
        }
        out.push(ModelEvent::Stop(stop));
        self.ended = true;
        Ok(())
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

    fn take(
        &mut self,
        answer: &Value,
        twice: Option<&str>,
        out: &mut Events,
    ) -> Result<(), ProviderError> {
        if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
            return Err(failures::in_stream(error));
        }
        self.begun = true;
        self.usage(answer.get("usageMetadata"), out);
        let feedback = answer.get("promptFeedback");
        if let Some(reason) = feedback.and_then(|it| text(it, "blockReason")) {
            self.blocked = Some(spelled_out(reason));
        }
        let Some(candidate) = answer.get("candidates").and_then(|all| all.get(0)) else {
            return Ok(());
        };
        let parts = candidate.pointer("/content/parts");
        for part in parts.and_then(Value::as_array).into_iter().flatten() {
            self.part(part, twice, out);
        }
        if let Some(token) = text(candidate, "continuationToken") {
            self.continuation = Some(token.to_owned());
        }
        if let Some(reason) = text(candidate, "finishReason") {
            self.finished(reason, text(candidate, "finishMessage"))?;
        }
        Ok(())
    }

    fn part(&mut self, part: &Value, twice: Option<&str>, out: &mut Events) {
        let Some(fields) = part.as_object() else {
            return;
        };
        let signature = text(part, "thoughtSignature");
        if let Some(call) = fields.get("functionCall").filter(|call| call.is_object()) {
            self.streaming.close(out);
            self.call(call, twice, out);
            if let Some(signature) = signature {
                self.streaming.complete(signature_block(signature), out);
            }
            return;
        }
        let other =
            |key: &&String| !matches!(key.as_str(), "text" | "thought" | "thoughtSignature");
        if !fields.contains_key("text") && fields.keys().any(|key| other(&key)) {
            self.streaming.close(out);
            let value = part.clone();
            return self.streaming.complete(Block::Opaque { value }, out);
        }
        let piece = text(part, "text").unwrap_or_default();
        let thought = part.get("thought") == Some(&Value::Bool(true));
        self.streaming.push(piece, thought, out);
        let Some(signature) = signature else {
            return;
        };
        if piece.is_empty() {
            // It must be sent back in a part of its own.
            self.streaming.close(out);
            let value = json!({"text": "", "thoughtSignature": signature});
            self.streaming.complete(Block::Opaque { value }, out);
        } else if self.streaming.close_signed(signature, out) {
            // The pieces of one text become one part, as in an answer that is not streamed, so the
            // signature belongs to all of them.
            self.streaming.complete(signature_block(signature), out);
        }
    }

    fn call(&mut self, call: &Value, twice: Option<&str>, out: &mut Events) {
        let index = self.streaming.index();
        let id = self.ids.unique(text(call, "id").unwrap_or_default());
        let name = self.names.own(text(call, "name").unwrap_or_default());
        self.called = true;
        let given = call.get("args").filter(|args| !args.is_null());
        let given = given.map(Value::to_string).unwrap_or_default();
        let partial = ["partialArgs", "willContinue"].iter().any(|key| {
            call.get(key)
                .is_some_and(|value| *value != Value::Bool(false))
        });
        out.push(ModelEvent::ToolStart {
            index,
            id: id.clone(),
            name: name.clone(),
        });
        if !given.is_empty() {
            let text = given.clone();
            out.push(ModelEvent::ToolInputDelta { index, text });
        }
        let pieces = "the arguments arrived in pieces, which Interline does not ask for";
        let (input, invalid) = match twice.or(partial.then_some(pieces)) {
            Some(error) => (Value::String(given), Some(error.to_owned())),
            None => close_arguments(given, true),
        };
        out.push(ModelEvent::Block {
            index,
            block: Block::ToolUse { id, name, input },
            invalid,
        });
    }

    fn finished(&mut self, reason: &str, why: Option<&str>) -> Result<(), ProviderError> {
        let because = || match why.filter(|why| !why.trim().is_empty()) {
            Some(why) => format!("{}: {why}", spelled_out(reason)),
            None => spelled_out(reason),
        };
        self.stop = Some(match reason {
            "FINISH_REASON_UNSPECIFIED" => return Ok(()),
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
                    &format!("the model's answer cannot be used ({})", because()),
                    "the step is retried; if this repeats, choose another model",
                ));
            }
            image if image.starts_with("IMAGE_") => StopReason::Refusal(Some(because())),
            other => StopReason::Other(other.to_owned()),
        });
        Ok(())
    }

    /// Counts are running totals. Missing ones keep their last value (P26).
    fn usage(&mut self, usage: Option<&Value>, out: &mut Events) {
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
            // The cached tokens are part of the prompt.
            cache_read: counts.cached.min(counts.prompt),
            ..Usage::default()
        }));
    }
}

/// A constant of the wire format as words.
fn spelled_out(constant: &str) -> String {
    constant.to_lowercase().replace('_', " ")
}
