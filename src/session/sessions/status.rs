//! The contents of `interline/status` and the choices that `initialize` offers.

use super::Sessions;
use crate::config::Config;
use crate::config::load::{CLIENT, Ignored};
use crate::conversation::Mode;
use crate::env::order;
use crate::knowledge::{agents, etcode};
use crate::prompt::Layout;
use crate::session::api::{DocumentStatus, IgnoredSetting, Offers, Status};
use crate::tools::exec::sandbox;
use crate::workspace::{SyncState, files};

impl Sessions {
    pub async fn status(&self) -> Status {
        let (settings, handles) = self.state(|state| (state.settings.clone(), state.open.clone()));
        let mut sessions = Vec::new();
        for handle in handles.values() {
            if let Ok(row) = handle.ask(|actor| actor.row()).await {
                sessions.push(row);
            }
        }
        order::sort_by(&mut sessions, |a, b| a.session_id.cmp(&b.session_id));
        let offers = self.offers();
        let workspace = &self.shared.workspace;
        let mut ignored = settings.ignored.clone();
        for root in workspace.roots() {
            ignored.extend(etcode::instructions(workspace, &root.path).1);
        }
        ignored.extend(self.uninvited(&settings.config));
        let problems = self.shared.mcp.all_problems().into_iter();
        ignored.extend(problems.map(|(name, reason)| Ignored {
            key: "mcpServers".to_owned(),
            source: name,
            reason,
            ..Ignored::default()
        }));
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            model_details: self.models(),
            models: offers.models,
            modes: offers.modes,
            layouts: offers.layouts,
            sessions,
            documents: self.documents(),
            mcp_servers: self.shared.mcp.status(),
            sandbox: sandbox::grade(&settings.config.sandbox).as_str().to_owned(),
            policy: settings.policy(),
            ignored_settings: ignored
                .into_iter()
                .map(|ignored| IgnoredSetting {
                    key: ignored.key,
                    source: ignored.source,
                    reason: ignored.reason,
                })
                .collect(),
            trust: workspace
                .roots()
                .iter()
                .map(|root| {
                    (
                        root.path.display().to_string(),
                        self.shared.trust.folder(&root.path),
                    )
                })
                .collect(),
        }
    }

    /// Opt-in tools suppressed because only a client's settings named their layout or agent.
    fn uninvited(&self, config: &Config) -> Vec<Ignored> {
        let shared = &self.shared;
        let opt_in = shared.registry.only(|tool| tool.spec().opt_in).names();
        let left_out = |key: &str, tools: Vec<String>| {
            let tools = (!tools.is_empty()).then(|| tools.join(", "))?;
            Some(Ignored {
                key: key.to_owned(),
                source: CLIENT.to_owned(),
                reason: format!(
                    "its opt-in tools ({tools}) are left out, because a repository can carry this \
                     setting: put it into config.toml, or choose it for the session"
                ),
                ..Ignored::default()
            })
        };
        let mut out = Vec::new();
        if let Some(name) = config
            .layout
            .as_deref()
            .filter(|_| config.by_client("layout"))
            && let Ok(layout) = Layout::load(&shared.texts, name)
        {
            let tools = opt_in.iter().filter(|tool| layout.asks_for(tool));
            out.extend(left_out("layout", tools.cloned().collect()));
        }
        if let Some(name) = config
            .agent
            .as_deref()
            .filter(|_| config.by_client("agent"))
        {
            let roots = shared.workspace.roots().into_iter().map(|root| root.path);
            let mut brings = roots.filter_map(|root| {
                let (workspace, env) = (&shared.workspace, &shared.env);
                let found = agents::find(workspace, env, config, &root, shared.trusted(&root));
                let tools = &agents::named(&found, name).ok()?.tools;
                let named = opt_in.iter().filter(|tool| tools.names(tool));
                left_out("agent", named.cloned().collect())
            });
            out.extend(brings.next());
        }
        out
    }

    fn documents(&self) -> Vec<DocumentStatus> {
        let workspace = &self.shared.workspace;
        workspace
            .documents()
            .into_iter()
            .map(|document| {
                let state = match &document.sync {
                    SyncState::OutOfSync(reason) => format!("outOfSync: {reason}"),
                    SyncState::InSync => self
                        .shared
                        .lanes
                        .state(&document.key)
                        .status_name()
                        .to_owned(),
                };
                let file = workspace.file_state(&document);
                DocumentStatus {
                    uri: document.uri.to_string(),
                    version: document.version,
                    dirty: file.unsaved(),
                    file: file.name().to_owned(),
                    agent_touched: document.agent_touched,
                    synced: document.sync == SyncState::InSync,
                    state,
                    hash: files::rope_hash(&document.rope),
                }
            })
            .collect()
    }

    /// Names of models, modes and layouts for `initialize`.
    pub fn offers(&self) -> Offers {
        let config = self.config();
        Offers {
            models: self.shared.providers.models(&config),
            modes: Mode::ALL.map(|mode| mode.as_str().to_owned()).into(),
            layouts: Layout::names(&self.shared.texts),
        }
    }
}
