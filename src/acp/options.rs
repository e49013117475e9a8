//! What the client lets the user choose: mode, model, thinking, agent and layout, as options and,
//! for the mode, also in the older form; and the commands a prompt may begin with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::chosen::{Agent, Chosen};
use super::turns::Turns;
use crate::config::Config;
use crate::conversation::request::Effort;
use crate::conversation::{Failure, FailureKind, Mode, SessionId};
use crate::env::tasks;
use crate::knowledge::{agents, skills};
use crate::prompt::fence;
use crate::session::{ConfigureSession, SessionInfo, Sessions};

pub const MODE: &str = "mode";
const MODEL: &str = "model";
const THINKING: &str = "thinking";
const AGENT: &str = "agent";
const LAYOUT: &str = "layout";

/// The name of "the first provider with a key" (as the setting `model` has it), and of the
/// provider's own thinking effort.
const DEFAULT: &str = "default";
/// The value for no agent.
const NONE: &str = "none";

/// What is found below a session's folder.
pub struct Offered {
    pub agents: Vec<Agent>,
    /// `available_commands_update`: our own commands, and the skills the user may start.
    pub commands: Value,
}

/// `modes` and `configOptions` of a session's answer.
pub fn settings(sessions: &Sessions, info: &SessionInfo, agents: &[Agent]) -> Value {
    json!({
        "modes": { "currentModeId": info.mode.as_str(), "availableModes": modes("id") },
        "configOptions": list(sessions, &Chosen::from(info), agents),
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

/// All options with their current values. A category is one of the protocol's, or absent.
pub fn list(sessions: &Sessions, chosen: &Chosen, agents: &[Agent]) -> Value {
    let model = match chosen.model.as_str() {
        "" => DEFAULT,
        model => model,
    };
    let thinking = chosen.thinking.map_or(DEFAULT, Effort::as_str);
    let mut options = vec![
        option(MODE, "Mode", chosen.mode.as_str(), modes("value")),
        option(MODEL, "Model", model, models(sessions, model)),
        option(THINKING, "Thinking", thinking, efforts(chosen.thinking)),
    ];
    for (option, category) in options.iter_mut().zip([MODE, MODEL, "thought_level"]) {
        option["category"] = category.into();
    }
    if !agents.is_empty() {
        let none = json!({ "value": NONE, "name": "None" });
        let each = agents.iter().map(|agent| {
            json!({ "value": agent.name, "name": agent.name, "description": agent.description })
        });
        let values = std::iter::once(none).chain(each).collect();
        let current = chosen.agent.as_deref().unwrap_or(NONE);
        options.push(option(AGENT, "Agent", current, values));
    }
    let layouts = sessions.offers().layouts;
    let layouts = layouts.iter().map(|name| named(name)).collect();
    options.push(option(LAYOUT, "Prompt layout", &chosen.layout, layouts));
    options.into()
}

fn option(id: &str, name: &str, current: &str, values: Vec<Value>) -> Value {
    let mut values = values;
    if !values.iter().any(|value| value["value"] == current) {
        values.insert(0, named(current));
    }
    json!({
        "id": id,
        "name": name,
        "type": "select",
        "currentValue": current,
        "options": values,
    })
}

fn named(name: &str) -> Value {
    json!({ "value": name, "name": name })
}

/// The models that can be used now; all of them if there is no key at all.
fn models(sessions: &Sessions, current: &str) -> Vec<Value> {
    let rows = sessions.models();
    let usable = |name: &str, ready: bool| ready && !name.starts_with("replay/");
    let any = rows.iter().any(|row| usable(&row.name, row.ready));
    let shown = rows
        .iter()
        .filter(|row| !any || row.ready || row.name == current);
    shown.map(|row| named(&row.name)).collect()
}

/// The efforts. The provider's own cannot be chosen again once another was.
fn efforts(current: Option<Effort>) -> Vec<Value> {
    let all = [
        (Effort::Off, "Off"),
        (Effort::Low, "Low"),
        (Effort::Medium, "Medium"),
        (Effort::High, "High"),
    ];
    let default = json!({ "value": DEFAULT, "name": "Default" });
    let default = current.is_none().then_some(default);
    let all = all.map(|(effort, name)| json!({ "value": effort.as_str(), "name": name }));
    default.into_iter().chain(all).collect()
}

/// Sets one option.
pub async fn set(
    sessions: &Sessions,
    turns: &Turns,
    session: &SessionId,
    option: &str,
    value: &str,
) -> Result<SessionInfo, Failure> {
    let configured = sessions.configure(change(session, option, value)?).await;
    // The name is wrong, whether or not there is a key.
    let info = configured.map_err(|failure| match failure.kind {
        FailureKind::NoModel => Failure {
            kind: FailureKind::Invalid,
            ..failure
        },
        _ => failure,
    })?;
    turns.with(session, |known| known.chosen = Chosen::from(&info));
    Ok(info)
}

fn change(session: &SessionId, option: &str, value: &str) -> Result<ConfigureSession, Failure> {
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
        THINKING => {
            let effort = Effort::parse(value);
            let unknown = || wrong(format!("unknown thinking effort {value:?}"));
            change.thinking = Some(effort.ok_or_else(unknown)?);
        }
        AGENT if value == NONE => change.agent = Some(String::new()),
        AGENT => change.agent = Some(value.to_owned()),
        LAYOUT => change.layout = Some(value.to_owned()),
        other => return Err(wrong(format!("unknown option {other:?}"))),
    }
    Ok(change)
}

/// Our own commands: name, description, hint.
const COMMANDS: [(&str, &str, &str); 6] = [
    (
        "compact",
        "Replace the older part of the conversation with a summary",
        "what the summary must preserve",
    ),
    (
        "revert",
        "Revert what the last turn changed",
        "nothing, a file, or the id of a tool call",
    ),
    ("redo", "Restore what the last /revert reverted", ""),
    (
        "prompt",
        "Show the next prompt, with the source of each part",
        "",
    ),
    ("memory", "Show what is remembered, and where", ""),
    ("export", "Write the conversation to a Markdown file", ""),
];

/// The agents and commands of a session in `cwd`.
pub async fn offered(sessions: &Sessions, config: &Config, cwd: &str) -> Offered {
    let shared = Arc::clone(sessions.shared());
    let (config, cwd) = (config.clone(), PathBuf::from(cwd));
    let find = move || {
        let folder = std::fs::canonicalize(&cwd).unwrap_or(cwd);
        let (trusted, folder): (bool, &Path) = (shared.trusted(&folder), &folder);
        let (workspace, env) = (&shared.workspace, &shared.env);
        let agents = agents::find(workspace, env, &config, folder, trusted).agents;
        let skills = skills::find(workspace, env, &config, folder, trusted).skills;
        (agents, skills)
    };
    let (agents, found) = tasks::blocking(find).await.unwrap_or_default();
    let agents = agents.into_iter().filter(|agent| agent.name != NONE);
    let agents = agents.map(|agent| Agent {
        description: fence::name(&agent.description),
        name: agent.name,
    });
    let skills = found.into_iter().filter(|skill| skill.for_user);
    let skills = skills.map(|skill| {
        json!({
            "name": skill.name,
            "description": fence::name(&skill.description),
            "input": { "hint": "what the skill should do" },
        })
    });
    let own = COMMANDS.map(|(name, description, hint)| match hint {
        "" => json!({ "name": name, "description": description }),
        hint => json!({ "name": name, "description": description, "input": { "hint": hint } }),
    });
    let commands: Vec<Value> = own.into_iter().chain(skills).collect();
    Offered {
        agents: agents.collect(),
        commands: json!({
            "sessionUpdate": "available_commands_update",
            "availableCommands": commands,
        }),
    }
}
