//! Logins to servers by name, for the front ends: finds the server, allows one login at a time and
//! reconnects afterwards. `login` has the steps themselves.

use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use url::Url;

use super::login::{self, Tokens, Waiting};
use super::server::{Phase, Server};
use super::{Servers, without_secrets};

/// A login that waits for the user. Dropping it abandons it.
pub struct Pending {
    server: Arc<Server>,
    waiting: Waiting,
    replaced: CancellationToken,
}

impl Pending {
    /// The server's name.
    pub fn server(&self) -> &str {
        &self.server.settings.name
    }

    /// The address to open in a browser.
    pub fn address(&self) -> &Url {
        self.waiting.address()
    }

    /// Waits for the browser, stores the login and reconnects the server.
    pub async fn finish(self) -> Result<(), String> {
        let Self {
            server,
            waiting,
            replaced,
        } = self;
        let outcome = tokio::select! {
            outcome = waiting.finish(&server.settings) => outcome,
            () = replaced.cancelled() => Err("another login replaced it".to_owned()),
        };
        outcome.map_err(|reason| without_secrets(&server, &reason))?;
        server.reconnect();
        Ok(())
    }
}

impl Servers {
    /// Begins to log the user in to a server of the folder. Ends a login in progress. The error
    /// says what to do.
    pub async fn log_in(&self, cwd: &Path, name: &str) -> Result<Pending, String> {
        let server = self.find_server(cwd, name)?;
        let replaced = server.begin_login();
        let challenge = server.challenge();
        let begun = login::begin(&server.settings, &server.env, challenge.as_deref()).await;
        let waiting = begun.map_err(|reason| without_secrets(&server, &reason))?;
        Ok(Pending {
            server,
            waiting,
            replaced,
        })
    }

    /// Deletes the stored login. Returns whether there was one. Blocking.
    pub fn log_out(&self, cwd: &Path, name: &str) -> Result<bool, String> {
        let server = self.find_server(cwd, name)?;
        let Some(http) = server.settings.http() else {
            return Ok(false);
        };
        server.begin_login();
        let there = Tokens::of(&server.env, &http.url).forget()?;
        if there {
            server.reconnect();
        }
        Ok(there)
    }

    /// The folder's only server that requires a login, or else the only one with an address.
    pub fn login_candidate(&self, cwd: &Path) -> Option<String> {
        let servers = self.servers(cwd);
        let only = |fits: &dyn Fn(&Server) -> bool| {
            let mut fit = servers.iter().filter(|server| fits(server));
            let first = fit.next().filter(|_| fit.next().is_none());
            first.map(|server| server.settings.name.clone())
        };
        only(&|server| matches!(server.phase(), Phase::Login(_)))
            .or_else(|| only(&|server| server.settings.http().is_some()))
    }
}
