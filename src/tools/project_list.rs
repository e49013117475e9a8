//! `project_list`: the workspace's folders with their rights, and those that were made in them.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::projects::{self, Project};
use super::{Prepared, Targets, Tool, ToolContext, ToolError, ToolOutput, schema};
use crate::conversation::Tier;
use crate::host::Subject;
use crate::policy::Fact;
use crate::prompt::fence;

pub struct ProjectList;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {}

struct Listing(Vec<Project>);

#[async_trait]
impl Tool for ProjectList {
    fn name(&self) -> &'static str {
        "project_list"
    }

    fn schema(&self) -> Value {
        schema::object(json!({}), &[])
    }

    fn tier(&self) -> Tier {
        Tier::Filesystem
    }

    fn opt_in(&self) -> bool {
        true
    }

    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        let Targets { writes, .. } = super::own::kept_targets();
        Targets {
            reads: writes,
            ..Targets::default()
        }
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let Arguments {} = schema::check(cx, "project_list", arguments)?;
        Ok(Box::new(Listing(projects::all(cx)?)))
    }
}

#[async_trait]
impl Prepared for Listing {
    fn title(&self) -> String {
        "List the projects".to_owned()
    }

    fn facts(&self) -> Vec<Fact> {
        // The names of folders that the user opened.
        Vec::new()
    }

    fn subject(&self) -> Option<Subject> {
        None
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if self.0.is_empty() {
            let text = cx.texts.render("results/project-none.md", &[]);
            return Ok(ToolOutput::text(text));
        }
        let line = |project: &Project| {
            let name = fence::name(&project.name);
            let path = fence::name(&project.path.display().to_string());
            let about = fence::line(project.description.as_deref().unwrap_or("–"));
            match project.writable {
                true => cx.texts.render(
                    "results/project-line.md",
                    &[("name", &name), ("path", &path), ("about", &about)],
                ),
                false => cx.texts.render(
                    "results/project-line-read-only.md",
                    &[("name", &name), ("path", &path), ("about", &about)],
                ),
            }
        };
        let lines: Vec<String> = self.0.iter().map(line).collect();
        Ok(ToolOutput::text(lines.join("\n")))
    }
}
