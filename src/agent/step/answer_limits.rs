//! Limits of one answer, whatever an endpoint sends: bytes and calls. Counted while it streams, so
//! that nothing grows beyond them.

use crate::conversation::{Failure, FailureKind};
use crate::provider::{ModelEvent, ProviderError};

/// Decoded bytes of one answer: some eight million tokens, far beyond what any model writes.
pub const ANSWER: usize = 32 << 20;

/// Most calls of one answer that run; the rest get a result that explains the limit.
pub const CALLS: usize = 256;

/// Bytes counted per block besides its text.
const BLOCK: usize = 128;

/// The bytes of an answer received so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    bytes: usize,
    /// Bytes of the deltas since the last complete block, which repeats their text.
    open: usize,
}

impl Size {
    pub fn count(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::TextDelta { text, .. }
            | ModelEvent::ThoughtDelta { text, .. }
            | ModelEvent::ToolInputDelta { text, .. } => self.open += text.len(),
            ModelEvent::ToolStart { id, name, .. } => self.open += id.len() + name.len(),
            ModelEvent::Block { block, .. } => {
                self.bytes += BLOCK + block.bytes().max(self.open);
                self.open = 0;
            }
            ModelEvent::Usage(_) | ModelEvent::Stop(_) | ModelEvent::Unreadable => {}
        }
    }

    /// The error that ends the answer once it is larger than [`ANSWER`].
    pub fn check(&self) -> Result<(), ProviderError> {
        if self.bytes + self.open <= ANSWER {
            return Ok(());
        }
        let limit = ANSWER >> 20;
        Err(ProviderError::Fatal(Failure::new(
            FailureKind::Network,
            format!("the model's answer was stopped because it is larger than {limit} MiB"),
            "the part received is kept; check the endpoint, or choose another model",
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Block;

    /// R10: all parts are added up, and a text that came in pieces is counted once.
    #[test]
    fn the_parts_of_an_answer_add_up_to_its_limit() {
        let mut size = Size::default();
        let text = "x".repeat(1 << 20);
        let (index, invalid) = (0, None);
        for _ in 0..31 {
            size.count(&ModelEvent::TextDelta {
                index,
                text: text.clone(),
            });
            let block = Block::text(text.clone());
            size.count(&ModelEvent::Block {
                index,
                block,
                invalid: invalid.clone(),
            });
        }
        assert!(size.check().is_ok(), "{size:?}");
        size.count(&ModelEvent::ThoughtDelta { index, text });
        let error = size.check().unwrap_err();
        assert!(error.failure().message.contains("32 MiB"), "{error}");
    }

    /// R10: blocks without any text are not free.
    #[test]
    fn many_empty_blocks_reach_the_limit() {
        let mut size = Size::default();
        let block = Block::text("");
        for _ in 0..=ANSWER / BLOCK {
            let (block, invalid) = (block.clone(), None);
            size.count(&ModelEvent::Block {
                index: 0,
                block,
                invalid,
            });
        }
        assert!(size.check().is_err());
    }
}
