//! What the client lets the user choose: mode and model, as options and, for the mode, also in
//! the older form; and the commands a prompt may begin with.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::turns::Turns;
use crate::config::Config;
use crate::conversation::{Failure, FailureKind, Mode, SessionId};
use crate::env::tasks;
use crate::knowledge::skills;
use crate::session::{ConfigureSession, SessionInfo, Sessions};

pub const MODE: &str = "mode";
pub const MODEL: &str = "model";

/// The name of "the first provider with a key" (as the setting `model` has it).
const DEFAULT: &str = "default";

/// `modes` and `configOptions` of a session's answer.
pub fn settings(sessions: &Sessions, info: &SessionInfo) -> Value {
    json!({
        "modes": { "currentModeId": info.mode.as_str(), "availableModes": modes("id") },
        "configOptions": list(sessions, info.mode, &info.model),
    })
}

/// All modes; `key` names their ids.
fn modes(key: &str) -> Vec<Value> {
    let modes = Mode::ALL.iter().map(|mode| {
        let (name, what) = match mode {
            Mode::Agent => ("Agent", "Reads, edits, and runs commands after approval"),
            Mode::Ask => ("Ask", "Answers questions; changes nothing"),
            Mode::Plan => ("Plan", "Reads and plans; changes nothing"),
        };
        json!({ key: mode.as_str(), "name": name, "description": what })
    });
    modes.collect()
}

/// All options with their current values.
pub fn list(sessions: &Sessions, mode: Mode, model: &str) -> Value {
    let model = if model.is_empty() { DEFAULT } else { model };
    let mut names = sessions.offers().models;
    if !names.iter().any(|name| name == model) {
        names.insert(0, model.to_owned());
    }
    let models: Vec<Value> = names
        .iter()
        .map(|name| json!({ "value": name, "name": name }))
        .collect();
    json!([
        {
            "id": MODE,
            "name": "Mode",
            "category": "mode",
            "type": "select",
            "currentValue": mode.as_str(),
            "options": modes("value"),
        },
        {
            "id": MODEL,
            "name": "Model",
            "category": "model",
            "type": "select",
            "currentValue": model,
            "options": models,
        }
    ])
}

/// Sets one option.
pub async fn set(
    sessions: &Sessions,
    turns: &Turns,
    session: &SessionId,
    option: &str,
    value: &str,
) -> Result<SessionInfo, Failure> {
    let wrong = |message: String| {
        Failure::new(
            FailureKind::Invalid,
            message,
            "choose one of the session's configOptions",
        )
    };
    let mut change = ConfigureSession::new(session.clone());
    match option {
        MODE => {
            let mode = Mode::parse(value);
            change.mode = Some(mode.ok_or_else(|| wrong(format!("unknown mode {value:?}")))?);
        }
        MODEL => change.model = Some(value.to_owned()),
        other => return Err(wrong(format!("unknown option {other:?}"))),
    }
    let configured = sessions.configure(change).await;
    // The name is wrong, whether or not there is a key.
    let info = configured.map_err(|failure| match failure.kind {
        FailureKind::NoModel => Failure {
            kind: FailureKind::Invalid,
            ..failure
        },
        _ => failure,
    })?;
    turns.with(session, |known| {
        known.mode = info.mode;
        known.model.clone_from(&info.model);
    });
    Ok(info)
}

/// Our own commands: name, description, hint.
const COMMANDS: [(&str, &str, &str); 2] = [
    (
        "revert",
        "Revert what the last turn changed",
        "nothing, a file, or the id of a tool call",
    ),
    ("redo", "Restore what the last /revert reverted", ""),
];

/// `available_commands_update`: our own commands, and the skills the user may start.
pub async fn commands(sessions: &Sessions, config: &Config, cwd: &str) -> Value {
    let shared = Arc::clone(sessions.shared());
    let (config, cwd) = (config.clone(), cwd.to_owned());
    let find = move || {
        let folder = Path::new(&cwd);
        let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let trusted = shared.trusted(&folder);
        skills::find(&shared.workspace, &shared.env, &config, &folder, trusted).skills
    };
    let found = tasks::blocking(find).await.unwrap_or_default();
    let skills = found.into_iter().filter(|skill| skill.for_user);
    let skills = skills.map(|skill| {
        json!({
            "name": skill.name,
            "description": crate::prompt::fence::name(&skill.description),
            "input": { "hint": "what the skill should do" },
        })
    });
    let own = COMMANDS.map(|(name, description, hint)| match hint {
        "" => json!({ "name": name, "description": description }),
        hint => json!({ "name": name, "description": description, "input": { "hint": hint } }),
    });
    let commands: Vec<Value> = own.into_iter().chain(skills).collect();
    json!({ "sessionUpdate": "available_commands_update", "availableCommands": commands })
}
