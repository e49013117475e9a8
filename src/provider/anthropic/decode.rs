//! Turns the events of a Messages stream into [`ModelEvent`]s. A block is emitted only when it is
//! complete, the stop only with the terminal event (INV-7). What is unknown is ignored if nothing
//! is lost, kept unchanged if it is a block, and a typed error otherwise. Does no I/O: the recorded
//! model uses it too.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::conversation::{Block, Usage};
use crate::env::order;
use crate::provider::decode::{CallIds, Decode, broken, close_arguments, count, text};
use crate::provider::{Events, ModelEvent, ProviderError, StopReason, arguments, failures, sse};

/// The state of one answer.
#[derive(Debug, Default)]
pub struct Decoder {
    /// Open blocks by the provider's index, with our own index.
    open: HashMap<u64, (usize, Open)>,
    next: usize,
    ids: CallIds,
    called: bool,
    usage: Usage,
    stop: Option<StopReason>,
    /// An event has arrived.
    begun: bool,
    ended: bool,
}

#[derive(Debug)]
enum Open {
    Text(String),
    Thinking {
        thinking: String,
        signature: String,
    },
    Redacted(String),
    Tool {
        id: String,
        name: String,
        /// Sent at the start, instead of deltas.
        input: Option<Value>,
        json: String,
    },
    Opaque {
        value: Value,
        json: String,
    },
}

/// The fields of an event that are read. Unknown fields are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wire {
    #[serde(rename = "type")]
    kind: Option<String>,
    index: Option<u64>,
    delta: Option<Value>,
    content_block: Option<Value>,
    message: Option<Value>,
    usage: Option<Value>,
    error: Option<Value>,
}

/// The most frequent event by far, read without a tree of values.
#[derive(Deserialize)]
struct WireText<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Cow<'a, str>>,
    index: u64,
    #[serde(borrow)]
    delta: TextDelta<'a>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct TextDelta<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

impl Decode for Decoder {
    fn event(&mut self, event: &sse::Event, out: &mut Events) -> Result<(), ProviderError> {
        if self.ended || self.text_delta(event, out) {
            return Ok(());
        }
        self.any_event(event, out)
    }

    fn begun(&self) -> bool {
        self.begun
    }

    fn ended(&self) -> bool {
        self.ended
    }
}

impl Decoder {
    fn any_event(&mut self, event: &sse::Event, out: &mut Events) -> Result<(), ProviderError> {
        let read = serde_json::from_str::<Wire>(&event.data).or_else(|error| {
            let mended = arguments::mend_surrogates(&event.data);
            serde_json::from_str(&mended).map_err(|_| error)
        });
        match read {
            Ok(wire) => self.take(wire, &event.name, out),
            Err(error) => unreadable(event, &error),
        }
    }

    /// Takes a piece of an open text. False: the event is for [`Decoder::any_event`].
    fn text_delta(&mut self, event: &sse::Event, out: &mut Events) -> bool {
        if event.name != "content_block_delta" || !event.data.contains("text_delta") {
            return false;
        }
        let Ok(wire) = serde_json::from_str::<WireText>(&event.data) else {
            return false;
        };
        let other = wire.kind.is_some_and(|kind| kind != event.name);
        if other || wire.delta.kind != "text_delta" || wire.error.is_some() {
            return false;
        }
        let Some((index, Open::Text(all))) = self.open.get_mut(&wire.index) else {
            return false;
        };
        all.push_str(&wire.delta.text);
        if !wire.delta.text.is_empty() {
            out.push(ModelEvent::TextDelta {
                index: *index,
                text: wire.delta.text.into_owned(),
            });
        }
        true
    }

    fn take(&mut self, wire: Wire, name: &str, out: &mut Events) -> Result<(), ProviderError> {
        let kind = wire.kind.as_deref().unwrap_or(name);
        if let Some(error) = wire.error.filter(|error| !error.is_null()) {
            return Err(failures::in_stream(&error));
        }
        let index = wire.index.unwrap_or(0);
        let delta = wire.delta.unwrap_or(Value::Null);
        self.begun = true;
        match kind {
            "message_start" => {
                let usage = wire.message.as_ref().and_then(|m| m.get("usage"));
                self.usage(usage.or(wire.usage.as_ref()), out);
            }
            "content_block_start" => {
                self.start(index, wire.content_block.unwrap_or(Value::Null), out)?;
            }
            "content_block_delta" => self.delta(index, &delta, out)?,
            "content_block_stop" => {
                if let Some((index, open)) = self.open.remove(&index) {
                    out.push(close(index, open, true));
                }
            }
            "message_delta" => {
                if let Some(reason) = text(&delta, "stop_reason") {
                    self.stop = Some(stop_reason(reason, &delta));
                }
                self.usage(wire.usage.as_ref(), out);
            }
            "message_stop" => self.end(out),
            "error" => return Err(failures::in_stream(&Value::Null)),
            "ping" => {}
            other => tracing::debug!(kind = other, "unknown event ignored"),
        }
        Ok(())
    }

    fn start(&mut self, index: u64, block: Value, out: &mut Events) -> Result<(), ProviderError> {
        if let Some((_, open)) = self.open.get(&index) {
            // Some gateways repeat the start with each piece.
            let id = text(&block, "id").unwrap_or_default();
            return match open {
                Open::Tool { id: known, .. } if id.is_empty() || id == known => Ok(()),
                _ => Err(broken("a block began twice")),
            };
        }
        let at = self.next;
        self.next += 1;
        let own = |field: &str| text(&block, field).unwrap_or_default().to_owned();
        let open = match text(&block, "type").unwrap_or_default() {
            "text" => {
                let text = own("text");
                if !text.is_empty() {
                    out.push(ModelEvent::TextDelta {
                        index: at,
                        text: text.clone(),
                    });
                }
                Open::Text(text)
            }
            "thinking" => Open::Thinking {
                thinking: own("thinking"),
                signature: own("signature"),
            },
            "redacted_thinking" => Open::Redacted(own("data")),
            "tool_use" => {
                let id = self.ids.unique(&own("id"));
                let name = own("name");
                self.called = true;
                out.push(ModelEvent::ToolStart {
                    index: at,
                    id: id.clone(),
                    name: name.clone(),
                });
                Open::Tool {
                    id,
                    name,
                    input: block.get("input").cloned(),
                    json: String::new(),
                }
            }
            _ => Open::Opaque {
                value: block,
                json: String::new(),
            },
        };
        self.open.insert(index, (at, open));
        Ok(())
    }

    fn delta(&mut self, index: u64, delta: &Value, out: &mut Events) -> Result<(), ProviderError> {
        if !self.open.contains_key(&index) {
            return self.stray(index, delta, out);
        }
        let Some((at, open)) = self.open.get_mut(&index) else {
            return Ok(());
        };
        let index = *at;
        let piece = |field: &str| text(delta, field).unwrap_or_default();
        match (open, text(delta, "type").unwrap_or_default()) {
            (Open::Text(all), "text_delta") => {
                let text = piece("text").to_owned();
                all.push_str(&text);
                if !text.is_empty() {
                    out.push(ModelEvent::TextDelta { index, text });
                }
            }
            (Open::Thinking { thinking, .. }, "thinking_delta") => {
                let text = piece("thinking").to_owned();
                thinking.push_str(&text);
                if !text.is_empty() {
                    out.push(ModelEvent::ThoughtDelta { index, text });
                }
            }
            (Open::Thinking { signature, .. }, "signature_delta") => {
                signature.push_str(piece("signature"));
            }
            (Open::Tool { json, .. }, "input_json_delta") => {
                let text = piece("partial_json").to_owned();
                json.push_str(&text);
                if !text.is_empty() {
                    out.push(ModelEvent::ToolInputDelta { index, text });
                }
            }
            (Open::Opaque { json, .. }, "input_json_delta") => {
                json.push_str(piece("partial_json"));
            }
            (Open::Opaque { value, .. }, _) => merge(value, delta),
            (_, other) => tracing::debug!(delta = other, "unknown delta ignored"),
        }
        Ok(())
    }

    /// A delta without a block (P27). Text needs no start; arguments need a call.
    fn stray(&mut self, index: u64, delta: &Value, out: &mut Events) -> Result<(), ProviderError> {
        let kind = text(delta, "type").unwrap_or_default();
        let (field, block) = match kind {
            "text_delta" => ("text", "text"),
            "thinking_delta" => ("thinking", "thinking"),
            "input_json_delta" => ("partial_json", ""),
            _ => {
                tracing::debug!(delta = kind, index, "delta without a block ignored");
                return Ok(());
            }
        };
        if text(delta, field).unwrap_or_default().is_empty() {
            return Ok(());
        }
        if block.is_empty() {
            return Err(broken("arguments came for a call that never began"));
        }
        self.start(index, serde_json::json!({ "type": block }), out)?;
        self.delta(index, delta, out)
    }

    fn end(&mut self, out: &mut Events) {
        let mut open: Vec<(usize, Open)> = self.open.drain().map(|(_, open)| open).collect();
        order::sort_by_key(&mut open, |(index, _)| *index);
        for (index, open) in open {
            out.push(close(index, open, false));
        }
        let fallback = if self.called {
            StopReason::ToolUse
        } else {
            StopReason::EndTurn
        };
        out.push(ModelEvent::Stop(self.stop.take().unwrap_or(fallback)));
        self.ended = true;
    }

    /// Counts are totals of this request. Missing ones keep their last value (P26).
    fn usage(&mut self, usage: Option<&Value>, out: &mut Events) {
        let Some(usage) = usage.filter(|usage| usage.is_object()) else {
            return;
        };
        let set = |field: &mut u64, name: &str| {
            if let Some(count) = usage.get(name).and_then(count) {
                *field = count;
            }
        };
        set(&mut self.usage.input, "input_tokens");
        set(&mut self.usage.output, "output_tokens");
        set(&mut self.usage.cache_read, "cache_read_input_tokens");
        set(&mut self.usage.cache_write, "cache_creation_input_tokens");
        out.push(ModelEvent::Usage(self.usage));
    }
}

fn close(index: usize, open: Open, whole: bool) -> ModelEvent {
    let mut invalid = None;
    let block = match open {
        Open::Text(text) => Block::Text { text },
        Open::Thinking {
            thinking,
            signature,
        } => Block::Thinking {
            thinking,
            signature,
        },
        Open::Redacted(data) => Block::RedactedThinking { data },
        Open::Tool {
            id,
            name,
            input,
            json,
        } => {
            let given = input.filter(|input| json.is_empty() && !is_empty(input));
            let json = given.map_or(json, |input| input.to_string());
            let (input, reason) = close_arguments(json, whole);
            invalid = reason;
            Block::ToolUse { id, name, input }
        }
        Open::Opaque { mut value, json } => {
            if let (false, Ok(input)) = (json.is_empty(), serde_json::from_str(&json)) {
                value["input"] = input;
            }
            Block::Opaque { value }
        }
    };
    ModelEvent::Block {
        index,
        block,
        invalid,
    }
}

fn is_empty(input: &Value) -> bool {
    match input {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// Merges a delta into a block of an unknown type: texts are appended, other values are replaced.
fn merge(value: &mut Value, delta: &Value) {
    let (Some(block), Some(delta)) = (value.as_object_mut(), delta.as_object()) else {
        return;
    };
    for (key, piece) in delta.iter().filter(|(key, _)| *key != "type") {
        match (block.get_mut(key), piece) {
            (Some(Value::String(all)), Value::String(more)) => all.push_str(more),
            _ => {
                block.insert(key.clone(), piece.clone());
            }
        }
    }
}

/// An event that is not JSON is ignored unless it may be part of the answer.
fn unreadable(event: &sse::Event, error: &serde_json::Error) -> Result<(), ProviderError> {
    let harmless = !event.name.is_empty()
        && !event.name.starts_with("content_block")
        && !event.name.starts_with("message")
        && event.name != "error";
    if harmless {
        tracing::debug!(name = %event.name, "unreadable event ignored");
        return Ok(());
    }
    Err(broken(&format!("an event is not JSON: {error}")))
}

fn stop_reason(reason: &str, delta: &Value) -> StopReason {
    match reason {
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "pause_turn" => StopReason::Pause,
        "refusal" => {
            let details = delta.get("stop_details");
            let category = details.and_then(|d| text(d, "category").or(text(d, "explanation")));
            StopReason::Refusal(category.map(str::to_owned))
        }
        "model_context_window_exceeded" => StopReason::ContextWindow,
        other => StopReason::Other(other.to_owned()),
    }
}
