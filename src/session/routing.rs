//! Chooses a turn's model: the one chosen for the session, else the setting `routing` for the
//! turn's mode, else the setting `model`. Pure but for resolving names; a session's own choice is
//! never routed.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::conversation::entry::StoredSettings;
use crate::conversation::{Failure, Mode};
use crate::provider::{Model, Providers};

/// A session's own model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Own {
    /// `None`: the default one at each turn.
    pub name: Option<String>,
    /// The session has no explicit choice.
    pub routed: bool,
}

impl Own {
    /// As a log stores it.
    pub fn stored(settings: &StoredSettings) -> Self {
        Self {
            name: Some(settings.model.clone()).filter(|name| !name.is_empty()),
            routed: settings.routed,
        }
    }

    /// Someone chose it.
    pub fn chosen(name: String) -> Self {
        Self {
            name: Some(name),
            routed: false,
        }
    }

    /// The routing setting for turns in `mode`, and the model that it names.
    fn route<'a>(&self, config: &'a Config, mode: Mode) -> Option<(&'static str, &'a str)> {
        config.routing.of(mode).filter(|_| self.routed)
    }

    /// Whether a routing setting chooses the model of turns in `mode`.
    pub fn follows_routing(&self, config: &Config, mode: Mode) -> bool {
        self.route(config, mode).is_some()
    }

    /// The model of a turn in `mode`. An unavailable one is an error that names the setting, never
    /// another model.
    pub fn model(
        &self,
        providers: &Providers,
        config: &Config,
        mode: Mode,
    ) -> Result<Model, Failure> {
        let Some((key, name)) = self.route(config, mode) else {
            return providers.resolve(config, self.name.as_deref());
        };
        let model = providers.resolve(config, Some(name));
        model.map_err(|failure| Failure {
            message: format!(
                "The model in the setting {key} cannot be used: {}",
                failure.message
            ),
            ..failure
        })
    }

    /// The notice if a turn in `mode` uses `model` and the previous one used `before`.
    pub fn model_notice(
        &self,
        config: &Config,
        mode: Mode,
        before: &str,
        model: &str,
    ) -> Option<String> {
        if !self.routed || before == model {
            return None;
        }
        let key = self.route(config, mode).map_or("model", |(key, _)| key);
        let mode = mode.as_str();
        Some(format!("In mode {mode}, {model} answers (`{key}`)."))
    }
}
