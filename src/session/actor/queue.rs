//! Prompts that wait for the running turn to end, or to join it. The log has them, so that a
//! process that dies leaves a record of what it did not send.

use std::collections::VecDeque;

use super::{Actor, Running, StartTurn, WhenBusy};
use crate::agent::Steering;
use crate::conversation::{Entry, Failure, Input, TurnId};
use crate::session::actor::failures::{turn_ended, unknown_turn};

/// A turn to come.
pub(super) struct Queued {
    pub turn: TurnId,
    pub start: StartTurn,
}

pub(super) type Queue = VecDeque<Queued>;

impl Actor {
    /// Queues a turn; `waits`: another one is running.
    pub(super) fn enqueue(&mut self, turn: TurnId, start: StartTurn, waits: bool) {
        if waits {
            self.record_waiting(&turn, &start.input);
        }
        self.queue.push_back(Queued { turn, start });
    }

    /// Steering for the running turn; it waits until one of the turn's messages carries it.
    pub(super) fn add(&self, running: &Running, input: Vec<Input>) -> TurnId {
        let waits = TurnId(self.parts.shared.env.id("turn"));
        self.record_waiting(&waits, &input);
        let _ = running.steer.send(Steering {
            waits: waits.clone(),
            input,
        });
        waits
    }

    /// LazyText steering becomes a turn of its own, so nothing typed is lost.
    pub(super) fn enqueue_late(&mut self, late: Vec<Steering>) {
        if late.is_empty() {
            return;
        }
        let turn = TurnId(self.parts.shared.env.id("turn"));
        let input: Vec<Input> = late.iter().flat_map(|it| it.input.clone()).collect();
        self.record_waiting(&turn, &input);
        for Steering { waits, .. } in late {
            self.rename(&waits, &turn);
            self.parts.recorder.record(Entry::Dequeued { turn: waits });
        }
        let start = StartTurn {
            when_busy: WhenBusy::Queue,
            ..StartTurn::new(self.parts.id.clone(), input)
        };
        self.queue.push_front(Queued { turn, start });
    }

    fn record_waiting(&self, turn: &TurnId, input: &[Input]) {
        self.parts.recorder.record(Entry::Queued {
            turn: turn.clone(),
            input: input.to_vec(),
        });
    }

    fn take(&mut self, turn: &TurnId) -> Option<Queued> {
        let at = self.queue.iter().position(|queued| queued.turn == *turn)?;
        self.parts
            .recorder
            .record(Entry::Dequeued { turn: turn.clone() });
        self.clients.retain(|known| known.turn != *turn);
        self.queue.remove(at)
    }

    /// Cancels the turn, else the running one; returns what was cancelled.
    pub fn cancel(&mut self, turn: Option<TurnId>) -> Result<Vec<TurnId>, Failure> {
        if let Some(running) = &self.running
            && turn.as_ref().is_none_or(|turn| *turn == running.turn)
        {
            running.cancel.cancel();
            return Ok(vec![running.turn.clone()]);
        }
        let Some(turn) = turn else {
            return Ok(Vec::new());
        };
        if self.take(&turn).is_some() {
            Ok(vec![turn])
        } else if self.ended.contains(&turn) {
            Ok(Vec::new())
        } else {
            Err(unknown_turn())
        }
    }

    /// Returns a waiting prompt to the client.
    pub fn dequeue(&mut self, turn: &TurnId) -> Result<Vec<Input>, Failure> {
        match self.take(turn) {
            Some(queued) => Ok(queued.start.input),
            None if self.ended.contains(turn) => Err(turn_ended(
                "It cannot be withdrawn; its input is in the session.",
            )),
            None => Err(unknown_turn()),
        }
    }
}
