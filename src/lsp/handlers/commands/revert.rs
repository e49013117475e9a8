//! `interline.revert`: takes the last turn's changes back, or those that the argument names. The
//! outcome comes as a message, because an editor may take its time with an edit.

use std::sync::Arc;

use serde_json::{Value, json};

use super::arguments::Args;
use crate::conversation::{Failure, FailureKind};
use crate::lsp::bare::words;
use crate::lsp::door::Door;
use crate::session::RevertTurn;

pub async fn run(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    let sessions = Arc::clone(door.sessions()?);
    let known = match args.session_id {
        Some(id) => Some(id),
        None => sessions.known(args.uri.as_deref())?,
    };
    let session_id = known.ok_or_else(|| {
        Failure::new(
            FailureKind::UnknownSession,
            "no session has run here since the editor started",
            "interline.sessions reopens an earlier one; then take its changes back",
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
    tokio::spawn(async move {
        match sessions.revert(ask).await {
            Ok(reverted) => host.tell(&words::reverted(&reverted)),
            Err(failure) => host.tell(&failure.words()),
        }
    });
    Ok(json!({ "sessionId": session_id }))
}
