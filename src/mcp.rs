//! Client of Model Context Protocol servers, and the only module that uses rmcp. Servers from the
//! user's settings and from a workspace's trusted files start when a turn first needs them and
//! never delay one. Everything that a server says is data: bounded, fenced and never obeyed.

mod catalog;
mod client_handler;
mod complete;
mod connect;
mod content;
mod elicit;
mod lines;
mod login;
mod logins;
mod names;
mod remote;
pub mod schema;
mod server;
mod session_servers;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::model::{GetPromptRequestParams, ReadResourceRequestParams};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::Config;
use crate::env::Env;
use crate::env::order;
use crate::knowledge::control_files;
use crate::knowledge::trust::TrustStore;
use crate::prompt::facts::{RemoteFacts, RemoteToolFacts};
use crate::prompt::fence;
use crate::tools::Registry;
use crate::tools::mcp_call::{McpCall, Missing, NativeTool, RemoteTool, RemoteTools};
use crate::workspace::Workspace;
use remote::ServerTool;
use server::{Phase, Server};
use settings::{Found, Source};

pub use complete::PromptChoice;
pub use content::Content;
pub use logins::Pending;
pub use names::PREFIX;

/// Most tools offered under names of their own, over all servers of a folder.
const NATIVE: usize = 100;
/// How long a prompt or a resource that the user requested may take.
const READ: Duration = Duration::from_secs(20);

/// All servers of a process, by the folder whose sessions use them.
pub struct Servers {
    env: Env,
    workspace: Arc<Workspace>,
    trust: TrustStore,
    views: Mutex<BTreeMap<PathBuf, View>>,
    /// Set if these are the servers of one session.
    shared: Option<session_servers::SharedServers>,
    sessions: session_servers::SessionServers,
}

#[derive(Default)]
struct View {
    servers: Vec<Arc<Server>>,
    declared: bool,
    problems: Vec<(String, String)>,
}

/// An MCP server that a session wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct McpServer {
    pub name: String,
    /// `user`, the workspace's file that names it, or `client` (for one session).
    pub source: String,
    /// `stdio` or `http`.
    pub transport: String,
    /// `idle`, `starting`, `ready`, `failed` or `needsLogin`.
    pub state: String,
    /// Why it failed, or how to log in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The user is logged in to it; `interline/mcp/logout` ends that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub logged_in: bool,
    /// The version of the protocol that is spoken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    pub tools: Vec<String>,
    pub prompts: Vec<McpPrompt>,
    pub resources: Vec<McpResource>,
    /// Parts of it that were left out or corrected.
    pub notes: Vec<String>,
}

/// A prompt of an MCP server, for an input part `mcpPrompt`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct McpPrompt {
    pub name: String,
    pub description: String,
    /// Names; optional ones end in `?`.
    pub arguments: Vec<String>,
}

/// A resource of an MCP server, for an input part `resource` with the URI `mcp:SERVER/URI`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct McpResource {
    pub uri: String,
    pub name: String,
}

impl Servers {
    pub fn new(env: Env, workspace: Arc<Workspace>) -> Arc<Self> {
        Arc::new(Self {
            trust: TrustStore::new(&env),
            env,
            workspace,
            views: Mutex::default(),
            shared: None,
            sessions: session_servers::SessionServers::default(),
        })
    }

    fn root(&self, cwd: &Path) -> PathBuf {
        let root = self.workspace.root_for(cwd);
        root.map_or_else(|| cwd.to_owned(), |root| root.path)
    }

    fn servers(&self, cwd: &Path) -> Vec<Arc<Server>> {
        let root = self.root(cwd);
        let own = self
            .views
            .lock()
            .get(&root)
            .map(|view| view.servers.clone());
        let mut servers = self.ask_shared(Vec::new(), |shared| shared.servers(cwd));
        servers.extend(own.unwrap_or_default());
        servers
    }

    /// Reads which servers apply in the folder of `cwd`. Known ones are kept and removed ones are
    /// stopped; none is started. Blocking.
    pub fn reload(&self, config: &Config, cwd: &Path) {
        let root = self.root(cwd);
        self.ask_shared((), |shared| shared.reload(config, cwd));
        if self.shared.is_none()
            && config.mcp_servers.is_empty()
            && !self.views.lock().contains_key(&root)
        {
            // The common case: two checks on disk and nothing more.
            let files = [".mcp.json", ".interline/config.toml"];
            if !files.iter().any(|file| root.join(file).exists()) {
                return;
            }
        }
        let found = self.read_entries(config, &root);
        let mut views = self.views.lock();
        let view = views.entry(root).or_default();
        let mut before = std::mem::take(&mut view.servers);
        view.declared = found.declared;
        view.problems = found.problems;
        for settings in found.servers {
            let known = before.iter().position(|it| it.settings == settings);
            view.servers.push(match known {
                Some(at) => before.swap_remove(at),
                None => Server::new(settings, self.env.clone(), self.roots()),
            });
        }
        order::sort_by(&mut view.servers, |a, b| {
            a.settings.name.cmp(&b.settings.name)
        });
        for gone in before {
            gone.stop();
        }
    }

    fn roots(&self) -> client_handler::Roots {
        let workspace = self.workspace.clone();
        Arc::new(move || {
            let roots = workspace.roots().into_iter();
            roots
                .map(|root| (root.uri.to_string(), root.name))
                .collect()
        })
    }

    fn read_entries(&self, config: &Config, root: &Path) -> Found {
        let mut found = Found::default();
        if let Some(shared) = &self.shared {
            shared.add(&mut found, root, &self.env);
            return found;
        }
        found.add(&config.mcp_servers, &Source::User, root, &self.env);
        for file in [".interline/config.toml", ".mcp.json"] {
            match self.trusted_entries(root, file) {
                Ok(None) => {}
                Ok(Some(entries)) => {
                    let source = Source::Workspace(file.to_owned());
                    found.add(&entries, &source, root, &self.env);
                }
                Err(reason) => {
                    found.declared = true;
                    found.problems.push((file.to_owned(), reason));
                }
            }
        }
        found
    }

    /// The entries of a workspace's file, if the user trusts exactly its current text.
    fn trusted_entries(
        &self,
        root: &Path,
        file: &str,
    ) -> Result<Option<BTreeMap<String, Value>>, String> {
        let Ok(top) = std::fs::canonicalize(root) else {
            return Ok(None);
        };
        let Some(text) = control_files::read(&self.workspace, &top, &top.join(file))? else {
            return Ok(None);
        };
        let wrong = |error: String| format!("it cannot be read: {error}");
        let value: Value = match file.ends_with(".toml") {
            true => {
                toml::from_str(&text.text).map_err(|error| wrong(error.message().to_owned()))?
            }
            false => serde_json::from_str(&text.text).map_err(|error| wrong(error.to_string()))?,
        };
        let Some(entries) = value.get("mcpServers") else {
            return Ok(None);
        };
        if !self.trust.trusts(&text.path, &text.text) {
            let why = match self.trust.known(&text.path) == Some(text.hash) {
                true => "a program that it starts changed, so ",
                false => "",
            };
            return Err(format!(
                "{why}its servers are not started: `interline trust {}` shows the file and trusts it",
                top.display()
            ));
        }
        serde_json::from_value(entries.clone())
            .map(Some)
            .map_err(|error| wrong(error.to_string()))
    }

    /// Starts the folder's servers that are not started yet. Returns at once.
    pub fn start_all(&self, cwd: &Path) {
        for server in self.servers(cwd) {
            server.start();
        }
    }

    /// Waits for the servers whose settings ask for it.
    pub async fn wait(&self, cwd: &Path) {
        let servers = self.servers(cwd);
        let wanted = servers.iter().filter(|it| !it.settings.wait.is_zero());
        let settled = wanted.map(|server| server.wait_until_settled(server.settings.wait));
        futures_util::future::join_all(settled).await;
    }

    /// Waits until every server is ready or has failed, at most `limit`.
    pub async fn wait_for_all(&self, cwd: &Path, limit: Duration) {
        let servers = self.servers(cwd);
        let settled = servers
            .iter()
            .map(|server| server.wait_until_settled(limit));
        futures_util::future::join_all(settled).await;
    }

    /// `base` with the tools of the folder's servers. `offered`: only as many as a prompt shows;
    /// `late`: other tools may have to be called through `mcp_call`.
    pub fn registry(
        self: &Arc<Self>,
        base: &Registry,
        cwd: &Path,
        offered: bool,
        late: bool,
    ) -> Registry {
        let root = self.root(cwd);
        if !late && !self.declared(&root) {
            return base.clone();
        }
        let mut registry = base.clone();
        registry.register(Arc::new(McpCall {
            remote: self.clone(),
            root,
        }));
        let most = if offered { NATIVE } else { usize::MAX };
        for tool in self.offered_tools(cwd).into_iter().take(most) {
            registry.register(Arc::new(NativeTool(tool)));
        }
        registry
    }

    fn declared(&self, root: &Path) -> bool {
        let own = self
            .views
            .lock()
            .get(root)
            .is_some_and(|view| view.declared);
        own || self.ask_shared(false, |shared| shared.declared(root))
    }

    fn offered_tools(&self, cwd: &Path) -> Vec<Arc<dyn RemoteTool>> {
        let mut all: Vec<Arc<dyn RemoteTool>> = Vec::new();
        for server in self.servers(cwd) {
            for entry in &server.catalog().tools {
                all.push(ServerTool::shared(&server, entry));
            }
        }
        all
    }

    /// The files that appear in the command lines of servers.
    pub fn programs(&self, cwd: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for server in self.servers(cwd) {
            if let settings::Reach::Stdio {
                command,
                arguments,
                cwd,
                ..
            } = &server.settings.reach
            {
                let words = arguments.iter().chain([command]);
                let paths = words.map(|word| std::fs::canonicalize(cwd.join(word)));
                found.extend(paths.flatten().filter(|path| path.is_file()));
            }
        }
        found
    }

    /// What the prompt says about the folder's servers.
    pub fn facts(&self, cwd: &Path) -> Vec<RemoteFacts> {
        let fact = |server: Arc<Server>| {
            let catalog = server.catalog();
            let tools = catalog.tools.iter().map(|entry| RemoteToolFacts {
                name: entry.name.clone(),
                native: entry.native.clone(),
                description: entry.description.clone(),
                schema: entry.schema.to_string(),
            });
            RemoteFacts {
                server: server.settings.name.clone(),
                instructions: catalog.instructions.clone(),
                tools: tools.collect(),
            }
        };
        self.servers(cwd).into_iter().map(fact).collect()
    }

    /// The entries that are not used, and why.
    pub fn problems(&self, cwd: &Path) -> Vec<(String, String)> {
        let root = self.root(cwd);
        let mut all = self.ask_shared(Vec::new(), |shared| shared.problems(cwd));
        let views = self.views.lock();
        let problems = views.get(&root).map(|view| view.problems.clone());
        let named = |(name, reason): (String, String)| (format!("mcpServers {name}"), reason);
        all.extend(problems.unwrap_or_default().into_iter().map(named));
        all
    }

    /// Failures that were not reported to the user yet.
    pub fn failure_notices(&self, cwd: &Path) -> Vec<String> {
        let announce = |server: Arc<Server>| {
            let reason = server.take_failure()?;
            let name = fence::name(&server.settings.name);
            if matches!(server.phase(), Phase::Login(_)) {
                return Some(format!(
                    "MCP server {name} is unavailable: {reason}. Continuing without it."
                ));
            }
            Some(format!(
                "MCP server {name} is unavailable: {reason}. Continuing without it and retrying; \
                 `interline doctor` shows details."
            ))
        };
        self.servers(cwd).into_iter().filter_map(announce).collect()
    }

    /// All servers of this process's sessions.
    pub fn status(&self) -> Vec<McpServer> {
        self.of_all_folders(&|view| view.servers.iter().map(|server| status(server)).collect())
    }

    /// The unused entries of every folder's files and settings.
    pub fn all_problems(&self) -> Vec<(String, String)> {
        self.of_all_folders(&|view| view.problems.clone())
    }

    fn of_all_folders<T>(&self, get: &dyn Fn(&View) -> Vec<T>) -> Vec<T> {
        let mut all: Vec<T> = self.views.lock().values().flat_map(get).collect();
        let sessions = self.of_sessions();
        all.extend(
            sessions
                .iter()
                .flat_map(|session| session.of_all_folders(get)),
        );
        all
    }

    /// A server's prompt that the user picked. The error says what to do.
    pub async fn prompt(
        &self,
        cwd: &Path,
        server: &str,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<Content, String> {
        let mut params = GetPromptRequestParams::new(name);
        let values = arguments.iter();
        let values = values.map(|(key, value)| (key.clone(), Value::from(value.as_str())));
        params.arguments = Some(values.collect());
        let ask = |peer: Peer<RoleClient>| async move { peer.get_prompt(params).await };
        let prompt = self.request(cwd, server, ask).await?;
        Ok(Content::from_prompt(&prompt))
    }

    /// Whether the server is connected.
    pub fn ready(&self, cwd: &Path, server: &str) -> bool {
        let server = self.find_server(cwd, server);
        server.is_ok_and(|server| matches!(server.phase(), Phase::Ready))
    }

    /// A server's resource that the user named.
    pub async fn resource(&self, cwd: &Path, server: &str, uri: &str) -> Result<Content, String> {
        let params = ReadResourceRequestParams::new(uri);
        let ask = |peer: Peer<RoleClient>| async move { peer.read_resource(params).await };
        let read = self.request(cwd, server, ask).await?;
        Ok(Content::from_resource(&read.contents))
    }

    /// Asks a server once it is connected, within the time limit.
    async fn request<T, F: Future<Output = Result<T, ServiceError>>>(
        &self,
        cwd: &Path,
        server: &str,
        ask: impl FnOnce(Peer<RoleClient>) -> F,
    ) -> Result<T, String> {
        let server = self.find_server(cwd, server)?;
        let asked = async {
            let live = server.live(READ).await?;
            ask(live.peer).await.map_err(|error| error.to_string())
        };
        let late = || format!("it did not answer within {} s", READ.as_secs());
        let answer = tokio::time::timeout(READ, asked).await;
        answer
            .unwrap_or_else(|_| Err(late()))
            .map_err(|reason| without_secrets(&server, &reason))
    }

    fn find_server(&self, cwd: &Path, name: &str) -> Result<Arc<Server>, String> {
        let servers = self.servers(cwd);
        let names: Vec<&str> = servers.iter().map(|it| it.settings.name.as_str()).collect();
        let known = names.join(", ");
        let found = servers.iter().find(|it| it.settings.name == name);
        found.cloned().ok_or_else(|| match known.is_empty() {
            true => "no MCP server is configured: add one to `mcpServers`".to_owned(),
            false => {
                format!("there is no MCP server of that name; the configured servers are {known}")
            }
        })
    }

    /// Stops all servers and waits for their processes, at most `limit`.
    pub async fn stop_all(&self, limit: Duration) {
        let mut servers: Vec<Arc<Server>> = self.take_servers();
        servers.extend(
            self.of_sessions()
                .iter()
                .flat_map(|session| session.take_servers()),
        );
        for server in &servers {
            server.stop();
        }
        let ended = async {
            for server in &servers {
                server.wait_until_ended().await;
            }
        };
        if tokio::time::timeout(limit, ended).await.is_err() {
            tracing::warn!("some MCP servers did not end within {limit:?}");
        }
    }
}

fn without_secrets(server: &Server, reason: &str) -> String {
    settings::redacted_line(reason, &server.settings.secrets)
}

fn status(server: &Server) -> McpServer {
    let (settings, catalog, phase) = (&server.settings, server.catalog(), server.phase());
    let line = |text: &str| fence::name(text);
    let prompt = |it: &catalog::PromptEntry| {
        let arguments = it.arguments.iter().map(|(name, required)| match required {
            true => line(name),
            false => format!("{}?", line(name)),
        });
        McpPrompt {
            name: line(&it.name),
            description: line(&it.description),
            arguments: arguments.collect(),
        }
    };
    let resource = |it: &catalog::ResourceEntry| McpResource {
        uri: line(&it.uri),
        name: line(&it.name),
    };
    McpServer {
        name: line(&settings.name),
        source: match &settings.source {
            Source::User => "user".to_owned(),
            Source::Workspace(file) => file.clone(),
            Source::Client => "client".to_owned(),
        },
        transport: match settings.reach {
            settings::Reach::Stdio { .. } => "stdio",
            settings::Reach::Http(_) => "http",
        }
        .to_owned(),
        state: match phase {
            Phase::Idle => "idle",
            Phase::Starting => "starting",
            Phase::Ready => "ready",
            Phase::Failed(_) => "failed",
            Phase::Login(_) => "needsLogin",
        }
        .to_owned(),
        reason: phase.reason(),
        logged_in: server.has_login(),
        protocol: Some(catalog.protocol.clone()).filter(|version| !version.is_empty()),
        tools: catalog.tools.iter().map(|it| line(&it.name)).collect(),
        prompts: catalog.prompts.iter().map(prompt).collect(),
        resources: catalog.resources.iter().map(resource).collect(),
        notes: catalog.notes.clone(),
    }
}

impl RemoteTools for Servers {
    fn find(&self, root: &Path, server: &str, tool: &str) -> Result<Arc<dyn RemoteTool>, Missing> {
        let servers = self.servers(root);
        let Some(found) = servers.iter().find(|it| it.settings.name == server) else {
            let names = servers.iter().map(|it| it.settings.name.clone());
            return Err(Missing::Server(names.collect()));
        };
        let catalog = found.catalog();
        if let Some(entry) = catalog.tool(tool) {
            return Ok(ServerTool::shared(found, entry));
        }
        match found.phase() {
            Phase::Ready => {
                let names = catalog.tools.iter().map(|it| it.name.clone());
                Err(Missing::Tool(names.collect()))
            }
            Phase::Failed(reason) | Phase::Login(reason) => Err(Missing::Down(reason)),
            Phase::Idle | Phase::Starting => Err(Missing::Down("it is starting".to_owned())),
        }
    }
}
