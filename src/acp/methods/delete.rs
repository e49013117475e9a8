//! `session/delete`: also for sessions that are not open.

use serde_json::{Value, json};

use super::super::door::Door;
use super::{Named, Outcome, read};

pub async fn run(door: &Door, params: Value) -> Outcome {
    let open = door.open()?;
    let Named { session_id } = read(params)?;
    open.turns().cancel(&session_id);
    open.sessions.delete(&session_id).await?;
    open.turns().leave(&session_id);
    Ok(json!({}).into())
}
