//! `project_create`: makes a folder below the first root, for a task of its own.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::projects::{self, Project};
use super::{Prepared, Targets, Tool, ToolContext, ToolError, ToolOutput, own, schema, words};
use crate::conversation::{Tier, sha256};
use crate::host::{Access, Subject};
use crate::knowledge::user_state::{self, UserState};
use crate::policy::Fact;
use crate::prompt::fence;
use crate::workspace::{FileKind, Located, beneath};

pub struct ProjectCreate;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    name: String,
    description: Option<String>,
}

struct Creating {
    name: String,
    located: Located,
    description: Option<String>,
}

#[async_trait]
impl Tool for ProjectCreate {
    fn name(&self) -> &'static str {
        "project_create"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "name": {"type": "string", "description": "The folder's name, which is the project's"},
                "description": {"type": "string", "description": "One line: what it is for"},
            }),
            &["name"],
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

    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        own::kept_targets()
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let Arguments { name, description } = schema::check(cx, "project_create", arguments)?;
        let about = description.as_deref().map(str::trim);
        let description = about.filter(|it| !it.is_empty()).map(str::to_owned);
        user_state::check_project(&name, description.as_deref())
            .map_err(|unfit| own::not_changed(cx, &unfit))?;
        let Some(root) = cx.workspace.roots().into_iter().next() else {
            return Err(words::for_model(cx, "results/project-none.md", &[]));
        };
        let first = Project {
            writable: cx.policy.writable(&root.path),
            name: root.name,
            path: root.path,
            description: None,
        };
        projects::writable(cx, &first)?;
        let located = beneath::locate_path(&cx.workspace, &first.path.join(&name));
        if located.kind != FileKind::Missing {
            return Err(words::for_model(
                cx,
                "results/project-exists.md",
                &[("path", &fence::name(&located.path.display().to_string()))],
            ));
        }
        Ok(Box::new(Creating {
            name,
            located,
            description,
        }))
    }
}

#[async_trait]
impl Prepared for Creating {
    fn title(&self) -> String {
        format!("Make the project {}", self.name)
    }

    fn facts(&self) -> Vec<Fact> {
        let path = Fact::Path {
            located: self.located.clone(),
            access: Access::Write,
        };
        vec![path, Fact::NewFolder]
    }

    fn subject(&self) -> Option<Subject> {
        let mut change = format!("make the folder {}", self.located.path.display());
        if let Some(description) = &self.description {
            change.push_str(&format!("\n{description}"));
        }
        Some(Subject::Setting {
            key: format!("projects.{}", self.name),
            hash: sha256(change.as_bytes()),
            change,
        })
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (store, path) = (UserState::new(&cx.env), self.located.path.clone());
        let make = move || {
            // The root is canonical and the name is one part: nothing is followed.
            std::fs::create_dir(&self.located.path)?;
            store.add_project(user_state::Project {
                path: self.located.path,
                description: self.description,
            })
        };
        own::blocking(cx, make).await?;
        let path = fence::name(&path.display().to_string());
        let text = cx
            .texts
            .render("results/project-created.md", &[("path", &path)]);
        Ok(ToolOutput::text(text))
    }
}
