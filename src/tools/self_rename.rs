//! `self_rename`: what the session's agent is called, in prompts and for the user.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Prepared, Targets, Tool, ToolContext, ToolError, ToolOutput, own, schema};
use crate::conversation::{Tier, sha256};
use crate::host::Subject;
use crate::knowledge::user_state::{self, UserState};
use crate::policy::Fact;

pub struct SelfRename;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    name: String,
}

struct Renaming {
    agent: Option<String>,
    name: String,
}

#[async_trait]
impl Tool for SelfRename {
    fn name(&self) -> &'static str {
        "self_rename"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "name": {"type": "string", "description": "The new name, one line of at most 64 characters"},
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
        let Arguments { name } = schema::check(cx, "self_rename", arguments)?;
        let name = user_state::check_name(&name).map_err(|unfit| own::not_changed(cx, &unfit))?;
        Ok(Box::new(Renaming {
            agent: cx.chosen.now().agent,
            name: name.to_owned(),
        }))
    }
}

#[async_trait]
impl Prepared for Renaming {
    fn title(&self) -> String {
        format!("Call the agent {}", self.name)
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact::Setting { lasting: true }]
    }

    fn subject(&self) -> Option<Subject> {
        let agent = self.agent.as_deref().unwrap_or("main");
        Some(Subject::Setting {
            key: "agent.name".to_owned(),
            change: format!("call the agent {agent} {}", self.name),
            hash: sha256(self.name.as_bytes()),
        })
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (store, name) = (UserState::new(&cx.env), self.name.clone());
        own::blocking(cx, move || store.rename(self.agent.as_deref(), &self.name)).await?;
        let text = cx.texts.render("results/renamed.md", &[("name", &name)]);
        Ok(ToolOutput::text(text))
    }
}
