//! Keys of providers: where one may come from, in which order, and the file that `interline login`
//! writes. A key is never shown. A configured source that fails is an error that names it, never a
//! silent fallback to the next source.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;
use secrecy::{ExposeSecret as _, SecretString};

use crate::config::ProviderConfig;
use crate::conversation::{Failure, FailureKind};
use crate::env::Env;
use crate::process::pipe_command;

const COMMAND_TIME: Duration = Duration::from_secs(10);
/// Most bytes of a key.
const KEY_LIMIT: u64 = 64 << 10;

/// The keys of a process.
#[derive(Debug)]
pub struct Keys {
    env: Hidden,
    /// Set by a client, in memory only.
    secrets: Mutex<HashMap<String, SecretString>>,
    /// What key commands printed. Each runs once.
    commands: tokio::sync::Mutex<HashMap<String, (Vec<String>, SecretString)>>,
    command_time: Duration,
}

/// The environment contains keys, so it is never printed.
struct Hidden(Env);

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Env")
    }
}

impl Keys {
    pub fn new(env: Env) -> Self {
        Self {
            env: Hidden(env),
            secrets: Mutex::default(),
            commands: tokio::sync::Mutex::default(),
            command_time: COMMAND_TIME,
        }
    }

    /// Sets a key from the editor's secret store; an empty one removes it.
    pub fn set(&self, provider: &str, secret: String) {
        let secret = SecretString::from(secret);
        let mut secrets = self.secrets.lock();
        if secret.expose_secret().trim().is_empty() {
            secrets.remove(provider);
        } else {
            self.env.0.secrets().add(secret.expose_secret());
            secrets.insert(provider.to_owned(), secret);
        }
    }

    /// Forgets what a key command printed, so that it runs again.
    pub fn forget(&self, provider: &str) {
        if let Ok(mut commands) = self.commands.try_lock() {
            commands.remove(provider);
        }
    }

    /// Whether a source of a key is configured, without running a command or reading a secret.
    pub fn has(&self, provider: &str, config: &ProviderConfig) -> bool {
        self.secrets.lock().contains_key(provider)
            || self.variable_value(provider, config).is_some()
            || config.api_key_file.is_some()
            || config.api_key_command.is_some()
            || is_stored(&self.env.0, provider)
            || config.literal_key.is_some()
    }

    /// The key: client's secret > variable > file > command > `interline login` > plain text in
    /// the user's `etcode.json`. From now on it is removed from all that leaves the process.
    pub async fn find(
        &self,
        provider: &str,
        config: &ProviderConfig,
    ) -> Result<Option<SecretString>, Failure> {
        let found = self.find_first(provider, config).await?;
        if let Some(key) = &found {
            self.env.0.secrets().add(key.expose_secret());
        }
        Ok(found)
    }

    async fn find_first(
        &self,
        provider: &str,
        config: &ProviderConfig,
    ) -> Result<Option<SecretString>, Failure> {
        if let Some(secret) = self.secrets.lock().get(provider) {
            return Ok(Some(secret.clone()));
        }
        if let Some(value) = self.variable_value(provider, config) {
            return Ok(Some(SecretString::from(value.trim())));
        }
        if let Some(path) = &config.api_key_file {
            let path = expand(&self.env.0, path);
            return read(&path, "apiKeyFile").map(Some);
        }
        if let Some(argv) = &config.api_key_command {
            return self.command(provider, argv).await.map(Some);
        }
        let stored = stored(&self.env.0, provider, "interline login")?;
        Ok(stored.or_else(|| config.literal_key.as_ref().map(|key| key.0.clone())))
    }

    /// The value of the first variable that is set.
    fn variable_value(&self, provider: &str, config: &ProviderConfig) -> Option<&str> {
        let own = variable(provider, config)?;
        // Google's own tools read a second variable.
        let second = (own == "GEMINI_API_KEY").then_some("GOOGLE_API_KEY");
        let mut names = std::iter::once(own).chain(second);
        names.find_map(|name| self.env.0.var(name))
    }

    async fn command(&self, provider: &str, argv: &[String]) -> Result<SecretString, Failure> {
        // Locked while the command runs: two requests at once run it once.
        let mut commands = self.commands.lock().await;
        if let Some((known, secret)) = commands.get(provider)
            && known == argv
        {
            return Ok(secret.clone());
        }
        let home = &self.env.0.dirs.home;
        let folder = if home.is_dir() { home } else { Path::new("/") };
        let secret = run(argv, folder, self.command_time).await;
        let secret = secret.map_err(|reason| {
            let program = argv.first().map_or("", String::as_str);
            failure(
                format!("the apiKeyCommand {program:?} of {provider} printed no key: {reason}"),
                "run the command in your home folder: it must print the key within 10 s and exit with \
                 0; it runs without a shell and without input",
            )
        })?;
        commands.insert(provider.to_owned(), (argv.to_vec(), secret.clone()));
        Ok(secret)
    }
}

/// Runs `argv` without a shell or input. Its folder is never the server's: that may be a workspace,
/// whose files must not decide what runs. As a filter, because the user's own command needs their
/// whole environment and nothing of its output may be stored.
async fn run(argv: &[String], folder: &Path, time: Duration) -> Result<SecretString, String> {
    let limits = pipe_command::Limits {
        time,
        output: KEY_LIMIT,
        quotes: false,
    };
    let output = pipe_command::filter(argv, folder, b"", limits).await?;
    let text = String::from_utf8(output).map_err(|_| "its output is not text")?;
    match text.trim() {
        "" => Err("it printed nothing".to_owned()),
        key => Ok(SecretString::from(key)),
    }
}

fn failure(message: String, hint: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Auth, message, hint)
}

/// The variable that may hold the key: the configured one, else the provider's own.
fn variable<'a>(provider: &str, config: &'a ProviderConfig) -> Option<&'a str> {
    match (&config.api_key_env, provider) {
        (Some(name), _) => Some(name),
        (None, "anthropic") => Some("ANTHROPIC_API_KEY"),
        (None, "openai" | "openai-chat") => Some("OPENAI_API_KEY"),
        (None, "gemini") => Some("GEMINI_API_KEY"),
        _ => None,
    }
}

/// A provider that the user added (a model on this machine) works without a key unless the settings
/// name a source of one.
pub fn needs_key(provider: &str, config: &ProviderConfig) -> bool {
    variable(provider, config).is_some()
        || config.api_key_file.is_some()
        || config.api_key_command.is_some()
        || config.literal_key.is_some()
}

/// All ways to provide a key, as a sentence.
pub fn ways(provider: &str, config: &ProviderConfig) -> String {
    let variable = match variable(provider, config) {
        Some(name) => format!("set {name}"),
        None => format!("set `providers.{provider}.apiKeyEnv` to a variable's name"),
    };
    format!(
        "run `interline login {provider}`, or {variable}, or set `providers.{provider}.apiKeyFile` \
         or `apiKeyCommand` in config.toml, or use your editor's command for keys"
    )
}

fn read(path: &Path, what: &str) -> Result<SecretString, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        failure(
            format!(
                "the key file {} ({what}) cannot be read: {error}",
                path.display()
            ),
            "make it a readable text file that holds only the key, or remove the setting",
        )
    })?;
    match text.trim() {
        "" => Err(failure(
            format!("the key file {} ({what}) is empty", path.display()),
            "write the key to it, or remove the setting",
        )),
        key => Ok(SecretString::from(key)),
    }
}

/// Replaces `~/` by the home folder. Relative paths start in the config folder.
pub fn expand(env: &Env, path: &Path) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(rest) => env.dirs.home.join(rest),
        Err(_) => env.dirs.config.join(path),
    }
}

/// Where secrets are stored.
pub fn keys_folder(env: &Env) -> PathBuf {
    env.dirs.state.join("keys")
}

/// Where `interline login` stores the key; `None` for a name that cannot be a file's.
fn login_file(env: &Env, provider: &str) -> Option<PathBuf> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (!provider.is_empty() && provider.chars().all(plain)).then(|| keys_folder(env).join(provider))
}

fn refuse_if_readable_by_others(path: &Path) -> Result<(), Failure> {
    let mode = std::fs::metadata(path).map_or(0, |meta| meta.permissions().mode());
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(failure(
        format!("other users can read the key file {}", path.display()),
        format!(
            "run `chmod 600 {}`, and replace the key if someone may have read it",
            path.display()
        ),
    ))
}

/// Stores `secret` for `provider` in a 0600 file below a 0700 folder and returns its path.
pub fn login(env: &Env, provider: &str, secret: &str) -> Result<PathBuf, Failure> {
    let path = login_file(env, provider).ok_or_else(|| {
        Failure::new(
            FailureKind::Invalid,
            format!("{provider:?} is not a valid provider name"),
            "use letters, digits, - and _: `interline login anthropic`",
        )
    })?;
    if secret.trim().is_empty() {
        return Err(failure(
            "the key is empty, so nothing was stored".to_owned(),
            "run the command again and paste the key",
        ));
    }
    store(env, provider, secret.trim())?;
    Ok(path)
}

/// Stores a secret beside the keys, in a 0600 file below a 0700 folder. `name` has letters, digits,
/// `-` and `_` only.
pub fn store(env: &Env, name: &str, secret: &str) -> Result<(), Failure> {
    let path = login_file(env, name).unwrap_or_else(|| keys_folder(env).join("unnamed"));
    write(&keys_folder(env), &path, secret).map_err(|error| {
        failure(
            format!("could not store the key in {}: {error}", path.display()),
            "make the state folder writable, or use apiKeyFile or apiKeyCommand",
        )
    })
}

/// The secret that [`store`] stored as `name`; `what` is for errors. A file that others can read is
/// refused.
pub fn stored(env: &Env, name: &str, what: &str) -> Result<Option<SecretString>, Failure> {
    match login_file(env, name) {
        Some(path) if path.exists() => {
            refuse_if_readable_by_others(&path)?;
            read(&path, what).map(Some)
        }
        _ => Ok(None),
    }
}

/// Whether a secret is stored as `name`.
pub fn is_stored(env: &Env, name: &str) -> bool {
    login_file(env, name).is_some_and(|path| path.exists())
}

/// Removes the secret stored as `name`. Whether there was one.
pub fn remove_stored(env: &Env, name: &str) -> std::io::Result<bool> {
    let Some(path) = login_file(env, name) else {
        return Ok(false);
    };
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn write(folder: &Path, path: &Path, secret: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    // A temporary file is created with 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(secret.as_bytes())?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
