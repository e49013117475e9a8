//! `self_uninstall_skill`: removes a skill from the user's folder of skills.

use std::path::PathBuf;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::self_install_skill::folder;
use super::{Prepared, Targets, Tool, ToolContext, ToolError, ToolOutput, own, schema};
use crate::conversation::Tier;
use crate::host::Subject;
use crate::knowledge::skills::{self, Outline};
use crate::policy::Fact;

pub struct SelfUninstallSkill;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    name: String,
}

struct Uninstalling {
    /// Of all skills, and of this one.
    folders: (PathBuf, PathBuf),
    outline: Outline,
}

#[async_trait]
impl Tool for SelfUninstallSkill {
    fn name(&self) -> &'static str {
        "self_uninstall_skill"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "name": {"type": "string", "description": "The skill's name as `self_list_skills` has it"},
            }),
            &["name"],
        )
    }

    fn tier(&self) -> Tier {
        Tier::Knowledge
    }

    fn changes(&self) -> bool {
        true
    }

    fn opt_in(&self) -> bool {
        true
    }

    fn escapes(&self) -> bool {
        true
    }

    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        own::skill_targets()
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let Arguments { name } = schema::check(cx, "self_uninstall_skill", arguments)?;
        let from = folder(cx);
        let look = move || {
            let place = skills::installed(name.trim(), &from)?;
            let outline = skills::outline(&place)?;
            Ok::<_, skills::InstallError>(((from, place), outline))
        };
        let (folders, outline) = own::blocking(cx, look).await?;
        Ok(Box::new(Uninstalling { folders, outline }))
    }
}

#[async_trait]
impl Prepared for Uninstalling {
    fn title(&self) -> String {
        format!("Uninstall the skill {}", self.outline.name)
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact::Setting { lasting: true }]
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject::Setting {
            key: format!("skills.{}", self.outline.name),
            change: format!(
                "delete {} with {} files",
                self.folders.1.display(),
                self.outline.files.len()
            ),
            hash: self.outline.hash.clone(),
        })
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Self { folders, outline } = *self;
        let name = outline.name.clone();
        let uninstall = move || {
            if skills::outline(&folders.1)? != outline {
                return Err(skills::InstallError::Changed(folders.1));
            }
            skills::uninstall(&outline.name, &folders.0)
        };
        let gone = own::blocking(cx, uninstall).await?;
        let folder = gone.display().to_string();
        let text = cx.texts.render(
            "results/skill-uninstalled.md",
            &[("name", &name), ("folder", &folder)],
        );
        Ok(ToolOutput::text(text))
    }
}
