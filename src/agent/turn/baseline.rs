//! Taking up a draft: its baseline, journal and message join log and conversation.

use std::collections::BTreeMap;

use super::state::{Turn, off_thread};
use crate::agent::request::draft::{Draft, SAID_ONCE};
use crate::conversation::Entry;
use crate::conversation::entry::Baseline;
use crate::prompt::layout::Cadence;

impl Turn<'_> {
    /// The baseline of the next step, if the layout is rendered for every request.
    pub(super) async fn rebuilt(&self, baseline: Baseline) -> Baseline {
        let cx = self.cx;
        if cx.layout.head.cadence != Cadence::Step || cx.model.facts.prefix_bound {
            return baseline;
        }
        let compose = self.compose(self.input.clone(), self.segments.clone());
        let rebuilt = off_thread(move || compose.baseline_between_steps())
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
        for entry in &draft.journal {
            cx.recorder.record(Entry::Journal {
                about: entry.about.clone(),
                source: entry.source.clone(),
                hash: entry.hash.clone(),
            });
        }
        let hashes: BTreeMap<String, String> = draft
            .tail
            .iter()
            .filter(|part| !SAID_ONCE.contains(&part.id.as_str()))
            .map(|part| (part.id.clone(), part.hash.clone()))
            .collect();
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
            conversation.push(draft.message);
        });
        draft.baseline
    }
}
