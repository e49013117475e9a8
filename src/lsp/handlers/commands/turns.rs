//! `interline.cancel`, `interline.approve` and `interline.reject`.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use super::arguments::Args;
use crate::conversation::{Failure, FailureKind, ItemId};
use crate::host::{ChoiceKind, Host as _};
use crate::lsp::door::Door;

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
