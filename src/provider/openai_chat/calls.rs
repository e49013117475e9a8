//! Assembles the tool calls of one answer from pieces, which each server numbers differently:
//! indices may be missing or all 0; ids may be on each piece, on the first or on none, or change;
//! names may be late; arguments may be complete or an object. A call begins once its name is known.

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::conversation::Block;
use crate::provider::decode::{CallIds, Streaming, broken, close_arguments, text};
use crate::provider::openai::names::Names;
use crate::provider::{Events, ModelEvent, ProviderError};

/// The calls so far, in the order in which they began.
#[derive(Debug, Default)]
pub struct Calls {
    all: Vec<Call>,
    ids: CallIds,
}

#[derive(Debug, Default)]
struct Call {
    /// Our index.
    at: usize,
    /// The server's.
    index: Option<u64>,
    /// The server's id.
    key: String,
    /// Unique in this answer; set when the call is announced.
    id: String,
    name: String,
    json: String,
}

impl Call {
    fn is_announced(&self) -> bool {
        !self.id.is_empty()
    }

    /// Its arguments are complete, so the next piece belongs to another call.
    fn is_complete(&self) -> bool {
        self.json.trim_end().ends_with('}') && serde_json::from_str::<Value>(&self.json).is_ok()
    }
}

/// The fields of a piece.
struct Piece<'a> {
    index: Option<u64>,
    id: Option<&'a str>,
    name: Option<&'a str>,
    arguments: Option<&'a Value>,
}

impl Calls {
    /// Whether no call has arrived.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Takes one entry of `tool_calls`; a new call gets the next index.
    pub fn take(
        &mut self,
        entry: &Value,
        streaming: &mut Streaming,
        names: &Names,
        out: &mut Events,
    ) {
        let function = match entry.get("function") {
            Some(function) if function.is_object() => function,
            // The oldest format has no object around the function.
            _ => entry,
        };
        let piece = Piece {
            index: entry.get("index").and_then(Value::as_u64),
            id: text(entry, "id"),
            name: text(function, "name"),
            arguments: function.get("arguments"),
        };
        let n = self.find(&piece).unwrap_or_else(|| {
            self.all.push(Call {
                at: streaming.index(),
                index: piece.index,
                ..Call::default()
            });
            self.all.len() - 1
        });
        self.grow(n, &piece, names, out);
    }

    /// The call that a piece belongs to; `None`: a new one.
    fn find(&self, piece: &Piece<'_>) -> Option<usize> {
        let same_index = |call: &Call| match (piece.index, call.index) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        if let Some(id) = piece.id {
            let known = |call: &Call| call.key == id && same_index(call);
            if let Some(n) = self.all.iter().rposition(known) {
                return Some(n);
            }
        }
        let n = match piece.index {
            Some(index) => self
                .all
                .iter()
                .rposition(|call| call.index == Some(index))?,
            None => self.all.len().checked_sub(1)?,
        };
        let call = &self.all[n];
        // An id that is late or changes with each piece does not begin a call; with a name it does.
        let new_id = piece.id.is_some_and(|id| call.key != id) && !call.key.is_empty();
        let new_name = piece
            .name
            .is_some_and(|name| !call.name.is_empty() && call.name != name);
        let another = new_name
            || (new_id && (piece.name.is_some() || call.is_complete()))
            || (piece.name.is_some() && !call.name.is_empty() && call.is_complete());
        (!another).then_some(n)
    }

    fn grow(&mut self, n: usize, piece: &Piece<'_>, names: &Names, out: &mut Events) {
        let call = &mut self.all[n];
        if call.key.is_empty() {
            call.key = piece.id.unwrap_or_default().to_owned();
        }
        if call.name.is_empty() {
            call.name = piece.name.unwrap_or_default().to_owned();
        }
        let more = match piece.arguments {
            Some(Value::String(more)) => more.clone(),
            // Complete by nature.
            Some(Value::Object(all)) if call.json.is_empty() => {
                Value::Object(all.clone()).to_string()
            }
            _ => String::new(),
        };
        call.json.push_str(&more);
        if call.is_announced() {
            if !more.is_empty() {
                let (index, text) = (call.at, more);
                out.push(ModelEvent::ToolInputDelta { index, text });
            }
        } else if !call.name.is_empty() {
            self.announce(n, names, out);
        }
    }

    fn announce(&mut self, n: usize, names: &Names, out: &mut Events) {
        let call = &mut self.all[n];
        let id = self.ids.unique(&call.key);
        call.id = id.clone();
        out.push(ModelEvent::ToolStart {
            index: call.at,
            id,
            name: names.own(&call.name),
        });
        if !call.json.is_empty() {
            out.push(ModelEvent::ToolInputDelta {
                index: call.at,
                text: call.json.clone(),
            });
        }
    }

    /// Emits all calls. `complete` is false if the answer was truncated. A call with an id but no
    /// name is one of an unknown tool; arguments without a call are an error (P27).
    pub fn close(
        &mut self,
        complete: bool,
        names: &Names,
        out: &mut Events,
    ) -> Result<(), ProviderError> {
        for n in 0..self.all.len() {
            let call = &self.all[n];
            if call.is_announced() {
                continue;
            }
            if call.key.is_empty() && call.json.trim().is_empty() {
                continue;
            }
            if call.key.is_empty() {
                return Err(broken("arguments came for a call that never began"));
            }
            self.announce(n, names, out);
        }
        let all = std::mem::take(&mut self.all).into_iter();
        for call in all.filter(Call::is_announced) {
            let (input, invalid) = close_arguments(call.json, complete);
            let block = Block::ToolUse {
                id: call.id,
                name: names.own(&call.name),
                input,
            };
            out.push(ModelEvent::Block {
                index: call.at,
                block,
                invalid,
            });
        }
        Ok(())
    }
}
