//! Stored logins: one file per address, beside the providers' keys and just as private. They are
//! never shown, and never used for another address.

use async_trait::async_trait;
use rmcp::transport::auth::{
    AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials,
};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use crate::conversation::sha256;
use crate::env::tasks;
use crate::env::{Env, Secrets, private};
use crate::provider::keys;

/// How often, and how long each time, to wait for another process that renews the same login.
const WAITS: u32 = 200;
const WAIT: std::time::Duration = std::time::Duration::from_millis(50);

/// Longest lifetime of a token in seconds, whatever its login server says.
const OLDEST: u64 = 365 * 24 * 60 * 60;

/// The credentials, if their tokens can be sent: of type `Bearer`, in characters that a header
/// allows. An invalid lifetime is removed, and a very long one is shortened.
fn checked(mut credentials: StoredCredentials) -> Result<StoredCredentials, String> {
    let Some(answer) = credentials.token_response.take() else {
        return Ok(credentials);
    };
    let unread = |error: serde_json::Error| error.to_string();
    let mut answer = serde_json::to_value(answer).map_err(unread)?;
    let kind = answer["token_type"].as_str().unwrap_or_default();
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err("its login server issued a token that is not of type Bearer".to_owned());
    }
    for name in ["access_token", "refresh_token"] {
        let token = answer[name].as_str();
        if token.is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())) {
            return Err(
                "its login server issued a token that cannot be sent in a header".to_owned(),
            );
        }
    }
    match answer["expires_in"].as_u64() {
        Some(1..=OLDEST) => {}
        Some(0) | None => answer["expires_in"] = serde_json::Value::Null,
        Some(_) => answer["expires_in"] = OLDEST.into(),
    }
    credentials.token_response = serde_json::from_value(answer).map_err(unread)?;
    Ok(credentials)
}

/// The login of one address.
#[derive(Clone)]
pub struct Tokens {
    env: Env,
    url: String,
    name: String,
    /// Our OAuth client secret, if any.
    secret: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredLogin {
    /// The address that the login is for.
    url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
    credentials: StoredCredentials,
}

impl Tokens {
    pub fn of(env: &Env, url: &Url) -> Self {
        let url = url.to_string();
        let hash = sha256(url.as_bytes());
        Self {
            env: env.clone(),
            name: format!("mcp-{}", &hash[..32]),
            url,
            secret: None,
        }
    }

    /// Sets our client secret.
    pub fn with_secret(mut self, secret: Option<String>) -> Self {
        self.secret = secret;
        self
    }

    /// Whether a login is stored, even one that the server now rejects.
    pub fn exists(&self) -> bool {
        keys::is_stored(&self.env, &self.name)
    }

    /// Our client id and secret at its login server, as long as the login is valid. Blocking.
    pub fn client(&self) -> Result<Option<(String, Option<String>)>, String> {
        let kept = self.read()?;
        let kept = kept.filter(|kept| kept.credentials.token_response.is_some());
        Ok(kept.map(|kept| (kept.credentials.client_id, kept.client_secret)))
    }

    /// Deletes the stored login. Returns whether there was one. Blocking.
    pub fn forget(&self) -> Result<bool, String> {
        keys::remove_stored(&self.env, &self.name)
            .map_err(|error| format!("the login cannot be removed: {error}"))
    }

    fn read(&self) -> Result<Option<StoredLogin>, String> {
        let kept = keys::stored(&self.env, &self.name, "interline mcp login");
        let Some(text) = kept.map_err(|failure| failure.sentences())? else {
            return Ok(None);
        };
        self.register_secrets(text.expose_secret());
        // An unreadable file is not a login. The next login replaces it.
        let kept: Option<StoredLogin> = serde_json::from_str(text.expose_secret()).ok();
        let kept = kept.filter(|kept| kept.url == self.url);
        Ok(kept.and_then(|kept| {
            let credentials = checked(kept.credentials).ok()?;
            Some(StoredLogin {
                credentials,
                ..kept
            })
        }))
    }

    /// Registers the tokens as secrets, so that they are removed from all that leaves the process.
    fn register_secrets(&self, kept: &str) {
        fn add(name: &str, value: &Value, secrets: &Secrets) {
            match value {
                Value::String(text) if name.ends_with("_token") || name == "client_secret" => {
                    secrets.add(text);
                }
                Value::Object(fields) => {
                    fields
                        .iter()
                        .for_each(|(name, value)| add(name, value, secrets));
                }
                _ => {}
            }
        }
        let kept: Value = serde_json::from_str(kept).unwrap_or_default();
        add("", &kept, self.env.secrets());
    }

    fn write(&self, credentials: StoredCredentials) -> Result<(), String> {
        let kept = StoredLogin {
            url: self.url.clone(),
            client_secret: self.secret.clone(),
            credentials: checked(credentials)?,
        };
        let text = serde_json::to_string(&kept).map_err(|error| error.to_string())?;
        self.register_secrets(&text);
        keys::store(&self.env, &self.name, &text).map_err(|failure| failure.sentences())
    }

    /// Off the runtime's threads.
    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, String> + Send + 'static,
    ) -> Result<T, AuthError> {
        let own = self.clone();
        tasks::blocking(move || work(&own))
            .await
            .unwrap_or_else(|error| Err(error.to_string()))
            .map_err(AuthError::CredentialStoreError)
    }
}

#[async_trait]
impl CredentialStore for Tokens {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let kept = self.off_thread(Self::read).await?;
        Ok(kept.map(|kept| kept.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.off_thread(move |own| own.write(credentials)).await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.off_thread(|own| own.forget().map(|_| ())).await
    }

    /// Forgets tokens that the login server rejects, so that they are not sent again.
    async fn on_refresh_token_rejected(&self, old: &StoredCredentials) -> Result<(), AuthError> {
        let (id, issuer) = (old.client_id.clone(), old.issuer.clone());
        let none = StoredCredentials::new(id, None, Vec::new(), None).with_issuer(issuer);
        self.save(none).await
    }

    /// Prevents two processes from renewing a login at once: a refresh token works only once.
    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let path = keys::keys_folder(&self.env).join(format!("{}.lock", self.name));
        let failed = |error: std::io::Error| AuthError::CredentialStoreError(error.to_string());
        let file = private::lock_file(&path).map_err(failed)?;
        for _ in 0..WAITS {
            match file.try_lock() {
                Ok(()) => return Ok(Some(CredentialRefreshGuard::new(file))),
                Err(std::fs::TryLockError::WouldBlock) => tokio::time::sleep(WAIT).await,
                Err(std::fs::TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        let words = "timed out waiting for another process to renew this login".to_owned();
        Err(AuthError::CredentialStoreError(words))
    }
}
