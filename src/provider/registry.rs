//! Which providers and models there are, out of settings, environment and `models.toml`.
//! Resolving a name needs no key and no network; keys are fetched when a request is made.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::config::{Config, ProviderConfig};
use crate::conversation::request::Effort;
use crate::conversation::{Failure, FailureKind, ModelFacts};
use crate::env::Env;

use super::Provider;
use super::anthropic::Anthropic;
use super::gemini::{self, Gemini};
use super::keys::{self, Keys};
use super::models::Models;
use super::openai;
use super::openai_chat::OpenAiChat;
use super::openai_responses::OpenAiResponses;
use super::recording::{Recorded, Recording};
use super::replay::Replay;

/// Built-in names, in the order in which a default is looked for; `openai-chat` never is one.
const NAMES: [&str; 4] = ["anthropic", "openai", "openai-chat", "gemini"];
const DEFAULT_ORDER: [&str; 3] = ["anthropic", "openai", "gemini"];

/// A model ready to be asked.
#[derive(Clone)]
pub struct Model {
    /// What prompt templates are chosen by: `name`, or for a recording the model it was made of.
    pub family: String,
    /// `<provider name>/<id>`.
    pub name: String,
    /// The id at its provider.
    pub id: String,
    pub provider: Arc<dyn Provider>,
    pub facts: Arc<ModelFacts>,
}

impl Model {
    /// The same model, asked to think so much; `None`: as its provider has it.
    pub fn thinking(mut self, effort: Option<Effort>) -> Self {
        if effort.is_some() {
            Arc::make_mut(&mut self.facts).effort = effort;
        }
        self
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model")
            .field("name", &self.name)
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

type Made = (ProviderConfig, Arc<dyn Provider>);

/// All providers of a process; secrets set by a client live here and nowhere else.
pub struct Providers {
    env: Env,
    keys: Arc<Keys>,
    /// One instance a name, so that its connections are shared; made anew when its settings
    /// change.
    made: Mutex<HashMap<String, Made>>,
    recording: OnceLock<Recording>,
}

impl Providers {
    pub fn new(env: Env) -> Arc<Self> {
        Arc::new(Self {
            keys: Arc::new(Keys::new(env.clone())),
            env,
            made: Mutex::default(),
            recording: OnceLock::new(),
        })
    }

    /// Keeps all answers from now on. The first call counts, before any request.
    pub fn record(&self, recording: Recording) {
        let _ = self.recording.set(recording);
    }

    /// The model of that name, or the default one (`None`). No key and no network are needed
    /// to resolve: keys are fetched when a request is made.
    pub fn resolve(&self, config: &Config, name: Option<&str>) -> Result<Model, Failure> {
        let name = name.or(config.model.as_deref()).map(str::trim);
        let name = match name {
            None | Some("" | "default") => return self.first_with_key(config),
            Some(name) => config.model_aliases.get(name).map_or(name, String::as_str),
        };
        let Some((provider, id)) = name.split_once('/') else {
            return Err(Failure::new(
                FailureKind::NoModel,
                format!("{name:?} names no model"),
                format!(
                    "write <provider>/<id>, for example anthropic/{name}, or an alias from \
                     `modelAliases`"
                ),
            ));
        };
        if provider == "replay" {
            return self.recorded(id);
        }
        self.of_provider(config, provider, id)
    }

    /// Names for `initialize` and `interline/status`.
    pub fn models(&self, config: &Config) -> Vec<String> {
        let mut names: Vec<String> = config.model.iter().cloned().collect();
        let usable = |provider: &str| {
            let own = config.providers.get(provider);
            let api = own.and_then(|own| own.api.as_deref()).unwrap_or(provider);
            NAMES.contains(&api)
        };
        let user = self.user_models().unwrap_or_default();
        for models in [&user, Models::built_in()] {
            for (provider, known) in models.providers.iter().filter(|(name, _)| usable(name)) {
                let ids = known.default.iter().chain(&known.models);
                names.extend(ids.map(|id| format!("{provider}/{id}")));
            }
        }
        for (provider, own) in config.providers.iter().filter(|(name, _)| usable(name)) {
            names.extend(own.models.iter().map(|id| format!("{provider}/{id}")));
        }
        names.push("replay/@demo".to_owned());
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    /// A key that the editor's secret store holds (memory only).
    pub fn set_secret(&self, provider: &str, secret: String) {
        if let Some(recording) = self.recording.get() {
            recording.hide(&secret);
        }
        self.keys.set(provider, secret);
    }

    fn user_models(&self) -> Result<Models, Failure> {
        Models::load(&self.env.dirs.config.join("models.toml"))
    }

    /// Whether any provider has a key.
    pub fn has_key(&self, config: &Config) -> bool {
        let mut own = config.providers.iter();
        self.with_key(config).is_some() || own.any(|(name, own)| self.keys.has(name, own))
    }

    fn with_key(&self, config: &Config) -> Option<&'static str> {
        let nothing = ProviderConfig::default();
        DEFAULT_ORDER.into_iter().find(|provider| {
            let own = config.providers.get(*provider).unwrap_or(&nothing);
            self.keys.has(provider, own)
        })
    }

    fn first_with_key(&self, config: &Config) -> Result<Model, Failure> {
        if let Some(provider) = self.with_key(config) {
            return self.of_provider(config, provider, "default");
        }
        Err(Failure::new(
            FailureKind::NoModel,
            "there is no model: no provider has a key",
            "set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY; or put `apiKeyFile` or \
             `apiKeyCommand` under `[providers.anthropic]` in config.toml; or run `interline login \
             anthropic`; or store the key in the editor's secret store (interline/auth/set); or \
             name a model with the setting `model` (`replay/FILE` plays a recording without a key)",
        ))
    }

    fn recorded(&self, id: &str) -> Result<Model, Failure> {
        let replay = match id {
            "@demo" => Replay::demo()?,
            "" => {
                return Err(Failure::new(
                    FailureKind::NoModel,
                    "replay/ names no recording",
                    "name a file as replay/FILE, or replay/@demo",
                ));
            }
            path => {
                let path = PathBuf::from(path);
                let path = match path.strip_prefix("~") {
                    Ok(rest) => self.env.dirs.home.join(rest),
                    Err(_) => path,
                };
                Replay::open(id, &path)?
            }
        };
        let facts = match replay.recorded_model() {
            Some(model) => Models::facts(&Models::default(), model),
            None => ModelFacts::default(),
        };
        Ok(Model {
            family: replay
                .recorded_model()
                .map_or_else(|| format!("replay/{id}"), |model| format!("replay/{model}")),
            name: format!("replay/{id}"),
            id: id.to_owned(),
            provider: Arc::new(replay),
            facts: Arc::new(ModelFacts {
                known: true,
                // A recording costs nothing, whatever its model does.
                price: None,
                ..facts
            }),
        })
    }

    fn of_provider(&self, config: &Config, name: &str, id: &str) -> Result<Model, Failure> {
        let own = config.providers.get(name).cloned().unwrap_or_default();
        if !NAMES.contains(&name) && !config.providers.contains_key(name) {
            let known: Vec<&str> = NAMES
                .into_iter()
                .chain(config.providers.keys().map(String::as_str))
                .chain(["replay"])
                .collect();
            return Err(Failure::new(
                FailureKind::NoModel,
                format!("there is no provider {name:?}"),
                format!(
                    "known are {}; add your own under `providers.{name}` in config.toml",
                    known.join(", ")
                ),
            ));
        }
        let api = own.api.as_deref().unwrap_or(name);
        if !NAMES.contains(&api) {
            return Err(Failure::new(
                FailureKind::Invalid,
                format!("the provider {name} has no known api ({api:?})"),
                format!("set `providers.{name}.api` to one of {}", NAMES.join(", ")),
            ));
        }
        let user = self.user_models()?;
        let id = match id {
            "default" | "" => Models::default_of(&user, name)
                .or_else(|| own.models.first().cloned())
                .ok_or_else(|| {
                    Failure::new(
                        FailureKind::NoModel,
                        format!("the provider {name} has no default model"),
                        format!("write {name}/<id>, or list ids in `providers.{name}.models`"),
                    )
                })?,
            id => id.to_owned(),
        };
        let facts = Models::facts(&user, &id);
        if !facts.known {
            tracing::warn!(model = %id, "unknown model: safe defaults hold; see models.toml");
        }
        Ok(Model {
            family: format!("{name}/{id}"),
            name: format!("{name}/{id}"),
            provider: self.provider(name, &own)?,
            id,
            facts: Arc::new(facts),
        })
    }

    fn provider(&self, name: &str, config: &ProviderConfig) -> Result<Arc<dyn Provider>, Failure> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, provider)) = made.get(name)
            && known == config
        {
            return Ok(Arc::clone(provider));
        }
        let base = self.base_url(name, config)?;
        let keys = Arc::clone(&self.keys);
        let env = self.env.clone();
        let api = config.api.as_deref().unwrap_or(name);
        let provider: Arc<dyn Provider> = match api {
            "gemini" => Arc::new(Gemini::new(name, &base, config, keys, env)?),
            "openai" => Arc::new(OpenAiResponses::new(name, &base, config, keys, env)?),
            "openai-chat" => Arc::new(OpenAiChat::new(name, &base, config, keys, env)?),
            _ => Arc::new(Anthropic::new(name, &base, config, keys, env)?),
        };
        let provider = match self.recording.get() {
            Some(recording) => {
                Arc::new(Recorded::new(provider, api, recording.clone())) as Arc<dyn Provider>
            }
            None => provider,
        };
        made.insert(name.to_owned(), (config.clone(), Arc::clone(&provider)));
        Ok(provider)
    }

    /// The settings' own address, else the variable's, else the provider's. A provider of the
    /// user's own must name one: a key must not go to an address that nobody chose.
    fn base_url(&self, name: &str, config: &ProviderConfig) -> Result<String, Failure> {
        let of_env = || match name {
            "anthropic" => self.env.var("ANTHROPIC_BASE_URL"),
            "gemini" => self.env.var("GEMINI_BASE_URL"),
            "openai" | "openai-chat" => self.env.var("OPENAI_BASE_URL"),
            _ => None,
        };
        if let Some(base) = config.base_url.as_deref().or_else(of_env) {
            return Ok(base.to_owned());
        }
        match name {
            "anthropic" => return Ok("https://api.anthropic.com".to_owned()),
            "openai" | "openai-chat" => return Ok(openai::ADDRESS.to_owned()),
            "gemini" => return Ok(gemini::BASE.to_owned()),
            _ => {}
        }
        Err(Failure::new(
            FailureKind::Invalid,
            format!("the provider {name} has no address"),
            format!("set `providers.{name}.baseUrl` in config.toml"),
        ))
    }
}

/// Stores a key for `interline login`.
pub fn login(env: &Env, provider: &str, secret: &str) -> Result<PathBuf, Failure> {
    keys::login(env, provider, secret)
}
