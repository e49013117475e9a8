//! The network of a login: every request is bounded in time and size, follows no redirects, and
//! goes only where the user's servers may be. The addresses here come from untrusted servers.

use std::time::Duration;

use reqwest::header::CONTENT_TYPE;
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};
use url::{Host, Url};

use crate::env::Env;
use crate::http::guard::{self as addresses, Guard};
use crate::http::{self};

/// Time limit of one request, to its last byte.
const TIME: Duration = Duration::from_secs(20);
/// Most bytes of an answer.
const MOST: usize = 256 * 1024;

/// What a login may reach.
pub struct Fetch {
    base: Url,
    guard: Guard,
    /// The server is on this machine, so its login server may be too.
    local: bool,
    /// Of one request.
    limit: Duration,
    options: http::Options,
}

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("{0} is not an allowed address for this server's login server")]
    Address(String),
    #[error("{0} answered with more than {MOST} bytes")]
    Size(String),
    #[error("{0}")]
    Words(String),
}

impl Fetch {
    /// For the server at `base`. A public server may only name public addresses.
    pub async fn new(base: &Url, own: Option<&Guard>, options: http::Options, env: &Env) -> Self {
        let host = base.host_str().unwrap_or_default().to_owned();
        let port = base.port_or_known_default().unwrap_or_default();
        let named = format!("{host}:{port}");
        // An address from a workspace gets no exception.
        let guard = Guard::of_user(env, own.is_none().then_some(named.as_str()));
        let local = loopback(base);
        let inner = local || Guard::default().judge(base).is_err() || own_network(base).await;
        Self {
            base: base.clone(),
            guard: if inner { guard.with_network() } else { guard },
            local,
            limit: TIME,
            options,
        }
    }

    fn judge(&self, url: &Url) -> Result<(), Refused> {
        let same = url.origin() == self.base.origin();
        let safe = url.scheme() == "https" || same || (self.local && loopback(url));
        match safe && self.guard.judge(url).is_ok() {
            true => Ok(()),
            false => Err(Refused::Address(http::origin(url))),
        }
    }

    async fn fetch(
        &self,
        request: reqwest::Request,
    ) -> Result<(reqwest::Response, Vec<u8>), Refused> {
        let to = http::origin(request.url());
        let (limit, seconds) = (self.limit, self.limit.as_secs());
        let late = || Refused::Words(format!("{to} did not answer within {seconds} s"));
        let fetched = tokio::time::timeout(limit, self.get(request)).await;
        fetched.unwrap_or_else(|_| Err(late()))
    }

    async fn get(
        &self,
        request: reqwest::Request,
    ) -> Result<(reqwest::Response, Vec<u8>), Refused> {
        let url = request.url().clone();
        self.judge(&url)?;
        let options = http::Options {
            base: Some(url.clone()),
            resolver: Some(self.guard.resolver(&url)),
            ..self.options.clone()
        };
        let failed = |error: reqwest::Error| {
            Refused::Words(http::explain(&error, &url, &options).failure.sentences())
        };
        let client = http::client(&options).map_err(|it| Refused::Words(it.sentences()))?;
        let mut response = client.execute(request).await.map_err(failed)?;
        let mut body = Vec::new();
        let kind = response.headers().get(CONTENT_TYPE);
        // An event stream is endless and never part of a login.
        if kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
            return Ok((response, body));
        }
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > MOST {
                return Err(Refused::Size(http::origin(&url)));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((response, body))
    }
}

/// Whether the name resolves to this machine or its network.
async fn own_network(url: &Url) -> bool {
    let Some(Host::Domain(name)) = url.host() else {
        return false;
    };
    let looked_up = tokio::net::lookup_host((name, 0));
    match tokio::time::timeout(TIME, looked_up).await {
        Ok(Ok(mut found)) => found.any(|address| !addresses::public(address.ip())),
        _ => false,
    }
}

/// On this machine, as written.
pub fn loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

impl OAuthHttpClient for Fetch {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let request = reqwest::Request::try_from(request.request)?;
            let (response, body) = self.fetch(request).await?;
            let whole: ::http::Response<reqwest::Body> = response.into();
            Ok(whole.map(|_| body))
        })
    }
}

#[cfg(test)]
mod tests;
