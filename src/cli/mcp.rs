//! `interline mcp`: logging in to MCP servers without an editor.

use crate::config::load::{ClientSettings, load};
use crate::env::Env;
use crate::mcp::Servers;
use crate::terminal;
use crate::workspace::Workspace;

#[derive(clap::Args)]
pub struct McpArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Log in to a server at an address; the login is stored in a file only you can read.
    Login {
        /// The server's name in the settings.
        server: String,
    },
    /// Delete a stored login.
    Logout {
        /// The server's name in the settings.
        server: String,
    },
}

/// Logs in or out, with the servers of the current folder.
pub fn mcp(env: &Env, args: &McpArgs) -> anyhow::Result<i32> {
    let folder = std::fs::canonicalize(std::env::current_dir()?)?;
    let config = load(env, &ClientSettings::default()).config;
    let servers = Servers::new(env.clone(), Workspace::new());
    servers.reload(&config, &folder);
    match &args.what {
        What::Login { server } => super::runtime()?.block_on(async {
            let pending = servers.log_in(&folder, server).await;
            let pending = pending.map_err(anyhow::Error::msg)?;
            terminal::print(&format!(
                "Open this address in your browser (Ctrl-C cancels):\n\n{}\n",
                pending.address()
            ));
            pending.finish().await.map_err(anyhow::Error::msg)?;
            terminal::print(&format!("You are logged in to {server}."));
            Ok(0)
        }),
        What::Logout { server } => {
            let there = servers.log_out(&folder, server);
            terminal::print(&match there.map_err(anyhow::Error::msg)? {
                true => format!("Deleted the login to {server}."),
                false => format!("There is no stored login for {server}."),
            });
            Ok(0)
        }
    }
}
