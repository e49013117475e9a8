//! `interline.revert`: reverts the last turn's changes, or those that the argument names. A message
//! reports the outcome, because an editor may take long to apply an edit.

use std::sync::Arc;

use serde_json::{Value, json};

use super::arguments::Args;
use crate::conversation::{Failure, FailureKind};
use crate::lsp::bare::messages;
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
    tokio::spawn(async move {
        match sessions.revert(ask).await {
            Ok(reverted) => host.show_info(&messages::reverted(&reverted)),
            Err(failure) => host.show_info(&failure.words()),
        }
    });
    Ok(json!({ "sessionId": session_id }))
}
