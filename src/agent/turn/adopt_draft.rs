//! Taking up a draft: its baseline, journal and message join log and conversation.

use super::state::{Turn, off_thread};
use crate::agent::request::draft::Draft;
use crate::conversation::Entry;
use crate::conversation::entry::Baseline;
use crate::prompt::epoch::JournalEntry;
use crate::prompt::layout::Cadence;

impl Turn<'_> {
    /// Whether the layout is rendered for every request. If thinking is bound to the prompt, it is
    /// not.
    pub(super) fn renders_each_step(&self) -> bool {
        self.cx.layout.head.cadence == Cadence::Step && !self.cx.model.facts.prefix_bound
    }

    /// Logs the updates that the next message carries.
    pub(super) fn record_journal(&self, entries: &[JournalEntry]) {
        for entry in entries {
            self.cx.recorder.record(Entry::Journal {
                about: entry.about.clone(),
                source: entry.source.clone(),
                hash: entry.hash.clone(),
            });
        }
    }

    /// The baseline of the next step, if the layout is rendered for every request.
    pub(super) async fn rebuilt(&self, baseline: Baseline) -> Baseline {
        let cx = self.cx;
        if !self.renders_each_step() {
            return baseline;
        }
        let context = self.request_context(self.input.clone(), self.segments.clone());
        let rebuilt = off_thread(move || context.baseline_between_steps())
            .await
            .flatten();
        let Some(rebuilt) = rebuilt else {
            return baseline;
        };
        cx.recorder
            .record(Entry::PromptBaseline(Box::new(rebuilt.clone())));
        cx.with_conversation(|conversation| conversation.begin(rebuilt.clone()));
        rebuilt
    }

    /// Logs the draft and adds it to the conversation: baseline, journal, tail, message. A reader
    /// applies the first three only once the message follows.
    pub(super) fn admit(&mut self, mut draft: Draft) -> Baseline {
        let cx = self.cx;
        let secrets = cx.shared.env.secrets();
        let content = draft.message.content.iter_mut();
        content.for_each(|block| block.clean(secrets));
        cx.budget.grew(&draft.message);
        if draft.new_epoch.is_some() {
            cx.recorder
                .record(Entry::PromptBaseline(Box::new(draft.baseline.clone())));
        }
        self.record_journal(&draft.journal);
        let hashes = draft.tail_hashes();
        if !hashes.is_empty() {
            cx.recorder.record(Entry::Tail {
                hashes: hashes.clone(),
            });
        }
        cx.recorder.record(Entry::Message {
            turn: cx.turn.clone(),
            message: draft.message.clone(),
        });
        cx.with_conversation(|conversation| {
            if draft.new_epoch.is_some() {
                conversation.begin(draft.baseline.clone());
            }
            for entry in draft.journal {
                conversation.note_update(entry.source, entry.hash);
            }
            conversation.tail.extend(hashes);
            conversation.reverted.clear();
            conversation.reviewed.clear();
            conversation.push(draft.message);
        });
        draft.baseline
    }
}
