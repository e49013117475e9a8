//! `interline.cancel`, `interline.approve`, `interline.reject` and `interline.revert`.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use crate::conversation::{Failure, FailureKind, ItemId};
use crate::env::tasks;
use crate::host::{ChoiceKind, Host as _};
use crate::lsp::bare::messages;
use crate::lsp::door::Door;
use crate::lsp::handlers::arguments::Args;
use crate::session::RevertTurn;

/// Cancels the named session's turn, or else all running turns.
pub async fn cancel(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    let sessions = door.sessions()?;
    let named = args.session_id.is_some();
    let ids = match args.session_id {
        Some(id) => vec![id],
        None => {
            let rows = sessions.status().await.sessions;
            rows.into_iter()
                .filter(|row| row.state == "running")
                .map(|row| row.session_id)
                .collect()
        }
    };
    let mut cancelled = Vec::new();
    for id in ids {
        match sessions.cancel(&id, args.turn_id.clone()).await {
            Ok(turns) => cancelled.extend(turns),
            // Without a session, the turn is searched for in each.
            Err(failure) if !named && failure.kind == FailureKind::UnknownTurn => {}
            Err(failure) => return Err(failure),
        }
    }
    if cancelled.is_empty() {
        door.host()?.message("Interline: nothing is running.");
    }
    Ok(json!({ "cancelled": cancelled }))
}

pub async fn approve(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    decide(&door, &args, ChoiceKind::AllowOnce)
}

pub async fn reject(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    decide(&door, &args, ChoiceKind::RejectOnce)
}

fn decide(door: &Door, args: &Args, kind: ChoiceKind) -> Result<Value, Failure> {
    let named = args.item_id.clone();
    let named = named.or_else(|| args.text.as_deref().map(ItemId::from));
    let item = door
        .host()?
        .approvals()
        .decide(named.as_ref(), kind, Instant::now())?;
    Ok(json!({ "itemId": item }))
}

/// Reverts the last turn's changes, or those that the argument names. A message reports the outcome,
/// because an editor may take long to apply an edit.
pub async fn revert(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    let sessions = Arc::clone(door.sessions()?);
    let known = match args.session_id {
        Some(id) => Some(id),
        None => sessions.known(args.uri.as_deref())?,
    };
    let session_id = known.ok_or_else(|| {
        Failure::new(
            FailureKind::UnknownSession,
            "no session has run here since the editor started",
            "reopen an earlier one with interline.sessions, then revert",
        )
    })?;
    let ask = RevertTurn {
        session_id: session_id.clone(),
        turn_id: args.turn_id,
        item_id: args.item_id,
        uris: None,
        hunk_ids: None,
        preview: false,
    };
    let host = Arc::clone(door.host()?);
    tasks::spawn(async move {
        match sessions.revert(ask).await {
            Ok(reverted) => host.show_info(&messages::reverted(&reverted)),
            Err(failure) => host.show_info(&failure.sentences()),
        }
    });
    Ok(json!({ "sessionId": session_id }))
}
