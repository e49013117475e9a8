//! Our own requests to the client: ids, deadlines, and answers matched to their callers. LazyText and
//! unexpected answers are ignored. Must not panic on any answer (hazard f3: a late one kills
//! tower-lsp's client).

use std::collections::HashMap;
use std::time::Instant;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Notify, oneshot};

/// An answer to one of our requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub result: Result<Value, RpcError>,
    /// The number of the last frame of the input lane that arrived before this answer.
    pub frame: u64,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RpcError {
    /// The client's error answer.
    #[error("{message} ({code})")]
    Answered { code: i64, message: String },
    #[error("no answer in time")]
    Deadline,
    #[error("the client is gone")]
    Gone,
}

/// Requests awaiting the client's answer.
#[derive(Default)]
pub struct Requests {
    state: Mutex<State>,
    /// A deadline was added.
    pub changed: Notify,
}

#[derive(Default)]
struct State {
    last: i64,
    waiting: HashMap<i64, Waiting>,
    gone: bool,
}

struct Waiting {
    reply: oneshot::Sender<Answer>,
    deadline: Option<Instant>,
}

impl Requests {
    /// A fresh id and the receiver of its answer; `None` when the client is gone.
    pub fn open(&self, deadline: Option<Instant>) -> Option<(i64, oneshot::Receiver<Answer>)> {
        let mut state = self.state.lock();
        if state.gone {
            return None;
        }
        state.last += 1;
        let id = state.last;
        let (reply, answer) = oneshot::channel();
        state.waiting.insert(id, Waiting { reply, deadline });
        drop(state);
        if deadline.is_some() {
            self.changed.notify_one();
        }
        Some((id, answer))
    }

    /// Hands the client's answer to its caller.
    pub fn answer(&self, id: &Value, answer: Answer) {
        let waiting = number(id).and_then(|id| self.state.lock().waiting.remove(&id));
        let taken = waiting.is_some_and(|waiting| waiting.reply.send(answer).is_ok());
        if !taken {
            tracing::debug!(%id, "ignored a late or unknown answer");
        }
    }

    /// Forgets a request whose answer is no longer needed; `true` if it was still unanswered.
    pub fn forget(&self, id: i64) -> bool {
        self.state.lock().waiting.remove(&id).is_some()
    }

    pub fn next_deadline(&self) -> Option<Instant> {
        let state = self.state.lock();
        state.waiting.values().filter_map(|one| one.deadline).min()
    }

    /// Fails the requests whose deadline has passed and returns their ids, in order.
    pub fn expire(&self, now: Instant, frame: u64) -> Vec<i64> {
        let mut state = self.state.lock();
        let due = |one: &Waiting| one.deadline.is_some_and(|deadline| deadline <= now);
        let mut expired: Vec<(i64, Waiting)> =
            state.waiting.extract_if(|_, one| due(one)).collect();
        drop(state);
        expired.sort_unstable_by_key(|(id, _)| *id);
        let given_up = expired.into_iter().map(|(id, waiting)| {
            let _ = waiting.reply.send(Answer {
                result: Err(RpcError::Deadline),
                frame,
            });
            id
        });
        given_up.collect()
    }

    /// The client is gone: every waiting and every later request is [`RpcError::Gone`].
    pub fn close(&self, frame: u64) {
        let mut state = self.state.lock();
        state.gone = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for one in waiting.into_values() {
            let _ = one.reply.send(Answer {
                result: Err(RpcError::Gone),
                frame,
            });
        }
    }

    /// How many requests wait for an answer.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.state.lock().waiting.len()
    }
}

/// Our ids are integers; some clients send them back as `1.0` or `"1"`.
fn number(id: &Value) -> Option<i64> {
    match id {
        Value::Number(number) => number.as_i64().or_else(|| {
            number
                .as_f64()
                .filter(|n| n.fract() == 0.0)
                .map(|n| n as i64)
        }),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}
