//! The messages of a conversation, shared with its requests.

use std::any::Any;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize, Serializer};

use super::Message;
use super::message::Block;

/// Messages, oldest first. They are only appended; a copy shares them until one of the two grows.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "Vec<Message>")]
pub struct History {
    inner: Arc<Inner>,
    memo: Memo,
    /// The first messages, up to this number, are without their thoughts.
    stripped: usize,
}

#[derive(Clone, Debug, Default)]
struct Inner {
    messages: Vec<Message>,
    /// One for each message, and for no other message of any history: whoever has the mark of a
    /// message knows all messages before it too.
    marks: Vec<u64>,
    /// Estimated tokens of all messages.
    tokens: u64,
}

impl History {
    pub fn push(&mut self, mut message: Message) {
        static MARK: AtomicU64 = AtomicU64::new(0);
        message.shrink_to_fit();
        let inner = Arc::make_mut(&mut self.inner);
        inner.tokens += message.tokens();
        inner.marks.push(MARK.fetch_add(1, Ordering::Relaxed));
        inner.messages.push(message);
    }

    /// Estimated tokens of all messages.
    pub fn tokens(&self) -> u64 {
        self.inner.tokens
    }

    /// What identifies the message at `at` and all before it.
    pub fn mark(&self, at: usize) -> Option<(u64, usize)> {
        let mark = self.inner.marks.get(at)?;
        Some((*mark, self.stripped))
    }

    /// What a provider's adapter keeps from one request to the next.
    pub fn memo(&self) -> &Memo {
        &self.memo
    }

    /// Leaves out the thoughts of the messages before `end`.
    #[must_use]
    pub fn without_thoughts_before(mut self, end: usize) -> Self {
        let thought =
            |it: &Block| matches!(it, Block::Thinking { .. } | Block::RedactedThinking { .. });
        let end = end.min(self.len());
        if self[..end].iter().any(|it| it.content.iter().any(thought)) {
            let inner = Arc::make_mut(&mut self.inner);
            for message in &mut inner.messages[..end] {
                message.content.retain(|block| !thought(block));
            }
            inner.tokens = inner.messages.iter().map(Message::tokens).sum();
            self.stripped = end;
        }
        self
    }
}

impl Deref for History {
    type Target = [Message];

    fn deref(&self) -> &[Message] {
        &self.inner.messages
    }
}

impl From<Vec<Message>> for History {
    fn from(messages: Vec<Message>) -> Self {
        let mut history = Self::default();
        messages.into_iter().for_each(|it| history.push(it));
        history
    }
}

impl Serialize for History {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.inner.messages.serialize(serializer)
    }
}

impl PartialEq for History {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

/// A slot for one value of any type.
#[derive(Clone, Default)]
pub struct Memo(Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl Memo {
    /// Takes the value out, if it has this type.
    pub fn take<T: 'static>(&self) -> Option<T> {
        let kept = self.0.lock().take()?;
        kept.downcast().ok().map(|it| *it)
    }

    /// Drops the value, for all copies of the history.
    pub fn clear(&self) {
        *self.0.lock() = None;
    }

    pub fn put<T: Send + 'static>(&self, value: T) {
        *self.0.lock() = Some(Box::new(value));
    }
}

impl std::fmt::Debug for Memo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Memo")
    }
}
