//! Logins to servers by their names, for doors: which server is meant, one login at a time for
//! each, and the new connection afterwards. The steps themselves are `login`'s.

use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use url::Url;

use super::login::{self, Tokens, Waiting};
use super::server::{Phase, Server};
use super::settings::Reach;
use super::{Servers, said};

/// A login that waits for the user; dropped, it is given up.
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

    /// What the user opens in a browser.
    pub fn address(&self) -> &Url {
        self.waiting.address()
    }

    /// Waits for the browser, keeps the login, and has the server connected with it.
    pub async fn finish(self) -> Result<(), String> {
        let Self {
            server,
            waiting,
            replaced,
        } = self;
        let outcome = tokio::select! {
            outcome = waiting.finish(&server.settings) => outcome,
            () = replaced.cancelled() => Err("another login took its place".to_owned()),
        };
        outcome.map_err(|reason| said(&server, &reason))?;
        server.again();
        Ok(())
    }
}

impl Servers {
    /// Begins to log the user in to a server of the folder that was looked at; a login that is
    /// under way there ends. The error says what to do.
    pub async fn log_in(&self, cwd: &Path, name: &str) -> Result<Pending, String> {
        let server = self.named(cwd, name)?;
        let replaced = server.logs_in();
        let challenge = server.challenge();
        let begun = login::begin(&server.settings, server.env(), challenge.as_deref()).await;
        let waiting = begun.map_err(|reason| said(&server, &reason))?;
        Ok(Pending {
            server,
            waiting,
            replaced,
        })
    }

    /// Forgets a login here; whether there was one. Blocking.
    pub fn log_out(&self, cwd: &Path, name: &str) -> Result<bool, String> {
        let server = self.named(cwd, name)?;
        let Reach::Http { url, .. } = &server.settings.reach else {
            return Ok(false);
        };
        server.logs_in();
        let there = Tokens::of(server.env(), url).forget()?;
        if there {
            server.again();
        }
        Ok(there)
    }

    /// The only server of the folder that wants a login, else the only one with an address.
    pub fn to_log_in(&self, cwd: &Path) -> Option<String> {
        let servers = self.servers(cwd);
        let only = |fits: &dyn Fn(&Server) -> bool| {
            let mut fit = servers.iter().filter(|server| fits(server));
            let first = fit.next().filter(|_| fit.next().is_none());
            first.map(|server| server.settings.name.clone())
        };
        only(&|server| matches!(server.phase(), Phase::Login(_)))
            .or_else(|| only(&|server| matches!(server.settings.reach, Reach::Http { .. })))
    }
}
