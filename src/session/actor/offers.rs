//! Questions to the user after a turn. A new turn withdraws the question.

use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Actor;
use crate::conversation::{ItemId, TurnId};
use crate::env::tasks;
use crate::host::{QuestionOutcome, QuestionRequest};

/// The open question; dropping it withdraws it.
pub(super) struct Offer {
    turn: TurnId,
    waiting: Option<oneshot::Sender<Option<TurnId>>>,
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
            waiting: None,
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
            mailbox.send(move |actor| {
                // A late answer changes nothing.
                let Some(offer) = actor.offer.take_if(|offer| offer.turn == turn) else {
                    return;
                };
                if accepted {
                    accept(actor);
                }
                if let Some(waiting) = offer.waiting {
                    let next = actor.running.as_ref().map(|running| running.turn.clone());
                    let _ = waiting.send(next);
                }
            });
        });
    }

    /// Replies when no question about `turn` is open, with the turn that the answer began.
    pub fn follow_up(&mut self, turn: &TurnId, reply: oneshot::Sender<Option<TurnId>>) {
        match &mut self.offer {
            Some(offer) if offer.turn == *turn => offer.waiting = Some(reply),
            _ => {
                let _ = reply.send(None);
            }
        }
    }

    /// Withdraws the open question.
    pub fn withdraw_offer(&mut self) {
        self.offer = None;
    }
}
