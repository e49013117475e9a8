//! State that the handlers share: the mirror, the sessions, the client. Created before the first
//! frame, completed by `initialize`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use super::bridge::Bridge;
use super::capabilities::Client;
use super::ext::{ClientChange, DiagnosticsChange};
use super::from_proto;
use super::host::ClientHost;
use crate::config::load::{ClientSettings, load};
use crate::conversation::{Failure, FailureKind};
use crate::env::Env;
use crate::env::tasks;
use crate::host::Host;
use crate::provider::recording::Recording;
use crate::rpc::Peer;
use crate::session::{Leaving, Sessions};
use crate::workspace::peers::Peers;
use crate::workspace::{Encoding, Workspace};

/// The LSP door of a process.
pub struct Door {
    pub env: Env,
    pub workspace: Arc<Workspace>,
    pub peer: Peer,
    recording: Option<Recording>,
    open: OnceLock<Open>,
    settings: Mutex<ClientSettings>,
    /// Warnings about settings that were shown to the user, or will be once the client is ready.
    alarms: Mutex<Vec<String>>,
    /// By document key.
    diagnostics: Mutex<HashMap<String, DiagnosticsChange>>,
}

/// State that exists after `initialize`.
struct Open {
    client: Arc<Client>,
    host: Arc<ClientHost>,
    sessions: Arc<Sessions>,
    bridge: Arc<Bridge>,
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
            settings: Mutex::default(),
            alarms: Mutex::default(),
            diagnostics: Mutex::default(),
        }
    }

    /// Records the models' answers.
    pub fn recording(mut self, recording: Option<Recording>) -> Self {
        self.recording = recording;
        self
    }

    /// Reads the client's capabilities and starts the sessions. Returns the answer to `initialize`,
    /// which advertises `commands`.
    pub fn initialize(&self, params: &Value, commands: &[&str]) -> Value {
        let open = self.open.get_or_init(|| self.start(params));
        open.client.answer(&open.sessions.offers(), commands)
    }

    fn start(&self, params: &Value) -> Open {
        let client = Arc::new(Client::new(params));
        self.workspace.set_roots(from_proto::roots(params));
        let options = params.get("initializationOptions");
        let settings = ClientSettings::from_options(options, client.offer.user_settings);
        let loaded = load(&self.env, &settings);
        *self.settings.lock() = settings;
        *self.alarms.lock() = loaded.alarms();
        let host = Arc::new(ClientHost::new(
            Arc::clone(&client),
            self.peer.clone(),
            Arc::clone(&self.workspace),
        ));
        host.set_approvals_via(loaded.config.approvals_via);
        let chat_folder = loaded.config.chat_folder;
        let sessions = Sessions::new(self.env.clone(), Arc::clone(&self.workspace), loaded);
        if let Some(recording) = &self.recording {
            sessions.record(recording.clone());
        }
        declare(&sessions, &client.offer.segments);
        sessions.shared().offer_tools(&client.offer.tools);
        sessions.shared().languages.set_queries(client.offer.query);
        let weak: Weak<dyn Host> = Arc::downgrade(&host) as Weak<dyn Host>;
        host.transcripts().connect(&sessions, weak);
        host.transcripts().set_folder(chat_folder);
        sessions.attach(Arc::clone(&host) as Arc<dyn Host>);
        let bridge = Bridge::new(Arc::clone(&host), Arc::clone(&sessions));
        tasks::spawn(publish_open_documents(
            Arc::clone(&self.workspace),
            client.name.clone().unwrap_or_default(),
            Arc::clone(&bridge),
        ));
        Open {
            client,
            host,
            sessions,
            bridge,
        }
    }

    /// `initialized`: from now on the client shows messages.
    pub fn ready(&self) {
        if let Some(open) = self.open.get() {
            let alarms = self.alarms.lock().clone();
            open.host.warn_of_settings(&alarms);
        }
    }

    /// `interline/client/didChange`: takes effect with the next turn.
    pub fn client_changed(&self, change: &ClientChange) {
        let Some(open) = self.open.get() else { return };
        if let Some(segments) = &change.segments {
            declare(&open.sessions, segments);
        }
        if let Some(tools) = &change.tools {
            for reason in open.sessions.shared().offer_tools(tools) {
                tracing::warn!(reason, "a tool of the client is not offered");
            }
        }
    }

    /// `didChangeConfiguration`: takes effect with the next turn.
    pub fn configure(&self, settings: &Value) {
        let Some(open) = self.open.get() else { return };
        // Clients whose settings are pulled send null.
        if settings.is_null() {
            return;
        }
        let loaded = {
            let mut current = self.settings.lock();
            *current = current.changed(settings);
            load(&self.env, &current)
        };
        let mut alarms = loaded.alarms();
        {
            let mut shown = self.alarms.lock();
            alarms.retain(|alarm| !shown.contains(alarm));
            shown.extend(alarms.iter().cloned());
        }
        open.host.warn_of_settings(&alarms);
        open.host.set_approvals_via(loaded.config.approvals_via);
        open.host
            .transcripts()
            .set_folder(loaded.config.chat_folder);
        open.sessions.set_settings(loaded);
        open.host.status_changed();
    }

    pub fn sessions(&self) -> Result<&Arc<Sessions>, Failure> {
        self.open().map(|open| &open.sessions)
    }

    pub fn host(&self) -> Result<&Arc<ClientHost>, Failure> {
        self.open().map(|open| &open.host)
    }

    pub fn client(&self) -> Result<&Arc<Client>, Failure> {
        self.open().map(|open| &open.client)
    }

    fn open(&self) -> Result<&Open, Failure> {
        self.open.get().ok_or_else(|| {
            Failure::new(
                FailureKind::Invalid,
                "the server is not initialized",
                "send initialize first",
            )
        })
    }

    pub fn encoding(&self) -> Encoding {
        self.open
            .get()
            .map_or(Encoding::Utf16, |open| open.client.encoding)
    }

    /// Diagnostics of other servers, by document key.
    pub fn diagnostics(&self) -> MutexGuard<'_, HashMap<String, DiagnosticsChange>> {
        self.diagnostics.lock()
    }

    /// Stops all turns and flushes the logs.
    pub async fn end(&self, leaving: Leaving, limit: Duration) {
        if let Some(open) = self.open.get() {
            open.bridge.end().await;
            open.sessions.shutdown(leaving, limit).await;
            open.host.transcripts().end().await;
        }
        if let Some(peers) = self.workspace.peers() {
            peers.leave();
        }
    }
}

/// Changes come in bursts, and one list for each burst is enough.
const BURST: Duration = Duration::from_millis(50);

/// Publishes to other processes what is open here, as long as this process lives.
async fn publish_open_documents(workspace: Arc<Workspace>, editor: String, bridge: Arc<Bridge>) {
    let mut published = (Vec::new(), Vec::new());
    loop {
        workspace.touched().await;
        tokio::time::sleep(BURST).await;
        let roots: Vec<PathBuf> = match bridge.listen() {
            true => workspace.roots().into_iter().map(|it| it.path).collect(),
            false => Vec::new(),
        };
        let listing = {
            let (workspace, editor, before) =
                (Arc::clone(&workspace), editor.clone(), published.clone());
            tasks::blocking(move || {
                let listed = (roots, workspace.listed());
                let news = workspace.peers().filter(|_| listed != before);
                let (roots, documents) = listed.clone();
                let publish = |peers: &Peers| peers.publish(&editor, roots, documents);
                news.map_or(Ok(()), publish).map(|()| listed)
            })
        };
        match listing.await {
            Ok(Ok(listed)) => published = listed,
            Ok(Err(error)) => tracing::warn!(%error, "cannot publish the list of open documents"),
            Err(_) => return,
        }
    }
}

/// Replaces the facts that the client declares for segments.
fn declare(sessions: &Sessions, facts: &Value) {
    let facts = facts.as_object().into_iter().flatten();
    let facts = facts.map(|(key, value)| (key.clone(), value.clone()));
    sessions.shared().declare(facts);
}
