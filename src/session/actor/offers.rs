//! Questions to the user after a turn. A new turn withdraws the question.

use tokio_util::sync::{CancellationToken, DropGuard};

use super::Actor;
use crate::conversation::{ItemId, TurnId};
use crate::env::tasks;
use crate::host::{QuestionOutcome, QuestionRequest};

/// The open question; dropping it withdraws it.
pub(super) struct Offer {
    turn: TurnId,
    _withdraw: DropGuard,
}

impl Actor {
    /// Asks about what `turn` did, if the client shows questions; `accept` follows the first of
    /// `options`.
    pub(super) fn offer(
        &mut self,
        turn: &TurnId,
        question: String,
        options: &[&str],
        accept: impl FnOnce(&mut Self) + Send + 'static,
    ) {
        let host = self.host();
        if self.running.is_some() || !host.questions() {
            return;
        }
        let request = QuestionRequest {
            session_id: self.parts.id.clone(),
            turn_id: turn.clone(),
            item_id: ItemId(self.parts.shared.env.id("item")),
            question,
            options: options.iter().map(|&it| it.to_owned()).collect(),
            free_text: false,
        };
        let withdraw = CancellationToken::new();
        self.offer = Some(Offer {
            turn: turn.clone(),
            _withdraw: withdraw.clone().drop_guard(),
        });
        let limit = self.settings().config.limits.approval();
        let (mailbox, turn) = (self.mailbox.clone(), turn.clone());
        tasks::spawn(async move {
            let yes = request.options.first().cloned();
            let answer = tokio::select! {
                answer = host.ask(request) => answer,
                () = withdraw.cancelled() => None,
                () = tokio::time::sleep(limit) => None,
            };
            let accepted = answer
                .is_some_and(|it| it.outcome == QuestionOutcome::Answered && it.answer == yes);
            if accepted {
                mailbox.send(move |actor| {
                    // A late answer changes nothing.
                    if actor.offer.as_ref().map(|offer| &offer.turn) == Some(&turn) {
                        accept(actor);
                    }
                });
            }
        });
    }
}
