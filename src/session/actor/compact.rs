//! A compaction that the user requested. It is reported like a turn, so that it is visible, can be
//! cancelled, and ends before the next prompt begins.

use super::failures::busy;
use super::{Actor, Ended, Reply, read_only};
use crate::agent::TurnEnv;
use crate::agent::compact::{self, Ask, Outcome, Why};
use crate::agent::turn::TurnEnd;
use crate::conversation::event::Origin;
use crate::conversation::{Failure, Input, Spent, TurnId, TurnStop};
use crate::env::tasks;
use crate::session::actor::turn_task::failed;

impl Actor {
    pub fn compact(&mut self, focus: Option<String>, reply: Reply<()>) {
        if let Err(refused) = self.may_compact() {
            let _ = reply.send(Err(refused));
            return;
        }
        let turn = TurnId(self.parts.shared.env.id("turn"));
        let text = match &focus {
            Some(focus) => format!("/compact {focus}"),
            None => "/compact".to_owned(),
        };
        let input = vec![Input::Text { text }];
        let (context, fanout, steer) = self.run(&turn, Origin::Client, input, None);
        let mailbox = self.mailbox.clone();
        tasks::spawn(async move {
            let (end, heard) = match context {
                Ok(context) => shortened(context, focus).await,
                Err(failure) => (failed(failure.clone()), Err(failure)),
            };
            let steer = Some(steer);
            mailbox.send(move |actor| {
                actor.turn_ended(Ended {
                    turn,
                    end,
                    steer,
                    fanout,
                });
                let _ = reply.send(heard);
            });
        });
    }

    fn may_compact(&self) -> Result<(), Failure> {
        if self.parts.log.is_none() {
            return Err(read_only());
        }
        if self.running.is_some() || self.closing.is_some() {
            return Err(busy(
                "It compacts by itself if necessary; try again when it has ended.",
            ));
        }
        Ok(())
    }
}

/// Whatever happens in it, the session continues (INV-12).
async fn shortened(cx: TurnEnv, focus: Option<String>) -> (TurnEnd, Result<(), Failure>) {
    let running = tasks::spawn(async move {
        let ask = Ask {
            why: Why::Request,
            focus: focus.as_deref(),
            going: None,
        };
        compact::run(&cx, ask).await
    });
    let (outcome, usage) = running.await.unwrap_or_else(|error| {
        tracing::error!("a compaction panicked: {error}");
        let why = "It failed inside Interline; see Interline's log for the cause.";
        (Outcome::Failed(why.to_owned()), Spent::default())
    });
    let unchanged = |message: String, stop| {
        let hint = "The session is unchanged; prompts work as before.";
        let failure = Failure::invalid(message, hint);
        let mut end = failed(failure.clone());
        end.usage = usage;
        if stop == TurnStop::Cancelled {
            (end.stop, end.error) = (stop, None);
        }
        (end, Err(failure))
    };
    match outcome {
        Outcome::Shortened { .. } => {
            let end = TurnEnd {
                stop: TurnStop::EndTurn,
                error: None,
                usage,
                files: Vec::new(),
                planned: false,
            };
            (end, Ok(()))
        }
        Outcome::Failed(why) => unchanged(format!("Not compacted. {why}"), TurnStop::Error),
        Outcome::Cancelled => unchanged(
            "The compaction was cancelled.".to_owned(),
            TurnStop::Cancelled,
        ),
    }
}
