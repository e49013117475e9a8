//! `session/prompt`: one turn, answered after its last update.

use serde::Deserialize;
use serde_json::json;

use super::super::content::{self, Part};
use super::super::door::{Door, Open};
use super::super::turns::Running;
use super::{Outcome, commands, invalid};
use crate::conversation::event::{EnvelopeBody, Origin};
use crate::conversation::{Failure, FailureKind, Input, SessionId, TurnId, TurnStop};
use crate::host::Host as _;
use crate::session::StartTurn;
use crate::workspace::beneath;

/// The params.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prompt {
    session_id: SessionId,
    prompt: Vec<Part>,
}

pub async fn run(door: &Door, open: &Open, asked: Prompt) -> Outcome {
    let id = asked.session_id;
    open.known(&id)?;
    if asked.prompt.is_empty() {
        return Err(invalid("the prompt is empty", "send at least one block"));
    }
    let input = content::input(asked.prompt)?;
    if let Some(command) = commands::command(&input) {
        return commands::run(door, open, &id, command).await;
    }
    // Before the first await, so that an immediate cancel finds it.
    let mut running = open.turns().begin(&open.sessions, &id)?;
    tokio::select! {
        biased;
        () = running.cancelled() => return Ok(stopped("cancelled")),
        () = refresh(door, open, &id, &input) => {}
    }
    open.host.send_notices(&id);
    let started = open
        .sessions
        .start_turn(StartTurn {
            origin: Some(Origin::Acp),
            ..StartTurn::new(id.clone(), input)
        })
        .await?;
    let mut turn = started.turn_id;
    loop {
        running.is(turn.clone());
        let (end, cancelled) = ended(open, &id, &mut running, &turn).await;
        running.over();
        let outcome = outcome(end, cancelled)?;
        if cancelled {
            return Ok(outcome);
        }
        match follow_up(open, &id, &running, &turn).await {
            Followed::No => return Ok(outcome),
            Followed::Cancelled => return Ok(stopped("cancelled")),
            Followed::By(next) => turn = next,
        }
    }
}

/// Waits for the end of a turn, and whether the client cancelled it.
async fn ended(
    open: &Open,
    id: &SessionId,
    running: &mut Running,
    turn: &TurnId,
) -> (Option<EnvelopeBody>, bool) {
    let mut sent_cancel = false;
    let cancelled = running.cancelled();
    tokio::pin!(cancelled);
    loop {
        tokio::select! {
            biased;
            end = running.ended(turn) => return (end, sent_cancel),
            () = &mut cancelled, if !sent_cancel => {
                sent_cancel = true;
                // It may already be over; then its end is recorded.
                let _ = open.sessions.cancel(id, Some(turn.clone())).await;
            }
        }
    }
}

/// What follows a turn.
enum Followed {
    No,
    /// A turn that the user's answer about a plan began.
    By(TurnId),
    Cancelled,
}

/// A question about the turn belongs to its prompt, because only a prompt can show turns.
async fn follow_up(open: &Open, id: &SessionId, running: &Running, turn: &TurnId) -> Followed {
    if !open.host.questions() {
        return Followed::No;
    }
    tokio::select! {
        biased;
        next = open.sessions.follow_up(id, turn) => next.map_or(Followed::No, Followed::By),
        () = running.cancelled() => {
            open.sessions.withdraw_offer(id);
            Followed::Cancelled
        }
    }
}

/// Reads the files that the prompt names without their text, as the client shows them.
async fn refresh(door: &Door, open: &Open, id: &SessionId, input: &[Input]) {
    open.host.refresh_files(id).await;
    for part in input {
        if let Input::Resource {
            uri, text: None, ..
        } = part
            && let Ok(file) = beneath::locate(&door.workspace, std::path::Path::new("/"), uri)
            && file.root.is_some()
        {
            open.host.refresh_file(id, &file).await;
        }
    }
}

fn stopped(reason: &str) -> super::Answer {
    json!({ "stopReason": reason }).into()
}

fn outcome(end: Option<EnvelopeBody>, cancelled: bool) -> Outcome {
    let Some(EnvelopeBody::Ended {
        stop_reason, error, ..
    }) = end
    else {
        // The session was closed or deleted in the meantime.
        return Ok(stopped("cancelled"));
    };
    let reason = match stop_reason {
        TurnStop::Cancelled => "cancelled",
        // A cancelled prompt never ends as an error.
        TurnStop::Error if cancelled => "cancelled",
        TurnStop::EndTurn => "end_turn",
        TurnStop::MaxSteps | TurnStop::Budget => "max_turn_requests",
        TurnStop::MaxTokens => "max_tokens",
        TurnStop::Refusal => "refusal",
        TurnStop::Error => {
            return Err(error.unwrap_or_else(|| {
                Failure::new(
                    FailureKind::Network,
                    "the turn failed",
                    "send the prompt again; the log has the details",
                )
            }));
        }
    };
    Ok(stopped(reason))
}
