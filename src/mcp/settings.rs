//! The settings of servers: the user's `mcpServers` and those of a workspace's trusted files
//! (INV-9). An invalid entry affects only its server. Variables are expanded here, and their values
//! are never shown.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::config::typed::{Wrong, typed};
use crate::env::Env;
use crate::env::order;
use crate::http::guard::Guard;
use crate::secrets::{holds_password, looks_secret};

#[cfg(test)]
mod tests;

/// Most servers of one folder.
const SERVERS: usize = 64;
/// Longest name of a server.
const NAME: usize = 64;

/// Where an entry is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    User,
    /// A trusted file of the workspace, by the name that is shown.
    Workspace(String),
    /// The client's list for one session. It counts as the user's, and its values are literal.
    Client,
}

/// How a server is reached.
#[derive(Clone, PartialEq)]
pub enum Reach {
    Stdio {
        command: String,
        arguments: Vec<String>,
        env: BTreeMap<String, String>,
        cwd: PathBuf,
        /// The folder that the entry belongs to.
        root: PathBuf,
    },
    Http(HttpReach),
}

/// A server with an address.
#[derive(Clone, PartialEq)]
pub struct HttpReach {
    pub url: Url,
    pub headers: BTreeMap<String, String>,
    pub ca_file: Option<PathBuf>,
    pub proxy: Option<String>,
    /// How to log in, where the server does not say.
    pub oauth: OAuth,
    /// Which addresses are allowed; `None`: any, because the user wrote it.
    pub guard: Option<Guard>,
}

impl HttpReach {
    /// Whether the user set a token by hand, which then takes precedence over a login.
    pub fn has_token(&self) -> bool {
        let mut names = self.headers.keys();
        names.any(|name| name.eq_ignore_ascii_case("authorization"))
    }
}

/// How to log in to a server.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct OAuth {
    /// As registered by hand. Otherwise we register ourselves.
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    /// Requested instead of those that the server names.
    pub scopes: Vec<String>,
    /// The local port that the browser returns to; `None`: any free one.
    pub port: Option<u16>,
}

/// One server that is used. Different settings mean a different server.
#[derive(Clone, PartialEq)]
pub struct Settings {
    pub name: String,
    pub source: Source,
    pub reach: Reach,
    /// Time limit until the server has listed what it offers.
    pub start: Duration,
    /// Time limit of one call, restarted by each progress notification.
    pub call: Duration,
    /// How long the first request of a conversation waits for it.
    pub wait: Duration,
    /// Names of the tools that are offered, `*` at the end as a wildcard; `None`: all.
    pub tools: Option<Vec<String>>,
    /// Tools that run without asking. For the user's servers only.
    pub allow: Vec<String>,
    /// Values that are never shown.
    pub secrets: Vec<String>,
}

impl Settings {
    /// Its address, if it has one.
    pub fn http(&self) -> Option<&HttpReach> {
        match &self.reach {
            Reach::Http(http) => Some(http),
            Reach::Stdio { .. } => None,
        }
    }
}

/// A folder's servers.
#[derive(Clone, Default, PartialEq)]
pub struct Found {
    pub servers: Vec<Settings>,
    /// Names that are in use.
    pub taken: BTreeSet<String>,
    /// `(server or file, reason)` of what is not used.
    pub problems: Vec<(String, String)>,
    /// There is an entry or a file, whether it is used or not.
    pub declared: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    ca_file: Option<PathBuf>,
    proxy: Option<String>,
    oauth: Option<OAuth>,
    enabled: Option<bool>,
    disabled: Option<bool>,
    start_ms: Option<u64>,
    timeout_ms: Option<u64>,
    wait_ms: Option<u64>,
    tools: Option<Vec<String>>,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

impl Found {
    /// Adds the entries of one source. The first entry of a name wins.
    pub fn add(
        &mut self,
        entries: &BTreeMap<String, Value>,
        source: &Source,
        root: &Path,
        env: &Env,
    ) {
        for (name, value) in entries {
            self.declared = true;
            if self.taken.contains(name) {
                let reason = "your own settings have a server of that name, which is used instead";
                self.problems.push((name.clone(), reason.to_owned()));
                continue;
            }
            if self.servers.len() >= SERVERS {
                let reason = format!("more than {SERVERS} servers: the rest are ignored");
                self.problems.push((name.clone(), reason));
                return;
            }
            match parse_entry(name, value, source, root, env) {
                Ok(Some((settings, odd))) => {
                    self.taken.insert(name.clone());
                    self.servers.push(settings);
                    let reasons = odd.into_iter().map(|reason| (name.clone(), reason));
                    self.problems.extend(reasons);
                }
                Ok(None) => {}
                Err(reason) => self.problems.push((name.clone(), reason)),
            }
        }
    }
}

/// One entry, with what was ignored in it; `None`: it is disabled.
fn parse_entry(
    name: &str,
    value: &Value,
    source: &Source,
    root: &Path,
    env: &Env,
) -> Result<Option<(Settings, Vec<String>)>, String> {
    let legal = |c: char| c.is_alphanumeric() || "_-. ".contains(c);
    if name.trim().is_empty() || name.chars().count() > NAME || !name.chars().all(legal) {
        return Err(format!(
            "a name must have 1 to {NAME} letters, digits, `_`, `-`, `.` or spaces"
        ));
    }
    let entry: Entry = typed(value.clone()).map_err(Wrong::quoted)?;
    if entry.enabled == Some(false) || entry.disabled == Some(true) {
        return Ok(None);
    }
    let mut filled = Expander {
        env,
        source,
        secrets: Vec::new(),
    };
    let reach = filled.reach(&entry, root)?;
    let mut odd: Vec<String> = entry
        .rest
        .keys()
        .map(|key| format!("`{key}` is unknown and has no effect"))
        .collect();
    let mut allow = entry.allow;
    if *source != Source::User && !allow.is_empty() {
        odd.push("`allow` works in your own settings only".to_owned());
        allow.clear();
    }
    let millis = |given: Option<u64>, default: u64, most: u64| {
        Duration::from_millis(given.unwrap_or(default).min(most))
    };
    // A client that adds a server to a session expects its tools in the first request.
    let first = if *source == Source::Client { 2_000 } else { 0 };
    let mut secrets = filled.secrets;
    order::sort_by_key(&mut secrets, |secret| std::cmp::Reverse(secret.len()));
    secrets.dedup();
    let settings = Settings {
        name: name.to_owned(),
        source: source.clone(),
        reach,
        start: millis(entry.start_ms, 60_000, 600_000),
        call: millis(entry.timeout_ms, 60_000, 3_600_000),
        wait: millis(entry.wait_ms, first, 60_000),
        tools: entry.tools,
        allow,
        secrets,
    };
    Ok(Some((settings, odd)))
}

/// Expands variables in an entry's values.
struct Expander<'a> {
    env: &'a Env,
    source: &'a Source,
    secrets: Vec<String>,
}

impl Expander<'_> {
    fn reach(&mut self, entry: &Entry, root: &Path) -> Result<Reach, String> {
        let kind = entry.kind.as_deref();
        match (kind, &entry.command, &entry.url) {
            (Some("stdio") | None, Some(command), None) => self.stdio(entry, command, root),
            (Some("http" | "streamable-http" | "streamableHttp") | None, None, Some(url)) => {
                self.http(entry, url)
            }
            (Some("sse"), _, _) => Err(
                "the old HTTP+SSE transport is not supported: use the server's streamable HTTP \
                 address with type \"http\""
                    .to_owned(),
            ),
            (Some("stdio" | "http" | "streamable-http" | "streamableHttp") | None, _, _) => {
                Err("it needs either `command` or `url`, as its `type` says".to_owned())
            }
            (Some(kind), _, _) => Err(format!("unknown type {kind:?}: use stdio or http")),
        }
    }

    fn stdio(&mut self, entry: &Entry, command: &str, root: &Path) -> Result<Reach, String> {
        let mut env = BTreeMap::new();
        for (name, value) in &entry.env {
            let value = self.expand(value)?;
            self.remember_secret(&value);
            env.insert(name.clone(), value);
        }
        let mut arguments = Vec::new();
        for argument in &entry.args {
            arguments.push(self.expand(argument)?);
        }
        let command = self.expand(command)?;
        let command = self.expand_home(&command);
        if command.trim().is_empty() {
            return Err("`command` is empty".to_owned());
        }
        // A path is relative to the folder; a bare name is searched in PATH.
        let command = match command.contains('/') && !Path::new(&command).is_absolute() {
            true => root.join(&command).display().to_string(),
            false => command,
        };
        let cwd = entry.cwd.as_deref().unwrap_or(".");
        let cwd = self.expand(cwd)?;
        let cwd = root.join(self.expand_home(&cwd));
        Ok(Reach::Stdio {
            command,
            arguments,
            env,
            cwd,
            root: root.to_owned(),
        })
    }

    fn http(&mut self, entry: &Entry, url: &str) -> Result<Reach, String> {
        let filled = self.expand(url)?;
        let url = Url::parse(&filled)
            .map_err(|error| format!("`url` is not a valid address: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("`url` must begin with http:// or https://".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("`url` contains a user or password: use `headers`".to_owned());
        }
        if let Some(query) = url.query() {
            self.remember_secret(query);
        }
        let mut headers = BTreeMap::new();
        for (name, value) in &entry.headers {
            let value = self.expand(value)?;
            let bare = value.rsplit(' ').next().unwrap_or_default().to_owned();
            self.remember_secret(&value);
            self.remember_secret(&bare);
            headers.insert(name.clone(), value);
        }
        if matches!(self.source, Source::Workspace(_))
            && (entry.ca_file.is_some() || entry.proxy.is_some())
        {
            return Err("`caFile` and `proxy` work in your own settings only".to_owned());
        }
        Ok(Reach::Http(HttpReach {
            guard: self.guard(&url)?,
            oauth: self.oauth(entry)?,
            url,
            headers,
            ca_file: entry.ca_file.clone(),
            proxy: entry.proxy.clone(),
        }))
    }

    /// An address in a repository must not lead to where a machine keeps its secrets.
    fn guard(&self, url: &Url) -> Result<Option<Guard>, String> {
        if !matches!(self.source, Source::Workspace(_)) {
            return Ok(None);
        }
        let guard = Guard::of_user(self.env, []).with_network();
        guard.judge(url).map_err(|blocked| format!("{blocked}"))?;
        Ok(Some(guard))
    }

    fn oauth(&mut self, entry: &Entry) -> Result<OAuth, String> {
        let mut oauth = entry.oauth.clone().unwrap_or_default();
        if let Some(id) = &mut oauth.client_id {
            *id = self.expand(id)?;
        }
        if let Some(secret) = &mut oauth.client_secret {
            *secret = self.expand(secret)?;
            self.secrets.push(secret.clone());
        }
        if oauth.client_secret.is_some() && oauth.client_id.is_none() {
            return Err("`oauth.clientSecret` needs `oauth.clientId`".to_owned());
        }
        Ok(oauth)
    }

    /// Short values are not secrets, and removing them would garble messages.
    fn remember_secret(&mut self, value: &str) {
        if value.len() >= 6 {
            self.secrets.push(value.to_owned());
        }
    }

    fn expand_home(&self, path: &str) -> String {
        match path.strip_prefix("~/") {
            Some(rest) => self.env.dirs.home.join(rest).display().to_string(),
            None => path.to_owned(),
        }
    }

    /// Expands `${NAME}` and `${NAME:-default}` from the process's environment.
    fn expand(&mut self, text: &str) -> Result<String, String> {
        if *self.source == Source::Client {
            return Ok(text.to_owned());
        }
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            out.push_str(&rest[..at]);
            let inner = &rest[at + 2..];
            let end = inner.find('}').ok_or("a `${` is not closed")?;
            let (name, default) = match inner[..end].split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (&inner[..end], None),
            };
            let value = self.env.var(name).or(default);
            let secret = looks_secret(name) || value.is_some_and(holds_password);
            // A repository could send the value wherever it wants.
            if matches!(self.source, Source::Workspace(_)) && secret {
                return Err(format!(
                    "it names the variable {name}, which looks like a secret: put this server \
                     into your own config.toml"
                ));
            }
            let value = value.ok_or_else(|| format!("the variable {name} is not set"))?;
            if secret {
                self.remember_secret(value);
            }
            out.push_str(value);
            rest = &inner[end + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// Whether `name` matches one of the patterns, which may end in `*`.
pub fn matches_any(name: &str, patterns: &[String]) -> bool {
    patterns
        .iter()
        .any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => pattern == name,
        })
}

/// `text` without secrets, as one bounded line.
pub fn redacted_line(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        text = text.replace(secret.as_str(), "(secret)");
    }
    crate::prompt::fence::name(text.trim())
}
