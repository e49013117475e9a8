//! `project_glob`: `glob` below one project's folder.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::glob::Glob;
use super::{Prepared, Targets, Tool, ToolContext, ToolError, projects, schema};
use crate::conversation::Tier;

pub struct ProjectGlob;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    project: String,
    pattern: String,
}

#[async_trait]
impl Tool for ProjectGlob {
    fn name(&self) -> &'static str {
        "project_glob"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "project": {"type": "string", "description": "The project's id or name, as `project_list` has it"},
                "pattern": {"type": "string", "description": "A glob relative to the project's folder: `**/*.md`"},
            }),
            &["project", "pattern"],
        )
    }

    fn tier(&self) -> Tier {
        Tier::Filesystem
    }

    fn opt_in(&self) -> bool {
        true
    }

    /// Looks at the whole place, as `glob` does.
    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::default()
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let arguments: Arguments = schema::check(cx, "project_glob", arguments)?;
        let project = projects::named(cx, &arguments.project)?;
        let path = projects::inside(cx, &project, ".")?;
        let glob = json!({ "path": path, "pattern": arguments.pattern });
        Glob.prepare(cx, glob).await
    }
}
