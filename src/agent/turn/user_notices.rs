//! What a turn tells the user besides the model's answer.

use super::state::Turn;
use crate::agent::request::draft::{self, Draft};
use crate::conversation::{Mode, plan};
use crate::prompt::fence;
use crate::prompt::layout::Cadence;
use crate::provider::StopReason;

impl Turn<'_> {
    /// Warns once per layout and model about the cost of a layout that is rendered for every
    /// request.
    pub(super) fn warn_about_layout(&self, draft: &Draft) {
        let first = draft
            .new_epoch
            .as_deref()
            .is_some_and(|reason| reason != draft::REBUILT);
        let (layout, model) = (&self.cx.layout, &self.cx.model);
        if first && layout.head.cadence != Cadence::Session && model.facts.prefix_bound {
            self.cx.notice(format!(
                "The layout {} is rendered again for each turn. {} signs its thinking over the \
                     prompt, so each change drops its earlier thinking and most of the cache; the \
                     layout `default` avoids both.",
                layout.name, model.name
            ));
        }
    }

    /// Reports unavailable servers, each failure once.
    pub(super) fn report_servers(&self) {
        for text in self.cx.servers().failure_notices(&self.cx.cwd) {
            self.cx.notice(text);
        }
    }

    /// Reports instruction addresses that failed for the first time in this session.
    pub(super) fn report_addresses(&self, failed: Vec<(String, String)>) {
        for (source, reason) in failed {
            self.cx.notice(format!(
                "The instructions at {} could not be fetched: {}. Interline tries again in a new \
                 session or after a settings reload.",
                fence::name(&source),
                fence::line(&reason)
            ));
        }
    }

    /// An empty answer would look as if nothing had happened (P30).
    pub(super) fn report_empty_answer(&self, stop: &StopReason) {
        let why = match stop {
            StopReason::Other(reason) => format!(" (it stopped for {reason:?})"),
            _ => String::new(),
        };
        self.cx.notice(format!(
            "{} returned an empty answer{why}. Prompt \"continue\" or rephrase; if this \
                 repeats, switch the model.",
            self.cx.model.name
        ));
    }

    /// For a plan written in plan mode: says how to carry it out, since nothing was changed yet.
    pub(super) fn report_plan(&mut self) {
        if self.cx.settings().mode != Mode::Plan {
            return;
        }
        let said = self.cx.with_conversation(|it| {
            let last = it.messages.last();
            last.is_some_and(|message| message.texts().any(plan::lists_steps))
        });
        self.planned = self.plan_written || said;
        if self.planned {
            self.cx.notice(
                "This is a plan; nothing was changed. To carry it out, switch to mode agent \
                 (interline.mode agent; in a terminal: interline run --continue --mode agent) and \
                 prompt \"continue\", or say what to change.",
            );
        }
    }
}
