//! What the decoders of all wire formats share: fields, counts, ids of calls, arguments that may
//! be incomplete, text that is still arriving, and the errors of a stream.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::Value;

use crate::conversation::{Block, Failure, FailureKind};

use super::{Events, ModelEvent, ProviderError, arguments, sse};

/// Reads the events of one answer in one wire format.
pub trait Decode: Send + 'static {
    /// Takes one event of the stream. Events after the terminal one are ignored.
    fn event(&mut self, event: &sse::Event, out: &mut Events) -> Result<(), ProviderError>;

    /// The stream has ended: an error unless the answer is complete. By default only the terminal
    /// event completes it.
    fn finish(&mut self, _out: &mut Events) -> Result<(), ProviderError> {
        match self.ended() {
            true => Ok(()),
            false => Err(cut(self.begun())),
        }
    }

    /// Whether an event has been read.
    fn begun(&self) -> bool;

    /// Whether the terminal event has been read.
    fn ended(&self) -> bool;
}

/// A string field that is not empty.
pub fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    let text = value.get(field).and_then(Value::as_str);
    text.filter(|text| !text.is_empty())
}

/// A count of tokens. Saturates beyond 64 bits; a negative number is 0.
pub fn count(value: &Value) -> Option<u64> {
    let float = || value.as_f64().map(|float| float as u64);
    value.as_u64().or_else(float)
}

/// The ids of an answer's calls (P25).
#[derive(Debug, Default)]
pub struct CallIds(HashSet<String>);

impl CallIds {
    /// `id`, or one made from it that no other call has; a call without an id gets a number.
    pub fn unique(&mut self, id: &str) -> String {
        let base = match id {
            "" => format!("call_{}", self.0.len()),
            id => id.to_owned(),
        };
        let mut unique = base.clone();
        let mut n = 2;
        while !self.0.insert(unique.clone()) {
            unique = format!("{base}_{n}");
            n += 1;
        }
        unique
    }
}

/// A call's arguments: parsed, or their raw text and the reason why they cannot be used.
/// `complete` is false if the answer was truncated before the call ended.
pub fn close_arguments(json: String, complete: bool) -> (Value, Option<String>) {
    match arguments::parse(&json) {
        Ok(input) if complete => (input, None),
        Ok(_) => (
            Value::String(json),
            Some("the answer ended before this call was complete".to_owned()),
        ),
        Err(error) => (Value::String(json), Some(error)),
    }
}

/// The text or thought that is arriving, and the next free index of a block.
#[derive(Debug, Default)]
pub struct Streaming {
    open: Option<Open>,
    next: usize,
}

#[derive(Debug)]
struct Open {
    index: usize,
    thought: bool,
    text: String,
}

impl Streaming {
    /// A new block's index.
    pub fn index(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    /// No block has begun.
    pub fn is_unused(&self) -> bool {
        self.next == 0
    }

    /// Adds a piece. A change from text to thought or back closes the open block.
    pub fn push(&mut self, piece: &str, thought: bool, out: &mut Events) {
        if piece.is_empty() {
            return;
        }
        let same = self
            .open
            .as_ref()
            .is_some_and(|open| open.thought == thought);
        if !same {
            self.close(out);
            let (index, text) = (self.index(), String::new());
            self.open = Some(Open {
                index,
                thought,
                text,
            });
        }
        let Some(open) = &mut self.open else { return };
        open.text.push_str(piece);
        let (index, text) = (open.index, piece.to_owned());
        out.push(match thought {
            true => ModelEvent::ThoughtDelta { index, text },
            false => ModelEvent::TextDelta { index, text },
        });
    }

    /// Closes the open block, if any.
    pub fn close(&mut self, out: &mut Events) {
        self.close_signed("", out);
    }

    /// Closes the open block; a thought carries the signature. Whether a text was closed.
    pub fn close_signed(&mut self, signature: &str, out: &mut Events) -> bool {
        let Some(open) = self.open.take() else {
            return false;
        };
        let (thought, text) = (open.thought, open.text);
        let block = match thought {
            true => Block::Thinking {
                thinking: text,
                signature: signature.to_owned(),
            },
            false => Block::Text { text },
        };
        out.push(ModelEvent::block(open.index, block));
        !thought
    }

    /// Adds a block that arrived in one piece.
    pub fn complete(&mut self, block: Block, out: &mut Events) {
        let index = self.index();
        out.push(ModelEvent::block(index, block));
    }
}

/// A stream that cannot be read any further.
pub fn broken(what: &str) -> ProviderError {
    retry(
        &format!("the provider's stream is malformed: {what}"),
        "the step is retried; if this repeats, check the base URL and any gateway in between",
    )
}

/// A stream that ended before its terminal event (P02).
pub fn cut(begun: bool) -> ProviderError {
    let message = match begun {
        true => "the stream ended before the answer was complete",
        false => "the provider sent an empty response",
    };
    retry(
        message,
        "the step is retried; if this repeats, check the network and any proxy in between",
    )
}

/// An error of the network that a retry may cure.
pub fn retry(message: &str, hint: &str) -> ProviderError {
    ProviderError::retry(Failure::new(FailureKind::Network, message, hint))
}
