//! Chooses the model of the session's turns and notifies the user about it.

use super::{Actor, Own};
use crate::conversation::{Event, Failure};
use crate::provider::Model;

impl Actor {
    /// The model of a turn that begins now.
    pub(super) fn model(&self) -> Result<Model, Failure> {
        let settings = self.settings();
        let providers = &self.parts.shared.providers;
        let model = self
            .parts
            .model
            .model(providers, &settings.config, settings.mode)?;
        Ok(model.thinking(settings.effort()))
    }

    /// The model without routing.
    pub(super) fn unrouted(&self) -> String {
        let default = || {
            let config = self.settings().config.clone();
            let model = self.parts.shared.providers.resolve(&config, None);
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
