//! `session/set_config_option`: the model, or the mode.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::door::Door;
use super::super::options;
use super::{Outcome, invalid, read};
use crate::conversation::SessionId;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetOption {
    session_id: SessionId,
    config_id: String,
    value: Value,
}

pub async fn run(door: &Door, params: Value) -> Outcome {
    let open = door.open()?;
    let asked: SetOption = read(params)?;
    open.known(&asked.session_id)?;
    let Some(value) = asked.value.as_str() else {
        return Err(invalid(
            "value must be the id of one of the option's values",
            "choose one of configOptions",
        ));
    };
    let info = options::set(
        &open.sessions,
        open.turns(),
        &asked.session_id,
        &asked.config_id,
        value,
    )
    .await?;
    Ok(json!({ "configOptions": options::list(&open.sessions, &info) }).into())
}
