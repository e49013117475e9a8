//! What the methods share: the client, its host, the sessions. Created before the first line,
//! filled by `initialize`.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;

use super::chosen::Agent;
use super::client::Client;
use super::host::AcpHost;
use super::turns::Turns;
use crate::config::Config;
use crate::config::load::{ClientSettings, load, unclear};
use crate::conversation::{Failure, FailureKind, SessionId};
use crate::env::Env;
use crate::host::Host;
use crate::provider::recording::Recording;
use crate::rpc::Peer;
use crate::session::{Leaving, SessionInfo, Sessions};
use crate::workspace::Workspace;

/// The ACP door of a process.
pub struct Door {
    pub env: Env,
    pub workspace: Arc<Workspace>,
    pub peer: Peer,
    recording: Option<Recording>,
    open: OnceLock<Open>,
}

/// What is known after `initialize`.
pub struct Open {
    pub config: Config,
    pub host: Arc<AcpHost>,
    pub sessions: Arc<Sessions>,
    /// Problems of the settings that the user must see; the first session reports them.
    alarms: Mutex<Vec<String>>,
}

impl Door {
    pub fn new(env: Env, peer: Peer) -> Self {
        let workspace = Workspace::new();
        workspace.set_user(&env);
        Self {
            env,
            workspace,
            peer,
            recording: None,
            open: OnceLock::new(),
        }
    }

    /// Records the models' answers.
    pub fn recording(mut self, recording: Option<Recording>) -> Self {
        self.recording = recording;
        self
    }

    /// Reads the client and starts the sessions. Only the first `initialize` has an effect.
    pub fn initialize(&self, params: &Value) -> &Open {
        self.open.get_or_init(|| self.start(params))
    }

    fn start(&self, params: &Value) -> Open {
        let client = Client::new(params);
        let loaded = load(&self.env, &ClientSettings::default());
        let alarms = loaded.alarms();
        let config = loaded.config.clone();
        let sessions = Sessions::new(self.env.clone(), Arc::clone(&self.workspace), loaded);
        if let Some(recording) = &self.recording {
            sessions.record(recording.clone());
        }
        let host = Arc::new(AcpHost::new(
            client,
            self.peer.clone(),
            Arc::clone(&self.workspace),
            self.env.dirs.clone(),
        ));
        // Every client shows pictures and links in the agent's messages.
        let shows = ["images", "fileSend"].map(|fact| (fact.to_owned(), Value::Bool(true)));
        sessions.shared().declare(shows.into_iter());
        host.connect(&sessions);
        sessions.attach(Arc::clone(&host) as Arc<dyn Host>);
        Open {
            config,
            host,
            sessions,
            alarms: Mutex::new(alarms),
        }
    }

    /// After `initialize`.
    pub fn open(&self) -> Result<&Open, Failure> {
        self.open.get().ok_or_else(|| {
            Failure::new(
                FailureKind::Invalid,
                "the agent is not initialized",
                "send initialize first",
            )
        })
    }

    /// Whether a provider has a key.
    pub fn has_key(&self) -> bool {
        self.open.get().is_some_and(|open| {
            let providers = &open.sessions.shared().providers;
            providers.has_key(&open.config)
        })
    }

    /// Stops all turns and writes the logs.
    pub async fn end(&self, limit: Duration) {
        if let Some(open) = self.open.get() {
            open.sessions.shutdown(Leaving::Lost, limit).await;
        }
        if let Some(peers) = self.workspace.peers() {
            peers.leave();
        }
    }
}

impl Open {
    pub fn turns(&self) -> &Turns {
        self.host.turns()
    }

    /// A session that the client named and has open.
    pub fn known(&self, id: &SessionId) -> Result<(), Failure> {
        match self.turns().cwd(id) {
            Some(_) => Ok(()),
            None => Err(Failure::new(
                FailureKind::UnknownSession,
                format!("the session {id} is not open here"),
                "open it with session/load or session/resume, or start one with session/new",
            )),
        }
    }

    /// The session is open from now on; ignored params are reported at its first
    /// prompt.
    pub fn enter(
        &self,
        info: &SessionInfo,
        cwd: PathBuf,
        agents: Vec<Agent>,
        mut notices: Vec<String>,
    ) {
        let alarms = std::mem::take(&mut *self.alarms.lock());
        if !alarms.is_empty() {
            notices.insert(0, unclear(&alarms));
        }
        self.turns().enter(info, cwd, agents, notices);
    }
}
