//! The history in a form that Anthropic accepts, made for each request and never stored: turns
//! alternate and begin with the user, each call has its result in the next user message, and what
//! only another model can read is left out. A pure function of messages and model (INV-5), so that
//! a longer history begins with the same turns.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::conversation::{Block, Message, Role};
use crate::provider::filler_texts::{
    CONTINUE, DOCUMENT_LEFT_OUT, IMAGE_LEFT_OUT, INTERRUPTED, NO_OUTPUT,
};
use crate::provider::growing::Progress;

/// What a history is made for.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// `<provider>/<id>`.
    pub model: &'a str,
    pub images: bool,
    /// Thinking is bound to its prefix: it is sent back exactly as received, wherever it is.
    pub prefix_bound: bool,
    /// So many messages at the beginning are sent without thinking, because a signature was
    /// rejected.
    pub unreadable: usize,
}

/// One message of the request.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn<'a> {
    pub role: Role,
    pub parts: Vec<Part<'a>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Part<'a> {
    pub block: Cow<'a, Block>,
    /// Not in the history, so it must not carry a cache breakpoint.
    pub synthetic: bool,
}

impl<'a> Part<'a> {
    fn sent(block: &'a Block) -> Self {
        Self {
            block: Cow::Borrowed(block),
            synthetic: false,
        }
    }

    fn changed(block: Block) -> Self {
        Self {
            block: Cow::Owned(block),
            synthetic: false,
        }
    }

    fn synthetic(block: Block) -> Self {
        Self {
            block: Cow::Owned(block),
            synthetic: true,
        }
    }
}

/// The turns of a request, from where `progress` begins. An empty history stays empty.
pub fn turns<'a>(
    messages: &'a [Message],
    target: Target<'_>,
    progress: &mut Progress,
) -> Vec<Turn<'a>> {
    let mut builder = Builder {
        target,
        turns: Vec::new(),
        open: Vec::new(),
        answered: 0,
        begun: progress.from > 0,
        progress,
        results: 0,
    };
    for (n, message) in messages.iter().enumerate().skip(builder.progress.from) {
        match message.role {
            Role::User => builder.user(message),
            Role::Assistant => builder.assistant(n, message),
        }
    }
    builder.close_calls();
    if !messages.is_empty() {
        builder.end_with_user();
    }
    builder.turns
}

/// A call of the last assistant turn.
struct Call<'a> {
    id: &'a str,
    wire_id: String,
    answered: bool,
}

struct Builder<'a, 't> {
    target: Target<'t>,
    turns: Vec<Turn<'a>>,
    /// Calls that the next user turn answers.
    open: Vec<Call<'a>>,
    /// How many of them, from the first on, have a result: results usually come in order.
    answered: usize,
    /// Has the ids on the wire so far; the provider wants them unique in a conversation (P25).
    progress: &'t mut Progress,
    /// Turns precede the first one here.
    begun: bool,
    /// Results at the head of the last user turn.
    results: usize,
}

impl<'a> Builder<'a, '_> {
    fn assistant(&mut self, n: usize, message: &'a Message) {
        let same =
            n >= self.target.unreadable && message.model.as_deref() == Some(self.target.model);
        let foreign = message.model.as_deref() != Some(self.target.model);
        let mut kept: Vec<&'a Block> = message
            .content
            .iter()
            .filter(|block| match block {
                Block::Text { text } => !text.trim().is_empty(),
                // Unsigned thinking comes from a cut stream. Sent back, every request would fail.
                Block::Thinking { signature, .. } => same && !signature.is_empty(),
                Block::RedactedThinking { .. } => same,
                Block::Opaque { value } => !foreign && value.is_object(),
                Block::ToolUse { .. } => true,
                Block::ToolResult { .. } | Block::Image { .. } | Block::Document { .. } => false,
            })
            .collect();
        if !self.target.prefix_bound {
            // "The final block in an assistant message cannot be `thinking`."
            while kept.last().is_some_and(|block| is_thinking(block)) {
                kept.pop();
            }
        }
        if kept.is_empty() {
            return;
        }
        self.close_calls();
        if self.turns.is_empty() && !self.begun {
            self.placeholder();
        }
        if self.turns.last().is_none_or(|it| it.role == Role::User) {
            let ids = self.progress.ids.count();
            self.progress.cut(n, self.turns.len(), ids);
        }
        let parts: Vec<Part<'a>> = kept.into_iter().map(|b| self.assistant_part(b)).collect();
        match self.turns.last_mut() {
            Some(turn) if turn.role == Role::Assistant => turn.parts.extend(parts),
            _ => self.turns.push(Turn {
                role: Role::Assistant,
                parts,
            }),
        }
    }

    fn assistant_part(&mut self, block: &'a Block) -> Part<'a> {
        let Block::ToolUse { id, name, input } = block else {
            return Part::sent(block);
        };
        let wire_id = self.unique(id);
        let wire_name = match clean(name, 128) {
            empty if empty.is_empty() => "unknown".to_owned(),
            cleaned => cleaned,
        };
        self.open.push(Call {
            id,
            wire_id: wire_id.clone(),
            answered: false,
        });
        if wire_id == *id && wire_name == *name && input.is_object() {
            return Part::sent(block);
        }
        Part::changed(Block::ToolUse {
            id: wire_id,
            name: wire_name,
            input: match input {
                Value::Object(_) => input.clone(),
                _ => Value::Object(Map::new()),
            },
        })
    }

    fn user(&mut self, message: &'a Message) {
        let mut results = Vec::new();
        let mut rest = Vec::new();
        for block in &message.content {
            match block {
                Block::ToolResult {
                    tool_use_id,
                    content,
                    is_error,
                } => results.extend(self.result(block, tool_use_id, content, *is_error)),
                Block::Text { text } if text.trim().is_empty() => {}
                Block::Image { .. } if !self.target.images => {
                    rest.push(Part::changed(Block::text(IMAGE_LEFT_OUT)));
                }
                Block::Document { .. } if !self.target.images => {
                    rest.push(Part::changed(Block::text(DOCUMENT_LEFT_OUT)));
                }
                Block::Text { .. } | Block::Image { .. } | Block::Document { .. } => {
                    rest.push(Part::sent(block));
                }
                _ => {}
            }
        }
        if results.is_empty() && rest.is_empty() {
            return;
        }
        self.user_turn();
        let at = self.results;
        self.results += results.len();
        if let Some(turn) = self.turns.last_mut() {
            turn.parts.splice(at..at, results);
            turn.parts.extend(rest);
        }
    }

    /// The result of an open call. Results without a call and second results are dropped.
    fn result(
        &mut self,
        block: &'a Block,
        id: &str,
        content: &str,
        is_error: bool,
    ) -> Option<Part<'a>> {
        let rest = &self.open[self.answered..];
        let here = rest
            .iter()
            .position(|call| !call.answered && call.id == id)?;
        let at = self.answered + here;
        self.open[at].answered = true;
        while self.open.get(self.answered).is_some_and(|it| it.answered) {
            self.answered += 1;
        }
        let call = &self.open[at];
        // "content cannot be empty if is_error is true"
        let empty = is_error && content.trim().is_empty();
        if call.wire_id == id && !empty {
            return Some(Part::sent(block));
        }
        Some(Part::changed(Block::ToolResult {
            tool_use_id: call.wire_id.clone(),
            content: if empty { NO_OUTPUT } else { content }.to_owned(),
            is_error,
        }))
    }

    /// Makes sure that the last turn is the user's.
    fn user_turn(&mut self) {
        if self.turns.last().is_none_or(|t| t.role != Role::User) {
            self.results = 0;
            self.turns.push(Turn {
                role: Role::User,
                parts: Vec::new(),
            });
        }
    }

    /// Calls without a result get one that says so (INV-6, P36).
    fn close_calls(&mut self) {
        self.answered = 0;
        let missing: Vec<Part<'a>> = std::mem::take(&mut self.open)
            .into_iter()
            .filter(|call| !call.answered)
            .map(|call| {
                Part::synthetic(Block::ToolResult {
                    tool_use_id: call.wire_id,
                    content: INTERRUPTED.to_owned(),
                    is_error: true,
                })
            })
            .collect();
        if missing.is_empty() {
            return;
        }
        self.user_turn();
        let at = self.results;
        self.results += missing.len();
        if let Some(turn) = self.turns.last_mut() {
            turn.parts.splice(at..at, missing);
        }
    }

    /// New models refuse a request that ends with the assistant. The exception is a paused server
    /// tool, which is sent again unchanged.
    fn end_with_user(&mut self) {
        let paused = self.turns.last().is_some_and(|turn| {
            let last = turn.parts.last().map(|part| part.block.as_ref());
            turn.role == Role::Assistant && matches!(last, Some(Block::Opaque { .. }))
        });
        let ends_with_user = self.turns.last().is_some_and(|t| t.role == Role::User);
        if !ends_with_user && !paused {
            self.placeholder();
        }
    }

    fn placeholder(&mut self) {
        self.user_turn();
        if let Some(turn) = self.turns.last_mut() {
            turn.parts.push(Part::synthetic(Block::text(CONTINUE)));
        }
    }

    fn unique(&mut self, id: &str) -> String {
        let base = match clean(id, 64) {
            base if base.is_empty() => "call".to_owned(),
            base => base,
        };
        let mut unique = base.clone();
        let mut n = 1u32;
        while !self.progress.ids.take(&unique) {
            n += 1;
            unique = format!("{base}_{n}");
        }
        unique
    }
}

fn is_thinking(block: &Block) -> bool {
    matches!(
        block,
        Block::Thinking { .. } | Block::RedactedThinking { .. }
    )
}

/// Names and ids consist of `[a-zA-Z0-9_-]` in this format.
fn clean(text: &str, most: usize) -> String {
    text.chars()
        .take(most)
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => c,
            _ => '_',
        })
        .collect()
}
