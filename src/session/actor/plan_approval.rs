//! Asks the user about a plan, once, after the turn in plan mode that wrote it. Only the user's own
//! choice leaves plan mode.

use super::Actor;
use crate::conversation::event::Origin;
use crate::conversation::{Input, Mode, TurnId};
use crate::session::api::{ConfigureSession, StartTurn, WhenBusy};

/// With the last two, the user's next prompt decides.
const OPTIONS: [&str; 3] = ["Carry it out", "Change it", "Not now"];

impl Actor {
    /// Asks whether to carry out the plan that `turn` wrote.
    pub(super) fn offer_plan(&mut self, turn: &TurnId) {
        if self.settings().mode == Mode::Plan {
            let question = "Carry out this plan? This switches the session to mode agent.";
            self.offer(turn, question.to_owned(), &OPTIONS, Self::carry_out);
        }
    }

    /// The user accepted the plan.
    fn carry_out(&mut self) {
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
