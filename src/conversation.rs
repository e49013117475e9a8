//! The vocabulary of all modules: ids, messages, tool calls, usage, events, log entries, failures;
//! and the two traits through which lower modules report upwards ([`EventSink`], [`Recorder`]).
//! Plain data, no I/O.

pub mod entry;
pub mod event;
pub mod failure;
pub mod history;
pub mod ids;
pub mod input;
pub mod message;
pub mod plan;
pub mod reply_marks;
pub mod request;
pub mod tool;
pub mod usage;

pub use entry::{Entry, FileShape};
pub use event::{
    CompactionItem, CompactionStatus, Event, FileChange, RetryItem, ToolItem, ToolStatus, TurnStop,
};
pub use failure::{Failure, FailureKind};
pub use history::History;
pub use ids::{EpochId, ItemId, SessionId, TurnId};
pub use input::{EditorContext, EditorView, Input, PDF, Segment, WirePosition, WireRange};
pub use message::{Block, Message, Role};
pub use reply_marks::{Demand, Signal};
pub use request::Effort;
pub use request::{ModelFacts, Request, SystemBlock};
pub use tool::{Mode, Tier, ToolFacts, ToolSpec};
pub use usage::{ContextUse, Price, Rates, Spent, Usage};

/// Receives a running turn's events. The implementor numbers, logs and distributes them
/// (`session/fanout.rs`); an emitter never blocks.
pub trait EventSink: Send + Sync {
    fn emit(&self, event: Event);
}

/// The append-only log as lower modules see it. `record` returns after the record was handed to the
/// operating system (INV-6: intent before the act).
pub trait Recorder: Send + Sync {
    fn record(&self, entry: Entry);
}

/// Lowercase hex SHA-256 of `bytes`: the only hash the project uses.
pub fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    hex(&sha2::Sha256::digest(bytes))
}

/// [`sha256`] of the rest of `from`; `None`: it cannot be read, or is longer than `limit`.
pub fn sha256_of(from: impl std::io::Read, limit: u64) -> Option<String> {
    use sha2::Digest as _;
    use std::io::Read as _;
    let mut from = from.take(limit.saturating_add(1));
    let (mut hash, mut all) = (sha2::Sha256::new(), 0_u64);
    let mut piece = vec![0; 64 * 1024];
    loop {
        let count = from.read(&mut piece).ok()?;
        if count == 0 {
            return (all <= limit).then(|| hex(&hash.finalize()));
        }
        all += count as u64;
        hash.update(&piece[..count]);
    }
}

fn hex(digest: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let halves = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.map(|half| DIGITS[usize::from(half)]).collect()
}
