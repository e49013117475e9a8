//! `session/set_mode`.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::door::Door;
use super::super::options;
use super::{Outcome, read};
use crate::conversation::SessionId;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetMode {
    session_id: SessionId,
    mode_id: String,
}

pub async fn run(door: &Door, params: Value) -> Outcome {
    let open = door.open()?;
    let asked: SetMode = read(params)?;
    open.known(&asked.session_id)?;
    options::set(
        &open.sessions,
        open.turns(),
        &asked.session_id,
        options::MODE,
        &asked.mode_id,
    )
    .await?;
    Ok(json!({}).into())
}
