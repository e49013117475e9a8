//! Servers that one session has beside everybody's: named by its client, gone with it. They are
//! looked at together with the others, which are started once for all.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde_json::Value;

use super::Servers;
use super::server::Server;
use super::settings::{Found, Source};
use crate::env::Env;

/// Everybody's servers, and what a session's client named besides.
pub struct Above {
    all: Arc<Servers>,
    entries: BTreeMap<String, Value>,
}

/// Those that have servers of their own beside these.
pub type Below = Mutex<Vec<Weak<Servers>>>;

impl Above {
    /// Adds the session's entries; the user's settings count first.
    pub fn add(&self, found: &mut Found, root: &Path, env: &Env) {
        let known = self.all.servers(root);
        let mut entries = self.entries.clone();
        for server in known {
            let name = &server.settings.name;
            if entries.remove(name).is_some() {
                let reason = "your own settings have a server of that name, which counts";
                found.problems.push((name.clone(), reason.to_owned()));
            }
        }
        found.add(&entries, &Source::Client, root, env);
    }
}

impl Servers {
    /// These, and for one session those of `entries`, in the form of the setting `mcpServers`.
    /// They end when nobody holds the result any more.
    pub fn with(self: &Arc<Self>, entries: BTreeMap<String, Value>) -> Arc<Self> {
        let own = Arc::new(Self {
            env: self.env.clone(),
            workspace: self.workspace.clone(),
            trust: self.trust.clone(),
            views: Mutex::default(),
            above: Some(Above {
                all: self.clone(),
                entries,
            }),
            below: Below::default(),
        });
        let mut below = self.below.lock().unwrap_or_else(PoisonError::into_inner);
        below.retain(|known| known.strong_count() > 0);
        below.push(Arc::downgrade(&own));
        own
    }

    /// What everybody's servers give, if these are a session's.
    pub(super) fn above<T>(&self, none: T, get: impl FnOnce(&Self) -> T) -> T {
        match &self.above {
            Some(above) => get(&above.all),
            None => none,
        }
    }

    pub(super) fn below(&self) -> Vec<Arc<Self>> {
        let below = self.below.lock().unwrap_or_else(PoisonError::into_inner);
        below.iter().filter_map(Weak::upgrade).collect()
    }

    /// Takes its own servers out, to end them.
    pub(super) fn taken(&self) -> Vec<Arc<Server>> {
        let views = std::mem::take(&mut *self.views());
        let servers = views.into_values().flat_map(|view| view.servers);
        servers.collect()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for server in self.taken() {
            server.stop();
        }
    }
}

impl std::fmt::Debug for Servers {
    /// Settings of servers hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Servers")
    }
}
