//! Creates a session: its folder, its first settings and its log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Sessions, storage};
use crate::agent::{Conversation, Settings};
use crate::config::Config;
use crate::config::load::Ignored;
use crate::conversation::entry::Uninvited;
use crate::conversation::{Failure, Recorder, SessionId};
use crate::policy::paths;
use crate::prompt::Layout;
use crate::session::actor::{self, Parts};
use crate::session::agents::{self, By};
use crate::session::api::{NewSession, SessionInfo};
use crate::session::layouts::load_layout;
use crate::session::preview;
use crate::session::routing::Own;
use crate::session::store::{self, Header, Log, NoLog};
use crate::workspace::{Root, Uri};

impl Sessions {
    pub async fn create(&self, new: NewSession) -> Result<SessionInfo, Failure> {
        let cwd = self.directory(new.cwd.as_deref())?;
        self.create_in(cwd, new).await
    }

    pub(super) async fn create_in(
        &self,
        cwd: PathBuf,
        new: NewSession,
    ) -> Result<SessionInfo, Failure> {
        for folder in new.folders.iter().flatten() {
            self.directory(Some(folder))?;
        }
        if new.mcp_servers.is_some() {
            self.refuse_servers();
        }
        let config = self.config();
        let (mut settings, own_model) = self.first_settings(&config, &cwd, new.agent.as_deref())?;
        let chosen = new.model.or(own_model);
        let routed = chosen.is_none();
        let name = match chosen.or_else(|| config.model.clone()) {
            Some(name) => Some(self.shared.providers.resolve(&config, Some(&name))?.name),
            None => None,
        };
        settings.uninvited.layout &= new.layout.is_none();
        let layout = new.layout.as_deref().or(config.layout.as_deref());
        let layout = load_layout(&self.shared, layout.unwrap_or("default"))?;
        settings.mode = new.mode.unwrap_or(settings.mode);
        settings.segments = new.segments.unwrap_or_default();
        if let Some(detail) = &new.detail {
            settings.detail = preview::detail_of(detail)?;
        }
        settings.thinking = new.thinking;
        let id = SessionId(self.shared.env.id("s"));
        let log = Arc::new(self.create_log(&id, &cwd)?);
        let parts = Parts {
            title: new.title,
            model: Own { name, routed },
            ..self.parts(id, cwd, Arc::new(layout), settings, Some(log))
        };
        let handle = actor::spawn(parts, true);
        self.enter(handle.clone());
        handle.ask(|actor| actor.info()).await
    }

    /// The parts of a session without history.
    pub(super) fn parts(
        &self,
        id: SessionId,
        cwd: PathBuf,
        layout: Arc<Layout>,
        settings: Settings,
        log: Option<Arc<Log>>,
    ) -> Parts {
        let recorder: Arc<dyn Recorder> = match &log {
            Some(log) => log.clone(),
            None => Arc::new(NoLog),
        };
        Parts {
            shared: self.shared.clone(),
            host: self.host.clone(),
            context: self.context.clone(),
            id,
            cwd,
            folders: self.folders(),
            title: None,
            model: Own::default(),
            layout,
            settings,
            conversation: Conversation::default(),
            recorder,
            log,
            children: self.children.clone(),
            seq: 0,
            ended: Vec::new(),
            clients: Vec::new(),
            unsaid: self.unsaid.clone(),
        }
    }

    /// The log of a new session, with its header written.
    fn create_log(&self, id: &SessionId, cwd: &Path) -> Result<Log, Failure> {
        let path = store::workspace_folder(&self.folder()?, &self.root_of(cwd))
            .join(format!("{id}.jsonl"));
        let now = self.shared.env.timestamp().to_string();
        let header = Header::new(id.clone(), now, cwd, &self.folders());
        Log::create(&path, &header).map_err(|error| storage::log_failure(&path, &error))
    }

    /// The settings a session begins with, and the model that its agent wants. The agent is the
    /// named one, else the setting's.
    pub(super) fn first_settings(
        &self,
        config: &Config,
        cwd: &Path,
        named: Option<&str>,
    ) -> Result<(Settings, Option<String>), Failure> {
        let mut settings = Settings {
            uninvited: Uninvited {
                layout: config.by_client("layout"),
                agent: named.is_none() && config.by_client("agent"),
            },
            ..Settings::new(config.mode, Arc::new(config.clone()))
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
    pub(super) fn directory(&self, named: Option<&str>) -> Result<PathBuf, Failure> {
        let workspace = &self.shared.workspace;
        let root = self.named_folder(named)?;
        let path = root.path.clone();
        let mut roots = workspace.roots();
        if !roots.iter().any(|known| known.contains(&path)) {
            roots.push(root);
            workspace.set_roots(roots);
        }
        Ok(path)
    }

    /// The named folder, default the first root. Read-only.
    pub(super) fn named_folder(&self, named: Option<&str>) -> Result<Root, Failure> {
        let Some(named) = named else {
            let first = self.shared.workspace.roots().into_iter().next();
            let first = first.ok_or_else(|| {
                Failure::invalid(
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
            Failure::invalid(
                format!("{named} is not a folder on this machine."),
                "Use the absolute path or the file: URI of an existing folder.",
            )
        })?;
        ordinary(root)
    }
}

/// Kernel folders show memory, devices and other processes: sessions never work in them.
fn ordinary(root: Root) -> Result<Root, Failure> {
    match paths::class(&root.path, &[]).special {
        false => Ok(root),
        true => Err(Failure::invalid(
            format!("{} is a kernel or device folder.", root.path.display()),
            "Open a project folder.",
        )),
    }
}
