//! The task of one turn: it runs the turn to its end and returns it to the actor, even after a
//! panic.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::{Ended, Mailbox};
use crate::agent::turn::{self, TurnEnd};
use crate::agent::{Steering, TurnEnv};
use crate::conversation::{Failure, Spent, TurnId, TurnStop};
use crate::env::tasks;
use crate::session::api::StartTurn;
use crate::session::fanout::Fanout;

/// Runs one turn to its single `ended` event, whatever happens (INV-12).
pub(super) async fn drive(
    context: Result<TurnEnv, Failure>,
    start: StartTurn,
    turn: TurnId,
    steered: mpsc::UnboundedReceiver<Steering>,
    fanout: Arc<Fanout>,
    mailbox: Mailbox,
) {
    let keep = Arc::new(tokio::sync::Mutex::new(steered));
    let end = match context {
        Ok(context) => {
            let context = Arc::new(context);
            let receiver = keep.clone();
            let running = tasks::spawn(async move {
                let mut receiver = receiver.lock().await;
                turn::run(
                    &context,
                    start.input,
                    start.segments.unwrap_or_default(),
                    &mut receiver,
                )
                .await
            });
            running.await.unwrap_or_else(|error| {
                tracing::error!("a turn panicked: {error}");
                failed(Failure::invalid(
                    "The turn failed inside Interline.",
                    "The session continues; see Interline's log for the cause.",
                ))
            })
        }
        Err(failure) => failed(failure),
    };
    let steer = Arc::try_unwrap(keep)
        .map(tokio::sync::Mutex::into_inner)
        .ok();
    // The session's task sends `ended`, so that it already accepts the next prompt.
    mailbox.send(move |actor| {
        actor.turn_ended(Ended {
            turn,
            end,
            steer,
            fanout,
        });
    });
}

pub(super) fn failed(failure: Failure) -> TurnEnd {
    TurnEnd {
        stop: TurnStop::Error,
        error: Some(failure),
        usage: Spent::default(),
        files: Vec::new(),
        planned: false,
    }
}
