//! The methods: each takes its params, asks the sessions, and returns the result.

mod commands;
mod prompt;
mod revert;
mod sessions;
mod setup;

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::chosen::Chosen;
use super::door::{Door, Open};
use super::options;
use super::updates;
use crate::config::typed::typed;
use crate::conversation::{Failure, FailureKind, SessionId};

/// A result, and the updates that follow it.
pub struct Answer {
    pub result: Value,
    /// Params of `session/update`.
    pub after: Vec<Value>,
}

impl From<Value> for Answer {
    fn from(result: Value) -> Self {
        Self {
            result,
            after: Vec::new(),
        }
    }
}

type Outcome = Result<Answer, Failure>;

/// `None`: unknown method.
pub async fn call(door: &Door, method: &str, params: Value) -> Result<Option<Answer>, Failure> {
    let answer = match method {
        "initialize" => setup::initialize(door, &params),
        "authenticate" => setup::authenticate(door.open()?, read(params)?),
        "logout" => setup::logout(door.open()?),
        "session/new" => sessions::new(door.open()?, read(params)?).await,
        "session/load" => sessions::load(door.open()?, read(params)?).await,
        "session/resume" => sessions::resume(door.open()?, read(params)?).await,
        "session/fork" => sessions::fork(door.open()?, read(params)?).await,
        "session/list" => sessions::list(door.open()?, read(params)?).await,
        "session/close" => sessions::close(door.open()?, read(params)?).await,
        "session/delete" => sessions::delete(door.open()?, read(params)?).await,
        "session/prompt" => prompt::run(door, door.open()?, read(params)?).await,
        "session/set_mode" => set_mode(door.open()?, read(params)?).await,
        "session/set_config_option" => set_option(door.open()?, read(params)?).await,
        _ => return Ok(None),
    };
    answer.map(Some)
}

/// A notification. Unknown ones are ignored.
pub fn notified(door: &Door, method: &str, params: Value) {
    match method {
        // The running prompt answers `cancelled` once its turn is over.
        "session/cancel" => {
            let named = door
                .open()
                .and_then(|open| Ok((open, read::<Named>(params)?)));
            match named {
                Ok((open, named)) => open.turns().cancel(&named.session_id),
                Err(failure) => tracing::warn!("session/cancel: {}", failure.sentences()),
            }
        }
        _ => tracing::debug!(method, "unknown notification"),
    }
}

/// Params as a type; an error names the path and never quotes the value.
fn read<T: DeserializeOwned>(params: Value) -> Result<T, Failure> {
    typed(params).map_err(|wrong| {
        let place = match wrong.place.as_str() {
            "" => "params",
            place => place,
        };
        invalid(
            format!("{place} cannot be read: {}", wrong.problem),
            "correct the params; see agentclientprotocol.com",
        )
    })
}

fn invalid(message: impl Into<String>, hint: &str) -> Failure {
    Failure::new(FailureKind::Invalid, message, hint)
}

/// A relative folder would mean a different one to each side.
fn absolute(name: &str, path: &str) -> Result<(), Failure> {
    match Path::new(path).is_absolute() {
        true => Ok(()),
        false => Err(invalid(
            format!("{name} must be an absolute path, not {path:?}"),
            "use a path from the file system's root",
        )),
    }
}

/// A method that only names a session.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    session_id: SessionId,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetMode {
    session_id: SessionId,
    mode_id: String,
}

async fn set_mode(open: &Open, asked: SetMode) -> Outcome {
    open.known(&asked.session_id)?;
    let (sessions, id) = (&open.sessions, &asked.session_id);
    options::set(sessions, open.turns(), id, options::MODE, &asked.mode_id).await?;
    Ok(json!({}).into())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetOption {
    session_id: SessionId,
    config_id: String,
    value: Value,
}

/// `session/set_config_option`.
async fn set_option(open: &Open, asked: SetOption) -> Outcome {
    open.known(&asked.session_id)?;
    let Some(value) = asked.value.as_str() else {
        return Err(invalid(
            "value must be the id of one of the option's values",
            "choose one of configOptions",
        ));
    };
    let (sessions, id) = (&open.sessions, &asked.session_id);
    let info = options::set(sessions, open.turns(), id, &asked.config_id, value).await?;
    let agents = open.turns().with(id, |known| known.agents.clone());
    let list = options::list(sessions, &Chosen::from(&info), &agents.unwrap_or_default());
    Ok(json!({ "configOptions": list }).into())
}

/// `{"sessionId": …, "update": …}`.
fn update(session: &SessionId, update: &Value) -> Value {
    json!({ "sessionId": session, "update": update })
}

/// Ends a prompt with a text of ours.
fn said(open: &Open, session: &SessionId, text: &str) -> Answer {
    let text = updates::notice(text, "agent_message_chunk", false);
    open.host.update(session, &text);
    json!({ "stopReason": "end_turn" }).into()
}
