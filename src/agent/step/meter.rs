//! A lower bound for the cost of an answer while it streams. The prompt costs what the provider
//! counted, else the minimum; the answer is estimated from the bytes received. Decides when
//! `limits.cost` ends a turn; the bill is the provider's.

#[cfg(test)]
mod tests;

use crate::agent::TurnEnv;
use crate::conversation::usage::estimated_tokens;
use crate::conversation::{Price, Usage};
use crate::provider::ModelEvent;

/// The cost of one streaming answer against a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Meter {
    /// US dollars of the turn.
    limit: f64,
    price: Price,
    /// The prompt's minimum tokens, as the provider last counted them.
    prompt: u64,
    /// Bytes of the answer received so far.
    bytes: usize,
}

impl Meter {
    /// `None`: there is no limit, or the price is unknown.
    pub fn for_turn(cx: &TurnEnv) -> Option<Self> {
        let limit = cx.config().limits.cost?;
        let price = cx.model.facts.price?;
        let counted = match cx.aside {
            true => None,
            false => cx.with_conversation(|it| it.counted),
        };
        let prompt = counted.map_or(0, |it| it.tokens);
        Some(Self::new(limit, price, prompt))
    }

    /// For a turn that may cost `limit`.
    pub fn new(limit: f64, price: Price, prompt: u64) -> Self {
        Self {
            limit,
            price,
            prompt,
            bytes: 0,
        }
    }

    /// Counts the received events.
    pub fn count(&mut self, batch: &[ModelEvent]) {
        for event in batch {
            self.bytes += match event {
                ModelEvent::TextDelta { text, .. }
                | ModelEvent::ThoughtDelta { text, .. }
                | ModelEvent::ToolInputDelta { text, .. } => text.len(),
                _ => 0,
            };
        }
    }

    /// If the turn, which cost `spent` before this answer, has reached its limit: the estimated
    /// usage. `counted`: the provider's counts of the answer so far.
    pub fn over(&self, spent: f64, counted: &Usage) -> Option<Usage> {
        let mut usage = *counted;
        usage.output = usage.output.max(estimated_tokens(self.bytes));
        if usage.prompt() == 0 {
            usage.cache_read = self.prompt;
        }
        (spent + self.price.cost(&usage) >= self.limit).then_some(usage)
    }
}
