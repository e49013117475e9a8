//! The client's open sessions, and the prompt that runs in each: who waits for its
//! end, and how a cancel reaches it. Sends nothing.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::chosen::{Agent, Chosen};
use super::updates::Shown;
use crate::conversation::event::EnvelopeBody;
use crate::conversation::{Failure, FailureKind, ItemId, SessionId, TurnId};
use crate::session::{SessionInfo, Sessions};

type End = (TurnId, EnvelopeBody);

/// One open session as the client knows it.
pub struct Known {
    /// As the client spells it.
    pub cwd: PathBuf,
    pub chosen: Chosen,
    pub agents: Vec<Agent>,
    pub title: Option<String>,
    /// Cost of the finished turns in US dollars; `None`: unknown.
    pub cost: Option<f64>,
    pub shown: Shown,
    /// Sentences for the start of the next prompt.
    pub notices: Vec<String>,
    /// Updates that arrived after a cancelled prompt's answer.
    pub held: Vec<Value>,
    /// The last prompt was cancelled.
    pub cancelled: bool,
    /// The last `/revert`.
    pub reverted: Option<ItemId>,
    running: Option<(CancellationToken, mpsc::UnboundedSender<End>)>,
}

/// All of them.
#[derive(Default)]
pub struct Turns {
    known: Arc<Mutex<HashMap<SessionId, Known>>>,
}

impl Turns {
    pub fn enter(
        &self,
        info: &SessionInfo,
        cwd: PathBuf,
        agents: Vec<Agent>,
        notices: Vec<String>,
    ) {
        let known = Known {
            cwd,
            chosen: Chosen::from(info),
            agents,
            title: None,
            cost: Some(0.0),
            shown: Shown::default(),
            notices,
            held: Vec::new(),
            cancelled: false,
            reverted: None,
            running: None,
        };
        self.known.lock().insert(info.session_id.clone(), known);
    }

    /// The session is closed; a prompt that still waits ends.
    pub fn leave(&self, id: &SessionId) {
        self.known.lock().remove(id);
    }

    pub fn cwd(&self, id: &SessionId) -> Option<PathBuf> {
        self.with(id, |known| known.cwd.clone())
    }

    /// `None`: the client does not have the session open.
    pub fn with<T>(&self, id: &SessionId, change: impl FnOnce(&mut Known) -> T) -> Option<T> {
        self.known.lock().get_mut(id).map(change)
    }

    /// Sessions whose prompt runs.
    pub fn running(&self) -> Vec<SessionId> {
        let known = self.known.lock();
        let running = known.iter().filter(|(_, known)| known.running.is_some());
        running.map(|(id, _)| id.clone()).collect()
    }

    /// A prompt begins; a session runs one at a time.
    pub fn begin(&self, sessions: &Arc<Sessions>, id: &SessionId) -> Result<Running, Failure> {
        let mut all = self.known.lock();
        let free = all.get_mut(id).filter(|known| known.running.is_none());
        let Some(known) = free else {
            return Err(Failure::new(
                FailureKind::Busy,
                "a prompt of this session is still running",
                "wait for its answer, or send session/cancel first",
            ));
        };
        let cancel = CancellationToken::new();
        let (sender, ends) = mpsc::unbounded_channel();
        known.running = Some((cancel.clone(), sender));
        known.cancelled = false;
        Ok(Running {
            known: Arc::clone(&self.known),
            sessions: Arc::clone(sessions),
            id: id.clone(),
            cancel,
            ends,
            turn: None,
        })
    }

    /// Notifies the running prompt, if there is one.
    pub fn cancel(&self, id: &SessionId) {
        self.with(id, |known| {
            if let Some((cancel, _)) = &known.running {
                cancel.cancel();
            }
        });
    }

    /// A turn is over.
    pub fn ended(&self, id: &SessionId, turn: &TurnId, end: &EnvelopeBody) {
        self.with(id, |known| {
            if let Some((_, ends)) = &known.running {
                // No one waits if the client abandoned the request.
                let _ = ends.send((turn.clone(), end.clone()));
            }
        });
    }
}

/// A prompt that waits for its turn. Dropping it before the end cancels the turn.
pub struct Running {
    known: Arc<Mutex<HashMap<SessionId, Known>>>,
    sessions: Arc<Sessions>,
    id: SessionId,
    cancel: CancellationToken,
    ends: mpsc::UnboundedReceiver<End>,
    turn: Option<TurnId>,
}

impl Running {
    /// The turn that it started.
    pub fn is(&mut self, turn: TurnId) {
        self.turn = Some(turn);
    }

    /// `session/cancel` arrived.
    pub fn cancelled(&self) -> impl Future<Output = ()> + use<> {
        self.cancel.clone().cancelled_owned()
    }

    /// The end of `turn`; `None` when the session is gone.
    pub async fn ended(&mut self, turn: &TurnId) -> Option<EnvelopeBody> {
        loop {
            match self.ends.recv().await {
                Some((ended, end)) if ended == *turn => return Some(end),
                Some(_) => {}
                None => return None,
            }
        }
    }

    pub fn over(&mut self) {
        self.turn = None;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(known) = self.known.lock().get_mut(&self.id) {
            known.running = None;
        }
        let Some(turn) = self.turn.take() else { return };
        let (sessions, id) = (Arc::clone(&self.sessions), self.id.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // Fails if the session was closed, which cancelled it.
                let _ = sessions.cancel(&id, Some(turn)).await;
            });
        }
    }
}
