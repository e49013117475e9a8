//! The client's requests from arrival to answer. Removing a request from here gives the right to
//! answer it, so each gets exactly one answer even when a cancel races with it (E07).

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use parking_lot::Mutex;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Requests that have no answer yet.
#[derive(Default)]
pub struct Inflight {
    /// By the JSON text of the id, so that `1` and `"1"` differ.
    running: Mutex<HashMap<String, Running>>,
}

struct Running {
    /// Distinguishes a request from a later one that reuses its id.
    frame: u64,
    cancel: CancellationToken,
}

/// The right to answer a request, unless it is cancelled first.
pub struct Ticket {
    pub id: Value,
    key: String,
    frame: u64,
    cancel: CancellationToken,
}

impl Ticket {
    /// Resolves when the client has cancelled the request (which answers it).
    pub async fn cancelled(&self) {
        self.cancel.cancelled().await;
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

impl Inflight {
    /// Registers a request; `None` if its id is already in flight.
    pub fn admit(&self, id: Value, frame: u64) -> Option<Ticket> {
        let key = id.to_string();
        let cancel = CancellationToken::new();
        match self.running.lock().entry(key.clone()) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(entry) => entry.insert(Running {
                frame,
                cancel: cancel.clone(),
            }),
        };
        Some(Ticket {
            id,
            key,
            frame,
            cancel,
        })
    }

    /// True for the one caller that may answer.
    pub fn settle(&self, ticket: &Ticket) -> bool {
        let mut running = self.running.lock();
        match running.get(&ticket.key) {
            Some(one) if one.frame == ticket.frame => running.remove(&ticket.key).is_some(),
            _ => false,
        }
    }

    /// Removes and stops the request; true if the caller must answer the cancel.
    pub fn cancel(&self, id: &Value) -> bool {
        let cancelled = self.running.lock().remove(&id.to_string());
        if let Some(one) = &cancelled {
            one.cancel.cancel();
        }
        cancelled.is_some()
    }
}

#[cfg(test)]
mod tests;
