//! What clients call their prompts, so that one that is sent again is not run again, also after a
//! restart; and sentences for the user that belong to no answer.

use std::sync::{Arc, PoisonError};

use super::{Actor, StartedTurn, TurnState};
use crate::conversation::{Entry, Event, EventSink as _, TurnId};
use crate::host::Host;
use crate::session::fanout::Fanout;
use crate::session::resume::ClientTurn;
use crate::session::sessions::Unsaid;

/// Tells the user now, or with the next turn where the client shows nothing outside of turns.
pub fn tell(host: &dyn Host, unsaid: &Unsaid, text: String) {
    if host.hears() {
        return host.message(&text);
    }
    let mut unsaid = unsaid.lock().unwrap_or_else(PoisonError::into_inner);
    unsaid.push(text);
}

impl Actor {
    /// The turn of a prompt that came before.
    pub(super) fn known(&self, client: Option<&str>) -> Option<StartedTurn> {
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

    /// Keeps what the client calls a prompt. It is in the log before the turn begins, and after
    /// what waits, so that a name without its prompt means nothing.
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

    /// What was to join a turn became another one.
    pub(super) fn rename(&mut self, waited: &TurnId, turn: &TurnId) {
        let named = self.clients.iter();
        let named = named.filter(|known| known.waits.as_ref() == Some(waited));
        let clients: Vec<String> = named.map(|known| known.client.clone()).collect();
        for client in clients {
            self.name(Some(client), turn, None);
        }
    }

    pub(super) fn tell(&self, text: String) {
        match &self.running {
            Some(running) => running.fanout.emit(Event::Notice { text }),
            None => tell(self.host().as_ref(), &self.parts.unsaid, text),
        }
    }

    /// A turn begins with what could not be told before.
    pub(super) fn say_unsaid(&self, fanout: &Arc<Fanout>) {
        let unsaid = &self.parts.unsaid;
        let texts = std::mem::take(&mut *unsaid.lock().unwrap_or_else(PoisonError::into_inner));
        for text in texts {
            fanout.emit(Event::Notice { text });
        }
    }
}
