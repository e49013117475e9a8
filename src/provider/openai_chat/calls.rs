//! The tool calls of one answer, put together from pieces that every server numbers in its own
//! way: indices missing or 0 for all, ids on each piece, on the first, on none or new each time,
//! names late, arguments whole or as an object. A call begins once its name is known.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::Value;

use crate::conversation::Block;
use crate::provider::openai::names::Names;
use crate::provider::openai::{broken, close_arguments, text};
use crate::provider::{ModelEvent, ProviderError};

/// The calls so far, in the order in which they began.
#[derive(Debug, Default)]
pub struct Calls {
    all: Vec<Call>,
    ids: HashSet<String>,
}

#[derive(Debug)]
struct Call {
    /// Our index.
    at: usize,
    /// The server's.
    index: Option<u64>,
    /// As the server gave it.
    key: String,
    /// No other call of this answer has it; set when the call is told.
    id: String,
    name: String,
    json: String,
}

impl Call {
    fn told(&self) -> bool {
        !self.id.is_empty()
    }

    /// Its arguments are whole, so what comes next is another call's.
    fn is_whole(&self) -> bool {
        self.json.trim_end().ends_with('}') && serde_json::from_str::<Value>(&self.json).is_ok()
    }
}

/// One piece, as far as it was understood.
struct Piece<'a> {
    index: Option<u64>,
    id: Option<&'a str>,
    name: Option<&'a str>,
    arguments: Option<&'a Value>,
}

impl Calls {
    /// No call came.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Takes one entry of `tool_calls`; `at` is the index that a new call gets. Whether it began.
    pub fn take(
        &mut self,
        entry: &Value,
        at: usize,
        names: &Names,
        out: &mut Vec<ModelEvent>,
    ) -> bool {
        let function = match entry.get("function") {
            Some(function) if function.is_object() => function,
            // The oldest form has no shell around the function.
            _ => entry,
        };
        let piece = Piece {
            index: entry.get("index").and_then(Value::as_u64),
            id: text(entry, "id"),
            name: text(function, "name"),
            arguments: function.get("arguments"),
        };
        let known = self.find(&piece);
        let n = known.unwrap_or(self.all.len());
        if known.is_none() {
            self.all.push(Call {
                at,
                index: piece.index,
                key: String::new(),
                id: String::new(),
                name: String::new(),
                json: String::new(),
            });
        }
        self.grow(n, &piece, names, out);
        known.is_none()
    }

    /// Which call a piece belongs to; `None`: a new one.
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
        // An id that comes late, or anew with each piece, is no new call; with a name it is.
        let new_id = piece.id.is_some_and(|id| call.key != id) && !call.key.is_empty();
        let new_name = piece
            .name
            .is_some_and(|name| !call.name.is_empty() && call.name != name);
        let another = new_name
            || (new_id && (piece.name.is_some() || call.is_whole()))
            || (piece.name.is_some() && !call.name.is_empty() && call.is_whole());
        (!another).then_some(n)
    }

    fn grow(&mut self, n: usize, piece: &Piece<'_>, names: &Names, out: &mut Vec<ModelEvent>) {
        let call = &mut self.all[n];
        if call.key.is_empty() {
            call.key = piece.id.unwrap_or_default().to_owned();
        }
        if call.name.is_empty() {
            call.name = piece.name.unwrap_or_default().to_owned();
        }
        let more = match piece.arguments {
            Some(Value::String(more)) => more.clone(),
            // Whole by nature.
            Some(Value::Object(all)) if call.json.is_empty() => {
                Value::Object(all.clone()).to_string()
            }
            _ => String::new(),
        };
        call.json.push_str(&more);
        if call.told() {
            if !more.is_empty() {
                let (index, text) = (call.at, more);
                out.push(ModelEvent::ToolInputDelta { index, text });
            }
        } else if !call.name.is_empty() {
            self.tell(n, names, out);
        }
    }

    fn tell(&mut self, n: usize, names: &Names, out: &mut Vec<ModelEvent>) {
        let call = &mut self.all[n];
        let base = match call.key.as_str() {
            "" => format!("call_{n}"),
            key => key.to_owned(),
        };
        let mut id = base.clone();
        let mut next = 2;
        while !self.ids.insert(id.clone()) {
            id = format!("{base}_{next}");
            next += 1;
        }
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

    /// All of them, complete; `whole` is false when the answer was cut by its limit. A nameless
    /// call with an id is told as one of an unknown tool; arguments of nobody are lost (P27).
    pub fn close(
        &mut self,
        whole: bool,
        names: &Names,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ProviderError> {
        for n in 0..self.all.len() {
            let call = &self.all[n];
            if call.told() {
                continue;
            }
            if call.key.is_empty() && call.json.trim().is_empty() {
                continue;
            }
            if call.key.is_empty() {
                return Err(broken("arguments came for a call that never began"));
            }
            self.tell(n, names, out);
        }
        let told = std::mem::take(&mut self.all).into_iter().filter(Call::told);
        for call in told {
            let (input, invalid) = close_arguments(call.json, whole);
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
