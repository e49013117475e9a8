//! `session/resume`: like `session/load`, without the replay.

use serde_json::Value;

use super::super::door::Door;
use super::{Outcome, load, read};

pub async fn run(door: &Door, params: Value) -> Outcome {
    let stored: load::Stored = read(params)?;
    stored.check(false)?;
    load::reopen(door, stored, 0).await
}
