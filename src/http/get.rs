//! Fetches one page: bounded in time and size, with redirects only within the same origin.

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use url::Url;

use super::guard::{Blocked, Guard};
use super::{Explained, Options, explain};
use crate::conversation::Failure;

/// The most bytes of a page, uncompressed.
pub const MOST: usize = 5 * 1024 * 1024;

const REDIRECTS: usize = 5;

/// From the first DNS lookup to the last byte.
const TIME: Duration = Duration::from_secs(30);

/// What a server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// After redirects.
    pub url: Url,
    pub status: u16,
    /// The full header in lower case; empty if absent.
    pub content_type: String,
    pub bytes: Vec<u8>,
    /// The page is larger than [`MOST`].
    pub truncated: bool,
}

/// Why there is no page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Blocked(#[from] Blocked),
    /// To another origin, which the user has not approved.
    #[error("it redirects to {0}")]
    Elsewhere(Url),
    #[error("it redirected more than {REDIRECTS} times")]
    Redirects,
    #[error("it took longer than {} s", TIME.as_secs())]
    Time,
    #[error("{}", .0.message)]
    Failed(Failure),
}

/// Fetches `url`, following redirects within its origin (`http` may become `https`). Sends no
/// cookie, key or referrer.
pub async fn get(url: &Url, guard: &Guard) -> Result<Page, Error> {
    get_within(url, guard, TIME).await
}

async fn get_within(url: &Url, guard: &Guard, time: Duration) -> Result<Page, Error> {
    tokio::time::timeout(time, follow(url.clone(), guard))
        .await
        .unwrap_or(Err(Error::Time))
}

async fn follow(mut url: Url, guard: &Guard) -> Result<Page, Error> {
    for _ in 0..=REDIRECTS {
        guard.judge(&url)?;
        let options = Options {
            base: Some(url.clone()),
            resolver: Some(guard.resolver(&url)),
            ..Options::default()
        };
        let client = super::client(&options).map_err(Error::Failed)?;
        let request = client.get(url.clone()).header(
            ACCEPT,
            "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5",
        );
        let sent = request.send().await;
        let response = sent.map_err(|error| failed(&error, &url, &options))?;
        if !response.status().is_redirection() {
            return read(response, &url, &options).await;
        }
        let Some(next) = redirect_target(&response, &url) else {
            return read(response, &url, &options).await;
        };
        guard.judge(&next)?;
        if !same_origin(&url, &next) {
            return Err(Error::Elsewhere(next));
        }
        url = next;
    }
    Err(Error::Redirects)
}

fn redirect_target(response: &reqwest::Response, url: &Url) -> Option<Url> {
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    url.join(location).ok()
}

/// Whether host and port are the same. `https` at its usual port is the same as `http` at its own.
fn same_origin(from: &Url, to: &Url) -> bool {
    let upgraded = from.scheme() == "http"
        && to.scheme() == "https"
        && from.port().is_none()
        && to.port().is_none();
    from.host() == to.host() && (from.origin() == to.origin() || upgraded)
}

async fn read(
    mut response: reqwest::Response,
    url: &Url,
    options: &Options,
) -> Result<Page, Error> {
    let content_type = response.headers().get(CONTENT_TYPE);
    let content_type = content_type.map(|value| String::from_utf8_lossy(value.as_bytes()));
    let mut page = Page {
        url: url.clone(),
        status: response.status().as_u16(),
        content_type: content_type.unwrap_or_default().to_ascii_lowercase(),
        bytes: Vec::new(),
        truncated: false,
    };
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| failed(&error, url, options))?
    {
        let room = MOST - page.bytes.len();
        page.bytes
            .extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            page.truncated = true;
            break;
        }
    }
    Ok(page)
}

/// The resolver's refusal arrives as a transport error.
fn failed(error: &reqwest::Error, url: &Url, options: &Options) -> Error {
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        if let Some(blocked) = inner.downcast_ref::<Blocked>() {
            return Error::Blocked(blocked.clone());
        }
        source = inner.source();
    }
    let Explained { failure, .. } = explain(error, url, options);
    Error::Failed(failure)
}

#[cfg(test)]
mod tests;
