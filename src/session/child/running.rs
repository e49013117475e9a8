//! The sub-agents that run in this process. By their sessions they can be cancelled one by one, and
//! followed by clients that opened them. Owns no turn and ends none by itself.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::conversation::{SessionId, TurnId};

/// All of them.
#[derive(Debug, Default)]
pub struct RunningChildren {
    children: Mutex<HashMap<SessionId, Child>>,
}

#[derive(Debug)]
struct Child {
    turn: TurnId,
    cancel: CancellationToken,
    followed: Arc<AtomicBool>,
}

/// A sub-agent that is registered until this is dropped.
pub(super) struct Entered {
    children: Arc<RunningChildren>,
    session: SessionId,
    /// A client opened it and receives its events.
    pub followed: Arc<AtomicBool>,
}

impl RunningChildren {
    pub(super) fn enter(
        self: &Arc<Self>,
        session: &SessionId,
        turn: &TurnId,
        cancel: CancellationToken,
    ) -> Entered {
        let followed = Arc::new(AtomicBool::new(false));
        let child = Child {
            turn: turn.clone(),
            cancel,
            followed: followed.clone(),
        };
        self.children.lock().insert(session.clone(), child);
        Entered {
            children: self.clone(),
            session: session.clone(),
            followed,
        }
    }

    /// From now on the client receives the events of this session's sub-agent. `false`: none runs.
    pub fn follow(&self, session: &SessionId) -> bool {
        let children = self.children.lock();
        let child = children.get(session);
        child.inspect(|it| it.followed.store(true, Ordering::Release));
        child.is_some()
    }

    /// Cancels the sub-agent of this session, if it runs that turn.
    pub fn cancel(&self, session: &SessionId, turn: Option<&TurnId>) -> Option<TurnId> {
        let children = self.children.lock();
        let child = children.get(session)?;
        if turn.is_some_and(|turn| *turn != child.turn) {
            return None;
        }
        child.cancel.cancel();
        Some(child.turn.clone())
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.children.children.lock().remove(&self.session);
    }
}
