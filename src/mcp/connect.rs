//! Connects to a server: its process or address, the handshake of either protocol era, and the
//! lists of what it offers. The caller sets the time limit.

use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::{FutureExt as _, TryFutureExt as _};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, PaginatedRequestParams, ProtocolVersion,
    RequestOptionalParam, ServerJsonRpcMessage,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, RoleClient, RunningService, ServiceError,
    serve_client_with_lifecycle,
};
use rmcp::transport::auth::AuthClient;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use serde_json::Value;

use super::catalog::Catalog;
use super::client_handler::Handler;
use super::lines::{Lines, SharedOutput};
use super::login;
use super::settings::{HttpReach, Reach, Sandbox, Settings};
use crate::env::{Env, tasks};
use crate::http;
use crate::http::guard::Blocked;
use crate::process::confine::Confinement;
use crate::process::{self, environment, server};
use crate::tools::exec::sandbox;
use crate::workspace::{FileError, beneath};

/// Most pages of one list, and entries and bytes of all its pages.
const PAGES: usize = 50;
const ENTRIES: usize = 20_000;
const BYTES: usize = 16 * 1024 * 1024;

/// A connection.
pub type Service = RunningService<RoleClient, Arc<Handler>>;

/// Why there is no connection.
#[derive(Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// It requires a login; its challenge, if any.
    Login(Option<String>),
    Fault(String),
}

impl From<String> for ConnectError {
    fn from(reason: String) -> Self {
        Self::Fault(reason)
    }
}

/// Connects. `legacy`: does not probe for the newer protocol, which some servers do not survive.
pub async fn connect(
    settings: &Settings,
    env: &Env,
    link: Arc<Handler>,
    ear: &SharedOutput,
    legacy: bool,
) -> Result<Service, ConnectError> {
    // The server may repeat the credentials that it gets.
    let secrets = settings.secrets.iter();
    secrets.for_each(|secret| env.secrets().add(secret));
    let mode = match legacy {
        true => ClientLifecycleMode::Initialize,
        false => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        },
    };
    let transport = match &settings.reach {
        Reach::Stdio {
            command,
            arguments,
            env: own,
            cwd,
            root,
        } => {
            let mut child = environment::allowed(env.vars(), &[]);
            child.extend(own.clone());
            let spec = server::Spec {
                program: command.clone(),
                arguments: arguments.clone(),
                cwd: open_folder(root, cwd)?,
                env: child,
                confinement: confinement(settings, env, root, &link).await?,
            };
            let (process, pipes) =
                server::start(&spec).map_err(|error| not_started(command, &error))?;
            let (stdin, stdout, stderr) = (pipes.stdin, pipes.stdout, pipes.stderr);
            Connection::Pipes(Lines::new(process, stdin, stdout, stderr, ear))
        }
        Reach::Http(http) => {
            let (client, config) = http_client(http)?;
            let login = login::stored_login(http, settings, env).await?;
            let client = AuthClient::new(client, login);
            Connection::Http(StreamableHttpClientTransport::with_client(client, config))
        }
    };
    let served = serve_client_with_lifecycle(link, transport, mode).await;
    served.map_err(|error| match error.is_authorization_required() {
        true if !settings.http().is_some_and(HttpReach::has_token) => {
            ConnectError::Login(error.auth_challenge().map(str::to_owned))
        }
        _ => ConnectError::Fault(handshake_error(&error)),
    })
}

/// One type for all transports, as each one would compile its own copy of rmcp's service.
enum Connection {
    Pipes(Lines),
    Http(StreamableHttpClientTransport<AuthClient<reqwest::Client>>),
}

#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("{0}")]
    Pipes(#[source] io::Error),
    #[error("{0}")]
    Http(#[source] StreamableHttpError<reqwest::Error>),
}

impl Transport<RoleClient> for Connection {
    type Error = Broken;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Broken>> + Send + 'static {
        match self {
            Self::Pipes(lines) => lines.send(item).map_err(Broken::Pipes).left_future(),
            Self::Http(http) => http.send(item).map_err(Broken::Http).right_future(),
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        match self {
            Self::Pipes(lines) => lines.receive().await,
            Self::Http(http) => http.receive().await,
        }
    }

    async fn close(&mut self) -> Result<(), Broken> {
        match self {
            Self::Pipes(lines) => lines.close().await.map_err(Broken::Pipes),
            Self::Http(http) => http.close().await.map_err(Broken::Http),
        }
    }
}

/// How its process is confined. If it cannot be, the server does not start.
async fn confinement(
    settings: &Settings,
    env: &Env,
    root: &Path,
    link: &Handler,
) -> Result<Option<Arc<Confinement>>, String> {
    let Some(Sandbox { config, network }) = settings.sandbox.clone() else {
        return Ok(None);
    };
    let (dirs, roots) = (env.dirs.clone(), link.folders());
    let roots = roots.into_iter().chain([root.to_owned()]).collect();
    let found = tasks::blocking(move || sandbox::of_server(&config, &dirs, roots, network));
    let found = found.await.map_err(|error| error.to_string())?;
    found.map(Some).map_err(|reason| {
        format!(
            "its `sandbox` is not possible here, so it is not started ({reason}): set `sandbox` \
             of this server to false to start it without"
        )
    })
}

/// Opens the folder that a server starts in.
fn open_folder(root: &Path, cwd: &Path) -> Result<process::Folder, String> {
    match beneath::open_named(root, cwd) {
        Ok(folder) => Ok(process::Folder::new(cwd, folder.into_descriptor())),
        Err(FileError::Missing) => Err(format!("the folder {} does not exist", cwd.display())),
        Err(error) => Err(format!(
            "the folder {} cannot be entered: {error}",
            cwd.display()
        )),
    }
}

fn not_started(command: &str, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("the program {command} was not found: install it or correct `command`")
        }
        _ => format!("{command} cannot be started: {error}"),
    }
}

fn http_client(
    reach: &HttpReach,
) -> Result<(reqwest::Client, StreamableHttpClientTransportConfig), String> {
    let url = &reach.url;
    let options = http::Options {
        base: Some(url.clone()),
        ca_file: reach.ca_file.clone(),
        proxy: reach.proxy.clone(),
        resolver: reach.guard.as_ref().map(|guard| guard.resolver(url)),
        ..http::Options::default()
    };
    let client = http::client(&options).map_err(|failure| failure.sentences())?;
    let mut all = HashMap::new();
    for (name, value) in &reach.headers {
        let wrong = || format!("the header {name} cannot be sent: correct its name or value");
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        all.insert(name, value);
    }
    let config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(all);
    Ok((client, config))
}

/// Why the handshake failed.
fn handshake_error(error: &ClientInitializeError) -> String {
    if error.is_authorization_required() {
        return "it requires authentication: put its token into `headers` (Authorization)"
            .to_owned();
    }
    match error {
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection".to_owned(),
        ClientInitializeError::JsonRpcError(error) => {
            format!("it refused the connection: {}", error.message)
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => handshake_error(fallback),
        ClientInitializeError::TransportError { error, .. } => {
            format!(
                "it cannot be reached: {}",
                transport_error(error.error.as_ref())
            )
        }
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it supports no protocol version that Interline supports".to_owned()
        }
        // The other errors quote the answer, at any length.
        _ => "its answer to the handshake does not follow the protocol".to_owned(),
    }
}

/// What happened, with only the host of the address: the rest may contain a secret.
fn transport_error(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    loop {
        let ours = last.downcast_ref::<StreamableHttpError<reqwest::Error>>();
        match ours {
            Some(StreamableHttpError::Client(error)) => return request_error(error),
            Some(StreamableHttpError::UnexpectedServerResponse(_)) => {
                return "its answer is not a protocol message".to_owned();
            }
            Some(StreamableHttpError::Auth(error)) => return login::renewal_error(error),
            _ => {}
        }
        match last.source() {
            Some(inner) => last = inner,
            None => return last.to_string(),
        }
    }
}

fn request_error(error: &reqwest::Error) -> String {
    if let Some(status) = error.status() {
        return format!("it answered {status}");
    }
    let mut source = Error::source(error);
    while let Some(inner) = source {
        if let Some(blocked) = inner.downcast_ref::<Blocked>() {
            return blocked.to_string();
        }
        source = inner.source();
    }
    match error.url() {
        Some(url) => {
            let explained = http::explain(error, url, &http::Options::default());
            explained.failure.sentences()
        }
        None => "the connection failed".to_owned(),
    }
}

/// Requests everything that the server offers.
pub async fn fetch_catalog(
    peer: &Peer<RoleClient>,
    settings: &Settings,
) -> Result<Catalog, String> {
    let info = peer.peer_info().ok_or("it did not identify itself")?;
    let mut catalog = Catalog {
        protocol: info.protocol_version.to_string(),
        ..Catalog::default()
    };
    catalog.set_instructions(info.instructions.as_deref());
    let can = &info.capabilities;
    if can.tools.is_some() {
        let request = |params| ClientRequest::ListToolsRequest(page_of(params));
        let raw = list_entries(peer, "tools", request).await;
        let raw = raw.map_err(|error| error.to_string())?;
        catalog.set_tools(&settings.name, &raw, settings.tools.as_deref());
    }
    // The tools work without these, so a failure here is only noted.
    if can.prompts.is_some() {
        let request = |params| ClientRequest::ListPromptsRequest(page_of(params));
        match list_entries(peer, "prompts", request).await {
            Ok(raw) => catalog.set_prompts(&raw),
            Err(error) => catalog.notes.push(format!("its prompts: {error}")),
        }
    }
    if can.resources.is_some() {
        let request = |params| ClientRequest::ListResourcesRequest(page_of(params));
        match list_entries(peer, "resources", request).await {
            Ok(raw) => catalog.set_resources(&raw),
            Err(error) => catalog.notes.push(format!("its resources: {error}")),
        }
    }
    Ok(catalog)
}

type Page<M> = RequestOptionalParam<M, PaginatedRequestParams>;

/// A request for one page of a list.
fn page_of<M: Default>(params: Option<PaginatedRequestParams>) -> Page<M> {
    Page {
        params,
        ..Page::default()
    }
}

/// The raw entries of a list, page by page. They are checked one by one later, so that an invalid
/// entry affects only itself.
async fn list_entries(
    peer: &Peer<RoleClient>,
    key: &str,
    request: impl Fn(Option<PaginatedRequestParams>) -> ClientRequest,
) -> Result<Vec<Value>, ServiceError> {
    let (mut all, mut cursor): (Vec<Value>, Option<String>) = (Vec::new(), None);
    let mut bytes = 0;
    for _ in 0..PAGES {
        let params = cursor.clone();
        let params = params.map(|it| PaginatedRequestParams::default().with_cursor(Some(it)));
        let answer = peer.send_request(request(params)).await?;
        let mut answer = serde_json::to_value(answer).unwrap_or_default();
        bytes += answer.to_string().len();
        if let Value::Array(entries) = answer[key].take() {
            all.extend(entries);
        }
        let next = answer["nextCursor"].as_str().map(str::to_owned);
        if next.is_none() || next == cursor || all.len() > ENTRIES || bytes > BYTES {
            break;
        }
        cursor = next;
    }
    Ok(all)
}

/// `reason` with what the server printed, if anything.
pub fn with_server_output(reason: &str, ear: &SharedOutput) -> String {
    let heard = ear.lock();
    let mut text = heard.ended.clone().unwrap_or_else(|| reason.to_owned());
    if let Some(garbage) = &heard.garbage {
        text.push_str(&format!(
            "; it printed {garbage:?} on standard output, which is for messages only"
        ));
    }
    let last = heard
        .stderr
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty());
    if let Some(line) = last {
        text.push_str(&format!("; its last output: {}", line.trim()));
    }
    text
}
