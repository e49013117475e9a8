//! Logs in to servers with an address, as the protocol specifies: OAuth 2.1 with PKCE, implemented
//! by rmcp. Ours are the network it may use (`fetch`), the listener that the browser returns to,
//! the file that stores the login (`tokens`), limits and error messages.
//!
//! A login belongs to one address. No part of it is in a log, an event, a prompt or an error.

mod fetch;
mod listener;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, OAuthClientConfig, OAuthHttpClient,
    OAuthHttpClientFuture, OAuthHttpRequest,
};
use url::Url;

use super::settings::{HttpReach, Settings, redacted_line};
use crate::env::Env;
use crate::env::tasks;
use crate::http;
use fetch::{Fetch, loopback};
use listener::Listener;
pub use tokens::Tokens;

/// Time limit for discovery, and for exchanging the browser's answer.
const STEP: Duration = Duration::from_secs(60);
/// How long the user may take in the browser.
const PERSON: Duration = Duration::from_secs(600);
/// Most bytes of an address for a browser, and of the scopes that a server requests.
const ADDRESS: usize = 8 * 1024;
const SCOPES: usize = 2 * 1024;

const UNSAFE: &str = "its login server does not announce PKCE with S256 \
                      (`code_challenge_methods_supported`), so no login was sent";

/// A login that waits for the browser.
pub struct Waiting {
    manager: AuthorizationManager,
    listener: Listener,
    address: Url,
    state: String,
}

impl Waiting {
    /// The address that the user opens.
    pub fn address(&self) -> &Url {
        &self.address
    }

    /// Waits for the browser and stores the login.
    pub async fn finish(self, settings: &Settings) -> Result<(), String> {
        let waiting = tokio::time::timeout(PERSON, self.listener.wait_for_callback(&self.state));
        let late = || format!("no one logged in within {} min", PERSON.as_secs() / 60);
        let back = waiting.await.map_err(|_| late())??;
        let issuer = back.issuer.as_deref();
        let exchange =
            self.manager
                .exchange_code_for_token_with_issuer(&back.code, &self.state, issuer);
        let exchanged = with_time_limit(exchange).await?;
        exchanged
            .map(|_| ())
            .map_err(|error| error_text(&error, settings))
    }
}

async fn with_time_limit<T>(step: impl Future<Output = T>) -> Result<T, String> {
    let late = || format!("its login server took longer than {} s", STEP.as_secs());
    tokio::time::timeout(STEP, step).await.map_err(|_| late())
}

/// Begins a login. `challenge` is from the server's refusal.
pub async fn begin(
    settings: &Settings,
    env: &Env,
    challenge: Option<&str>,
) -> Result<Waiting, String> {
    with_time_limit(prepare_login(settings, env, challenge)).await?
}

async fn prepare_login(
    settings: &Settings,
    env: &Env,
    challenge: Option<&str>,
) -> Result<Waiting, String> {
    let Some(http) = settings.http() else {
        return Err("it is a program: put its credentials into its `env`".to_owned());
    };
    let (url, oauth) = (&http.url, &http.oauth);
    if http.has_token() {
        return Err("its `headers` contain an Authorization: remove that first".to_owned());
    }
    let reason = |error: AuthError| error_text(&error, settings);
    let mut manager = manager(http, settings, env).await?;
    let resolved = manager.resolve_metadata_from_challenge(challenge).await;
    let resolved = resolved.map_err(reason)?;
    if !resolved.source.is_discovered() {
        return Err(
            "it does not say where to log in: put its token into `headers` (Authorization)"
                .to_owned(),
        );
    }
    check_metadata(&resolved.metadata, url)?;
    manager.set_metadata(resolved.metadata);
    let listener = Listener::bind(oauth.port).await?;
    let back = listener.address();
    let scopes = match oauth.scopes.is_empty() {
        true => manager.select_initial_scopes(&[]).await,
        false => oauth.scopes.clone(),
    };
    if scopes.iter().map(String::len).sum::<usize>() > SCOPES {
        return Err(
            "it requests too many scopes: list the ones you need in `oauth.scopes`".to_owned(),
        );
    }
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let client = match &oauth.client_id {
        Some(id) => {
            let client = OAuthClientConfig::new(id, &back);
            let client = match &oauth.client_secret {
                Some(secret) => client.with_client_secret(secret),
                None => client,
            };
            manager.configure_client(client.clone()).map_err(reason)?;
            client
        }
        None => {
            let registered = manager.register_client("Interline", &back, &scopes).await;
            registered.map_err(reason)?
        }
    };
    manager.set_credential_store(Tokens::of(env, url).with_secret(client.client_secret));
    let address = manager
        .get_authorization_url(&scopes)
        .await
        .map_err(reason)?;
    let address = browser_url(&address, url)?;
    let states = address.query_pairs().filter(|(name, _)| name == "state");
    let state = states.last().map(|(_, value)| value.into_owned());
    Ok(Waiting {
        manager,
        listener,
        state: state.ok_or("its login server's address cannot be used")?,
        address,
    })
}

/// The stored login of a server, ready to be used. Without one, requests have no token.
pub async fn stored_login(
    http: &HttpReach,
    settings: &Settings,
    env: &Env,
) -> Result<AuthorizationManager, String> {
    let url = &http.url;
    let reason = |error: AuthError| error_text(&error, settings);
    let none = AuthorizationManager::new_with_oauth_http_client(url.clone(), Arc::new(NoLogin));
    let none = none.await.map_err(reason)?;
    let tokens = Tokens::of(env, url);
    if http.has_token() || !tokens.exists() {
        return Ok(none);
    }
    let known = {
        let tokens = tokens.clone();
        tasks::blocking(move || tokens.client()).await
    };
    let known = known.unwrap_or_else(|error| Err(error.to_string()));
    let Some((id, secret)) = known? else {
        return Ok(none);
    };
    let mut manager = manager(http, settings, env).await?;
    let resolved = manager.resolve_metadata().await.map_err(reason)?;
    check_metadata(&resolved.metadata, url)?;
    manager.set_metadata(resolved.metadata);
    manager.set_credential_store(tokens.with_secret(secret.clone()));
    // False: its login server changed, and the new one must not get the old one's tokens.
    if !manager.initialize_from_store().await.map_err(reason)? {
        return Ok(none);
    }
    if let Some(secret) = secret {
        let client = OAuthClientConfig::new(id, url.as_str()).with_client_secret(secret);
        manager.configure_client(client).map_err(reason)?;
    }
    Ok(manager)
}

/// Reaches no login server: there is nothing to renew.
struct NoLogin;

impl OAuthHttpClient for NoLogin {
    fn execute(&self, _: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async { Err("no login is stored".into()) })
    }
}

async fn manager(
    http: &HttpReach,
    settings: &Settings,
    env: &Env,
) -> Result<AuthorizationManager, String> {
    let options = http::Options {
        ca_file: http.ca_file.clone(),
        proxy: http.proxy.clone(),
        ..http::Options::default()
    };
    let fetch = Fetch::new(&http.url, http.guard.as_ref(), options, env).await;
    AuthorizationManager::new_with_oauth_http_client(http.url.clone(), Arc::new(fetch))
        .await
        .map_err(|error| error_text(&error, settings))
}

/// Checks a login server's metadata: no part of a login goes unencrypted, and PKCE is announced, as
/// MCP requires.
fn check_metadata(metadata: &AuthorizationMetadata, base: &Url) -> Result<(), String> {
    let methods = metadata.code_challenge_methods_supported.as_ref();
    if !methods.is_some_and(|methods| methods.iter().any(|method| method == "S256")) {
        return Err(UNSAFE.to_owned());
    }
    let endpoints = [
        Some(&metadata.token_endpoint),
        metadata.registration_endpoint.as_ref(),
    ];
    for endpoint in endpoints.into_iter().flatten() {
        let url = Url::parse(endpoint).ok();
        if !url.is_some_and(|url| secure_url(&url, base)) {
            return Err("its login server has an address that is not https".to_owned());
        }
    }
    browser_url(&metadata.authorization_endpoint, base).map(|_| ())
}

/// Https, or on this machine.
fn secure_url(url: &Url, base: &Url) -> bool {
    let plain = url.scheme() == "http" && loopback(url) && loopback(base);
    (plain || url.scheme() == "https") && url.username().is_empty() && url.password().is_none()
}

/// An address to open in a browser: never a file, a script or a program.
fn browser_url(address: &str, base: &Url) -> Result<Url, String> {
    let url = Url::parse(address).ok();
    let fit = url.filter(|url| secure_url(url, base) && url.as_str().len() <= ADDRESS);
    fit.ok_or_else(|| "its login page has an address that is not safe to open".to_owned())
}

/// The error's message, without secrets.
fn error_text(error: &AuthError, settings: &Settings) -> String {
    let words = match error {
        AuthError::AuthorizationServerMismatch { .. }
        | AuthError::AuthorizationServerMissingIssuer { .. } => {
            "its login server does not identify itself as required (issuer), so no login was sent"
                .to_owned()
        }
        AuthError::PkceUnsupported => UNSAFE.to_owned(),
        AuthError::RegistrationFailed(why) => format!(
            "its login server does not register Interline ({why}): register a client there by hand \
             and set `oauth.clientId`"
        ),
        AuthError::AuthorizationServersUnavailable { .. } => {
            "none of its login servers says how to log in".to_owned()
        }
        AuthError::ProtectedResourceMetadataInvalid { .. } => {
            "its login information is for another address".to_owned()
        }
        AuthError::TokenExchangeFailed(why) => {
            format!("its login server gave no token ({why}): try again")
        }
        AuthError::TokenRefreshFailed(why) => {
            format!("its login could not be renewed ({why}); if that persists, log in again")
        }
        AuthError::DiscoveryRequestFailed { url, source } => format!(
            "cannot reach {} to find out how to log in: {source}",
            http::origin(url)
        ),
        AuthError::CredentialStoreError(why) => why.clone(),
        other => other.to_string(),
    };
    redacted_line(&words, &settings.secrets)
}

/// Like [`error_text`], for an error of a connection.
pub fn renewal_error(error: &AuthError) -> String {
    match error {
        AuthError::TokenRefreshFailed(why) => format!("its login could not be renewed: {why}"),
        AuthError::CredentialStoreError(why) => why.clone(),
        _ => "its login cannot be used: log in again".to_owned(),
    }
}

#[cfg(test)]
mod tests;
