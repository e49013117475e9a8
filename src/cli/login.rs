//! `interline login`: the providers, and storing a provider's key.

use crate::config::Config;
use crate::config::ProviderConfig;
use crate::config::load::ClientSettings;
use crate::env::Env;
use crate::provider::keys::Keys;
use crate::terminal;

/// Where a provider's keys are made.
const PAGES: [(&str, &str); 4] = [
    ("anthropic", "https://console.anthropic.com/settings/keys"),
    ("openai", "https://platform.openai.com/api-keys"),
    ("openai-chat", "https://platform.openai.com/api-keys"),
    ("gemini", "https://aistudio.google.com/apikey"),
];

/// Asks for a provider's key and stores it; without a provider, lists them.
pub fn login(env: &Env, provider: Option<&str>) -> anyhow::Result<i32> {
    let config = crate::config::load::load(env, &ClientSettings::default()).config;
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
    let path = crate::provider::keys::login(env, provider, secret)?;
    terminal::print(&format!(
        "Stored in {} (mode 0600). Try it: interline run \"Explain this project\"",
        path.display()
    ));
    Ok(0)
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
