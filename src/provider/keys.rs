//! Keys of providers: where one may come from, in which order, and the file that
//! `interline login` writes. A key is shown nowhere; a configured place that fails is an error
//! that names it, never a silent step to the next place.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use tokio::io::AsyncReadExt as _;

use crate::config::ProviderConfig;
use crate::conversation::{Failure, FailureKind};
use crate::env::Env;

const COMMAND_TIME: Duration = Duration::from_secs(10);
/// No key is longer.
const KEY_LIMIT: u64 = 64 << 10;

/// The keys of a process.
#[derive(Debug)]
pub struct Keys {
    env: Held,
    /// Given by a client; memory only.
    secrets: Mutex<HashMap<String, SecretString>>,
    /// Output of key commands: each runs once.
    commands: tokio::sync::Mutex<HashMap<String, (Vec<String>, SecretString)>>,
    command_time: Duration,
}

/// The environment holds keys, so it is never printed.
struct Held(Env);

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Env")
    }
}

impl Keys {
    pub fn new(env: Env) -> Self {
        Self {
            env: Held(env),
            secrets: Mutex::default(),
            commands: tokio::sync::Mutex::default(),
            command_time: COMMAND_TIME,
        }
    }

    /// A key from the editor's secret store; an empty one takes it back.
    pub fn set(&self, provider: &str, secret: String) {
        let secret = SecretString::from(secret);
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        if secret.expose_secret().trim().is_empty() {
            secrets.remove(provider);
        } else {
            self.env.0.secrets().add(secret.expose_secret());
            secrets.insert(provider.to_owned(), secret);
        }
    }

    /// Drops what a key command printed, so that it is asked again.
    pub fn forget(&self, provider: &str) {
        if let Ok(mut commands) = self.commands.try_lock() {
            commands.remove(provider);
        }
    }

    /// Whether some place would give a key, without running a command or reading a secret.
    pub fn has(&self, provider: &str, config: &ProviderConfig) -> bool {
        let given = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        given.contains_key(provider)
            || self.of_variable(provider, config).is_some()
            || config.api_key_file.is_some()
            || config.api_key_command.is_some()
            || is_kept(&self.env.0, provider)
            || config.literal_key.is_some()
    }

    /// The key: client's secret > variable > file > command > `interline login` > plain text in
    /// the user's `etcode.json`. From now on nothing that leaves the process has it.
    pub async fn find(
        &self,
        provider: &str,
        config: &ProviderConfig,
    ) -> Result<Option<SecretString>, Failure> {
        let found = self.look(provider, config).await?;
        if let Some(key) = &found {
            self.env.0.secrets().add(key.expose_secret());
        }
        Ok(found)
    }

    async fn look(
        &self,
        provider: &str,
        config: &ProviderConfig,
    ) -> Result<Option<SecretString>, Failure> {
        {
            let given = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(secret) = given.get(provider) {
                return Ok(Some(secret.clone()));
            }
        }
        if let Some(value) = self.of_variable(provider, config) {
            return Ok(Some(SecretString::from(value.trim())));
        }
        if let Some(path) = &config.api_key_file {
            let path = expand(&self.env.0, path);
            return read(&path, "apiKeyFile").map(Some);
        }
        if let Some(argv) = &config.api_key_command {
            return self.command(provider, argv).await.map(Some);
        }
        let kept = kept(&self.env.0, provider, "interline login")?;
        Ok(kept.or_else(|| config.literal_key.as_ref().map(|key| key.0.clone())))
    }

    /// What the first variable holds that is set.
    fn of_variable(&self, provider: &str, config: &ProviderConfig) -> Option<&str> {
        let own = variable(provider, config)?;
        // Google's own tools read a second one.
        let second = (own == "GEMINI_API_KEY").then_some("GOOGLE_API_KEY");
        let mut names = std::iter::once(own).chain(second);
        names.find_map(|name| self.env.0.var(name))
    }

    async fn command(&self, provider: &str, argv: &[String]) -> Result<SecretString, Failure> {
        // Held while the command runs: two requests at once ask only once.
        let mut commands = self.commands.lock().await;
        if let Some((known, secret)) = commands.get(provider)
            && known == argv
        {
            return Ok(secret.clone());
        }
        let secret = run(argv, self.command_time).await.map_err(|reason| {
            let shown = argv.first().map_or("", String::as_str);
            failure(
                format!("the apiKeyCommand {shown:?} of {provider} gave no key: {reason}"),
                "run the command by hand: it must print the key within 10 s and exit with 0; it \
                 runs without a shell and without input",
            )
        })?;
        commands.insert(provider.to_owned(), (argv.to_vec(), secret.clone()));
        Ok(secret)
    }
}

/// Runs `argv` without a shell or input, in a group of its own that dies at the deadline.
async fn run(argv: &[String], limit: Duration) -> Result<SecretString, String> {
    let (program, arguments) = argv.split_first().ok_or("it is empty")?;
    let mut command = tokio::process::Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    #[cfg(unix)]
    let group = child.id();
    let mut pipe = child.stdout.take().ok_or("it has no output")?;
    let work = async {
        let mut output = Vec::new();
        let mut limited = (&mut pipe).take(KEY_LIMIT);
        limited.read_to_end(&mut output).await?;
        Ok::<_, std::io::Error>((child.wait().await?, output))
    };
    match tokio::time::timeout(limit, work).await {
        Err(_) => {
            #[cfg(unix)]
            if let Some(group) = group
                .and_then(|id| i32::try_from(id).ok())
                .and_then(rustix::process::Pid::from_raw)
            {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            Err(format!("it did not end within {} s", limit.as_secs()))
        }
        Ok(Err(error)) => Err(error.to_string()),
        Ok(Ok((status, _))) if !status.success() => Err(format!("it ended with {status}")),
        Ok(Ok((_, output))) => {
            let text = String::from_utf8(output).map_err(|_| "its output is not text")?;
            match text.trim() {
                "" => Err("it printed nothing".to_owned()),
                key => Ok(SecretString::from(key)),
            }
        }
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

/// A provider of the user's own (a model on this machine) works without a key unless the
/// settings name a place for one.
pub fn needs_key(provider: &str, config: &ProviderConfig) -> bool {
    variable(provider, config).is_some()
        || config.api_key_file.is_some()
        || config.api_key_command.is_some()
        || config.literal_key.is_some()
}

/// All ways to give a key, as a sentence.
pub fn ways(provider: &str, config: &ProviderConfig) -> String {
    let variable = match variable(provider, config) {
        Some(name) => format!("set {name}"),
        None => format!("set `providers.{provider}.apiKeyEnv` to a variable's name"),
    };
    format!(
        "give a key: {variable}, or set `providers.{provider}.apiKeyFile` or `apiKeyCommand` in \
         config.toml, or run `interline login {provider}`, or store it in the editor's secret \
         store (interline/auth/set)"
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
            "write the key into it, or remove the setting",
        )),
        key => Ok(SecretString::from(key)),
    }
}

/// `~/` is the home folder; relative paths begin in the config folder.
pub fn expand(env: &Env, path: &Path) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(rest) => env.dirs.home.join(rest),
        Err(_) => env.dirs.config.join(path),
    }
}

/// Where secrets are kept.
pub fn keys_folder(env: &Env) -> PathBuf {
    env.dirs.state.join("keys")
}

/// Where `interline login` keeps the key; `None` for a name that is no file's.
fn login_file(env: &Env, provider: &str) -> Option<PathBuf> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (!provider.is_empty() && provider.chars().all(plain)).then(|| keys_folder(env).join(provider))
}

#[cfg(unix)]
fn refuse_if_readable_by_others(path: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(path).map_or(0, |meta| meta.permissions().mode());
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(failure(
        format!("the key file {} is open to other users", path.display()),
        format!(
            "run `chmod 600 {}`; if others may have read it, replace the key",
            path.display()
        ),
    ))
}

#[cfg(not(unix))]
fn refuse_if_readable_by_others(_: &Path) -> Result<(), Failure> {
    Ok(())
}

/// Stores `secret` for `provider` in a 0600 file below a 0700 folder and returns its path.
pub fn login(env: &Env, provider: &str, secret: &str) -> Result<PathBuf, Failure> {
    let path = login_file(env, provider).ok_or_else(|| {
        Failure::new(
            FailureKind::Invalid,
            format!("{provider:?} is no provider's name"),
            "use letters, digits, - and _: `interline login anthropic`",
        )
    })?;
    if secret.trim().is_empty() {
        return Err(failure(
            "the key is empty: nothing was stored".to_owned(),
            "run the command again and paste the key",
        ));
    }
    keep(env, provider, secret.trim())?;
    Ok(path)
}

/// Keeps a secret beside the keys, in a 0600 file below a 0700 folder. `name` is a plain one.
pub fn keep(env: &Env, name: &str, secret: &str) -> Result<(), Failure> {
    let path = login_file(env, name).unwrap_or_else(|| keys_folder(env).join("unnamed"));
    write(&keys_folder(env), &path, secret).map_err(|error| {
        failure(
            format!("the key was not stored in {}: {error}", path.display()),
            "make the state folder writable, or use apiKeyFile or apiKeyCommand",
        )
    })
}

/// What [`keep`] kept as `name` for `what`; a file that others can read is refused.
pub fn kept(env: &Env, name: &str, what: &str) -> Result<Option<SecretString>, Failure> {
    match login_file(env, name) {
        Some(path) if path.exists() => {
            refuse_if_readable_by_others(&path)?;
            read(&path, what).map(Some)
        }
        _ => Ok(None),
    }
}

/// Whether something is kept as `name`.
pub fn is_kept(env: &Env, name: &str) -> bool {
    login_file(env, name).is_some_and(|path| path.exists())
}

/// Removes what is kept as `name`; whether there was something.
pub fn forget_kept(env: &Env, name: &str) -> std::io::Result<bool> {
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
    use std::io::Write as _;
    std::fs::create_dir_all(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    }
    // A temporary file is 0600 from its first moment.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(secret.as_bytes())?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
