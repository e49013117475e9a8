//! History as both formats accept it, made on a copy for each request and never stored: every
//! call has exactly one output, right behind the answer that called; what only another model can
//! read is left out. A pure function of messages and target (INV-5), so that a longer history
//! begins with the same entries.

#[cfg(test)]
pub mod tests;

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};

use serde_json::Value;

use crate::conversation::{Block, Message, Role};

use super::names::{self, digest};

/// Said in place of what must not be absent.
const INTERRUPTED: &str = "This call was interrupted. It has no result and may have had effects.";
const NO_OUTPUT: &str = "(no output)";
const CONTINUE: &str = "Continue.";
const IMAGE_LEFT_OUT: &str = "[An image was here; this model cannot read images.]";
const DOCUMENT_LEFT_OUT: &str = "[A document was here; this model cannot read it.]";
/// Most characters of a call's id.
const LONGEST_ID: usize = 64;

/// What a history is made for.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// `<provider>/<id>`.
    pub model: &'a str,
    pub images: bool,
    /// PDFs can be sent as they are.
    pub documents: bool,
    /// Ids of calls have exactly nine letters and digits.
    pub short_ids: bool,
    /// Of so many messages at the beginning the model cannot read the state any more.
    pub unreadable: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Entry<'a> {
    /// Texts and images, never empty.
    User(Vec<Cow<'a, Block>>),
    Answer(Vec<Part<'a>>),
    /// What a call gave.
    Output {
        id: String,
        text: &'a str,
    },
}

/// One part of an answer. Its last one is a text or a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Part<'a> {
    Text(&'a str),
    /// Only of the same model.
    Thought(&'a str),
    /// What only the same model can read.
    State(&'a Value),
    /// State that it said it cannot read.
    Unreadable(&'a Value),
    Call {
        id: String,
        /// As the wire allows it.
        name: Cow<'a, str>,
        input: &'a Value,
    },
}

impl Part<'_> {
    /// It can stand alone; thoughts and state cannot.
    fn says(&self) -> bool {
        matches!(self, Part::Text(_) | Part::Call { .. })
    }
}

/// The entries of a request. An empty history stays empty.
pub fn entries<'a>(messages: &'a [Message], target: Target<'_>) -> Vec<Entry<'a>> {
    let mut builder = Builder {
        target,
        entries: Vec::new(),
        open: VecDeque::new(),
        outputs: 0,
        ids: HashSet::new(),
    };
    for (n, message) in messages.iter().enumerate() {
        match message.role {
            Role::User => builder.user(message),
            Role::Assistant => builder.assistant(message, n >= target.unreadable),
        }
    }
    builder.close_calls();
    let answered = matches!(builder.entries.last(), Some(Entry::Answer(_)));
    // Some servers take an answer at the end for one to be finished.
    if answered || (builder.entries.is_empty() && !messages.is_empty()) {
        builder.placeholder();
    }
    builder.entries
}

/// A call of the last answer.
struct Call<'a> {
    id: &'a str,
    wire_id: String,
}

struct Builder<'a, 't> {
    target: Target<'t>,
    entries: Vec<Entry<'a>>,
    /// Calls without an output yet.
    open: VecDeque<Call<'a>>,
    /// Where the next output goes: behind the answer and its outputs, before anything else.
    outputs: usize,
    /// Ids on the wire so far (P25).
    ids: HashSet<String>,
}

impl<'a> Builder<'a, '_> {
    fn assistant(&mut self, message: &'a Message, readable: bool) {
        let own = message.model.as_deref() == Some(self.target.model);
        let keeps = |block: &&Block| match block {
            Block::Text { text } => !text.trim().is_empty(),
            // A signature is another format's, so the thought is too.
            Block::Thinking { signature, .. } => own && signature.is_empty(),
            Block::Opaque { value } => own && value.is_object(),
            Block::ToolUse { .. } => true,
            _ => false,
        };
        let kept: Vec<&Block> = message.content.iter().filter(keeps).collect();
        let says = |block: &&Block| matches!(block, Block::Text { .. } | Block::ToolUse { .. });
        let Some(last) = kept.iter().rposition(says) else {
            return;
        };
        self.close_calls();
        if self.entries.is_empty() {
            self.placeholder();
        }
        let parts: Vec<Part<'a>> = kept[..=last]
            .iter()
            .filter_map(|block| self.part(block, readable))
            .collect();
        debug_assert!(parts.last().is_some_and(Part::says));
        self.entries.push(Entry::Answer(parts));
        self.outputs = self.entries.len();
    }

    fn part(&mut self, block: &'a Block, readable: bool) -> Option<Part<'a>> {
        Some(match block {
            Block::Text { text } => Part::Text(text),
            Block::Thinking { thinking, .. } => Part::Thought(thinking),
            Block::Opaque { value } if readable => Part::State(value),
            Block::Opaque { value } => Part::Unreadable(value),
            Block::ToolUse { id, name, input } => {
                let wire_id = self.unique(id);
                self.open.push_back(Call {
                    id,
                    wire_id: wire_id.clone(),
                });
                Part::Call {
                    id: wire_id,
                    name: match name.as_str() {
                        "" => Cow::Borrowed("unknown"),
                        name => names::wire(name),
                    },
                    input,
                }
            }
            _ => return None,
        })
    }

    fn user(&mut self, message: &'a Message) {
        let mut said = Vec::new();
        for block in &message.content {
            match block {
                Block::ToolResult {
                    tool_use_id,
                    content,
                    ..
                } => self.output(tool_use_id, content),
                Block::Text { text } if text.trim().is_empty() => {}
                Block::Image { .. } if !self.target.images => {
                    said.push(Cow::Owned(Block::text(IMAGE_LEFT_OUT)));
                }
                Block::Document { .. } if !self.target.documents => {
                    said.push(Cow::Owned(Block::text(DOCUMENT_LEFT_OUT)));
                }
                Block::Text { .. } | Block::Image { .. } | Block::Document { .. } => {
                    said.push(Cow::Borrowed(block));
                }
                _ => {}
            }
        }
        if !said.is_empty() {
            self.entries.push(Entry::User(said));
        }
    }

    /// The output of an open call; orphans and second answers are dropped.
    fn output(&mut self, id: &str, content: &'a str) {
        let Some(at) = self.open.iter().position(|call| call.id == id) else {
            return;
        };
        // Answers come in order, so this is nearly always the first one.
        let Some(call) = self.open.remove(at) else {
            return;
        };
        let text = match content.trim() {
            "" => NO_OUTPUT,
            _ => content,
        };
        self.insert(call.wire_id, text);
    }

    fn insert(&mut self, id: String, text: &'a str) {
        let entry = Entry::Output { id, text };
        self.entries.insert(self.outputs, entry);
        self.outputs += 1;
    }

    /// Calls without an output get one that says so (INV-6, P36).
    fn close_calls(&mut self) {
        for call in std::mem::take(&mut self.open) {
            self.insert(call.wire_id, INTERRUPTED);
        }
    }

    fn placeholder(&mut self) {
        let said = Cow::Owned(Block::text(CONTINUE));
        self.entries.push(Entry::User(vec![said]));
    }

    /// An id that no other call of this conversation has, out of nothing but the ids before it.
    fn unique(&mut self, id: &str) -> String {
        let base = if id.is_empty() { "call" } else { id };
        let mut unique = self.shape(base);
        let mut n = 1u32;
        while !self.ids.insert(unique.clone()) {
            n += 1;
            unique = self.shape(&format!("{base}_{n}"));
        }
        unique
    }

    fn shape(&self, id: &str) -> String {
        if self.target.short_ids {
            let fits = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
            return match fits {
                true => id.to_owned(),
                false => digest(id, 9),
            };
        }
        if id.len() <= LONGEST_ID && id.bytes().all(|byte| byte.is_ascii_graphic()) {
            return id.to_owned();
        }
        format!("call_{}", digest(id, 24))
    }
}
