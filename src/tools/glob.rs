//! `glob`: files by the shape of their paths.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::search::{Job, Looking, place};
use super::{Prepared, Targets, Tool, ToolContext, ToolError, schema};
use crate::conversation::Tier;

pub struct Glob;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    pattern: String,
    path: Option<String>,
}

#[async_trait]
impl Tool for Glob {
    fn name(&self) -> &'static str {
        "glob"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "pattern": {"type": "string", "description": "A glob relative to the folder: `**/*.rs`, `src/{a,b}/*.ts`"},
                "path": {"type": "string", "description": "The folder to look below; default the session's directory"},
            }),
            &["pattern"],
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
        let arguments: Arguments = schema::check(cx, "glob", arguments)?;
        let place = place(cx, arguments.path.as_deref())?;
        let shown = place.display(&cx.workspace);
        Ok(Box::new(Looking {
            title: format!("Find {} in {shown}", arguments.pattern),
            place,
            job: Job::Glob(arguments.pattern),
        }))
    }
}
