//! Keeps a turn's requests within the model's context window: compacts between steps, at most once
//! per step and three times in a row. Fails with numbers if compaction is off or does not help.

use super::state::{Turn, TurnEnd};
use crate::agent::compact::cut::{Numbers, weight};
use crate::agent::compact::{self, Ask, Going, Outcome, Why};
use crate::agent::request::draft::{self, Draft};
use crate::agent::step::{self, StepEnd};
use crate::conversation::entry::Baseline;
use crate::conversation::{Block, Failure, FailureKind, Input, Message, Spent, TurnStop};
use crate::provider::ProviderError;

/// Most compactions in a row without a request in between that fits.
const IN_ROW: u32 = 3;

/// The outcome of an attempt to free space.
pub(super) enum Space {
    /// The conversation was compacted.
    Freed,
    /// Nothing changed, and the turn may continue.
    Unchanged,
    Cancelled,
    /// The turn cannot continue.
    Failed(Failure),
}

impl Turn<'_> {
    fn numbers(&self) -> Numbers {
        Numbers::of(&self.cx.layout, &self.cx.model.facts)
    }

    fn compacts_itself(&self) -> bool {
        self.cx.config().compaction.auto
    }

    /// The tokens of the conversation.
    fn total(&self) -> u64 {
        self.cx.with_conversation(|it| compact::total(it))
    }

    /// Compacts if due before the turn's first message is drafted, and after its last answer.
    pub(super) async fn compact_between_turns(&mut self, input: &[Input]) -> Space {
        let (auto, numbers) = (self.compacts_itself(), self.numbers());
        let due = self.cx.with_conversation(|it| {
            // There is nothing to drop before the first prompt.
            let due = auto && !it.messages.is_empty();
            due.then(|| compact::due(it, &numbers, input)).flatten()
        });
        match due {
            Some(total) => self.compacted(Why::Threshold, total, None).await,
            None => Space::Unchanged,
        }
    }

    /// An answer ended because the window was full: compacts and lets the model continue, once per
    /// turn. `Some` ends the turn.
    pub(super) async fn window_filled(&mut self) -> Option<TurnEnd> {
        let total = self.total();
        let again = std::mem::replace(&mut self.compactions.filled, true);
        if !again
            && self.compacts_itself()
            && let Some(prompt) = self.prompt
        {
            match self.compacted(Why::Overflow, total, Some(prompt)).await {
                Space::Freed => {
                    self.compactions.begun = true;
                    let text = self.cx.text("compact/go-on.md", &[]);
                    self.cx.push(Message::user(vec![Block::text(text)]));
                    return None;
                }
                Space::Cancelled => return Some(self.end(TurnStop::Cancelled, None)),
                Space::Failed(failure) => return Some(self.fail(failure)),
                Space::Unchanged => {}
            }
        }
        let failure = Failure::new(
            FailureKind::ContextWindow,
            "The conversation no longer fits into the model's context window.",
            "Compact the session, or switch to a model with a larger window.",
        );
        let failure = with_numbers(failure, total, &self.numbers());
        Some(self.fail(failure))
    }

    /// Rejects a first prompt that is too long by itself, because compaction cannot help. Nothing
    /// is sent or added to the conversation.
    pub(super) fn check_first_prompt(&self, draft: &Draft) -> Result<(), Failure> {
        if !self.cx.with_conversation(|it| it.messages.is_empty()) {
            return Ok(());
        }
        let numbers = self.numbers();
        let total = compact::base(&draft.baseline) + weight(&draft.message);
        let most = match self.compacts_itself() {
            true => numbers.context,
            false => numbers.usable,
        };
        if total < most {
            return Ok(());
        }
        Err(Failure::new(
            FailureKind::ContextWindow,
            format!(
                "The prompt has about {total} tokens; a request may have {} of the model's {}.",
                numbers.context, numbers.usable
            ),
            "Shorten it or attach less, or switch to a model with a larger window.",
        ))
    }

    /// Compacts if due before a request.
    pub(super) async fn compact_before_step(&mut self, prompt: usize) -> Space {
        let (total, numbers) = (self.total(), self.numbers());
        if total < numbers.threshold {
            self.compactions.in_row = 0;
            return Space::Unchanged;
        }
        if !self.compacts_itself() {
            return match total >= numbers.usable {
                true => Space::Failed(too_long(total, &numbers)),
                false => Space::Unchanged,
            };
        }
        if self.compactions.done {
            return Space::Unchanged;
        }
        self.compacted(Why::Threshold, total, Some(prompt)).await
    }

    async fn compacted(&mut self, why: Why, total: u64, prompt: Option<usize>) -> Space {
        let numbers = self.numbers();
        let wait = self
            .cx
            .with_conversation(|it| compact::held_off(it, &numbers, total));
        if wait && why == Why::Threshold {
            return Space::Unchanged;
        }
        if self.cx.cancel.is_cancelled() {
            return Space::Cancelled;
        }
        if self.compactions.in_row >= IN_ROW {
            return Space::Failed(in_vain(total, &numbers));
        }
        let said = self.steered.clone();
        let going = prompt.map(|prompt| Going {
            prompt,
            said: &said,
            context: Box::new(self.request_context(self.input.clone(), self.segments.clone())),
        });
        let ask = Ask {
            why,
            focus: None,
            going,
        };
        let (outcome, spent) = compact::run(self.cx, ask).await;
        self.count(&spent);
        match outcome {
            Outcome::Shortened { prompt, reported } => {
                self.compactions.in_row += 1;
                self.compactions.done = true;
                self.prompt = prompt;
                self.note_seen(reported);
                self.cx.with_conversation(|it| it.held_off = None);
                Space::Freed
            }
            Outcome::Failed(_) => {
                self.cx.with_conversation(|it| it.held_off = Some(total));
                Space::Unchanged
            }
            Outcome::Cancelled => Space::Cancelled,
        }
    }

    /// Sends one request. If the model rejects it as too long, sends it once more after a
    /// compaction, never unchanged (P07).
    pub(super) async fn send_or_compact(&mut self, baseline: &mut Baseline) -> StepEnd {
        let end = self.send(baseline).await;
        let (failure, partial) = match end {
            StepEnd::Failed(ProviderError::Overflow(failure), partial) => (failure, partial),
            end => {
                self.compactions.done = false;
                return end;
            }
        };
        let (total, numbers) = (self.total(), self.numbers());
        let mut failure = with_numbers(failure, total, &numbers);
        if self.compacts_itself()
            && partial.is_empty()
            && !self.compactions.done
            && let Some(prompt) = self.prompt
        {
            match self.compacted(Why::Overflow, total, Some(prompt)).await {
                Space::Freed => {
                    self.reload_baseline(baseline);
                    let end = self.send(baseline).await;
                    self.compactions.done = false;
                    return end;
                }
                Space::Cancelled => return StepEnd::Cancelled(Vec::new()),
                Space::Failed(vain) => failure = vain,
                Space::Unchanged => {}
            }
        }
        StepEnd::Failed(ProviderError::Overflow(failure), partial)
    }

    /// Loads the baseline of the epoch that a compaction began.
    pub(super) fn reload_baseline(&self, baseline: &mut Baseline) {
        if let Some(present) = self.cx.with_conversation(|it| it.baseline.clone()) {
            *baseline = present;
        }
    }

    async fn send(&mut self, baseline: &Baseline) -> StepEnd {
        let model = &self.cx.model;
        let request = self
            .cx
            .with_conversation(|it| draft::request(it, baseline, model, it.messages.clone()));
        let mut spent = Spent::default();
        let end = step::run(self.cx, &request, &mut spent).await;
        self.count(&spent);
        end
    }
}

fn too_long(total: u64, numbers: &Numbers) -> Failure {
    Failure::new(
        FailureKind::ContextWindow,
        format!(
            "The conversation has about {total} tokens, a request may have {} of the model's {}, \
             and compaction.auto is off.",
            numbers.context, numbers.usable
        ),
        "Compact the session, switch to a model with a larger window, or start a new session.",
    )
}

fn in_vain(total: u64, numbers: &Numbers) -> Failure {
    Failure::new(
        FailureKind::ContextWindow,
        format!(
            "The conversation was compacted {IN_ROW} times in a row and still has about {total} \
             of {} tokens.",
            numbers.threshold
        ),
        "Ask for less at once (smaller files, narrower searches), switch to a model with a larger \
         window, or start a new session.",
    )
}

/// The provider's message, with the length of the conversation.
fn with_numbers(failure: Failure, total: u64, numbers: &Numbers) -> Failure {
    Failure {
        message: format!(
            "{}. It has about {total} tokens; the model's window is {}",
            failure.message.trim_end_matches('.'),
            numbers.context
        ),
        ..failure
    }
}
