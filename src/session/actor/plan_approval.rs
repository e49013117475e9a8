//! Asks the user about a plan, once, after the turn in plan mode that wrote it. Only the user's own
//! choice leaves plan mode; a new turn withdraws the question.

use tokio_util::sync::{CancellationToken, DropGuard};

use super::Actor;
use crate::conversation::event::Origin;
use crate::conversation::{Input, ItemId, Mode, TurnId};
use crate::host::{QuestionOutcome, QuestionRequest};
use crate::session::api::{ConfigureSession, StartTurn, WhenBusy};

const CARRY_OUT: &str = "Carry it out";
/// With either, the user's next prompt decides.
const OTHERS: [&str; 2] = ["Change it", "Not now"];

/// The open question; dropping it withdraws it.
pub(super) struct PlanQuestion {
    turn: TurnId,
    _withdraw: DropGuard,
}

impl Actor {
    /// Asks whether to carry out the plan that `turn` wrote, if the client shows questions.
    pub(super) fn offer_plan(&mut self, turn: TurnId) {
        let (host, settings) = (self.host(), self.settings());
        if self.running.is_some() || settings.mode != Mode::Plan || !host.questions() {
            return;
        }
        let request = QuestionRequest {
            session_id: self.parts.id.clone(),
            turn_id: turn.clone(),
            item_id: ItemId(self.parts.shared.env.id("item")),
            question: "Carry out this plan? This switches the session to mode agent.".to_owned(),
            options: [CARRY_OUT]
                .into_iter()
                .chain(OTHERS)
                .map(str::to_owned)
                .collect(),
            free_text: false,
        };
        let withdraw = CancellationToken::new();
        self.offer = Some(PlanQuestion {
            turn: turn.clone(),
            _withdraw: withdraw.clone().drop_guard(),
        });
        let limit = settings.config.limits.approval();
        let mailbox = self.mailbox.clone();
        tokio::spawn(async move {
            let answer = tokio::select! {
                answer = host.ask(request) => answer,
                () = withdraw.cancelled() => None,
                () = tokio::time::sleep(limit) => None,
            };
            let accepted = answer.is_some_and(|answer| {
                answer.outcome == QuestionOutcome::Answered
                    && answer.answer.as_deref() == Some(CARRY_OUT)
            });
            if accepted {
                mailbox.send(move |actor| actor.carry_out(&turn));
            }
        });
    }

    /// The user accepted the plan of `turn`; a late answer changes nothing.
    fn carry_out(&mut self, turn: &TurnId) {
        if self.offer.as_ref().map(|offer| &offer.turn) != Some(turn) {
            return;
        }
        let session_id = self.parts.id.clone();
        let change = ConfigureSession {
            mode: Some(Mode::Agent),
            ..ConfigureSession::new(session_id.clone())
        };
        let text = self.parts.shared.texts.render("commands/carry-out.md", &[]);
        let start = StartTurn {
            when_busy: WhenBusy::Queue,
            origin: Some(Origin::Command),
            ..StartTurn::new(session_id, vec![Input::Text { text }])
        };
        let begun = self.configure(change).and_then(|_| self.start(start));
        if let Err(failure) = begun {
            self.host().message(&failure.sentences());
        }
    }
}
