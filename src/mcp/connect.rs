//! Reaching a server: its process or its address, the handshake of either era, and the lists of
//! what it has. All of it within the time that the caller gives.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{
    ClientRequest, ListPromptsRequest, ListResourcesRequest, ListToolsRequest,
    PaginatedRequestParams, ProtocolVersion,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, RoleClient, RunningService, ServiceError,
    serve_client_with_lifecycle,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::AuthClient;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransportConfig, StreamableHttpError,
};
use serde_json::Value;

use super::catalog::Catalog;
use super::lines::{Ear, Lines};
use super::link::Link;
use super::login;
use super::settings::{Reach, Settings};
use crate::env::Env;
use crate::http;
use crate::http::guard::Blocked;
use crate::process::{self, environment, server};
use crate::workspace::{FileError, beneath};

/// Pages of one list, and entries and bytes of all pages.
const PAGES: usize = 50;
const ENTRIES: usize = 20_000;
const BYTES: usize = 16 * 1024 * 1024;

/// A connection.
pub type Service = RunningService<RoleClient, Arc<Link>>;

/// Why there is no connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Down {
    /// It takes nobody who is not logged in; what it said of that.
    Login(Option<String>),
    Fault(String),
}

impl From<String> for Down {
    fn from(reason: String) -> Self {
        Self::Fault(reason)
    }
}

/// Connects. `legacy`: no question about the newer protocol first, for servers that cannot bear it.
pub async fn connect(
    settings: &Settings,
    env: &Env,
    link: Arc<Link>,
    ear: &Ear,
    legacy: bool,
) -> Result<Service, Down> {
    // What it is given to know us by, it may repeat.
    let secrets = settings.secrets.iter();
    secrets.for_each(|secret| env.secrets().add(secret));
    let mode = match legacy {
        true => ClientLifecycleMode::Initialize,
        false => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        },
    };
    let served = match &settings.reach {
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
                cwd: folder(root, cwd)?,
                env: child,
            };
            let (process, pipes) =
                server::start(&spec).map_err(|error| not_started(command, &error))?;
            let lines = Lines::new(process, pipes.stdin, pipes.stdout, pipes.stderr, ear);
            serve_client_with_lifecycle(link, lines, mode).await
        }
        Reach::Http { .. } => {
            let (client, config) = over_http(&settings.reach)?;
            match login::held(settings, env).await? {
                Some(held) => {
                    let client = AuthClient::new(client, held);
                    let transport = StreamableHttpClientTransport::with_client(client, config);
                    serve_client_with_lifecycle(link, transport, mode).await
                }
                None => {
                    let transport = StreamableHttpClientTransport::with_client(client, config);
                    serve_client_with_lifecycle(link, transport, mode).await
                }
            }
        }
    };
    served.map_err(|error| match error.is_authorization_required() {
        true if !login::own_header(settings) => {
            Down::Login(error.auth_challenge().map(str::to_owned))
        }
        _ => Down::Fault(refused(&error)),
    })
}

/// The folder that a server starts in.
fn folder(root: &Path, cwd: &Path) -> Result<process::Folder, String> {
    match beneath::open_named(root, cwd) {
        Ok(folder) => Ok(process::Folder::new(cwd, folder.into_descriptor())),
        Err(FileError::Missing) => Err(format!("the folder {} does not exist", cwd.display())),
        Err(error) => Err(format!(
            "the folder {} is not entered: {error}",
            cwd.display()
        )),
    }
}

fn not_started(command: &str, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("there is no program {command}: install it, or mend `command`")
        }
        _ => format!("{command} cannot be started: {error}"),
    }
}

fn over_http(
    reach: &Reach,
) -> Result<(reqwest::Client, StreamableHttpClientTransportConfig), String> {
    let Reach::Http {
        url,
        headers,
        ca_file,
        proxy,
        guard,
        ..
    } = reach
    else {
        return Err("it has no address".to_owned());
    };
    let options = http::Options {
        base: Some(url.clone()),
        ca_file: ca_file.clone(),
        proxy: proxy.clone(),
        resolver: guard.as_ref().map(|guard| guard.resolver(url)),
        ..http::Options::default()
    };
    let client = http::client(&options).map_err(|failure| failure.words())?;
    let mut all = HashMap::new();
    for (name, value) in headers {
        let wrong = || format!("the header {name} cannot be sent: mend its name or value");
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        all.insert(name, value);
    }
    let config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(all);
    Ok((client, config))
}

/// Why the handshake came to nothing.
fn refused(error: &ClientInitializeError) -> String {
    if error.is_authorization_required() {
        return "it wants to know who you are: give its token in `headers` (Authorization)"
            .to_owned();
    }
    match error {
        ClientInitializeError::ConnectionClosed(_) => "it ended the connection".to_owned(),
        ClientInitializeError::JsonRpcError(error) => {
            format!("it refused the connection: {}", error.message)
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => refused(fallback),
        ClientInitializeError::TransportError { error, .. } => {
            format!("it cannot be reached: {}", causes(error.error.as_ref()))
        }
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it speaks no version of the protocol that Interline speaks".to_owned()
        }
        // The rest quotes what came, at any length.
        _ => "its answer to the greeting is none of the protocol".to_owned(),
    }
}

/// What happened, and no more of the address than its host: the rest may hold a secret.
fn causes(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    loop {
        let ours = last.downcast_ref::<StreamableHttpError<reqwest::Error>>();
        match ours {
            Some(StreamableHttpError::Client(error)) => return sending(error),
            Some(StreamableHttpError::UnexpectedServerResponse(_)) => {
                return "it answered something else than a message".to_owned();
            }
            Some(StreamableHttpError::Auth(error)) => return login::renewal(error),
            _ => {}
        }
        match last.source() {
            Some(inner) => last = inner,
            None => return last.to_string(),
        }
    }
}

fn sending(error: &reqwest::Error) -> String {
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
            explained.failure.words()
        }
        None => "the connection failed".to_owned(),
    }
}

/// Everything that the server offers now.
pub async fn catalog(peer: &Peer<RoleClient>, settings: &Settings) -> Result<Catalog, String> {
    let info = peer.peer_info().ok_or("it did not tell who it is")?;
    let mut catalog = Catalog {
        protocol: info.protocol_version.to_string(),
        ..Catalog::default()
    };
    catalog.set_instructions(info.instructions.as_deref());
    let can = &info.capabilities;
    if can.tools.is_some() {
        let request = |params| {
            ClientRequest::ListToolsRequest(ListToolsRequest {
                params,
                ..ListToolsRequest::default()
            })
        };
        let raw = pages(peer, "tools", request)
            .await
            .map_err(|it| it.to_string())?;
        catalog.set_tools(&settings.name, &raw, settings.tools.as_deref());
    }
    // Its tools work without these: what fails here is told and costs nothing else.
    if can.prompts.is_some() {
        let request = |params| {
            ClientRequest::ListPromptsRequest(ListPromptsRequest {
                params,
                ..ListPromptsRequest::default()
            })
        };
        match pages(peer, "prompts", request).await {
            Ok(raw) => catalog.set_prompts(&raw),
            Err(error) => catalog.notes.push(format!("its prompts: {error}")),
        }
    }
    if can.resources.is_some() {
        let request = |params| {
            ClientRequest::ListResourcesRequest(ListResourcesRequest {
                params,
                ..ListResourcesRequest::default()
            })
        };
        match pages(peer, "resources", request).await {
            Ok(raw) => catalog.set_resources(&raw),
            Err(error) => catalog.notes.push(format!("its resources: {error}")),
        }
    }
    Ok(catalog)
}

/// The raw entries of a list, page by page, so that one wrong entry costs itself only.
async fn pages(
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

/// `reason` with what the server printed, where that says more.
pub fn explained(reason: &str, ear: &Ear) -> String {
    let heard = ear.lock().unwrap_or_else(PoisonError::into_inner);
    let mut text = heard.ended.clone().unwrap_or_else(|| reason.to_owned());
    if let Some(garbage) = &heard.garbage {
        text.push_str(&format!(
            "; it printed {garbage:?} on standard output, where only messages belong"
        ));
    }
    let last = heard
        .stderr
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty());
    if let Some(line) = last {
        text.push_str(&format!("; its last words: {}", line.trim()));
    }
    text
}
