//! The history in a form that both formats accept, made for each request and never stored: each
//! call has exactly one output, right after the answer with the call, and what only another model
//! can read is left out. A pure function of messages and target (INV-5), so that a longer history
//! begins with the same entries.

#[cfg(test)]
pub mod tests;

use std::borrow::Cow;
use std::collections::VecDeque;

use serde_json::Value;

use crate::conversation::{Block, Message, Role};
use crate::provider::filler_texts::{
    CONTINUE, DOCUMENT_LEFT_OUT, IMAGE_LEFT_OUT, INTERRUPTED, NO_OUTPUT,
};

use super::names::{self, digest};
use crate::provider::growing::Progress;

/// The most characters of a call's id.
const LONGEST_ID: usize = 64;

/// What a history is made for.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// `<provider>/<id>`.
    pub model: &'a str,
    pub images: bool,
    /// PDFs can be sent as they are.
    pub documents: bool,
    /// Ids of calls consist of exactly nine letters and digits.
    pub short_ids: bool,
    /// The model can no longer read the state of so many messages at the beginning.
    pub unreadable: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Entry<'a> {
    /// Texts and images, never empty.
    User(Vec<Cow<'a, Block>>),
    Answer(Vec<Part<'a>>),
    /// The result of a call.
    Output {
        id: String,
        text: &'a str,
    },
}

/// One part of an answer. The last one is a text or a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Part<'a> {
    Text(&'a str),
    /// A thought of the same model.
    Thought(&'a str),
    /// State that only the same model can read.
    State(&'a Value),
    /// State that the model reported it cannot read.
    Unreadable(&'a Value),
    Call {
        id: String,
        /// The name on the wire.
        name: Cow<'a, str>,
        input: &'a Value,
    },
}

impl Part<'_> {
    /// Whether an answer may end with it.
    fn may_be_last(&self) -> bool {
        matches!(self, Part::Text(_) | Part::Call { .. })
    }
}

/// The entries of a request, from where `progress` begins. An empty history stays empty.
pub fn entries<'a>(
    messages: &'a [Message],
    target: Target<'_>,
    progress: &mut Progress,
) -> Vec<Entry<'a>> {
    let mut builder = Builder {
        target,
        entries: Vec::new(),
        open: VecDeque::new(),
        outputs: 0,
        begun: progress.from > 0,
        progress,
    };
    for (n, message) in messages.iter().enumerate().skip(builder.progress.from) {
        match message.role {
            Role::User => builder.user(message),
            Role::Assistant => builder.assistant(n, message),
        }
    }
    builder.close_calls();
    let answered = matches!(builder.entries.last(), Some(Entry::Answer(_)));
    // Some servers would continue an answer at the end.
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
    /// The position of the next output: after the answer and its outputs.
    outputs: usize,
    /// Has the ids on the wire so far (P25).
    progress: &'t mut Progress,
    /// Entries precede the first one here.
    begun: bool,
}

impl<'a> Builder<'a, '_> {
    fn assistant(&mut self, n: usize, message: &'a Message) {
        let readable = n >= self.target.unreadable;
        let own = message.model.as_deref() == Some(self.target.model);
        let keeps = |block: &&Block| match block {
            Block::Text { text } => !text.trim().is_empty(),
            // A thought with a signature belongs to another format.
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
        if self.entries.is_empty() && !self.begun {
            self.placeholder();
        }
        let ids = self.progress.ids.count();
        self.progress.cut(n, self.entries.len(), ids);
        let parts: Vec<Part<'a>> = kept[..=last]
            .iter()
            .filter_map(|block| self.part(block, readable))
            .collect();
        debug_assert!(parts.last().is_some_and(Part::may_be_last));
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
        let mut content = Vec::new();
        for block in &message.content {
            match block {
                Block::ToolResult {
                    tool_use_id,
                    content: text,
                    ..
                } => self.output(tool_use_id, text),
                Block::Text { text } if text.trim().is_empty() => {}
                Block::Image { .. } if !self.target.images => {
                    content.push(Cow::Owned(Block::text(IMAGE_LEFT_OUT)));
                }
                Block::Document { .. } if !self.target.documents => {
                    content.push(Cow::Owned(Block::text(DOCUMENT_LEFT_OUT)));
                }
                Block::Text { .. } | Block::Image { .. } | Block::Document { .. } => {
                    content.push(Cow::Borrowed(block));
                }
                _ => {}
            }
        }
        if !content.is_empty() {
            self.entries.push(Entry::User(content));
        }
    }

    /// The output of an open call. Results without a call and second results are dropped.
    fn output(&mut self, id: &str, content: &'a str) {
        let Some(at) = self.open.iter().position(|call| call.id == id) else {
            return;
        };
        // Results usually come in order, so this is nearly always the first call.
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
        let text = Cow::Owned(Block::text(CONTINUE));
        self.entries.push(Entry::User(vec![text]));
    }

    /// An id that no other call of this conversation has; it depends on earlier ids only.
    fn unique(&mut self, id: &str) -> String {
        let base = if id.is_empty() { "call" } else { id };
        let mut unique = self.shape(base);
        let mut n = 1u32;
        while !self.progress.ids.take(&unique) {
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
