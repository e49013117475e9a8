//! The methods, one per file: each reads its params, asks the sessions, and returns the result.

mod authenticate;
mod cancel;
mod close;
mod delete;
mod initialize;
mod list;
mod load;
mod new;
mod prompt;
mod resume;
mod set_config_option;
mod set_mode;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::door::{Door, Open};
use crate::conversation::{Failure, FailureKind, SessionId};
use crate::prompt::fence;

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
pub async fn call(door: Arc<Door>, method: &str, params: Value) -> Option<Outcome> {
    Some(match method {
        "initialize" => initialize::run(&door, &params),
        "authenticate" => authenticate::run(&door, params),
        "session/new" => new::run(&door, params).await,
        "session/load" => load::run(&door, params).await,
        "session/resume" => resume::run(&door, params).await,
        "session/list" => list::run(&door, params).await,
        "session/close" => close::run(&door, params).await,
        "session/delete" => delete::run(&door, params).await,
        "session/prompt" => prompt::run(&door, params).await,
        "session/set_mode" => set_mode::run(&door, params).await,
        "session/set_config_option" => set_config_option::run(&door, params).await,
        _ => return None,
    })
}

/// A notification. Unknown ones are ignored.
pub fn notified(door: &Arc<Door>, method: &str, params: Value) {
    match method {
        "session/cancel" => cancel::run(door, params),
        _ => tracing::debug!(method, "unknown notification"),
    }
}

/// Params as a type; an error names the path and never quotes the value.
fn read<T: DeserializeOwned>(params: Value) -> Result<T, Failure> {
    serde_path_to_error::deserialize(params).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { "params" } else { &path };
        invalid(
            format!("{place} cannot be read: {}", error.inner()),
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

/// `session/new`, `session/load` and `session/resume`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    cwd: String,
    #[serde(default)]
    mcp_servers: Option<Vec<Server>>,
    #[serde(default)]
    additional_directories: Vec<String>,
}

/// An MCP server of the client.
#[derive(Deserialize)]
struct Server {
    name: String,
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Vec<Pair>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    headers: Vec<Pair>,
}

/// A variable or a header.
#[derive(Deserialize)]
struct Pair {
    name: String,
    value: String,
}

impl Server {
    /// As an entry of the setting `mcpServers`.
    fn entry(&self) -> Value {
        let table = |pairs: &[Pair]| -> Map<String, Value> {
            let pairs = pairs.iter();
            let pairs = pairs.map(|it| (it.name.clone(), it.value.clone().into()));
            pairs.collect()
        };
        let mut entry = Map::new();
        if let Some(kind) = &self.kind {
            entry.insert("type".to_owned(), kind.clone().into());
        }
        if let Some(command) = &self.command {
            entry.insert("command".to_owned(), command.clone().into());
            entry.insert("args".to_owned(), self.args.clone().into());
            entry.insert("env".to_owned(), table(&self.env).into());
        }
        if let Some(url) = &self.url {
            entry.insert("url".to_owned(), url.clone().into());
            entry.insert("headers".to_owned(), table(&self.headers).into());
        }
        entry.into()
    }
}

impl Place {
    fn check(&self, servers_required: bool) -> Result<(), Failure> {
        absolute("cwd", &self.cwd)?;
        for folder in &self.additional_directories {
            absolute("additionalDirectories", folder)?;
        }
        if servers_required && self.mcp_servers.is_none() {
            return Err(invalid(
                "mcpServers is missing",
                "send an empty list if there is no server",
            ));
        }
        for server in self.mcp_servers.iter().flatten() {
            if server.command.is_none() && server.url.is_none() {
                return Err(invalid(
                    format!("the server {:?} has neither command nor url", server.name),
                    "correct mcpServers",
                ));
            }
        }
        Ok(())
    }

    /// Hands the client's servers to the session; returns what to report at the first prompt.
    async fn serve(&self, open: &Open, session: &SessionId) -> Result<Vec<String>, Failure> {
        let (mut entries, mut unused) = (BTreeMap::new(), Vec::new());
        for server in self.mcp_servers.iter().flatten() {
            if entries.contains_key(&server.name) {
                let reason = "it is listed twice; the first is used".to_owned();
                unused.push((server.name.clone(), reason));
                continue;
            }
            entries.insert(server.name.clone(), server.entry());
        }
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        unused.extend(open.sessions.set_servers(session, entries).await?);
        let said = unused.into_iter().map(|(name, reason)| {
            let name = fence::name(&name);
            format!("The editor's MCP server {name} is not used: {reason}.")
        });
        Ok(said.collect())
    }
}

/// `{"sessionId": …, "update": …}`.
fn update(session: &SessionId, update: &Value) -> Value {
    json!({ "sessionId": session, "update": update })
}
