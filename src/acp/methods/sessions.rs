//! The methods on stored and open sessions: new, load, resume, fork, list, close, delete.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::door::Open;
use super::super::{options, updates};
use super::{Answer, Named, Outcome, absolute, invalid, update};
use crate::conversation::{Failure, FailureKind, SessionId};
use crate::prompt::fence;
use crate::session::{ListSessions, NewSession, OpenSession, SessionAccess, SessionInfo};

/// The maximum number of replayed items; the newest ones.
const ITEMS: u32 = 2_000;

/// The session's folders and servers: `session/new`, `session/load` and `session/resume`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
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
    async fn set_servers(&self, open: &Open, session: &SessionId) -> Result<Vec<String>, Failure> {
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
        let notices = unused.into_iter().map(|(name, reason)| {
            let name = fence::name(&name);
            format!("The editor's MCP server {name} is not used: {reason}.")
        });
        Ok(notices.collect())
    }
}

/// `session/new`.
pub async fn new(open: &Open, place: Place) -> Outcome {
    place.check(true)?;
    let info = open
        .sessions
        .create(NewSession {
            cwd: Some(place.cwd.clone()),
            folders: Some(place.additional_directories.clone()),
            ..NewSession::default()
        })
        .await?;
    let notices = place.set_servers(open, &info.session_id).await?;
    entered(open, &info, place, notices).await
}

/// The session is open; the answer with its id.
async fn entered(open: &Open, info: &SessionInfo, place: Place, notices: Vec<String>) -> Outcome {
    let offered = options::offered(&open.sessions, &open.config, &place.cwd).await;
    let mut result = options::settings(&open.sessions, info, &offered.agents);
    result["sessionId"] = json!(info.session_id);
    open.enter(info, PathBuf::from(&place.cwd), offered.agents, notices);
    Ok(Answer {
        result,
        after: after(info, &offered.commands),
    })
}

/// The commands, and what the conversation so far fills of the context window.
fn after(info: &SessionInfo, commands: &Value) -> Vec<Value> {
    let filled = info.context.filter(|context| context.used > 0);
    let filled = filled.map(updates::filled);
    let updates = std::iter::once(commands.clone()).chain(filled);
    updates.map(|it| update(&info.session_id, &it)).collect()
}

/// `session/fork` (a draft of the protocol): a session with the conversation so far, without a
/// running turn.
pub async fn fork(open: &Open, stored: Stored) -> Outcome {
    let Stored { session_id, place } = stored;
    place.check(false)?;
    let forked = open.sessions.fork(&session_id, None).await?;
    let opened = open
        .sessions
        .open(OpenSession {
            session_id: forked.clone(),
            before: None,
            limit: Some(0),
            cwd: Some(place.cwd.clone()),
        })
        .await?;
    let notices = place.set_servers(open, &forked).await?;
    entered(open, &opened.session, place, notices).await
}

/// A stored session to open.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stored {
    session_id: SessionId,
    #[serde(flatten)]
    place: Place,
}

/// `session/load`: replays what was shown of a stored session, then answers.
pub async fn load(open: &Open, stored: Stored) -> Outcome {
    stored.place.check(true)?;
    reopen(open, stored, ITEMS).await
}

/// `session/resume`: like `session/load`, without the replay.
pub async fn resume(open: &Open, stored: Stored) -> Outcome {
    stored.place.check(false)?;
    reopen(open, stored, 0).await
}

/// Opens the session and replays its last `items`.
async fn reopen(open: &Open, stored: Stored, items: u32) -> Outcome {
    let Stored { session_id, place } = stored;
    if open.turns().running().contains(&session_id) {
        return Err(Failure::new(
            FailureKind::Busy,
            format!("a prompt of the session {session_id} is still running"),
            "wait for its answer, or send session/cancel first",
        ));
    }
    let opened = open
        .sessions
        .open(OpenSession {
            session_id: session_id.clone(),
            before: None,
            limit: Some(items),
            cwd: Some(place.cwd.clone()),
        })
        .await?;
    if opened.access == SessionAccess::ReadOnly {
        return Err(Failure::new(
            FailureKind::ReadOnly,
            format!("another process has the session {session_id} open"),
            "close it there, or start a new session",
        ));
    }
    let notices = place.set_servers(open, &session_id).await?;
    let offered = options::offered(&open.sessions, &open.config, &place.cwd).await;
    let result = options::settings(&open.sessions, &opened.session, &offered.agents);
    let cwd = PathBuf::from(&place.cwd);
    open.enter(&opened.session, cwd, offered.agents, notices);
    open.host.replay(&opened.items);
    Ok(Answer {
        result,
        after: after(&opened.session, &offered.commands),
    })
}

/// The params of `session/list`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct List {
    cwd: Option<String>,
    cursor: Option<String>,
}

/// `session/list`.
pub async fn list(open: &Open, asked: Option<List>) -> Outcome {
    let List { cwd, cursor } = asked.unwrap_or_default();
    if let Some(cwd) = &cwd {
        absolute("cwd", cwd)?;
    }
    let asked = ListSessions {
        cwd,
        cursor,
        ..ListSessions::default()
    };
    let (placed, next) = open.sessions.list_with_folders(asked).await?;
    let sessions = placed.into_iter().map(|(row, cwd)| {
        let mut one = json!({
            "sessionId": row.session_id,
            "cwd": cwd,
            "updatedAt": row.updated_at,
        });
        if !row.title.is_empty() {
            one["title"] = row.title.into();
        }
        one
    });
    let mut result = json!({ "sessions": sessions.collect::<Vec<Value>>() });
    if let Some(next) = next {
        result["nextCursor"] = next.into();
    }
    Ok(result.into())
}

/// `session/close`: cancels the running prompt; the session stays stored.
pub async fn close(open: &Open, Named { session_id }: Named) -> Outcome {
    open.known(&session_id)?;
    open.turns().cancel(&session_id);
    open.sessions.close(&session_id).await?;
    open.turns().leave(&session_id);
    Ok(json!({}).into())
}

/// `session/delete`: also for sessions that are not open.
pub async fn delete(open: &Open, Named { session_id }: Named) -> Outcome {
    open.turns().cancel(&session_id);
    open.sessions.delete(&session_id).await?;
    open.turns().leave(&session_id);
    Ok(json!({}).into())
}
