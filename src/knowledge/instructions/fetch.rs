//! Instruction texts at addresses in the user's own settings: fetched in parallel, within limits of
//! time and size, never fatal. The texts are cached for the process; the gatherer reads the cache
//! and never waits. Nothing is fetched before the first prompt (INV-10).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use futures_util::future::{FutureExt as _, join_all};
use parking_lot::Mutex;
use reqwest::Client;
use url::Url;

use crate::conversation::{SessionId, sha256};
use crate::env::tasks;
use crate::http;
use crate::secrets::without_passwords;

/// The time limit for all addresses together: no turn waits longer.
pub const LIMIT: Duration = Duration::from_secs(5);
/// Most bytes of a text; larger ones are not used.
const BYTES: usize = 1024 * 1024;
/// Most addresses.
const URLS: usize = 32;

/// The texts fetched in this process.
#[derive(Debug, Default)]
pub struct UrlCache {
    held: Mutex<BTreeMap<String, Held>>,
    /// The sessions in which an address failed: they do not ask for it again.
    failed: Mutex<BTreeMap<String, BTreeSet<SessionId>>>,
    /// By origin, because a client's options depend on it.
    clients: Mutex<HashMap<String, Client>>,
}

/// The cached state of one address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// From the last successful fetch.
    pub text: Option<Fetched>,
    /// Why the last fetch failed.
    pub problem: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    pub text: String,
    pub hash: String,
}

impl UrlCache {
    /// The state of `url`; `None` before the first fetch.
    pub fn held(&self, url: &str) -> Option<Held> {
        self.held.lock().get(url).cloned()
    }

    /// Lets every session ask for failed addresses again, after the settings were reloaded.
    pub fn forget_failures(&self) {
        self.failed.lock().clear();
    }

    fn store(&self, url: &str, outcome: Result<String, String>) {
        let mut held = self.held.lock();
        let held = held.entry(url.to_owned()).or_default();
        match outcome {
            Ok(text) => {
                held.text = Some(Fetched {
                    hash: sha256(text.as_bytes()),
                    text,
                });
                held.problem = None;
                self.failed.lock().remove(url);
            }
            Err(reason) => {
                tracing::warn!(
                    url = display_origin(url),
                    reason,
                    "instructions not fetched"
                );
                held.problem = Some(match held.text {
                    Some(_) => format!("{reason}; the previous text is still used"),
                    None => reason,
                });
            }
        }
    }

    /// A client for the origin of `url`. Reading the system's certificates takes time, so the client
    /// is built off the runtime's threads.
    async fn client(&self, url: &Url) -> Result<Client, String> {
        let origin = http::origin(url);
        if let Some(client) = self.clients.lock().get(&origin) {
            return Ok(client.clone());
        }
        let options = options(url);
        let client = tasks::blocking(move || http::client(&options))
            .await
            .map_err(|error| error.to_string())?
            .map_err(|failure| failure.message)?;
        self.clients.lock().insert(origin, client.clone());
        Ok(client)
    }
}

/// An address that could not be fetched, as shown, and why.
pub type Failed = (String, String);

/// [`refresh`] for a turn of `session`, without the addresses that failed in it before. Returns
/// those that fail now.
pub async fn refresh_for(urls: &[String], cache: &UrlCache, session: &SessionId) -> Vec<Failed> {
    let known = |url: &String| {
        let failures = cache.failed.lock();
        let failed = failures.get(url);
        failed.is_some_and(|sessions| sessions.contains(session))
    };
    let wanted: Vec<String> = urls.iter().filter(|url| !known(url)).cloned().collect();
    refresh(&wanted, cache).await;
    let problem = |url: &String| {
        let reason = cache.held(url)?.problem?;
        let mut failures = cache.failed.lock();
        failures
            .entry(url.clone())
            .or_default()
            .insert(session.clone());
        Some((display_url(url), reason))
    };
    wanted.iter().filter_map(problem).collect()
}

/// Fetches every address again; after [`LIMIT`] at the latest each has a text or a problem.
/// Dropping the future ends the requests.
pub async fn refresh(urls: &[String], cache: &UrlCache) {
    refresh_until(tokio::time::sleep(LIMIT), urls, cache).await;
}

/// [`refresh`] with a limit that a test can reach without waiting.
async fn refresh_until(limit: impl Future<Output = ()>, urls: &[String], cache: &UrlCache) {
    let limit = limit.shared();
    let each = urls.iter().enumerate().map(|(at, url)| {
        let limit = limit.clone();
        async move {
            let outcome = if at >= URLS {
                Err(format!("not fetched: only the first {URLS} addresses are"))
            } else {
                let late = format!("it was not complete within {} s", LIMIT.as_secs());
                tokio::select! {
                    biased;
                    fetched = fetch(url, cache) => fetched,
                    () = limit => Err(late),
                }
            };
            cache.store(url, outcome);
        }
    });
    join_all(each).await;
}

async fn fetch(text: &str, cache: &UrlCache) -> Result<String, String> {
    let url = Url::parse(text).map_err(|error| format!("it is not a valid address: {error}"))?;
    if has_credentials(&url) {
        // It would appear in prompts and previews.
        return Err(
            "an address with a user or a password is not fetched; keep the text in a \
                    file and name that"
                .to_owned(),
        );
    }
    if url.scheme() != "https" && !http::is_loopback(&url) {
        return Err(
            "only https: addresses are fetched, so that no one on the way can change the text"
                .to_owned(),
        );
    }
    let client = cache.client(&url).await?;
    let broken = |error: reqwest::Error| {
        let explained = http::explain(&error, &url, &options(&url));
        explained.failure.message
    };
    let mut response = client.get(url.clone()).send().await.map_err(broken)?;
    let status = response.status();
    if status.is_redirection() {
        return Err(format!(
            "the server answered {status}: the text moved to another address; name that one, \
             because redirects are not followed"
        ));
    }
    if !status.is_success() {
        return Err(format!("the server answered {status}"));
    }
    not_prose(&response).map_or(Ok(()), Err)?;
    let too_large = || format!("it has more than {BYTES} bytes");
    if response
        .content_length()
        .is_some_and(|length| length > BYTES as u64)
    {
        return Err(too_large());
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > BYTES {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    let text = String::from_utf8(body).map_err(|_| "it is not UTF-8 text".to_owned())?;
    if text.contains('\0') {
        return Err("it is not text".to_owned());
    }
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}

/// Why a body of this type is not an instruction text: a login page must not become one.
fn not_prose(response: &reqwest::Response) -> Option<String> {
    let kind = response.headers().get(reqwest::header::CONTENT_TYPE)?;
    let kind = String::from_utf8_lossy(kind.as_bytes()).to_ascii_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let page = matches!(kind, "text/html" | "application/xhtml+xml");
    // Servers that do not know Markdown call it a stream of bytes.
    let text = kind.starts_with("text/") || kind == "application/octet-stream";
    match (page, text) {
        (true, _) => Some(
            "it is a web page (text/html): name the address of the plain text or Markdown file"
                .to_owned(),
        ),
        (false, true) => None,
        (false, false) => Some("it is neither plain text nor Markdown".to_owned()),
    }
}

fn options(url: &Url) -> http::Options {
    http::Options {
        base: Some(url.clone()),
        connect_timeout: Some(LIMIT),
        ..http::Options::default()
    }
}

fn has_credentials(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// The address as prompts and previews show it: as written, without a user, password or token.
pub fn display_url(text: &str) -> String {
    let text = match Url::parse(text) {
        Ok(mut url) if has_credentials(&url) => {
            // Neither can fail where there is a user or a password.
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.to_string()
        }
        _ => text.to_owned(),
    };
    without_passwords(&text)
}

/// For the log: a path or a query can be a secret.
fn display_origin(text: &str) -> String {
    Url::parse(text).map_or_else(|_| "?".to_owned(), |url| http::origin(&url))
}

#[cfg(test)]
mod tests;
