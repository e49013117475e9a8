//! Applies a turn's overrides to the session at the turn's end: its model and layout.

use std::sync::Arc;

use super::{Actor, Own};
use crate::session::layouts::load_layout;

impl Actor {
    /// An unavailable choice is reported, and the session stays unchanged.
    pub(super) fn take_choices(&mut self) {
        let (changed, model, layout) = self.state.with_settings(|it| it.choices.take_pending());
        if !changed {
            return;
        }
        let mut problems = Vec::new();
        if let Some(name) = model {
            let config = self.settings().config.clone();
            match self.parts.shared.providers.resolve(&config, Some(&name)) {
                Ok(model) => self.parts.model = Own::chosen(model.name),
                Err(failure) => problems.push(failure.sentences()),
            }
        }
        if let Some(name) = layout {
            match load_layout(&self.parts.shared, &name) {
                Ok(layout) => {
                    self.parts.layout = Arc::new(layout);
                    self.state
                        .with_settings(|settings| settings.uninvited.layout = false);
                }
                Err(failure) => problems.push(failure.sentences()),
            }
        }
        for words in problems {
            self.host().message(&words);
        }
        self.record_settings();
    }
}
