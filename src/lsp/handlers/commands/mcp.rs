//! `interline.mcpLogin` and `interline.mcpLogout`. A message reports the outcome.

use std::sync::Arc;

use serde_json::{Value, json};

use super::arguments::Args;
use crate::conversation::Failure;
use crate::host::Host as _;
use crate::lsp::door::Door;
use crate::lsp::handlers::mcp;
use crate::workspace::Uri;

fn folder(door: &Door, args: &Args) -> Option<String> {
    let path = args.uri.as_deref().map(Uri::new).and_then(|uri| uri.path());
    let root = path.and_then(|path| door.workspace.root_for(&path));
    root.map(|root| root.path.display().to_string())
}

/// Begins the login and returns.
pub async fn login(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    let host = Arc::clone(door.host()?);
    let cwd = folder(&door, &args);
    let server = args.server.or(args.text);
    tokio::spawn(async move {
        match mcp::log_in(&door, server.as_deref(), cwd.as_deref()).await {
            Ok(name) => host.message(&format!("Interline: logged in to the MCP server {name}.")),
            Err(failure) => host.message(&format!("Interline: {}", failure.words())),
        }
    });
    Ok(json!({}))
}

/// Forgets the login.
pub async fn logout(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
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
