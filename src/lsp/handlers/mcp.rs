//! `interline/mcp/login` and `interline/mcp/logout`, and the login of their commands: the client
//! opens the URL in the user's browser, or else it is shown in a message.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::conversation::Failure;
use crate::lsp::door::Door;
use crate::lsp::ext::{McpServerRef, Nothing};
use crate::mcp::Pending;
use crate::session::not_logged_in;

/// How long an editor may take to open a browser before the URL is shown.
const OPENING: Duration = Duration::from_secs(5);

/// Answered when the login succeeds or fails; cancelling the request abandons the login.
pub async fn login(door: Arc<Door>, params: McpServerRef) -> Result<Nothing, Failure> {
    log_in(&door, Some(&params.server), params.cwd.as_deref()).await?;
    Ok(Nothing {})
}

pub async fn logout(door: Arc<Door>, params: McpServerRef) -> Result<Nothing, Failure> {
    let sessions = door.sessions()?;
    sessions
        .log_out(&params.server, params.cwd.as_deref())
        .await?;
    door.host()?.status_changed();
    Ok(Nothing {})
}

/// Logs in and returns the server's name.
pub async fn log_in(
    door: &Door,
    server: Option<&str>,
    cwd: Option<&str>,
) -> Result<String, Failure> {
    let pending = door.sessions()?.log_in(server, cwd).await?;
    let name = pending.server().to_owned();
    open(door, &pending).await?;
    let outcome = pending.finish().await;
    door.host()?.status_changed();
    outcome.map_err(|reason| not_logged_in(&name, &reason))?;
    Ok(name)
}

async fn open(door: &Door, pending: &Pending) -> Result<(), Failure> {
    let (host, address) = (door.host()?, pending.address().as_str());
    if door.client()?.show_document {
        let params = json!({ "uri": address, "external": true, "takeFocus": true });
        let answer = door
            .peer
            .request("window/showDocument", params, Some(OPENING));
        if answer.await.result.is_ok_and(|it| it["success"] != false) {
            return Ok(());
        }
    }
    host.show_info(&format!(
        "Interline: to log in to the MCP server {}, open this address in your browser: {address}",
        pending.server()
    ));
    Ok(())
}
