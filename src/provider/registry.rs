//! The providers and models that settings, environment and `models.toml` define. Resolving a name
//! needs no key and no network: keys are fetched when a request is made.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::config::{Config, ProviderConfig};
use crate::conversation::request::{Effort, Thinking};
use crate::conversation::{Failure, FailureKind, ModelFacts};
use crate::env::Env;
use crate::env::order;

use super::Provider;
use super::anthropic::{self, Anthropic};
use super::gemini::{self, Gemini};
use super::keys::{Keys, needs_key, remove_stored};
use super::models::Models;
use super::openai;
use super::openai_chat::OpenAiChat;
use super::openai_responses::OpenAiResponses;
use super::recording::{Recorded, Recording};
use super::replay::Replay;

/// Built-in names. The default is the first of [`DEFAULT_ORDER`] that has a key.
const NAMES: [&str; 4] = ["anthropic", "openai", "openai-chat", "gemini"];
const DEFAULT_ORDER: [&str; 3] = ["anthropic", "openai", "gemini"];

/// Most output tokens of the request that tests a key: the least that all providers accept.
const TEST_TOKENS: u64 = 16;

/// A model that is ready for requests.
#[derive(Clone)]
pub struct Model {
    /// Selects the prompt templates: `name`, or for a recording the model that was recorded.
    pub family: String,
    /// `<provider name>/<id>`.
    pub name: String,
    /// The id at its provider.
    pub id: String,
    pub provider: Arc<dyn Provider>,
    pub facts: Arc<ModelFacts>,
}

impl Model {
    /// The same model with this effort of thinking; `None` leaves it to the provider.
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

/// All providers of a process. Secrets set by a client are kept here only.
pub struct Providers {
    env: Env,
    keys: Arc<Keys>,
    /// One instance per name, so that its connections are shared; replaced when its settings
    /// change.
    made: Mutex<HashMap<String, Made>>,
    recording: OnceLock<Recording>,
}

/// What a failure says if no provider has a key.
pub const NO_KEY: &str = "no API key found";

impl Providers {
    pub fn new(env: Env) -> Arc<Self> {
        Arc::new(Self {
            keys: Arc::new(Keys::new(env.clone())),
            env,
            made: Mutex::default(),
            recording: OnceLock::new(),
        })
    }

    /// Records all answers. Only the first call has an effect, and it must precede all requests.
    pub fn record(&self, recording: Recording) {
        let _ = self.recording.set(recording);
    }

    /// The model called `name`, or the default one.
    pub fn resolve(&self, config: &Config, name: Option<&str>) -> Result<Model, Failure> {
        let name = name.or(config.model.as_deref()).map(str::trim);
        let name = match name {
            None | Some("" | "default") => return self.first_with_key(config),
            Some(name) => config.model_aliases.get(name).map_or(name, String::as_str),
        };
        let Some((provider, id)) = name.split_once('/') else {
            return Err(Failure::new(
                FailureKind::NoModel,
                format!("{name:?} is not a model's name"),
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

    /// Names to offer in `initialize` and `interline/status`.
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

    /// Sets a key from the editor's secret store (memory only).
    pub fn set_secret(&self, provider: &str, secret: String) {
        if let Some(recording) = self.recording.get() {
            recording.hide(&secret);
        }
        self.keys.set(provider, secret);
    }

    /// For each of these models its provider, whether that has a key or needs none, and the model's
    /// context window if it is known.
    pub fn details(&self, config: &Config, names: &[String]) -> Vec<(String, bool, Option<u64>)> {
        let user = self.user_models().unwrap_or_default();
        let one = |name: &String| self.detail(config, &user, name);
        names.iter().map(one).collect()
    }

    fn detail(&self, config: &Config, user: &Models, name: &str) -> (String, bool, Option<u64>) {
        let known = config.model_aliases.get(name).map_or(name, String::as_str);
        let (provider, id) = match known.split_once('/') {
            Some(("replay", _)) => return ("replay".to_owned(), true, None),
            Some(parts) => parts,
            None => return (String::new(), self.has_key(config), None),
        };
        let own = config.providers.get(provider).cloned().unwrap_or_default();
        let ready = self.keys.has(provider, &own) || !needs_key(provider, &own);
        let facts = Models::facts(user, id);
        let window = facts.known.then_some(facts.context);
        (provider.to_owned(), ready, window)
    }

    /// The provider's default model for one short request, with `secret` as its key, which is not
    /// kept.
    pub fn to_test(
        &self,
        config: &Config,
        provider: &str,
        secret: Option<String>,
    ) -> Result<Model, Failure> {
        let mut model = self.of_provider(config, provider, "default")?;
        model.facts = Arc::new(ModelFacts {
            max_output: TEST_TOKENS,
            thinking: Thinking::None,
            ..ModelFacts::clone(&model.facts)
        });
        if let Some(secret) = secret {
            if let Some(recording) = self.recording.get() {
                recording.hide(&secret);
            }
            let keys = Keys::new(self.env.clone());
            keys.set(provider, secret);
            let own = config.providers.get(provider).cloned().unwrap_or_default();
            model.provider = self.adapter(provider, &own, Arc::new(keys))?;
        }
        Ok(model)
    }

    /// Forgets every key that was stored or set; returns the providers that still have one.
    pub fn forget_keys(&self, config: &Config) -> Result<Vec<String>, Failure> {
        let own = config.providers.keys().map(String::as_str);
        let names = order::set(NAMES.into_iter().chain(own));
        let nothing = ProviderConfig::default();
        let mut left = Vec::new();
        for name in names {
            self.keys.set(name, String::new());
            remove_stored(&self.env, name).map_err(|error| {
                Failure::new(
                    FailureKind::Storage,
                    format!("The key of {name} was not deleted: {error}."),
                    "Make the state folder writable, and log out again.",
                )
            })?;
            let own = config.providers.get(name).unwrap_or(&nothing);
            if self.keys.has(name, own) {
                left.push(name.to_owned());
            }
        }
        Ok(left)
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
            NO_KEY,
            "run `interline login anthropic` (or openai, gemini), set ANTHROPIC_API_KEY, \
             OPENAI_API_KEY or GEMINI_API_KEY, or use your editor's command for keys; \
             docs/models.md lists other ways",
        ))
    }

    fn recorded(&self, id: &str) -> Result<Model, Failure> {
        let replay = match id {
            "@demo" => Replay::demo()?,
            "" => {
                return Err(Failure::new(
                    FailureKind::NoModel,
                    "replay/ does not name a recording",
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
                // A recording costs nothing, whatever its model costs.
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
                format!("there is no provider called {name:?}"),
                format!(
                    "choose one of {}, or add your own under `providers.{name}` in config.toml",
                    known.join(", ")
                ),
            ));
        }
        let api = own.api.as_deref().unwrap_or(name);
        if !NAMES.contains(&api) {
            return Err(Failure::new(
                FailureKind::Invalid,
                format!("the provider {name} has an unknown api: {api:?}"),
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
            tracing::warn!(model = %id, "unknown model: using safe defaults; see models.toml");
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
        let mut made = self.made.lock();
        if let Some((known, provider)) = made.get(name)
            && known == config
        {
            return Ok(Arc::clone(provider));
        }
        let provider = self.adapter(name, config, Arc::clone(&self.keys))?;
        let api = config.api.as_deref().unwrap_or(name);
        let provider = match self.recording.get() {
            Some(recording) => {
                Arc::new(Recorded::new(provider, api, recording.clone())) as Arc<dyn Provider>
            }
            None => provider,
        };
        made.insert(name.to_owned(), (config.clone(), Arc::clone(&provider)));
        Ok(provider)
    }

    fn adapter(
        &self,
        name: &str,
        config: &ProviderConfig,
        keys: Arc<Keys>,
    ) -> Result<Arc<dyn Provider>, Failure> {
        let base = self.base_url(name, config)?;
        let env = self.env.clone();
        Ok(match config.api.as_deref().unwrap_or(name) {
            "gemini" => Arc::new(Gemini::new(name, &base, config, keys, env)?),
            "openai" => Arc::new(OpenAiResponses::new(name, &base, config, keys, env)?),
            "openai-chat" => Arc::new(OpenAiChat::new(name, &base, config, keys, env)?),
            _ => Arc::new(Anthropic::new(name, &base, config, keys, env)?),
        })
    }

    /// The configured address, or the variable's, or the provider's own. A provider that the user
    /// added must name one: a key must not go to an address that no one chose.
    fn base_url(&self, name: &str, config: &ProviderConfig) -> Result<String, Failure> {
        let variable = || match name {
            "anthropic" => self.env.var("ANTHROPIC_BASE_URL"),
            "gemini" => self.env.var("GEMINI_BASE_URL"),
            "openai" | "openai-chat" => self.env.var("OPENAI_BASE_URL"),
            _ => None,
        };
        if let Some(base) = config.base_url.as_deref().or_else(variable) {
            return Ok(base.to_owned());
        }
        match name {
            "anthropic" => return Ok(anthropic::ADDRESS.to_owned()),
            "openai" | "openai-chat" => return Ok(openai::ADDRESS.to_owned()),
            "gemini" => return Ok(gemini::ADDRESS.to_owned()),
            _ => {}
        }
        Err(Failure::new(
            FailureKind::Invalid,
            format!("the provider {name} has no base URL"),
            format!("set `providers.{name}.baseUrl` in config.toml"),
        ))
    }
}
