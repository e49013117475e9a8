//! `list`: the entries of a folder.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::search::{Job, Looking, place};
use super::{Prepared, Targets, Tool, ToolContext, ToolError, schema};
use crate::conversation::Tier;

pub struct List;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: Option<String>,
}

#[async_trait]
impl Tool for List {
    fn name(&self) -> &'static str {
        "list"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "path": {"type": "string", "description": "The folder; default the session's directory"},
            }),
            &[],
        )
    }

    fn tier(&self) -> Tier {
        Tier::Filesystem
    }

    /// Looks at the whole place: what an edit of the same message does first is seen or not.
    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::default()
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let arguments: Arguments = schema::check(cx, "list", arguments)?;
        let place = place(cx, arguments.path.as_deref())?;
        let shown = place.display(&cx.workspace);
        Ok(Box::new(Looking {
            title: format!("List {shown}"),
            place,
            job: Job::List,
        }))
    }
}
