//! `self_set_env`: keeps a private variable for commands. Its value goes into their environment;
//! the question shows it unless it looks like a secret, and no title, event or result has it.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Prepared, Targets, Tool, ToolContext, ToolError, ToolOutput, own, schema, words};
use crate::conversation::{Tier, sha256};
use crate::host::Subject;
use crate::knowledge::user_state::{self, UserState};
use crate::policy::Fact;
use crate::secrets::{Detector, looks_secret, without_passwords};

pub struct SelfSetEnv;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    name: String,
    /// Taken as it is: an error of another type would quote it.
    value: Value,
}

struct Setting {
    name: String,
    value: String,
    /// The value as the question shows it.
    shown: String,
    /// Of the value and a secret of this call: a short value cannot be guessed from it.
    hash: String,
}

#[async_trait]
impl Tool for SelfSetEnv {
    fn name(&self) -> &'static str {
        "self_set_env"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "name": {"type": "string", "description": "Capital letters, digits and `_`, as `NPM_TOKEN`"},
                "value": {"type": "string", "description": "Its whole value"},
            }),
            &["name", "value"],
        )
    }

    fn tier(&self) -> Tier {
        Tier::Middleware
    }

    fn changes(&self) -> bool {
        true
    }

    fn escapes(&self) -> bool {
        true
    }

    fn opt_in(&self) -> bool {
        true
    }

    fn private(&self) -> &'static [&'static str] {
        &["value"]
    }

    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        own::kept_targets()
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let Arguments { name, value } = schema::check(cx, "self_set_env", arguments)?;
        let Value::String(value) = value else {
            return Err(words::for_model(cx, "results/variable-value.md", &[]));
        };
        // The words name neither: a value may stand where the name belongs.
        user_state::check_variable(&name, &value).map_err(|unfit| own::not_changed(cx, &unfit))?;
        let hash = sha256(format!("{}\0{name}\0{value}", cx.env.id("nonce")).as_bytes());
        let shown = shown(cx, &name, &value);
        Ok(Box::new(Setting {
            name,
            value,
            shown,
            hash,
        }))
    }
}

/// A path is always shown: it says what would be loaded. So is an address, but for what is secret
/// in it, and what does not look like a secret.
fn shown(cx: &ToolContext, name: &str, value: &str) -> String {
    let mut chars = value.chars();
    let drive = chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.next() == Some(':');
    let path = drive || value.starts_with(['/', '\\', '~', '.', '%', '$']);
    if path || without_passwords(value) != value || value.contains("://") {
        return format!("`{}`", own::head_and_tail(&without_passwords(value)));
    }
    if looks_secret(name) || Detector::new(cx.env.vars()).find(value).is_some() {
        let count = value.chars().count();
        return format!("a value of {count} characters, not shown because it looks like a secret,");
    }
    format!("`{}`", own::head_and_tail(value))
}

#[async_trait]
impl Prepared for Setting {
    fn title(&self) -> String {
        format!("Set the private variable {}", self.name)
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact::Setting { lasting: true }]
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject::Setting {
            key: format!("variables.{}", self.name),
            change: format!(
                "keep {} for commands of all sessions and folders",
                self.shown
            ),
            hash: self.hash.clone(),
        })
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (store, name) = (UserState::new(&cx.env), self.name.clone());
        own::blocking(cx, move || store.set_variable(&self.name, &self.value)).await?;
        let text = cx
            .texts
            .render("results/variable-set.md", &[("name", &name)]);
        Ok(ToolOutput::text(text))
    }
}
