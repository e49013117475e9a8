//! All sessions of a process and their shared state: the single entry point for every client
//! protocol.

mod current;
mod reopen;
mod servers;
mod status;
mod storage;
mod stored;
mod trust;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use super::actor::{self, Command, Handle, Leaving, Parts};
use super::agents::{self, By};
use super::api::{
    ConfigureSession, ListSessions, NewSession, PreviewPrompt, PromptPreview, RevertTurn,
    RevertedTurn, SessionInfo, SessionList, SessionRow, StartTurn, StartedTurn,
};
use super::child::RunningChildren;
use super::routing::Own;
use super::store::{self, Header, Log};
use super::{index, preview};
use crate::agent::calls::session_overrides::Choices;
use crate::agent::request::facts::Reported;
use crate::agent::{Conversation, Settings, Shared};
use crate::config::Config;
use crate::config::load::{Ignored, Loaded};
use crate::conversation::entry::Uninvited;
use crate::conversation::{EditorContext, Failure, FailureKind, Input, SessionId, TurnId};
use crate::edit::Lanes;
use crate::env::Env;
use crate::host::{Host, Nobody};
use crate::knowledge::Caches;
use crate::knowledge::instructions::fetch::UrlCache;
use crate::knowledge::trust::TrustStore;
use crate::knowledge::user_state::UserState;
use crate::mcp::Servers;
use crate::policy::paths;
use crate::prompt::facts::Detail;
use crate::prompt::{Layout, Texts};
use crate::provider::Providers;
use crate::provider::recording::Recording;
use crate::tools::Registry;
use crate::workspace::peers::Peers;
use crate::workspace::{Encoding, Root, Uri, Workspace};

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

/// Sentences for the user that no client could show yet: the next turn begins with them.
pub type Unsaid = Arc<Mutex<Vec<String>>>;

struct State {
    settings: Loaded,
    open: HashMap<SessionId, Handle>,
    /// The last used session of each root.
    current: HashMap<PathBuf, SessionId>,
}

/// Names of the built-in and overridden layouts.
pub fn layouts(texts: &Texts) -> Vec<String> {
    Layout::names(texts)
}

impl Sessions {
    pub fn new(env: Env, workspace: Arc<Workspace>, settings: Loaded) -> Arc<Self> {
        workspace.set_user(&env);
        workspace.join(Peers::new(&env.dirs.runtime));
        let overrides = env.dirs.config.join("prompts");
        let (storage, unsaid) = storage::looked_over(&env.dirs.state);
        let shared = Arc::new(Shared {
            lanes: Arc::new(Lanes::default()),
            texts: Arc::new(Texts::load(Some(&overrides))),
            registry: Registry::built_in(),
            mcp: Servers::new(env.clone(), workspace.clone()),
            providers: Providers::new(env.clone()),
            trust: TrustStore::new(&env),
            offered: Default::default(),
            client: Mutex::default(),
            trusted_now: Mutex::default(),
            roles: Mutex::default(),
            unverified: Mutex::default(),
            urls: UrlCache::default(),
            caches: Caches::default(),
            diagnostics: Mutex::default(),
            env,
            workspace,
        });
        Arc::new(Self {
            shared,
            host: Arc::new(RwLock::new(Arc::new(Nobody))),
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
        if host.hears() {
            let mut unsaid = self.unsaid.lock().unwrap_or_else(PoisonError::into_inner);
            unsaid.drain(..).for_each(|text| host.message(&text));
        }
        *self.host.write().unwrap_or_else(PoisonError::into_inner) = host;
    }

    /// Shows the user a message outside a turn.
    fn tell(&self, text: String) {
        actor::tell(self.host().as_ref(), &self.unsaid, text);
    }

    fn host(&self) -> Arc<dyn Host> {
        self.host
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn state<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
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
            handle.tell(Command::Config(config.clone()));
        }
    }

    /// Stores what the editor shows, until the next such call.
    pub fn set_context(&self, context: EditorContext) {
        *self.context.lock().unwrap_or_else(PoisonError::into_inner) = context;
    }

    /// What the editor last reported to show.
    pub fn context(&self) -> EditorContext {
        let context = self.context.lock().unwrap_or_else(PoisonError::into_inner);
        context.clone()
    }

    /// Replaces the diagnostics that other language servers report for a document.
    pub fn set_diagnostics(&self, uri: &str, reported: Vec<Reported>) {
        let key = Uri::new(uri).key();
        let mut all = self
            .shared
            .diagnostics
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if reported.is_empty() {
            all.remove(&key);
        } else {
            all.insert(key, reported);
        }
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
        let root = self.root_of(&handle.cwd);
        self.state(|state| state.current.insert(root, handle.id.clone()));
        self.admit(handle);
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

    pub async fn create(&self, new: NewSession) -> Result<SessionInfo, Failure> {
        let cwd = self.directory(new.cwd.as_deref())?;
        self.create_in(cwd, new).await
    }

    async fn create_in(&self, cwd: PathBuf, new: NewSession) -> Result<SessionInfo, Failure> {
        for folder in new.folders.iter().flatten() {
            self.directory(Some(folder))?;
        }
        if new.mcp_servers.is_some() {
            self.refuse_servers();
        }
        let config = self.state(|state| state.settings.config.clone());
        let (mut settings, own_model) = self.first_settings(&config, &cwd, new.agent.as_deref())?;
        let chosen = new.model.or(own_model);
        let routed = chosen.is_none();
        let name = match chosen.or_else(|| config.model.clone()) {
            Some(name) => Some(self.shared.providers.resolve(&config, Some(&name))?.name),
            None => None,
        };
        settings.uninvited.layout &= new.layout.is_none();
        let layout = new
            .layout
            .or_else(|| config.layout.clone())
            .unwrap_or_else(|| "default".to_owned());
        let layout = Arc::new(actor::load_layout(&self.shared, &layout)?);
        settings.mode = new.mode.unwrap_or(settings.mode);
        settings.segments = new.segments.unwrap_or_default();
        if let Some(detail) = &new.detail {
            settings.detail = preview::detail_of(detail)?;
        }
        settings.thinking = new.thinking;
        let id = SessionId(self.shared.env.id("s"));
        let folders = self.folders();
        let path = store::workspace_folder(&self.folder()?, &self.root_of(&cwd))
            .join(format!("{id}.jsonl"));
        let header = Header {
            kind: "session".to_owned(),
            version: store::VERSION,
            session_id: id.clone(),
            created_at: self.shared.env.timestamp().to_string(),
            cwd: cwd.display().to_string(),
            folders: folders.clone(),
            program: concat!("interline ", env!("CARGO_PKG_VERSION")).to_owned(),
            parent: None,
        };
        let log = Log::create(&path, &header).map_err(|error| storage::refused(&path, &error))?;
        let log = Arc::new(log);
        let handle = actor::spawn(
            Parts {
                shared: self.shared.clone(),
                host: self.host.clone(),
                context: self.context.clone(),
                id,
                cwd,
                folders,
                title: new.title,
                model: Own { name, routed },
                layout,
                settings,
                conversation: Conversation::default(),
                recorder: log.clone(),
                log: Some(log),
                children: self.children.clone(),
                seq: 0,
                ended: Vec::new(),
                clients: Vec::new(),
                unsaid: self.unsaid.clone(),
            },
            true,
        );
        self.enter(handle.clone());
        handle.ask(Command::Info).await
    }

    /// The settings a session begins with, and the model that its agent wants. The agent is the
    /// named one, else the setting's.
    fn first_settings(
        &self,
        config: &Config,
        cwd: &Path,
        named: Option<&str>,
    ) -> Result<(Settings, Option<String>), Failure> {
        let mut settings = Settings {
            mode: config.mode,
            agent: None,
            profile: None,
            segments: Vec::new(),
            detail: Detail::Full,
            thinking: None,
            config: Arc::new(config.clone()),
            rules: Vec::new(),
            choices: Choices::default(),
            servers: None,
            uninvited: Uninvited {
                layout: config.by_client("layout"),
                agent: named.is_none() && config.by_client("agent"),
            },
        };
        let (name, by) = match (named, config.agent.as_deref()) {
            (Some(name), _) => (name, By::Request),
            (None, Some(name)) => (name, By::Setting),
            (None, None) => return Ok((settings, None)),
        };
        let model = agents::select(&self.shared, cwd, &mut settings, name, by)?;
        Ok((settings, model))
    }

    /// Drops servers that a client names, with a notice, because they would grant something.
    fn refuse_servers(&self) {
        let notice = Ignored {
            key: "mcpServers".to_owned(),
            source: "session/new".to_owned(),
            reason: "a client cannot add it, because it grants rights: put it into config.toml"
                .to_owned(),
            ..Ignored::default()
        };
        self.state(|state| {
            if !state.settings.ignored.contains(&notice) {
                state.settings.ignored.push(notice);
            }
        });
    }

    fn folders(&self) -> Vec<String> {
        self.shared
            .workspace
            .roots()
            .iter()
            .map(|root| root.uri.to_string())
            .collect()
    }

    /// The canonical folder that a client names (path or `file:` URI); default: the first root. A
    /// folder outside all roots becomes one: here the client speaks for the user.
    fn directory(&self, named: Option<&str>) -> Result<PathBuf, Failure> {
        let workspace = &self.shared.workspace;
        let root = self.found(named)?;
        let path = root.path.clone();
        let mut roots = workspace.roots();
        if !roots.iter().any(|known| known.contains(&path)) {
            roots.push(root);
            workspace.set_roots(roots);
        }
        Ok(path)
    }

    /// The named folder, default the first root. Read-only.
    fn found(&self, named: Option<&str>) -> Result<Root, Failure> {
        let Some(named) = named else {
            let first = self.shared.workspace.roots().into_iter().next();
            let first = first.ok_or_else(|| {
                Failure::new(
                    FailureKind::Invalid,
                    "The editor has no folder open.",
                    "Open a folder, or name one when you start the session.",
                )
            })?;
            return ordinary(first);
        };
        let uri = if named.contains("://") {
            Uri::new(named)
        } else {
            Uri::from_path(Path::new(named))
        };
        let root = Root::new(uri, None).ok_or_else(|| {
            Failure::new(
                FailureKind::Invalid,
                format!("{named} is not a folder on this machine."),
                "Use the absolute path or the file: URI of an existing folder.",
            )
        })?;
        ordinary(root)
    }

    pub async fn configure(&self, change: ConfigureSession) -> Result<SessionInfo, Failure> {
        let handle = self.handle(&change.session_id)?;
        handle
            .ask(|reply| Command::Configure(Box::new(change), reply))
            .await?
    }

    pub async fn list(&self, query: ListSessions) -> Result<SessionList, Failure> {
        let (sessions, next_cursor) = self.list_placed(query).await?;
        Ok(SessionList {
            sessions: sessions.into_iter().map(|(row, _)| row).collect(),
            next_cursor,
        })
    }

    /// As [`Self::list`], each session with its directory; and the next cursor.
    pub async fn list_placed(
        &self,
        query: ListSessions,
    ) -> Result<(Vec<(SessionRow, String)>, Option<String>), Failure> {
        let folder = self.folder()?;
        let mut stored = tokio::task::spawn_blocking(move || index::list(&folder))
            .await
            .unwrap_or_default();
        let handles = self.state(|state| state.open.clone());
        let asked = query
            .cwd
            .as_ref()
            .and_then(|cwd| Uri::new(cwd.as_str()).path());
        for item in &mut stored {
            if item.cwd.is_empty()
                && let Some(place) = self.unnamed_place(&item.path, asked.as_deref())
            {
                item.cwd = place.display().to_string();
            }
            if item.row.state == "interrupted" && store::written(&item.path) {
                // Its turn runs in another process.
                item.row.state = "running".to_owned();
            }
            if let Some(handle) = handles.get(&item.row.session_id)
                && let Ok(row) = handle.ask(Command::Row).await
            {
                let updated_at = std::mem::take(&mut item.row.updated_at);
                item.row = SessionRow { updated_at, ..row };
            }
        }
        stored.retain(|item| {
            let here = |path: &PathBuf| Path::new(&item.cwd).starts_with(path);
            let placed = query.cwd.is_none() || asked.as_ref().is_some_and(here);
            placed && query.query.as_ref().is_none_or(|text| item.mentions(text))
        });
        let start = query
            .cursor
            .and_then(|cursor| cursor.parse::<usize>().ok())
            .unwrap_or(0);
        let limit = query.limit.unwrap_or(50).clamp(1, 500) as usize;
        let end = (start + limit).min(stored.len());
        let next_cursor = (end < stored.len()).then(|| end.to_string());
        let page = stored.into_iter().skip(start).take(limit);
        let placed = page.map(|item| (item.row, item.cwd)).collect();
        Ok((placed, next_cursor))
    }

    pub async fn close(&self, id: &SessionId) -> Result<(), Failure> {
        let handle = self.handle(id)?;
        let closed = handle
            .ask(|reply| Command::Close(Leaving::Bidden, reply))
            .await;
        self.state(|state| state.open.remove(id));
        closed
    }

    pub async fn start_turn(&self, mut start: StartTurn) -> Result<StartedTurn, Failure> {
        let handle = self.handle(&start.session_id)?;
        let root = self.root_of(&handle.cwd);
        self.state(|state| state.current.insert(root, handle.id.clone()));
        // Removes keys that the user pasted, so that none reaches a title, log or prompt.
        let secrets = self.shared.env.secrets();
        start.input.iter_mut().for_each(|part| part.clean(secrets));
        handle
            .ask(|reply| Command::Start(Box::new(start), reply))
            .await?
    }

    pub async fn steer(
        &self,
        id: &SessionId,
        turn: &TurnId,
        mut input: Vec<Input>,
    ) -> Result<(), Failure> {
        let secrets = self.shared.env.secrets();
        input.iter_mut().for_each(|part| part.clean(secrets));
        self.handle(id)?
            .ask(|reply| Command::Steer(turn.clone(), input, reply))
            .await?
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
        self.handle(id)?
            .ask(|reply| Command::Cancel(turn, reply))
            .await?
    }

    /// Removes a queued turn; returns its input.
    pub async fn dequeue(&self, id: &SessionId, turn: &TurnId) -> Result<Vec<Input>, Failure> {
        self.handle(id)?
            .ask(|reply| Command::Dequeue(turn.clone(), reply))
            .await?
    }

    /// Compacts the conversation; returns when that is done.
    pub async fn compact(&self, id: &SessionId, focus: Option<String>) -> Result<(), Failure> {
        self.handle(id)?
            .ask(|reply| Command::Compact(focus, reply))
            .await?
    }

    /// Reverts a turn's changes.
    pub async fn revert(&self, ask: RevertTurn) -> Result<RevertedTurn, Failure> {
        self.handle(&ask.session_id)?
            .ask(|reply| Command::Revert(Box::new(ask), reply))
            .await?
    }

    pub async fn preview(&self, ask: PreviewPrompt) -> Result<PromptPreview, Failure> {
        if let Some(id) = &ask.session_id {
            return self
                .handle(id)?
                .ask(|reply| Command::Preview(Box::new(ask), reply))
                .await?;
        }
        let named = ask.uri.as_deref().and_then(|uri| Uri::new(uri).path());
        let cwd = match named {
            Some(path) if path.is_dir() => self.found(path.to_str())?,
            Some(path) => self.found(path.parent().and_then(Path::to_str))?,
            None => self.found(None)?,
        };
        let cwd = cwd.path;
        let config = self.state(|state| state.settings.config.clone());
        let (settings, own_model) = self.first_settings(&config, &cwd, ask.agent.as_deref())?;
        let layout = config.layout.as_deref().unwrap_or("default");
        let from = preview::From {
            shared: self.shared.clone(),
            layout: Arc::new(actor::load_layout(&self.shared, layout)?),
            model: Own {
                routed: own_model.is_none(),
                name: own_model.or_else(|| config.model.clone()),
            },
            settings,
            cwd,
            editor: self
                .context
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            seen: crate::edit::Seen::default(),
            encoding: self.encoding(),
            news: Vec::new(),
            conversation: Conversation::default(),
        };
        preview::run(from, ask).await
    }

    fn encoding(&self) -> Encoding {
        self.host().encoding()
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

    pub fn set_secret(&self, provider: &str, secret: String) {
        self.shared.providers.set_secret(provider, secret);
    }

    /// Cancels everything and writes the logs; at most `limit`.
    pub async fn shutdown(&self, leaving: Leaving, limit: Duration) {
        let handles: Vec<Handle> =
            self.state(|state| state.open.drain().map(|(_, it)| it).collect());
        let closing = async {
            let mut waits = tokio::task::JoinSet::new();
            for handle in handles {
                let close = move |reply| Command::Close(leaving, reply);
                waits.spawn(async move { handle.ask(close).await });
            }
            while waits.join_next().await.is_some() {}
        };
        if tokio::time::timeout(limit, closing).await.is_err() {
            tracing::warn!("not every session closed within {limit:?}");
        }
        self.shared.mcp.stop_all(limit).await;
    }
}

/// Kernel folders show memory, devices and other processes: sessions never work in them.
fn ordinary(root: Root) -> Result<Root, Failure> {
    match paths::class(&root.path, &[]).special {
        false => Ok(root),
        true => Err(Failure::new(
            FailureKind::Invalid,
            format!("{} is a kernel or device folder.", root.path.display()),
            "Open a project folder.",
        )),
    }
}
