//! Which model a turn is asked of: the one that was chosen for the session, else the one that the
//! setting `routing` has for the turn's kind of task, which its mode says, else the setting `model`.
//! Pure but for resolving names; what was chosen for a session is never routed.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::conversation::{Failure, Mode};
use crate::provider::{Model, Providers};

/// A session's own model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Own {
    /// `None`: the default one at each turn.
    pub name: Option<String>,
    /// Nobody chose it for this session.
    pub routed: bool,
}

impl Own {
    /// Somebody chose it.
    pub fn chosen(name: String) -> Self {
        Self {
            name: Some(name),
            routed: false,
        }
    }

    /// The setting for turns in `mode`, and the model that it names.
    fn route<'a>(&self, config: &'a Config, mode: Mode) -> Option<(&'static str, &'a str)> {
        config.routing.of(mode).filter(|_| self.routed)
    }

    /// The model of a turn in `mode`. One that cannot be had is an error that names the setting,
    /// never another model.
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
                "The setting {key} names no usable model: {}",
                failure.message
            ),
            ..failure
        })
    }

    /// What the user is told where a turn in `mode` is asked of `model` and the one before was
    /// asked of `before`.
    pub fn told(&self, config: &Config, mode: Mode, before: &str, model: &str) -> Option<String> {
        if !self.routed || before == model {
            return None;
        }
        let key = self.route(config, mode).map_or("model", |(key, _)| key);
        let mode = mode.as_str();
        Some(format!(
            "In mode {mode} you are answered by {model} (`{key}`)."
        ))
    }
}
