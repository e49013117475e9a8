//! Asks the user once, after a turn that left changed files unsaved (`edits.saveAfter = "ask"`).

use super::Actor;
use crate::agent::turn::save_after;
use crate::config::SaveAfter;
use crate::conversation::{FileChange, TurnId};
use crate::env::tasks;

/// Most files that are named; the rest is counted.
const NAMED: usize = 3;

impl Actor {
    /// Asks whether to save the files that `turn` changed.
    pub(super) fn offer_to_save(&mut self, turn: &TurnId, files: &[FileChange]) {
        let asks = self.settings().config.edits.save_after == SaveAfter::Ask;
        if !asks || self.running.is_some() || !self.host().saves() {
            return;
        }
        let shared = self.parts.shared.clone();
        let unsaved = save_after::unsaved(&shared.workspace, files);
        if unsaved.is_empty() {
            return;
        }
        let cwd = self.parts.cwd.clone();
        let names = save_after::names(&shared.workspace, &cwd, &unsaved);
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named = names[..names.len().min(NAMED)].join(", ");
        let question = format!("Save what this turn changed: {named}{more}?");
        let options = ["Save", "Leave unsaved"];
        self.offer(turn, question, &options, move |actor| {
            let host = actor.host();
            tasks::spawn(async move {
                if let Some(problem) = save_after::save(&*host, unsaved).await {
                    host.message(&problem);
                }
            });
        });
    }
}
