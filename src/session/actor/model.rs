//! Chooses the model of the session's turns and notifies the user about it.

use std::sync::Arc;

use super::{Actor, Own};
use crate::agent::compact;
use crate::config::Config;
use crate::conversation::{ContextUse, Event, Failure, Mode};
use crate::provider::Model;

/// A model, and what it was resolved from.
pub(super) struct Resolved {
    own: Own,
    config: Arc<Config>,
    mode: Mode,
    model: Model,
}

impl Actor {
    /// The model of a turn that begins now.
    pub(super) fn model(&self) -> Result<Model, Failure> {
        let model = match self.known() {
            Some(known) => known.model.clone(),
            None => self.resolve()?.model,
        };
        Ok(model.thinking(self.settings().effort()))
    }

    /// What was just resolved, if it would be the same now.
    fn known(&self) -> Option<&Resolved> {
        let settings = self.settings();
        self.resolved.as_ref().filter(|known| {
            known.own == self.parts.model
                && known.mode == settings.mode
                && Arc::ptr_eq(&known.config, &settings.config)
        })
    }

    pub(super) fn resolve(&self) -> Result<Resolved, Failure> {
        let settings = self.settings();
        let (own, config, mode) = (&self.parts.model, &settings.config, settings.mode);
        let model = own.model(&self.parts.shared.providers, config, mode)?;
        Ok(Resolved {
            own: own.clone(),
            config: config.clone(),
            mode,
            model,
        })
    }

    /// The model without routing.
    pub(super) fn unrouted(&self) -> String {
        let default = || {
            let settings = self.settings();
            let (config, own) = (&settings.config, &self.parts.model);
            if let Some(known) = self.known()
                && !own.follows_routing(config, settings.mode)
            {
                return known.model.name.clone();
            }
            let model = self.parts.shared.providers.resolve(config, None);
            model.map(|model| model.name).unwrap_or_default()
        };
        self.parts.model.name.clone().unwrap_or_else(default)
    }

    /// Notices about a turn's model.
    pub(super) fn rerouted(&self, model: &Model) -> Option<Event> {
        let settings = self.settings();
        let before = self
            .state
            .with_conversation(|it| it.baseline.as_ref().map(|it| it.model.clone()));
        let before = before.unwrap_or_else(|| self.unrouted());
        let (own, mode) = (&self.parts.model, settings.mode);
        let text = own.model_notice(&settings.config, mode, &before, &model.name)?;
        Some(Event::Notice { text })
    }

    /// The name of the model that a turn would use now.
    pub(super) fn model_name(&self) -> String {
        match &self.parts.model {
            Own {
                name: Some(name),
                routed: false,
            } => name.clone(),
            _ => self
                .model()
                .map_or_else(|_| self.unrouted(), |model| model.name),
        }
    }

    /// How full the context window of the next turn's model is.
    pub(super) fn context_use(&self) -> Option<ContextUse> {
        let model = self.model().ok()?;
        Some(ContextUse {
            used: self.state.with_conversation(|it| compact::total(it)),
            window: model.facts.context,
        })
    }

    /// Applies the user's choice; an empty name returns to the settings.
    pub(super) fn chosen_model(&self, name: &str) -> Result<Own, Failure> {
        let routed = name.trim().is_empty();
        let name = (!routed).then_some(name);
        let config = self.settings().config.clone();
        let model = self.parts.shared.providers.resolve(&config, name)?;
        let name = Some(model.name);
        Ok(Own { name, routed })
    }
}
