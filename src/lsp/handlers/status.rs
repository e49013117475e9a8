//! `interline/status` and `interline/debug`.

use std::sync::Arc;

use crate::conversation::Failure;
use crate::lsp::door::Door;
use crate::lsp::ext::Nothing;
use crate::session::{DebugReport, Status};

pub async fn status(door: Arc<Door>, _: Nothing) -> Result<Status, Failure> {
    Ok(door.sessions()?.status().await)
}

pub async fn debug(door: Arc<Door>, _: Nothing) -> Result<DebugReport, Failure> {
    let client = door.client()?.described();
    Ok(door.sessions()?.debug(client).await)
}
