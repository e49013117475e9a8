//! MCP servers outside a turn: logins, and a session's own servers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::Sessions;
use crate::conversation::{Failure, FailureKind, SessionId};
use crate::env::tasks;
use crate::mcp::Pending;

impl Sessions {
    /// Begins a login to an MCP server; without a name, to the only possible one. The result has
    /// the message for the user and the pending answer.
    pub async fn log_in(
        &self,
        server: Option<&str>,
        cwd: Option<&str>,
    ) -> Result<Pending, Failure> {
        let cwd = self.looked_at(cwd).await?;
        let name = match server {
            Some(name) => name.to_owned(),
            None => self.shared.mcp.login_candidate(&cwd).ok_or_else(|| {
                Failure::invalid(
                    "It is not clear which MCP server is meant.",
                    "Name the server; the status lists them.",
                )
            })?,
        };
        let begun = self.shared.mcp.log_in(&cwd, &name).await;
        begun.map_err(|reason| not_logged_in(&name, &reason))
    }

    /// Removes a login; whether there was one.
    pub async fn log_out(&self, server: &str, cwd: Option<&str>) -> Result<bool, Failure> {
        let cwd = self.looked_at(cwd).await?;
        let (shared, name) = (self.shared.clone(), server.to_owned());
        let forgotten = tasks::blocking(move || shared.mcp.log_out(&cwd, &name)).await;
        forgotten
            .unwrap_or_else(|error| Err(error.to_string()))
            .map_err(|reason| {
                let message = format!(
                    "The login to the MCP server {server} could not be removed: \
                                       {reason}."
                );
                Failure::invalid(message, "The status lists them.")
            })
    }

    /// Gives an open session its own MCP servers, besides the shared ones; the caller vouches that
    /// they are the user's. They start with its next turn. Returns `(server, reason)` for rejected
    /// ones.
    pub async fn set_servers(
        &self,
        id: &SessionId,
        entries: BTreeMap<String, Value>,
    ) -> Result<Vec<(String, String)>, Failure> {
        let handle = self.handle(id)?;
        let own = self.shared.mcp.with_session_servers(entries);
        let config = self.config();
        let (servers, cwd) = (own.clone(), handle.cwd.clone());
        let looked = tasks::blocking(move || {
            servers.reload(&config, &cwd);
            servers.all_problems()
        });
        handle.send(|actor| actor.set_servers(own));
        Ok(looked.await.unwrap_or_default())
    }

    /// The folder, with its servers known; starts none.
    async fn looked_at(&self, cwd: Option<&str>) -> Result<PathBuf, Failure> {
        let cwd = self.named_folder(cwd)?.path;
        let config = self.config();
        let (shared, folder) = (self.shared.clone(), cwd.clone());
        let looked = tasks::blocking(move || shared.mcp.reload(&config, &folder)).await;
        if let Err(error) = looked {
            tracing::warn!(%error, "the servers of a folder were not looked at");
        }
        Ok(cwd)
    }
}

/// Why a login is not possible, for the user.
pub fn not_logged_in(server: &str, reason: &str) -> Failure {
    Failure::new(
        FailureKind::Auth,
        format!("Not logged in to the MCP server {server}: {reason}."),
        "",
    )
}
