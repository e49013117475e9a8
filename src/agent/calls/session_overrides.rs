//! Overrides that the `settings` tool chose for a session. They apply on top of the settings and
//! never widen them. Model and layout belong to the session and change with its next turn.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::agent::{Settings, TurnEnv};
use crate::config::keys::{self, Verdict};
use crate::config::{Config, Limits};
use crate::conversation::Mode;
use crate::tools::settings::{Change, Choice, SessionChoices};

#[cfg(test)]
mod tests;

/// The overrides of one session, until it is closed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// Pending until the next turn.
    model: Option<String>,
    layout: Option<String>,
    language: Option<String>,
    limits: BTreeMap<String, u64>,
    /// US dollars.
    cost: Option<f64>,
    /// Every overridden key.
    keys: Vec<String>,
    /// An override that the session has not taken up.
    changed: bool,
}

impl Overrides {
    /// Takes the pending overrides: whether there are any, the model, the layout.
    pub fn take_pending(&mut self) -> (bool, Option<String>, Option<String>) {
        (
            std::mem::take(&mut self.changed),
            self.model.take(),
            self.layout.take(),
        )
    }

    /// The user made another choice: drops the pending overrides.
    pub fn forget(&mut self, model: bool, layout: bool) {
        self.model = self.model.take().filter(|_| !model);
        self.layout = self.layout.take().filter(|_| !layout);
    }

    /// `config` with the overrides applied.
    pub fn apply(&self, config: Arc<Config>) -> Arc<Config> {
        if self.language.is_none() && self.limits.is_empty() && self.cost.is_none() {
            return config;
        }
        let mut config = Config::clone(&config);
        if let Some(language) = &self.language {
            config.prompt.language = Some(language.clone());
        }
        for (key, most) in &self.limits {
            lower(&mut config.limits, key, *most);
        }
        if let Some(most) = self.cost {
            let set = config.limits.cost;
            config.limits.cost = Some(set.map_or(most, |set| set.min(most)));
        }
        Arc::new(config)
    }
}

/// Lowers a limit, never raises it. `false`: there is no such limit.
fn lower(limits: &mut Limits, key: &str, most: u64) -> bool {
    let least = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    match key {
        "steps" => {
            let most = u32::try_from(most).unwrap_or(u32::MAX);
            limits.steps = limits.steps.min(most);
        }
        "turnMinutes" => limits.turn_minutes = least(limits.turn_minutes),
        "tokens" => limits.tokens = least(limits.tokens),
        "approvalMinutes" => limits.approval_minutes = limits.approval_minutes.min(most),
        _ => return false,
    }
    true
}

/// Whether `wanted` allows no more than `now`.
fn narrows(wanted: Mode, now: Mode) -> bool {
    let (wanted, now) = (wanted.as_str().into(), now.as_str().into());
    let verdict = keys::rule("mode").map(|rule| rule.judge("mode", &wanted, Some(&now)));
    matches!(verdict, Some(Verdict { refused: None, .. }))
}

impl Settings {
    /// Applies new process settings; the session's overrides stay on top.
    pub fn renew(&mut self, config: Arc<Config>) {
        self.config = self.choices.apply(config);
    }

    fn choose(&mut self, change: Change) -> bool {
        let key = match change {
            Change::Mode(mode) if narrows(mode, self.mode) => {
                self.mode = mode;
                "mode".to_owned()
            }
            Change::Mode(_) => return false,
            Change::Model(model) => {
                self.choices.model = Some(model);
                "model".to_owned()
            }
            Change::Layout(layout) => {
                self.choices.layout = Some(layout);
                "layout".to_owned()
            }
            Change::Language(language) => {
                self.choices.language = Some(language);
                "prompt.language".to_owned()
            }
            Change::Cost(most) => {
                self.choices.cost = Some(most);
                "limits.cost".to_owned()
            }
            Change::Limit(limit, most) => {
                if !lower(&mut Limits::default(), &limit, most) {
                    return false;
                }
                let key = format!("limits.{limit}");
                self.choices.limits.insert(limit, most);
                key
            }
        };
        if !self.choices.keys.contains(&key) {
            self.choices.keys.push(key);
        }
        self.choices.changed = true;
        self.config = self.choices.apply(self.config.clone());
        true
    }
}

impl SessionChoices for TurnEnv {
    fn now(&self) -> Choice {
        let settings = self.settings();
        let choices = settings.choices.clone();
        Choice {
            model: choices.model.unwrap_or_else(|| self.model.name.clone()),
            layout: choices.layout.unwrap_or_else(|| self.layout.name.clone()),
            agent: settings.agent.clone(),
            keys: choices.keys,
        }
    }

    fn models(&self) -> Vec<String> {
        self.shared.providers.models(&self.config())
    }

    fn choose(&self, change: Change) -> bool {
        self.state.with_settings(|settings| settings.choose(change))
    }
}
