//! `interline/turn/…` and the cancel button of a turn's progress.

use std::sync::Arc;

use serde_json::Value;

use crate::conversation::Failure;
use crate::conversation::event::Origin;
use crate::env::tasks;
use crate::lsp::door::Door;
use crate::lsp::ext::{
    CancelTurn, CancelledTurns, DequeueTurn, DequeuedTurn, RetriedTurn, SessionRef, SteerTurn,
    TurnRef,
};
use crate::lsp::params::CancelProgress;
use crate::session::{RevertTurn, RevertedTurn, StartTurn, StartedTurn};

pub async fn start(door: Arc<Door>, mut params: StartTurn) -> Result<StartedTurn, Failure> {
    params.origin = Some(Origin::Client);
    door.sessions()?.start_turn(params).await
}

pub async fn steer(door: Arc<Door>, params: SteerTurn) -> Result<TurnRef, Failure> {
    let sessions = door.sessions()?;
    sessions
        .steer(&params.session_id, &params.turn_id, params.input)
        .await?;
    Ok(TurnRef {
        turn_id: params.turn_id,
    })
}

pub async fn cancel(door: Arc<Door>, params: CancelTurn) -> Result<CancelledTurns, Failure> {
    let sessions = door.sessions()?;
    let cancelled = sessions.cancel(&params.session_id, params.turn_id).await?;
    Ok(CancelledTurns { cancelled })
}

pub async fn retry(door: Arc<Door>, params: SessionRef) -> Result<RetriedTurn, Failure> {
    let retried = door.sessions()?.retry_now(&params.session_id).await?;
    Ok(RetriedTurn { retried })
}

pub async fn dequeue(door: Arc<Door>, params: DequeueTurn) -> Result<DequeuedTurn, Failure> {
    let sessions = door.sessions()?;
    let input = sessions
        .dequeue(&params.session_id, &params.turn_id)
        .await?;
    Ok(DequeuedTurn { input })
}

pub async fn revert(door: Arc<Door>, params: RevertTurn) -> Result<RevertedTurn, Failure> {
    door.sessions()?.revert(params).await
}

/// `window/workDoneProgress/cancel`. Ignores tokens that are not ours and those of turns that have
/// ended.
pub fn progress_cancelled(door: &Arc<Door>, params: CancelProgress) {
    let Value::String(token) = params.token else {
        return;
    };
    let Ok(host) = door.host() else { return };
    let Some((session, turn)) = host.turns().turn_of_token(&token.into()) else {
        return;
    };
    let door = Arc::clone(door);
    tasks::spawn(async move {
        if let Ok(sessions) = door.sessions()
            && let Err(failure) = sessions.cancel(&session, Some(turn)).await
        {
            tracing::debug!(%failure, "the turn was over before its cancel");
        }
    });
}
