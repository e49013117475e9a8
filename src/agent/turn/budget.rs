//! The limits of a turn: steps, tokens, minutes, dollars. Checked before each step; the cost of an
//! answer is also checked while it streams (`agent/step/meter.rs`).

use super::state::{Turn, TurnEnd};
use crate::agent::Budget;
use crate::config::Limits;
use crate::conversation::{Block, Message, TurnStop};

/// Remaining steps at which the model is warned, so that it can finish cleanly.
const FEW_STEPS: [u32; 2] = [5, 1];

impl Turn<'_> {
    /// A hint that the step limit is near, unless the turn has few steps anyway.
    pub(super) fn few_steps(&self) -> Option<Block> {
        let limit = self.cx.config().limits.steps;
        let left = self.cx.budget.left(limit, self.cx.parent.is_some());
        if !FEW_STEPS.contains(&left) || left.saturating_mul(2) >= limit {
            return None;
        }
        let text = self.cx.text(
            "results/steps-left.md",
            &[("left", &left.to_string()), ("limit", &limit.to_string())],
        );
        Some(Block::text(text))
    }

    /// Ends the turn if a limit is reached.
    pub(super) fn over_budget(&mut self, limits: &Limits) -> Option<TurnEnd> {
        let budget = &self.cx.budget;
        let tokens = budget.spent().total();
        let minutes = budget.began.elapsed().as_secs() / 60;
        let why = if limits.tokens.is_some_and(|limit| tokens >= limit) {
            format!("The turn used {tokens} tokens and reached `limits.tokens`")
        } else if limits.turn_minutes.is_some_and(|limit| minutes >= limit) {
            format!("The turn ran for {minutes} minutes and reached `limits.turnMinutes`")
        } else if budget.bytes() >= Budget::BYTES {
            self.cx.notice(format!(
                "The turn stopped because its messages exceed {} MiB. Send a prompt to continue.",
                Budget::BYTES >> 20
            ));
            return Some(self.end(TurnStop::Budget, None));
        } else {
            self.over_cost(limits.cost?)?
        };
        self.cx
            .notice(format!("{why}. Raise it, or send a prompt to continue."));
        Some(self.end(TurnStop::Budget, None))
    }

    /// Why the cost limit ends the turn; warns once if the price is unknown.
    fn over_cost(&mut self, limit: f64) -> Option<String> {
        let model = &self.cx.model;
        if model.facts.price.is_none() && !std::mem::replace(&mut self.unpriced, true) {
            self.cx.notice(format!(
                "`limits.cost` cannot limit this turn, because the price of {} is unknown. Add a \
                 `[[price]]` to models.toml in the config folder, or set `limits.tokens`.",
                model.name
            ));
        }
        let known = self.cx.budget.spent().known();
        (known >= limit).then(|| {
            format!("The turn cost {known:.4} USD and reached `limits.cost` ({limit} USD)")
        })
    }

    /// Ends a turn whose answer was stopped because of its cost; keeps the text.
    pub(super) fn stop_for_cost(&mut self, partial: Vec<Block>) -> TurnEnd {
        self.push_partial(partial);
        let known = self.cx.budget.spent().known();
        let limit = self.cx.config().limits.cost.unwrap_or_default();
        self.cx.notice(format!(
            "The answer was stopped: the turn cost an estimated {known:.4} USD and reached \
             `limits.cost` ({limit} USD). Raise it, or send a prompt to continue."
        ));
        self.end(TurnStop::Budget, None)
    }

    /// Ends the turn at the step limit: the user is notified now, the model with its next prompt.
    pub(super) fn out_of_steps(&mut self) -> TurnEnd {
        let steps = self.cx.config().limits.steps.to_string();
        let text = self.cx.text("hints/out-of-steps.md", &[("steps", &steps)]);
        self.cx.push(Message::user(vec![Block::text(text)]));
        self.cx.notice(format!(
            "The turn stopped at its limit of {steps} model requests. Prompt \"continue\", or \
                 raise `limits.steps`."
        ));
        self.end(TurnStop::MaxSteps, None)
    }
}
