//! `session/cancel`: cancels the running prompt, which answers `cancelled` once its turn is over.

use std::sync::Arc;

use serde_json::Value;

use super::super::door::Door;
use super::{Named, read};

pub fn run(door: &Arc<Door>, params: Value) {
    let cancelled = door.open().and_then(|open| {
        let Named { session_id } = read(params)?;
        open.turns().cancel(&session_id);
        Ok(())
    });
    if let Err(failure) = cancelled {
        tracing::warn!("session/cancel: {}", failure.words());
    }
}
