//! Client names of prompts, so that a prompt that is sent again does not run again, even after a
//! restart; and messages for the user outside of any answer.

use std::sync::Arc;

use super::{Actor, StartedTurn, TurnState};
use crate::conversation::{Entry, Event, EventSink as _, TurnId};
use crate::session::fanout::Fanout;
use crate::session::resume::ClientTurn;
use crate::session::unsaid::show_or_store;

impl Actor {
    /// The turn of an earlier prompt.
    pub(super) fn turn_of_client(&self, client: Option<&str>) -> Option<StartedTurn> {
        let client = client?;
        let known = self.clients.iter().find(|known| known.client == client)?;
        let running = self.running.as_ref();
        let state = if running.is_some_and(|running| running.turn == known.turn) {
            match known.waits {
                Some(_) => TurnState::Steered,
                None => TurnState::Running,
            }
        } else if self.queue.iter().any(|queued| queued.turn == known.turn) {
            TurnState::Queued
        } else {
            TurnState::Ended
        };
        Some(StartedTurn {
            turn_id: known.turn.clone(),
            state,
        })
    }

    /// Stores the client's name of a prompt. It is logged before the turn begins, and after the
    /// queued entry, so that a name without its prompt means nothing.
    pub(super) fn name(&mut self, client: Option<String>, turn: &TurnId, waits: Option<TurnId>) {
        let Some(client) = client else { return };
        self.parts.recorder.record(Entry::ClientTurn {
            client: client.clone(),
            turn: turn.clone(),
            waits: waits.clone(),
        });
        self.clients.retain(|known| known.client != client);
        self.clients.push(ClientTurn {
            client,
            turn: turn.clone(),
            waits,
        });
    }

    /// Steering became a turn of its own.
    pub(super) fn rename(&mut self, waited: &TurnId, turn: &TurnId) {
        let named = self.clients.iter();
        let named = named.filter(|known| known.waits.as_ref() == Some(waited));
        let clients: Vec<String> = named.map(|known| known.client.clone()).collect();
        for client in clients {
            self.name(Some(client), turn, None);
        }
    }

    pub(super) fn show(&self, text: String) {
        match &self.running {
            Some(running) => running.fanout.emit(Event::Notice { text }),
            None => show_or_store(self.host().as_ref(), &self.parts.unsaid, text),
        }
    }

    /// A turn begins with the messages that could not be shown before.
    pub(super) fn show_stored(&self, fanout: &Arc<Fanout>) {
        for text in std::mem::take(&mut *self.parts.unsaid.lock()) {
            fanout.emit(Event::Notice { text });
        }
    }
}
