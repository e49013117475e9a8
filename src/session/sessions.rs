//! All sessions of a process and their shared state: the single entry point for every client
//! protocol.

mod create;
mod current;
mod debug;
mod fork;
mod keys;
mod open;
mod rules;
mod servers;
mod status;
mod storage;
mod stored;
mod trust;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};

use super::actor::{Handle, Leaving};
use super::api::{
    ConfigureSession, DecideHunks, DecidedHunks, ListHunks, PreviewPrompt, PromptPreview,
    RevertTurn, RevertedTurn, SessionInfo, StartTurn, StartedTurn,
};
use super::child::RunningChildren;
use super::layouts::load_layout;
use super::preview;
use super::review::ReviewedFile;
use super::routing::Own;
use super::unsaid::{Unsaid, show_or_store};
use crate::agent::{Conversation, Shared};
use crate::config::load::Loaded;
use crate::conversation::{EditorContext, Failure, FailureKind, Input, SessionId, TurnId};
use crate::edit::Lanes;
use crate::env::Env;
use crate::host::{Host, NoClient};
use crate::knowledge::Caches;
use crate::knowledge::instructions::fetch::UrlCache;
use crate::knowledge::trust::TrustStore;
use crate::knowledge::user_state::UserState;
use crate::mcp::Servers;
use crate::prompt::Texts;
use crate::provider::Providers;
use crate::provider::recording::Recording;
use crate::tools::Registry;
use crate::workspace::peers::Peers;
use crate::workspace::{Formatted, Uri, Workspace};

pub use servers::not_logged_in;

/// All sessions of a process.
pub struct Sessions {
    shared: Arc<Shared>,
    host: Arc<RwLock<Arc<dyn Host>>>,
    context: Arc<Mutex<EditorContext>>,
    state: Mutex<State>,
    opening: tokio::sync::Mutex<()>,
    children: Arc<RunningChildren>,
    storage: Result<(), Failure>,
    unsaid: Unsaid,
}

struct State {
    settings: Loaded,
    open: HashMap<SessionId, Handle>,
    /// The last used session of each root.
    current: HashMap<PathBuf, SessionId>,
}

impl Sessions {
    pub fn new(env: Env, workspace: Arc<Workspace>, settings: Loaded) -> Arc<Self> {
        workspace.set_user(&env);
        workspace.join(Peers::new(&env.dirs.runtime));
        let overrides = env.dirs.config.join("prompts");
        let (storage, unsaid) = storage::check_folder(&env.dirs.state);
        let shared = Arc::new(Shared {
            lanes: Arc::new(Lanes::default()),
            texts: Arc::new(Texts::load(Some(&overrides))),
            registry: Registry::built_in(),
            mcp: Servers::new(env.clone(), workspace.clone()),
            providers: Providers::new(env.clone()),
            trust: TrustStore::new(&env),
            offered: Default::default(),
            client: Mutex::default(),
            languages: Arc::default(),
            trusted_now: Mutex::default(),
            roles: Mutex::default(),
            unverified: Mutex::default(),
            urls: UrlCache::default(),
            caches: Caches::default(),
            env,
            workspace,
        });
        Arc::new(Self {
            shared,
            host: Arc::new(RwLock::new(Arc::new(NoClient))),
            context: Arc::default(),
            state: Mutex::new(State {
                settings,
                open: HashMap::new(),
                current: HashMap::new(),
            }),
            opening: tokio::sync::Mutex::default(),
            children: Arc::default(),
            storage,
            unsaid: Arc::new(Mutex::new(unsaid)),
        })
    }

    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Attaches the client; events of all sessions go to it from now on.
    pub fn attach(&self, host: Arc<dyn Host>) {
        if host.shows_messages() {
            let mut unsaid = self.unsaid.lock();
            unsaid.drain(..).for_each(|text| host.message(&text));
        }
        *self.host.write() = host;
    }

    /// Shows the user a message outside a turn.
    fn show(&self, text: String) {
        show_or_store(self.host().as_ref(), &self.unsaid, text);
    }

    fn host(&self) -> Arc<dyn Host> {
        self.host.read().clone()
    }

    fn state<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock())
    }

    /// Applies new settings from the next call on.
    pub fn set_settings(&self, settings: Loaded) {
        self.shared.urls.forget_failures();
        let config = Arc::new(settings.config.clone());
        let handles = self.state(|state| {
            state.settings = settings;
            state.open.values().cloned().collect::<Vec<_>>()
        });
        for handle in handles {
            let config = config.clone();
            handle.send(|actor| actor.renew(config));
        }
    }

    /// Stores what the editor shows, until the next such call.
    pub fn set_context(&self, context: EditorContext) {
        *self.context.lock() = context;
    }

    /// What the editor last reported to show.
    pub fn context(&self) -> EditorContext {
        self.context.lock().clone()
    }

    fn handle(&self, id: &SessionId) -> Result<Handle, Failure> {
        self.state(|state| state.open.get(id).cloned())
            .ok_or_else(|| {
                Failure::new(
                    FailureKind::UnknownSession,
                    format!("The session {id} is not open."),
                    "Open it, or start a new session.",
                )
            })
    }

    fn enter(&self, handle: Handle) {
        self.make_current(&handle);
        self.admit(handle);
    }

    fn make_current(&self, handle: &Handle) {
        let root = self.root_of(&handle.cwd);
        self.state(|state| state.current.insert(root, handle.id.clone()));
    }

    fn admit(&self, handle: Handle) {
        self.state(|state| state.open.insert(handle.id.clone(), handle));
    }

    fn root_of(&self, path: &Path) -> PathBuf {
        self.shared
            .workspace
            .root_for(path)
            .map_or_else(|| path.to_owned(), |root| root.path)
    }

    pub async fn configure(&self, change: ConfigureSession) -> Result<SessionInfo, Failure> {
        let handle = self.handle(&change.session_id)?;
        handle.ask(|actor| actor.configure(change)).await?
    }

    pub async fn close(&self, id: &SessionId) -> Result<(), Failure> {
        let handle = self.handle(id)?;
        let closed = handle
            .ask_later(|actor, reply| actor.close(Leaving::Bidden, reply))
            .await;
        self.state(|state| state.open.remove(id));
        closed
    }

    pub async fn start_turn(&self, mut start: StartTurn) -> Result<StartedTurn, Failure> {
        let handle = self.handle(&start.session_id)?;
        self.make_current(&handle);
        self.clean(&mut start.input);
        handle.ask(|actor| actor.start(start)).await?
    }

    pub async fn steer(
        &self,
        id: &SessionId,
        turn: &TurnId,
        mut input: Vec<Input>,
    ) -> Result<(), Failure> {
        self.clean(&mut input);
        let turn = turn.clone();
        let handle = self.handle(id)?;
        handle.ask(move |actor| actor.steer(&turn, input)).await?
    }

    /// Removes keys that the user pasted, so that none reaches a title, log or prompt.
    fn clean(&self, input: &mut [Input]) {
        let secrets = self.shared.env.secrets();
        input.iter_mut().for_each(|part| part.clean(secrets));
    }

    /// Cancels `turn`, else the running one. Returns what was cancelled.
    pub async fn cancel(
        &self,
        id: &SessionId,
        turn: Option<TurnId>,
    ) -> Result<Vec<TurnId>, Failure> {
        if let Some(cancelled) = self.children.cancel(id, turn.as_ref()) {
            return Ok(vec![cancelled]);
        }
        self.handle(id)?.ask(|actor| actor.cancel(turn)).await?
    }

    /// Ends the wait before a failed request is sent again. Whether one was waiting.
    pub async fn retry_now(&self, id: &SessionId) -> Result<bool, Failure> {
        self.handle(id)?.ask(|actor| actor.retry_now()).await
    }

    /// Waits until no question about `turn` is open; the turn that the user's answer began.
    pub async fn follow_up(&self, id: &SessionId, turn: &TurnId) -> Option<TurnId> {
        let (handle, turn) = (self.handle(id).ok()?, turn.clone());
        let asked = handle.ask_later(move |actor, reply| actor.follow_up(&turn, reply));
        // An error: the question was withdrawn.
        asked.await.ok().flatten()
    }

    /// Withdraws the question about the session's last turn.
    pub fn withdraw_offer(&self, id: &SessionId) {
        if let Ok(handle) = self.handle(id) {
            handle.send(|actor| actor.withdraw_offer());
        }
    }

    /// Removes a queued turn; returns its input.
    pub async fn dequeue(&self, id: &SessionId, turn: &TurnId) -> Result<Vec<Input>, Failure> {
        let turn = turn.clone();
        let handle = self.handle(id)?;
        handle.ask(move |actor| actor.dequeue(&turn)).await?
    }

    /// Compacts the conversation; returns when that is done.
    pub async fn compact(&self, id: &SessionId, focus: Option<String>) -> Result<(), Failure> {
        self.handle(id)?
            .ask_later(|actor, reply| actor.compact(focus, reply))
            .await?
    }

    /// Reverts a turn's changes.
    pub async fn revert(&self, ask: RevertTurn) -> Result<RevertedTurn, Failure> {
        self.handle(&ask.session_id)?
            .ask_later(|actor, reply| actor.revert(ask, reply))
            .await?
    }

    /// What is left of a session's changes in the current texts.
    pub async fn review(&self, ask: ListHunks) -> Result<Vec<ReviewedFile>, Failure> {
        self.handle(&ask.session_id)?
            .ask_later(|actor, reply| actor.review(ask, reply))
            .await?
    }

    /// Keeps, rejects or amends changes.
    pub async fn decide(&self, ask: DecideHunks) -> Result<DecidedHunks, Failure> {
        self.handle(&ask.session_id)?
            .ask_later(|actor, reply| actor.decide(ask, reply))
            .await?
    }

    /// A formatter changed a document when it was saved.
    pub fn formatted(&self, formatted: &Formatted) {
        for handle in self.state(|state| state.open.clone()).into_values() {
            let formatted = formatted.clone();
            handle.send(move |actor| actor.formatted(formatted));
        }
    }

    pub async fn preview(&self, ask: PreviewPrompt) -> Result<PromptPreview, Failure> {
        if let Some(id) = &ask.session_id {
            let from = self.handle(id)?.ask(|actor| actor.preview_source()).await?;
            return preview::run(from, ask).await;
        }
        let named = ask.uri.as_deref().and_then(|uri| Uri::new(uri).path());
        let cwd = match named {
            Some(path) if path.is_dir() => self.named_folder(path.to_str())?,
            Some(path) => self.named_folder(path.parent().and_then(Path::to_str))?,
            None => self.named_folder(None)?,
        };
        let cwd = cwd.path;
        let config = self.config();
        let (settings, own_model) = self.first_settings(&config, &cwd, ask.agent.as_deref())?;
        let layout = config.layout.as_deref().unwrap_or("default");
        let from = preview::From {
            shared: self.shared.clone(),
            layout: Arc::new(load_layout(&self.shared, layout)?),
            model: Own {
                routed: own_model.is_none(),
                name: own_model.or_else(|| config.model.clone()),
            },
            settings,
            cwd,
            editor: self.context.lock().clone(),
            seen: crate::edit::Seen::default(),
            encoding: self.host().encoding(),
            news: Vec::new(),
            conversation: Conversation::default(),
        };
        preview::run(from, ask).await
    }

    /// Records the models' answers in `recording`, without the secrets in use.
    pub fn record(&self, recording: Recording) {
        match UserState::new(&self.shared.env).read() {
            Ok(kept) => kept
                .variables()
                .values()
                .for_each(|value| recording.hide(value)),
            Err(error) => {
                tracing::warn!(%error, "stored variables cannot be removed from a recording")
            }
        }
        self.shared.providers.record(recording);
    }

    /// Cancels everything and writes the logs; at most `limit`.
    pub async fn shutdown(&self, leaving: Leaving, limit: Duration) {
        let handles: Vec<Handle> =
            self.state(|state| state.open.drain().map(|(_, it)| it).collect());
        let closing = async {
            let mut waits = tokio::task::JoinSet::new();
            for handle in handles {
                waits.spawn(async move {
                    handle
                        .ask_later(move |actor, reply| actor.close(leaving, reply))
                        .await
                });
            }
            while waits.join_next().await.is_some() {}
        };
        if tokio::time::timeout(limit, closing).await.is_err() {
            tracing::warn!("not every session closed within {limit:?}");
        }
        let (mcp, languages) = (&self.shared.mcp, &self.shared.languages);
        tokio::join!(mcp.stop_all(limit), languages.stop_all(limit));
    }
}
