//! Turns the events of a Responses stream into [`ModelEvent`]s. An item is emitted when it is done,
//! in the order of the output, so that reasoning precedes its call; the stop comes only with the
//! terminal event (INV-7). What is unknown is ignored if nothing is lost, kept unchanged if it is
//! an item, and a typed error otherwise.

#[cfg(test)]
pub mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::conversation::{Block, Usage};
use crate::provider::decode::{CallIds, Decode, broken, close_arguments, text};
use crate::provider::openai::names::Names;
use crate::provider::openai::{read, read_usage};
use crate::provider::{Events, ModelEvent, ProviderError, StopReason, failures, sse};

use super::body::PHASE;

/// The state of one answer.
#[derive(Debug, Default)]
pub struct Decoder {
    names: Names,
    /// Open items by their position in the output.
    open: BTreeMap<u64, Open>,
    /// Finished items that wait for an earlier one.
    ready: BTreeMap<u64, Vec<ModelEvent>>,
    closed: HashSet<u64>,
    /// Positions by item ids, for servers that do not number events.
    places: HashMap<String, u64>,
    /// The position of the item that began last.
    last: u64,
    /// An event had no position.
    unplaced: bool,
    next: usize,
    ids: CallIds,
    called: bool,
    refused: Option<String>,
    usage: Usage,
    /// The limit of tokens in the request, if it has one.
    limit: Option<u64>,
    begun: bool,
    ended: bool,
}

/// An open item. It has two of our indices: `at` and the next one.
#[derive(Debug)]
struct Open {
    at: usize,
    kind: Kind,
    /// As it began.
    item: Value,
    /// Its text or arguments so far.
    text: String,
    /// The id of a call.
    id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Message,
    Reasoning,
    Call,
    Other,
}

/// The fields of an event that are read. Unknown fields are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wire {
    #[serde(rename = "type")]
    kind: Option<String>,
    output_index: Option<u64>,
    item_id: Option<String>,
    summary_index: Option<u64>,
    item: Option<Value>,
    delta: Option<Value>,
    arguments: Option<Value>,
    response: Option<WireResponse>,
    error: Option<Value>,
    code: Option<Value>,
    message: Option<Value>,
}

/// The response that some events repeat, without its echo of the request.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireResponse {
    output: Option<Value>,
    usage: Option<Value>,
    error: Option<Value>,
    status: Option<Value>,
    incomplete_details: Option<Value>,
    max_output_tokens: Option<Value>,
}

impl Decode for Decoder {
    fn event(&mut self, event: &sse::Event, out: &mut Events) -> Result<(), ProviderError> {
        if self.ended || event.data.trim() == "[DONE]" {
            return Ok(());
        }
        match read::<Wire>(&event.data) {
            Ok(wire) => self.take(wire, &event.name, out),
            Err(_) if is_harmless(&event.name) => Ok(()),
            Err(error) => Err(broken(&format!("an event cannot be read: {error}"))),
        }
    }

    fn begun(&self) -> bool {
        self.begun
    }

    fn ended(&self) -> bool {
        self.ended
    }
}

fn is_harmless(name: &str) -> bool {
    !name.is_empty() && !name.starts_with("response.") && name != "error"
}

impl Decoder {
    /// `names` translates names on the wire to the names of tools.
    pub fn new(names: Names) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    /// Sets the limit of tokens in the request.
    pub fn with_limit(mut self, limit: Option<u64>) -> Self {
        self.limit = limit;
        self
    }

    fn take(&mut self, wire: Wire, name: &str, out: &mut Events) -> Result<(), ProviderError> {
        let kind = wire.kind.clone().unwrap_or_else(|| name.to_owned());
        if let Some(error) = wire.error.as_ref().filter(|error| !error.is_null()) {
            return Err(failures::in_stream(error));
        }
        self.begun = true;
        match kind.as_str() {
            "response.output_item.added" => {
                let place = self.place(&wire, true);
                self.begin(place, wire.item.unwrap_or(Value::Null), out);
            }
            "response.output_item.done" => {
                let place = self.place(&wire, false);
                self.done(place, wire.item.unwrap_or(Value::Null), out);
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                self.piece(Kind::Message, &wire, out)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.piece(Kind::Reasoning, &wire, out)?;
            }
            "response.reasoning_summary_part.added" => self.paragraph(&wire, out),
            "response.function_call_arguments.delta" => self.piece(Kind::Call, &wire, out)?,
            "response.function_call_arguments.done" => self.whole_arguments(&wire, out),
            "response.completed" | "response.incomplete" | "response.done" => {
                let response = wire.response.unwrap_or_default();
                let status = response.status.as_ref().and_then(Value::as_str);
                if matches!(status, Some("failed" | "cancelled")) {
                    let error = response.error.unwrap_or(Value::Null);
                    return Err(failures::in_stream(&error));
                }
                let whole =
                    kind != "response.incomplete" && matches!(status, None | Some("completed"));
                self.end(response, whole, out);
            }
            "response.failed" | "response.cancelled" => {
                let error = wire.response.and_then(|response| response.error);
                return Err(failures::in_stream(&error.unwrap_or(Value::Null)));
            }
            "error" => {
                let error = json!({"code": wire.code, "message": wire.message});
                return Err(failures::in_stream(&error));
            }
            other => tracing::trace!(kind = other, "unused event ignored"),
        }
        Ok(())
    }

    /// The position of an event's item.
    fn place(&mut self, wire: &Wire, begins: bool) -> u64 {
        let id = wire.item_id.as_deref();
        let id = id
            .or_else(|| text(wire.item.as_ref()?, "id"))
            .map(str::to_owned);
        if let Some(place) = wire.output_index {
            self.last = place;
            if let Some(id) = id {
                self.places.insert(id, place);
            }
            return place;
        }
        self.unplaced = true;
        if let Some(place) = id.as_ref().and_then(|id| self.places.get(id)) {
            return *place;
        }
        let nothing = self.open.is_empty() && self.closed.is_empty();
        let done = self.closed.contains(&self.last);
        if begins && !nothing || done {
            self.last = self.last.saturating_add(1);
        }
        if let Some(id) = id {
            self.places.insert(id, self.last);
        }
        self.last
    }

    fn begin(&mut self, place: u64, item: Value, out: &mut Events) {
        if self.closed.contains(&place) || self.open.contains_key(&place) {
            // Some gateways repeat the start.
            return;
        }
        let kind = match text(&item, "type").unwrap_or_default() {
            "message" => Kind::Message,
            "reasoning" => Kind::Reasoning,
            "function_call" => Kind::Call,
            _ => Kind::Other,
        };
        let at = self.next;
        self.next += 2;
        let mut id = String::new();
        if kind == Kind::Call {
            let given = text(&item, "call_id").or_else(|| text(&item, "id"));
            id = self.ids.unique(given.unwrap_or_default());
            self.called = true;
            let name = text(&item, "name").unwrap_or_default();
            out.push(ModelEvent::ToolStart {
                index: at,
                id: id.clone(),
                name: self.names.own(name),
            });
        }
        let open = Open {
            at,
            kind,
            item,
            text: String::new(),
            id,
        };
        self.open.insert(place, open);
    }

    /// A piece of an item's text. Text and thoughts need no start; arguments need a call (P27).
    fn piece(&mut self, kind: Kind, wire: &Wire, out: &mut Events) -> Result<(), ProviderError> {
        let piece = match &wire.delta {
            Some(Value::String(piece)) if !piece.is_empty() => piece,
            _ => return Ok(()),
        };
        let place = self.place(wire, false);
        if self.closed.contains(&place) {
            tracing::debug!(place, "a piece of an item that is done ignored");
            return Ok(());
        }
        if !self.open.contains_key(&place) {
            let kind = match kind {
                Kind::Message => "message",
                Kind::Reasoning => "reasoning",
                _ => return Err(broken("arguments came for a call that never began")),
            };
            self.begin(place, json!({ "type": kind }), out);
        }
        if let Some(open) = self.open.get_mut(&place).filter(|open| open.kind == kind) {
            open.push(piece, out);
        }
        Ok(())
    }

    /// Another paragraph of the reasoning's summary.
    fn paragraph(&mut self, wire: &Wire, out: &mut Events) {
        let place = self.place(wire, false);
        let open = self.open.get_mut(&place);
        let open = open.filter(|open| open.kind == Kind::Reasoning && !open.text.is_empty());
        if let Some(open) = open.filter(|_| wire.summary_index != Some(0)) {
            open.push("\n\n", out);
        }
    }

    fn whole_arguments(&mut self, wire: &Wire, out: &mut Events) {
        let place = self.place(wire, false);
        let whole = wire.arguments.as_ref().map(text_of).unwrap_or_default();
        if let Some(open) = self.open.get_mut(&place).filter(|o| o.kind == Kind::Call) {
            open.complete(&whole, out);
        }
    }

    fn done(&mut self, place: u64, item: Value, out: &mut Events) {
        if self.closed.contains(&place) {
            return;
        }
        if !self.open.contains_key(&place) {
            self.begin(place, item.clone(), out);
        }
        if let Some(open) = self.open.remove(&place) {
            let whole = item
                .get("status")
                .is_none_or(|status| status != "incomplete");
            self.close(place, open, item, whole, out);
            self.emit_ready(out);
        }
    }

    fn close(&mut self, place: u64, mut open: Open, item: Value, whole: bool, out: &mut Events) {
        self.closed.insert(place);
        let mut blocks = Vec::new();
        let mut give = |index, block, invalid| {
            blocks.push(ModelEvent::Block {
                index,
                block,
                invalid,
            });
        };
        match open.kind {
            Kind::Message => {
                let (text, refusal) = message_text(&item);
                self.refused = self.refused.take().or(refusal);
                open.complete(&text, out);
                let phase = item.get("phase").or_else(|| open.item.get("phase"));
                if let Some(phase) = phase.filter(|phase| phase.is_string()) {
                    let value = json!({"type": PHASE, "phase": phase});
                    give(open.at + 1, Block::Opaque { value }, None);
                }
                if !open.text.is_empty() {
                    give(open.at, Block::Text { text: open.text }, None);
                }
            }
            Kind::Reasoning => {
                open.complete(&reasoning_text(&item), out);
                if !open.text.is_empty() {
                    let thinking = Block::Thinking {
                        thinking: open.text,
                        signature: String::new(),
                    };
                    give(open.at, thinking, None);
                }
                // Truncated reasoning cannot be sent back.
                if let Some(value) = replayable(item).filter(|_| whole) {
                    give(open.at + 1, Block::Opaque { value }, None);
                }
            }
            Kind::Call => {
                open.complete(&item.get("arguments").map(text_of).unwrap_or_default(), out);
                let name = text(&item, "name").or_else(|| text(&open.item, "name"));
                let (input, invalid) = close_arguments(open.text, whole);
                let block = Block::ToolUse {
                    id: open.id,
                    name: self.names.own(name.unwrap_or_default()),
                    input,
                };
                give(open.at, block, invalid);
            }
            Kind::Other => {
                let value = stripped(if item.is_object() { item } else { open.item });
                if value.is_object() {
                    give(open.at, Block::Opaque { value }, None);
                }
            }
        }
        self.ready.insert(place, blocks);
    }

    /// Emits the items that wait for no earlier one.
    fn emit_ready(&mut self, out: &mut Events) {
        let under_way = self.open.keys().next().copied();
        while let Some(first) = self.ready.first_entry() {
            if under_way.is_some_and(|open| open < *first.key()) {
                return;
            }
            out.extend(first.remove());
        }
    }

    /// The terminal event. `whole`: the server reports a complete answer.
    fn end(&mut self, response: WireResponse, whole: bool, out: &mut Events) {
        let counted = response
            .usage
            .as_ref()
            .is_some_and(|usage| read_usage(usage, &mut self.usage));
        let reason = self.why_incomplete(&response, whole);
        let output = match response.output {
            Some(Value::Array(output)) => output,
            _ => Vec::new(),
        };
        // If events had no positions, the positions in this list do not match theirs.
        if !self.unplaced || (self.open.is_empty() && self.closed.is_empty()) {
            for (place, item) in (0u64..).zip(output) {
                self.done(place, item, out);
            }
        }
        while let Some((place, open)) = self.open.pop_first() {
            let item = match open.kind {
                // It was never reported as done.
                Kind::Reasoning => Value::Null,
                _ => open.item.clone(),
            };
            self.close(place, open, item, reason.is_none(), out);
        }
        self.emit_ready(out);
        if counted {
            out.push(ModelEvent::Usage(self.usage));
        }
        let stop = match (reason.as_deref(), self.refused.take()) {
            (Some("max_output_tokens"), _) => StopReason::MaxTokens,
            (Some("content_filter"), _) => StopReason::Refusal(Some("content_filter".to_owned())),
            (Some(other), _) => StopReason::Other(other.to_owned()),
            (None, Some(why)) => StopReason::Refusal(Some(why)),
            (None, None) if self.called => StopReason::ToolUse,
            (None, None) => StopReason::EndTurn,
        };
        out.push(ModelEvent::Stop(stop));
        self.ended = true;
    }

    /// Why the answer is incomplete. Servers that imitate the format report an answer that reached
    /// its limit as complete, or give no reason.
    fn why_incomplete(&self, response: &WireResponse, whole: bool) -> Option<String> {
        let details = response.incomplete_details.as_ref();
        let details = details.filter(|it| !it.is_null());
        let named = details.and_then(|it| text(it, "reason"));
        let echoed = response.max_output_tokens.as_ref().and_then(Value::as_u64);
        let limit = self.limit.or(echoed).filter(|limit| *limit > 0);
        let full = limit.is_some_and(|limit| self.usage.output >= limit);
        if whole && details.is_none() && !full {
            return None;
        }
        let status = response.status.as_ref().and_then(Value::as_str);
        let other = status.filter(|it| !matches!(*it, "incomplete" | "completed"));
        let reason = named.or(other).unwrap_or("max_output_tokens");
        Some(reason.to_owned())
    }
}

impl Open {
    fn push(&mut self, piece: &str, out: &mut Events) {
        self.text.push_str(piece);
        let (index, text) = (self.at, piece.to_owned());
        out.push(match self.kind {
            Kind::Message => ModelEvent::TextDelta { index, text },
            Kind::Reasoning => ModelEvent::ThoughtDelta { index, text },
            Kind::Call => ModelEvent::ToolInputDelta { index, text },
            Kind::Other => return,
        });
    }

    /// Takes the item's full text, because pieces may be missing.
    fn complete(&mut self, whole: &str, out: &mut Events) {
        if whole.is_empty() || whole == self.text {
            return;
        }
        match whole.strip_prefix(self.text.as_str()) {
            Some(rest) => self.push(rest, out),
            None => self.text = whole.to_owned(),
        }
    }
}

/// Arguments are text, but some servers send an object.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(_) => value.to_string(),
        _ => String::new(),
    }
}

/// A message's text, and the refusal in it.
fn message_text(item: &Value) -> (String, Option<String>) {
    let parts = item.get("content").and_then(Value::as_array);
    let mut all = String::new();
    let mut refusal = None;
    for part in parts.into_iter().flatten() {
        if let Some(why) = text(part, "refusal") {
            all.push_str(why);
            refusal = Some(why.chars().take(200).collect());
        } else {
            all.push_str(text(part, "text").unwrap_or_default());
        }
    }
    (all, refusal)
}

fn reasoning_text(item: &Value) -> String {
    let of = |field: &str| -> Vec<&str> {
        let parts = item.get(field).and_then(Value::as_array);
        let parts = parts.into_iter().flatten();
        parts.filter_map(|part| text(part, "text")).collect()
    };
    let summary = of("summary");
    let texts = match summary.is_empty() {
        true => of("content"),
        false => summary,
    };
    texts.join("\n\n")
}

/// A reasoning item to send back, if the model can read it without the server's store.
fn replayable(item: Value) -> Option<Value> {
    let encrypted = text(&item, "encrypted_content").is_some();
    let content = item.get("content").and_then(Value::as_array);
    (encrypted || content.is_some_and(|parts| !parts.is_empty())).then(|| stripped(item))
}

/// The item without what only the server's store knows.
fn stripped(mut item: Value) -> Value {
    if let Some(map) = item.as_object_mut() {
        map.shift_remove("id");
        map.shift_remove("status");
        map.retain(|_, value| !value.is_null());
    }
    item
}
