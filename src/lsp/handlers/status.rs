//! `interline/status`.

use std::sync::Arc;

use crate::conversation::Failure;
use crate::lsp::door::Door;
use crate::lsp::ext::Nothing;
use crate::session::Status;

pub async fn status(door: Arc<Door>, _: Nothing) -> Result<Status, Failure> {
    Ok(door.sessions()?.status().await)
}
