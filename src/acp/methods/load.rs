//! `session/load`: replays what was shown of a stored session, then answers.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::super::door::{Door, Open};
use super::super::options;
use super::{Answer, Outcome, Place, read, update};
use crate::conversation::{Failure, FailureKind, SessionId};
use crate::session::{OpenSession, OpenedSession, SessionAccess};

/// The maximum number of replayed items; the newest ones.
const ITEMS: u32 = 2_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stored {
    session_id: SessionId,
    #[serde(flatten)]
    place: Place,
}

impl Stored {
    pub fn check(&self, servers_required: bool) -> Result<(), Failure> {
        self.place.check(servers_required)
    }
}

pub async fn run(door: &Door, params: Value) -> Outcome {
    let stored: Stored = read(params)?;
    stored.check(true)?;
    reopen(door, stored, ITEMS).await
}

/// Opens the session and replays its last `items`.
pub async fn reopen(door: &Door, stored: Stored, items: u32) -> Outcome {
    let open = door.open()?;
    let Stored { session_id, place } = stored;
    if open.turns().running().contains(&session_id) {
        return Err(Failure::new(
            FailureKind::Busy,
            format!("a prompt of the session {session_id} is still running"),
            "wait for its answer, or send session/cancel first",
        ));
    }
    let opened = opened(open, &session_id, items, &place.cwd).await?;
    let unsaid = place.serve(open, &session_id).await?;
    open.enter(&opened.session, PathBuf::from(&place.cwd), unsaid);
    open.host.tell_again(&opened.items);
    let commands = options::commands(&open.sessions, &open.config, &place.cwd).await;
    Ok(Answer {
        result: options::settings(&open.sessions, &opened.session),
        after: vec![update(&session_id, &commands)],
    })
}

async fn opened(
    open: &Open,
    id: &SessionId,
    items: u32,
    cwd: &str,
) -> Result<OpenedSession, Failure> {
    let opened = open
        .sessions
        .open(OpenSession {
            session_id: id.clone(),
            before: None,
            limit: Some(items),
            cwd: Some(cwd.to_owned()),
        })
        .await?;
    if opened.access == SessionAccess::ReadOnly {
        return Err(Failure::new(
            FailureKind::ReadOnly,
            format!("another process has the session {id} open"),
            "close it there, or start a new session",
        ));
    }
    Ok(opened)
}
