//! `project_read`: `read` with a path inside one project.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::read::Read;
use super::{Prepared, Targets, Tool, ToolContext, ToolError, projects, schema, target};
use crate::conversation::Tier;

pub struct ProjectRead;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    project: String,
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
}

/// The document of a call on one file of a project.
pub(super) fn key(cx: &ToolContext, arguments: &Value) -> Vec<String> {
    let (project, path) = (arguments["project"].as_str(), arguments["path"].as_str());
    let path = project.zip(path).and_then(|(project, path)| {
        let project = projects::named(cx, project).ok()?;
        projects::inside(cx, &project, path).ok()
    });
    target::key_of(cx, path.as_deref())
}

#[async_trait]
impl Tool for ProjectRead {
    fn name(&self) -> &'static str {
        "project_read"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "project": {"type": "string", "description": "The project's id or name, as `project_list` has it"},
                "path": {"type": "string", "description": "Relative to the project's folder"},
                "offset": {"type": "integer", "minimum": 1, "description": "First line, counted from 1"},
                "limit": {"type": "integer", "minimum": 1, "description": "Number of lines"},
            }),
            &["project", "path"],
        )
    }

    fn tier(&self) -> Tier {
        Tier::Filesystem
    }

    fn opt_in(&self) -> bool {
        true
    }

    fn targets(&self, cx: &ToolContext, arguments: &Value) -> Targets {
        Targets {
            reads: key(cx, arguments),
            ..Targets::default()
        }
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let arguments: Arguments = schema::check(cx, "project_read", arguments)?;
        let project = projects::named(cx, &arguments.project)?;
        let path = projects::inside(cx, &project, &arguments.path)?;
        let read = json!({ "path": path, "offset": arguments.offset, "limit": arguments.limit });
        Read.prepare(cx, read).await
    }
}
