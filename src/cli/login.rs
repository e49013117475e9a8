//! `interline login`: the providers, and testing and storing a provider's key.

use std::time::Duration;

use crate::config::Config;
use crate::config::ProviderConfig;
use crate::config::load::{ClientSettings, load};
use crate::env::Env;
use crate::provider::keys::Keys;
use crate::session::Sessions;
use crate::session::api::KeyOutcome;
use crate::terminal;
use crate::workspace::Workspace;

/// How long a provider may take to accept or refuse a key.
const TESTING: Duration = Duration::from_secs(10);

/// Where a provider's keys are made.
const PAGES: [(&str, &str); 4] = [
    ("anthropic", "https://console.anthropic.com/settings/keys"),
    ("openai", "https://platform.openai.com/api-keys"),
    ("openai-chat", "https://platform.openai.com/api-keys"),
    ("gemini", "https://aistudio.google.com/apikey"),
];

/// Asks for a provider's key and stores it; without a provider, lists them.
pub fn login(env: &Env, provider: Option<&str>) -> anyhow::Result<i32> {
    let config = load(env, &ClientSettings::default()).config;
    let mut known: Vec<&str> = PAGES.iter().map(|(name, _)| *name).collect();
    let own = config.providers.keys().map(String::as_str);
    known.extend(own.filter(|name| !PAGES.iter().any(|(known, _)| known == name)));
    let Some(provider) = provider else {
        list(env, &config, &known);
        return Ok(0);
    };
    anyhow::ensure!(
        known.contains(&provider),
        "unknown provider {provider:?}. Use one of {}, or add it to config.toml first",
        known.join(", ")
    );
    if let Some((_, page)) = PAGES.iter().find(|(name, _)| *name == provider) {
        terminal::print(&format!("Keys are made at {page}"));
    }
    terminal::print(&format!("{provider} API key (it will not be shown):"));
    let secret = hidden_line()?;
    let secret = secret.trim();
    anyhow::ensure!(
        !secret.is_empty(),
        "no key was entered, so nothing was stored"
    );
    let untested = untested(env, provider, secret)?;
    let path = crate::provider::keys::login(env, provider, secret)?;
    terminal::print(&format!("Stored in {} (mode 0600).", path.display()));
    match untested {
        Some(reason) => terminal::print(&format!("The key could not be tested: {reason}")),
        None => terminal::print("It works. Try it: interline run \"Explain this project\""),
    }
    Ok(0)
}

/// Asks the provider whether it accepts the key. An error if it refuses it; why that is unknown, if
/// it is.
fn untested(env: &Env, provider: &str, secret: &str) -> anyhow::Result<Option<String>> {
    terminal::print("Testing the key...");
    let sessions = Sessions::new(
        env.clone(),
        Workspace::new(),
        load(env, &ClientSettings::default()),
    );
    let test = sessions.test_key(provider, Some(secret.to_owned()));
    let limited = async { tokio::time::timeout(TESTING, test).await };
    let tested = match super::runtime()?.block_on(limited) {
        Ok(Ok(tested)) => tested,
        Ok(Err(failure)) => return Ok(Some(failure.sentences())),
        Err(_) => {
            let seconds = TESTING.as_secs();
            return Ok(Some(format!(
                "{provider} did not answer within {seconds} s."
            )));
        }
    };
    anyhow::ensure!(
        tested.outcome != KeyOutcome::Refused,
        "{provider} refused the key, so it was not stored. Check it, and try again"
    );
    Ok(tested.error.map(|failure| failure.sentences()))
}

fn list(env: &Env, config: &Config, known: &[&str]) {
    let keys = Keys::new(env.clone());
    let nothing = ProviderConfig::default();
    let mut with_key = None;
    terminal::print("Providers:");
    for provider in known {
        let has = keys.has(
            provider,
            config.providers.get(*provider).unwrap_or(&nothing),
        );
        if has {
            with_key = with_key.or(Some(*provider));
        }
        let what = match (has, PAGES.iter().find(|(name, _)| name == provider)) {
            (true, _) => "has a key".to_owned(),
            (false, Some((_, page))) => format!("no key; keys are made at {page}"),
            (false, None) => "no key".to_owned(),
        };
        terminal::print(&format!("  {provider:<12} {what}"));
    }
    terminal::print("\nStore a key:  interline login anthropic");
    if with_key.is_some() {
        terminal::print("Try it:       interline run \"Explain this project\"");
    }
}

/// `interline acp --login`, which ACP clients run in a terminal: asks for the provider too.
pub fn login_by_name(env: &Env) -> anyhow::Result<i32> {
    terminal::print(
        "Provider (anthropic, openai, gemini, or a name from config.toml) [anthropic]:",
    );
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    match line.trim() {
        "" => login(env, Some("anthropic")),
        provider => login(env, Some(provider)),
    }
}

/// One line of stdin, not echoed if stdin is a terminal.
fn hidden_line() -> anyhow::Result<String> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    let stdin = std::io::stdin();
    let before = tcgetattr(&stdin).ok();
    if let Some(before) = &before {
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&stdin, OptionalActions::Flush, &silent)?;
    }
    let mut line = String::new();
    let read = stdin.read_line(&mut line);
    if let Some(before) = &before {
        tcsetattr(&stdin, OptionalActions::Flush, before)?;
    }
    read?;
    Ok(line)
}
