//! Keeps a turn's requests within the model's context window: compacts between steps, at most once
//! per step and three times in a row. Fails with numbers if compaction is off or does not help.

use super::{Turn, TurnEnd};
use crate::agent::compact::cut::{Numbers, weight};
use crate::agent::compact::{self, Ask, Going, Outcome, Size, Why};
use crate::agent::request::draft::{self, Draft};
use crate::agent::step::{self, StepEnd};
use crate::conversation::entry::Baseline;
use crate::conversation::{Block, Failure, FailureKind, Input, Message, Spent, TurnStop};
use crate::provider::ProviderError;

/// Most compactions in a row without a request in between that fits.
const IN_ROW: u32 = 3;

/// The compactions of a turn so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Room {
    in_row: u32,
    /// The current step already had its compaction.
    done: bool,
    /// An answer filled the window, and the turn continued after a compaction.
    filled: bool,
    /// A compaction began an epoch that the turn has not taken up.
    begun: bool,
}

impl Room {
    /// Whether the turn must take up the epoch that a compaction began.
    pub(super) fn renewed(&mut self) -> bool {
        std::mem::take(&mut self.begun)
    }
}

/// The outcome of an attempt to free space.
pub(super) enum Made {
    /// The conversation was compacted.
    Room,
    /// Nothing changed, and the turn may continue.
    Nothing,
    Cancelled,
    /// The turn cannot continue.
    Failed(Failure),
}

impl Turn<'_> {
    fn numbers(&self) -> Numbers {
        Numbers::of(&self.cx.layout, &self.cx.model.facts)
    }

    fn size(&self) -> Size {
        self.cx.with_conversation(|it| Size::of(it))
    }

    /// Compacts if due before the turn's first message is drafted, and after its last answer.
    pub(super) async fn room_between(&mut self, input: &[Input]) -> Made {
        if !self.cx.settings().config.compaction.auto {
            return Made::Nothing;
        }
        // There is nothing to drop before the first prompt.
        if self.cx.with_conversation(|it| it.messages.is_empty()) {
            return Made::Nothing;
        }
        let numbers = self.numbers();
        match self
            .cx
            .with_conversation(|it| compact::due(it, &numbers, input))
        {
            Some(total) => self.compacted(Why::Threshold, total, None).await,
            None => Made::Nothing,
        }
    }

    /// An answer ended because the window was full: compacts and lets the model continue, once per
    /// turn. `Some` ends the turn.
    pub(super) async fn window_filled(&mut self) -> Option<TurnEnd> {
        let total = self.size().total;
        let again = std::mem::replace(&mut self.room.filled, true);
        if !again
            && self.cx.settings().config.compaction.auto
            && let Some(prompt) = self.prompt
        {
            match self.compacted(Why::Overflow, total, Some(prompt)).await {
                Made::Room => {
                    self.room.begun = true;
                    let text = self.cx.shared.texts.render("compact/go-on.md", &[]);
                    self.push(Message::user(vec![Block::text(text)]));
                    return None;
                }
                Made::Cancelled => return Some(self.end(TurnStop::Cancelled, None)),
                Made::Failed(failure) => return Some(self.end(TurnStop::Error, Some(failure))),
                Made::Nothing => {}
            }
        }
        let failure = Failure::new(
            FailureKind::ContextWindow,
            "The conversation no longer fits into the model's context window.",
            "Compact the session, or switch to a model with a larger window.",
        );
        let failure = with_numbers(failure, total, &self.numbers());
        Some(self.end(TurnStop::Error, Some(failure)))
    }

    /// Rejects a first prompt that is too long by itself, because compaction cannot help. Nothing
    /// is sent or added to the conversation.
    pub(super) fn fits(&self, draft: &Draft) -> Result<(), Failure> {
        if !self.cx.with_conversation(|it| it.messages.is_empty()) {
            return Ok(());
        }
        let numbers = self.numbers();
        let total = compact::base(&draft.baseline) + weight(&draft.message);
        let auto = self.cx.settings().config.compaction.auto;
        let most = if auto {
            numbers.context
        } else {
            numbers.usable
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
    pub(super) async fn room_for_step(&mut self, prompt: usize) -> Made {
        let (total, numbers) = (self.size().total, self.numbers());
        if total < numbers.threshold {
            self.room.in_row = 0;
            return Made::Nothing;
        }
        if !self.cx.settings().config.compaction.auto {
            return match total >= numbers.usable {
                true => Made::Failed(too_long(total, &numbers)),
                false => Made::Nothing,
            };
        }
        if self.room.done {
            return Made::Nothing;
        }
        self.compacted(Why::Threshold, total, Some(prompt)).await
    }

    async fn compacted(&mut self, why: Why, total: u64, prompt: Option<usize>) -> Made {
        let numbers = self.numbers();
        let wait = self
            .cx
            .with_conversation(|it| compact::held_off(it, &numbers, total));
        if wait && why == Why::Threshold {
            return Made::Nothing;
        }
        if self.cx.cancel.is_cancelled() {
            return Made::Cancelled;
        }
        if self.room.in_row >= IN_ROW {
            return Made::Failed(in_vain(total, &numbers));
        }
        let said = self.said.clone();
        let going = prompt.map(|prompt| Going {
            prompt,
            said: &said,
            compose: Box::new(self.compose(self.input.clone(), self.segments.clone())),
        });
        let ask = Ask {
            why,
            focus: None,
            going,
        };
        let (outcome, spent) = compact::run(self.cx, ask).await;
        self.count(&spent);
        match outcome {
            Outcome::Shortened { prompt, told } => {
                self.room.in_row += 1;
                self.room.done = true;
                self.prompt = prompt;
                self.tell(told);
                self.cx.with_conversation(|it| it.held_off = None);
                Made::Room
            }
            Outcome::Failed(_) => {
                self.cx.with_conversation(|it| it.held_off = Some(total));
                Made::Nothing
            }
            Outcome::Cancelled => Made::Cancelled,
        }
    }

    /// Sends one request. If the model rejects it as too long, sends it once more after a
    /// compaction, never unchanged (P07).
    pub(super) async fn ask(&mut self, baseline: &mut Baseline) -> StepEnd {
        let end = self.request(baseline).await;
        let (failure, partial) = match end {
            StepEnd::Failed(ProviderError::Overflow(failure), partial) => (failure, partial),
            end => {
                self.room.done = false;
                return end;
            }
        };
        let (total, numbers) = (self.size().total, self.numbers());
        let mut failure = with_numbers(failure, total, &numbers);
        let auto = self.cx.settings().config.compaction.auto;
        if auto
            && partial.is_empty()
            && !self.room.done
            && let Some(prompt) = self.prompt
        {
            match self.compacted(Why::Overflow, total, Some(prompt)).await {
                Made::Room => {
                    self.present(baseline);
                    let end = self.request(baseline).await;
                    self.room.done = false;
                    return end;
                }
                Made::Cancelled => return StepEnd::Cancelled(Vec::new()),
                Made::Failed(vain) => failure = vain,
                Made::Nothing => {}
            }
        }
        StepEnd::Failed(ProviderError::Overflow(failure), partial)
    }

    /// Loads the baseline of the epoch that a compaction began.
    pub(super) fn present(&self, baseline: &mut Baseline) {
        if let Some(present) = self.cx.with_conversation(|it| it.baseline.clone()) {
            *baseline = present;
        }
    }

    async fn request(&mut self, baseline: &Baseline) -> StepEnd {
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
