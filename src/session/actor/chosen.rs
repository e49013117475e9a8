//! Taking up what a turn's tools chose for the session: its model and layout, at the turn's end.

use std::sync::{Arc, PoisonError};

use super::{Actor, Own, load_layout};

impl Actor {
    /// What cannot be had is told, and the session stays as it was.
    pub(super) fn take_choices(&mut self) {
        let (changed, model, layout) = {
            let mut settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
            settings.choices.take()
        };
        if !changed {
            return;
        }
        let mut told = Vec::new();
        if let Some(name) = model {
            let config = self.settings().config;
            match self.parts.shared.providers.resolve(&config, Some(&name)) {
                Ok(model) => self.parts.model = Own::chosen(model.name),
                Err(failure) => told.push(failure.words()),
            }
        }
        if let Some(name) = layout {
            match load_layout(&self.parts.shared, &name) {
                Ok(layout) => {
                    self.parts.layout = Arc::new(layout);
                    self.settings_mut(|settings| settings.uninvited.layout = false);
                }
                Err(failure) => told.push(failure.words()),
            }
        }
        for words in told {
            self.host().message(&words);
        }
        self.record_settings();
    }
}
