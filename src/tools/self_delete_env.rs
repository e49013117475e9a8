//! `self_delete_env`: forgets a private variable that `self_set_env` kept.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Prepared, Targets, Tool, ToolContext, ToolError, ToolOutput, own, schema, words};
use crate::conversation::{Tier, sha256};
use crate::host::Subject;
use crate::knowledge::user_state::{self, UserState};
use crate::policy::Fact;

pub struct SelfDeleteEnv;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    name: String,
}

struct Deleting {
    name: String,
}

#[async_trait]
impl Tool for SelfDeleteEnv {
    fn name(&self) -> &'static str {
        "self_delete_env"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "name": {"type": "string", "description": "The variable's name, as the prompt lists it"},
            }),
            &["name"],
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

    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        own::kept_targets()
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let Arguments { name } = schema::check(cx, "self_delete_env", arguments)?;
        user_state::check_variable_name(&name).map_err(|unfit| own::not_changed(cx, &unfit))?;
        Ok(Box::new(Deleting { name }))
    }
}

#[async_trait]
impl Prepared for Deleting {
    fn title(&self) -> String {
        format!("Forget the private variable {}", self.name)
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact::Setting { lasting: true }]
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject::Setting {
            key: format!("variables.{}", self.name),
            change: "forget it; no command sees it any more".to_owned(),
            hash: sha256(self.name.as_bytes()),
        })
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (store, name) = (UserState::new(&cx.env), self.name.clone());
        let known = own::blocking(cx, move || store.delete_variable(&self.name)).await?;
        if !known {
            return Err(words::for_model(
                cx,
                "results/variable-unknown.md",
                &[("name", &name)],
            ));
        }
        let text = cx
            .texts
            .render("results/variable-deleted.md", &[("name", &name)]);
        Ok(ToolOutput::text(text))
    }
}
