//! Logging in to servers behind an address, as the protocol has it: OAuth 2.1 with PKCE, whose
//! steps are rmcp's. Ours are the network that it may use (`fetch`), the listener that the
//! browser comes back to, the file that keeps the outcome (`tokens`), limits and words.
//!
//! A login belongs to one address. Nothing of it is in a log, an event, a prompt or an error.

mod fetch;
mod listener;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, OAuthClientConfig,
};
use url::Url;

use super::connect::Down;
use super::settings::{Reach, Settings, shown};
use crate::env::Env;
use crate::http;
use fetch::{Fetch, loopback};
use listener::Listener;
pub use tokens::Tokens;

/// Finding out where to log in, and exchanging the browser's answer: each at most.
const STEP: Duration = Duration::from_secs(60);
/// How long the user may take in the browser.
const PERSON: Duration = Duration::from_secs(600);
/// Bytes of an address for a browser, and of the scopes that a server asks for.
const ADDRESS: usize = 8 * 1024;
const SCOPES: usize = 2 * 1024;

const UNSAFE: &str = "its login server does not announce what keeps a login safe (PKCE with \
                      S256, `code_challenge_methods_supported`): no login was sent";

/// A login that waits for the browser.
pub struct Waiting {
    manager: AuthorizationManager,
    listener: Listener,
    address: Url,
    state: String,
}

impl Waiting {
    /// What the user opens.
    pub fn address(&self) -> &Url {
        &self.address
    }

    /// Waits for the browser and keeps the login.
    pub async fn finish(self, settings: &Settings) -> Result<(), String> {
        let waiting = tokio::time::timeout(PERSON, self.listener.back(&self.state));
        let late = || format!("nobody logged in within {} min", PERSON.as_secs() / 60);
        let back = waiting.await.map_err(|_| late())??;
        let issuer = back.issuer.as_deref();
        let exchange =
            self.manager
                .exchange_code_for_token_with_issuer(&back.code, &self.state, issuer);
        let exchanged = within(exchange).await?;
        exchanged
            .map(|_| ())
            .map_err(|error| said(&error, settings))
    }
}

async fn within<T>(step: impl Future<Output = T>) -> Result<T, String> {
    let late = || format!("its login server took longer than {} s", STEP.as_secs());
    tokio::time::timeout(STEP, step).await.map_err(|_| late())
}

/// Begins a login. `challenge` is what the server said with its refusal.
pub async fn begin(
    settings: &Settings,
    env: &Env,
    challenge: Option<&str>,
) -> Result<Waiting, String> {
    within(asked(settings, env, challenge)).await?
}

async fn asked(settings: &Settings, env: &Env, challenge: Option<&str>) -> Result<Waiting, String> {
    let Reach::Http { url, oauth, .. } = &settings.reach else {
        return Err("it is a program: give what it needs in its `env`".to_owned());
    };
    if own_header(settings) {
        return Err("its `headers` hold an Authorization: take that out first".to_owned());
    }
    let told = |error: AuthError| said(&error, settings);
    let mut manager = manager(settings, env).await?;
    let resolved = manager.resolve_metadata_from_challenge(challenge).await;
    let resolved = resolved.map_err(told)?;
    if !resolved.source.is_discovered() {
        return Err(
            "it does not say where to log in: give its token in `headers` (Authorization)"
                .to_owned(),
        );
    }
    vet(&resolved.metadata, url)?;
    manager.set_metadata(resolved.metadata);
    let listener = Listener::bind(oauth.port).await?;
    let back = listener.address();
    let scopes = match oauth.scopes.is_empty() {
        true => manager.select_initial_scopes(&[]).await,
        false => oauth.scopes.clone(),
    };
    if scopes.iter().map(String::len).sum::<usize>() > SCOPES {
        return Err(
            "it asks for too many scopes: name those you need in `oauth.scopes`".to_owned(),
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
            manager.configure_client(client.clone()).map_err(told)?;
            client
        }
        None => {
            let registered = manager.register_client("Interline", &back, &scopes).await;
            registered.map_err(told)?
        }
    };
    manager.set_credential_store(Tokens::of(env, url).with_secret(client.client_secret));
    let address = manager.get_authorization_url(&scopes).await.map_err(told)?;
    let address = page(&address, url)?;
    let states = address.query_pairs().filter(|(name, _)| name == "state");
    let state = states.last().map(|(_, value)| value.into_owned());
    Ok(Waiting {
        manager,
        listener,
        state: state.ok_or("its login server's address cannot be used")?,
        address,
    })
}

/// The login of a server, ready to be used; `None`: there is none.
pub async fn held(settings: &Settings, env: &Env) -> Result<Option<AuthorizationManager>, Down> {
    let Reach::Http { url, .. } = &settings.reach else {
        return Ok(None);
    };
    let tokens = Tokens::of(env, url);
    if own_header(settings) || !tokens.there() {
        return Ok(None);
    }
    let known = {
        let tokens = tokens.clone();
        tokio::task::spawn_blocking(move || tokens.client()).await
    };
    let known = known.unwrap_or_else(|error| Err(error.to_string()));
    let Some((id, secret)) = known.map_err(Down::Fault)? else {
        return Ok(None);
    };
    let told = |error: AuthError| Down::Fault(said(&error, settings));
    let mut manager = manager(settings, env).await.map_err(Down::Fault)?;
    let resolved = manager.resolve_metadata().await.map_err(told)?;
    vet(&resolved.metadata, url).map_err(Down::Fault)?;
    manager.set_metadata(resolved.metadata);
    manager.set_credential_store(tokens.with_secret(secret.clone()));
    // False: its login server is another one now, which must not get the old one's tokens.
    if !manager.initialize_from_store().await.map_err(told)? {
        return Ok(None);
    }
    if let Some(secret) = secret {
        let client = OAuthClientConfig::new(id, url.as_str()).with_client_secret(secret);
        manager.configure_client(client).map_err(told)?;
    }
    Ok(Some(manager))
}

/// The user gave a token by hand, which is then the one.
pub fn own_header(settings: &Settings) -> bool {
    match &settings.reach {
        Reach::Http { headers, .. } => headers
            .keys()
            .any(|name| name.eq_ignore_ascii_case("authorization")),
        Reach::Stdio { .. } => false,
    }
}

async fn manager(settings: &Settings, env: &Env) -> Result<AuthorizationManager, String> {
    let Reach::Http {
        url,
        ca_file,
        proxy,
        guard,
        ..
    } = &settings.reach
    else {
        return Err("it has no address".to_owned());
    };
    let options = http::Options {
        ca_file: ca_file.clone(),
        proxy: proxy.clone(),
        ..http::Options::default()
    };
    let fetch = Fetch::new(url, guard.as_ref(), options, env).await;
    AuthorizationManager::new_with_oauth_http_client(url.clone(), Arc::new(fetch))
        .await
        .map_err(|error| said(&error, settings))
}

/// Whether what a login server says of itself can be used: nothing of a login in the clear, and
/// PKCE announced, without which MCP forbids to go on.
fn vet(metadata: &AuthorizationMetadata, base: &Url) -> Result<(), String> {
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
        if !url.is_some_and(|url| private(&url, base)) {
            return Err("its login server has an address that is not https".to_owned());
        }
    }
    page(&metadata.authorization_endpoint, base).map(|_| ())
}

/// Https, or within this machine.
fn private(url: &Url, base: &Url) -> bool {
    let plain = url.scheme() == "http" && loopback(url) && loopback(base);
    (plain || url.scheme() == "https") && url.username().is_empty() && url.password().is_none()
}

/// An address that a browser is given: never a file, a script or a program.
fn page(address: &str, base: &Url) -> Result<Url, String> {
    let url = Url::parse(address).ok();
    let fit = url.filter(|url| private(url, base) && url.as_str().len() <= ADDRESS);
    fit.ok_or_else(|| "its login page has an address that no browser should be given".to_owned())
}

/// What went wrong, in words, without what only the machines should know.
fn said(error: &AuthError, settings: &Settings) -> String {
    let words = match error {
        AuthError::AuthorizationServerMismatch { .. }
        | AuthError::AuthorizationServerMissingIssuer { .. } => {
            "its login server does not say who it is as it must (issuer): no login was sent"
                .to_owned()
        }
        AuthError::PkceUnsupported => UNSAFE.to_owned(),
        AuthError::RegistrationFailed(why) => format!(
            "its login server does not register us ({why}): register a client there by hand and \
             name it in `oauth.clientId`"
        ),
        AuthError::AuthorizationServersUnavailable { .. } => {
            "none of its login servers says how to log in".to_owned()
        }
        AuthError::ProtectedResourceMetadataInvalid { .. } => {
            "what it says of its login is not about this address".to_owned()
        }
        AuthError::TokenExchangeFailed(why) => {
            format!("its login server gave no token ({why}): try again")
        }
        AuthError::TokenRefreshFailed(why) => {
            format!("its login cannot be renewed now ({why}); if that stays, log in again")
        }
        AuthError::DiscoveryRequestFailed { url, source } => format!(
            "{} cannot be asked how to log in: {source}",
            http::origin(url)
        ),
        AuthError::CredentialStoreError(why) => why.clone(),
        other => other.to_string(),
    };
    shown(&words, &settings.secrets)
}

/// As [`said`], for an error of a connection.
pub fn renewal(error: &AuthError) -> String {
    match error {
        AuthError::TokenRefreshFailed(why) => format!("its login cannot be renewed now: {why}"),
        AuthError::CredentialStoreError(why) => why.clone(),
        _ => "its login cannot be used: log in again".to_owned(),
    }
}

#[cfg(all(test, unix))]
mod tests;
