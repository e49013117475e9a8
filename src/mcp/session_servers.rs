//! Servers that a client adds for one session, in addition to the shared ones. They end with the
//! session; the shared ones are started once for all sessions.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use serde_json::Value;

use super::Servers;
use super::server::Server;
use super::settings::{Found, Source};
use crate::env::Env;

/// The shared servers, and the entries that a session's client added.
pub struct SharedServers {
    all: Arc<Servers>,
    entries: BTreeMap<String, Value>,
}

/// The sessions that have servers of their own.
pub type SessionServers = Mutex<Vec<Weak<Servers>>>;

impl SharedServers {
    /// Adds the session's entries. The user's settings take precedence.
    pub fn add(&self, found: &mut Found, root: &Path, env: &Env) {
        let shared = self.all.servers(root).into_iter();
        let names = shared.map(|server| server.settings.name.clone());
        found.taken.extend(names);
        found.add(&self.entries, &Source::Client, root, env);
    }
}

impl Servers {
    /// These servers and, for one session, those in `entries`, written like the setting
    /// `mcpServers`. The session's servers end when the result is dropped.
    pub fn with_session_servers(self: &Arc<Self>, entries: BTreeMap<String, Value>) -> Arc<Self> {
        let own = Arc::new(Self {
            env: self.env.clone(),
            workspace: self.workspace.clone(),
            trust: self.trust.clone(),
            views: Mutex::default(),
            shared: Some(SharedServers {
                all: self.clone(),
                entries,
            }),
            sessions: SessionServers::default(),
        });
        let mut sessions = self.sessions.lock();
        sessions.retain(|known| known.strong_count() > 0);
        sessions.push(Arc::downgrade(&own));
        own
    }

    /// What `get` returns for the shared servers, if these are a session's.
    pub(super) fn ask_shared<T>(&self, none: T, get: impl FnOnce(&Self) -> T) -> T {
        match &self.shared {
            Some(shared) => get(&shared.all),
            None => none,
        }
    }

    pub(super) fn of_sessions(&self) -> Vec<Arc<Self>> {
        let sessions = self.sessions.lock();
        sessions.iter().filter_map(Weak::upgrade).collect()
    }

    /// Takes the servers out, to stop them.
    pub(super) fn take_servers(&self) -> Vec<Arc<Server>> {
        let views = std::mem::take(&mut *self.views.lock());
        let servers = views.into_values().flat_map(|view| view.servers);
        servers.collect()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for server in self.take_servers() {
            server.stop();
        }
    }
}

impl std::fmt::Debug for Servers {
    /// Hides the settings of servers, which hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Servers")
    }
}
