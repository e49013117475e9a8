//! `project_write`: `write` with a path inside one project that may be written.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::write::Write;
use super::{Prepared, Targets, Tool, ToolContext, ToolError, project_read, projects, schema};
use crate::conversation::Tier;

pub struct ProjectWrite;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    project: String,
    path: String,
    content: String,
}

#[async_trait]
impl Tool for ProjectWrite {
    fn name(&self) -> &'static str {
        "project_write"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "project": {"type": "string", "description": "The project's id or name, as `project_list` has it"},
                "path": {"type": "string", "description": "Relative to the project's folder"},
                "content": {"type": "string", "description": "The whole text of the file"},
            }),
            &["project", "path", "content"],
        )
    }

    fn tier(&self) -> Tier {
        Tier::Filesystem
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

    fn targets(&self, cx: &ToolContext, arguments: &Value) -> Targets {
        Targets {
            writes: project_read::key(cx, arguments),
            ..Targets::default()
        }
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let arguments: Arguments = schema::check(cx, "project_write", arguments)?;
        let project = projects::named(cx, &arguments.project)?;
        projects::writable(cx, &project)?;
        let path = projects::inside(cx, &project, &arguments.path)?;
        let write = json!({ "path": path, "content": arguments.content });
        Write.prepare(cx, write).await
    }
}
