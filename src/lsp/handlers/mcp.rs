//! Logins to MCP servers: `interline/mcp/login` and `interline/mcp/logout`, and their commands. The
//! client opens the URL in the user's browser, or else it is shown in a message.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::conversation::Failure;
use crate::env::tasks;
use crate::host::Host as _;
use crate::lsp::door::Door;
use crate::lsp::ext::{McpServerRef, Nothing};
use crate::lsp::handlers::arguments::Args;
use crate::mcp::Pending;
use crate::session::not_logged_in;
use crate::workspace::Uri;

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
    if host.show_document(address, true).await {
        return Ok(());
    }
    host.show_info(&format!(
        "Interline: to log in to the MCP server {}, open this address in your browser: {address}",
        pending.server()
    ));
    Ok(())
}

/// The folder of the root that contains the argument's place.
fn folder(door: &Door, args: &Args) -> Option<String> {
    let path = args.uri.as_deref().map(Uri::new).and_then(|uri| uri.path());
    let root = path.and_then(|path| door.workspace.root_for(&path));
    root.map(|root| root.path.display().to_string())
}

/// `interline.mcpLogin`: begins the login and returns; a message reports the outcome.
pub async fn login_command(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    let host = Arc::clone(door.host()?);
    let cwd = folder(&door, &args);
    let server = args.server.or(args.text);
    tasks::spawn(async move {
        match log_in(&door, server.as_deref(), cwd.as_deref()).await {
            Ok(name) => host.message(&format!("Interline: logged in to the MCP server {name}.")),
            Err(failure) => host.message(&format!("Interline: {}", failure.sentences())),
        }
    });
    Ok(json!({}))
}

/// `interline.mcpLogout`.
pub async fn logout_command(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    let cwd = folder(&door, &args);
    let server = args.server.clone().or_else(|| args.text.clone());
    let server = server.ok_or_else(|| args.wrong("it needs a server's name"))?;
    let there = door.sessions()?.log_out(&server, cwd.as_deref()).await?;
    let host = door.host()?;
    host.status_changed();
    host.message(&match there {
        true => format!(
            "Interline: logged out of the MCP server {server}. If others may have seen the login, \
             revoke it on the server too."
        ),
        false => format!("Interline: not logged in to the MCP server {server}."),
    });
    Ok(json!({ "server": server }))
}
