//! `self_install_skill`: copies a skill's folder into the user's folder of skills, exactly as the
//! user saw it listed.

use std::path::PathBuf;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Prepared, Targets, Tool, ToolContext, ToolError, ToolOutput, own, schema, target, words,
};
use crate::conversation::Tier;
use crate::host::{Access, Subject};
use crate::knowledge::skills::{self, Outline};
use crate::policy::{Decision, Fact};
use crate::prompt::fence;
use crate::workspace::Located;

/// Files that an approval names.
const NAMED: usize = 50;

pub struct SelfInstallSkill;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
}

struct Installing {
    from: Located,
    to: PathBuf,
    /// `None`: the folder may not be read, and nothing of it was.
    outline: Option<Outline>,
}

/// The user's folder of skills.
pub(super) fn folder(cx: &ToolContext) -> PathBuf {
    cx.env.dirs.config.join("skills")
}

/// Copying reads the disk, so nothing below the folder may be unsaved.
fn unsaved(cx: &ToolContext, from: &Located) -> Option<String> {
    let mut documents = cx.workspace.documents().into_iter();
    let document = documents.find(|document| {
        std::path::Path::new(&document.key).starts_with(&from.path) && cx.workspace.dirty(document)
    })?;
    Some(document.uri.to_string())
}

#[async_trait]
impl Tool for SelfInstallSkill {
    fn name(&self) -> &'static str {
        "self_install_skill"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "path": {"type": "string", "description": "A local folder that has a SKILL.md: absolute, or relative to the session's directory"},
            }),
            &["path"],
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

    fn targets(&self, cx: &ToolContext, arguments: &Value) -> Targets {
        Targets {
            reads: target::key_of(cx, arguments["path"].as_str()),
            ..own::skill_targets()
        }
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let Arguments { path } = schema::check(cx, "self_install_skill", arguments)?;
        let from = target::locate(cx, &path)?;
        let to = folder(cx);
        if let Decision::Deny(_) = target::decision(cx, &from, Access::Read) {
            let outline = None;
            return Ok(Box::new(Installing { from, to, outline }));
        }
        let (context, source) = (cx.clone(), from.clone());
        let look = move || match unsaved(&context, &source) {
            Some(uri) => Err(format!(
                "{uri} has unsaved text: ask the user to save it first"
            )),
            None => skills::outline(&source.path).map_err(|error| error.to_string()),
        };
        let outline = Some(own::blocking(cx, look).await?);
        Ok(Box::new(Installing { from, to, outline }))
    }
}

#[async_trait]
impl Prepared for Installing {
    fn title(&self) -> String {
        let from = self.from.path.display();
        match &self.outline {
            Some(outline) => format!("Install the skill {} from {from}", outline.name),
            None => format!("Install a skill from {from}"),
        }
    }

    fn facts(&self) -> Vec<Fact> {
        vec![
            Fact::Path {
                located: self.from.clone(),
                access: Access::Read,
            },
            Fact::Setting { lasting: true },
        ]
    }

    fn subject(&self) -> Option<Subject> {
        let outline = self.outline.as_ref()?;
        let mut change = format!(
            "copy {} files of {} into {}, where your sessions obey them.\nDescription: {}\n\
             SKILL.md:\n{}\nFiles:",
            outline.files.len(),
            self.from.path.display(),
            self.to.display(),
            fence::line(&outline.description),
            own::head_and_tail(&outline.text)
        );
        for (name, bytes) in outline.files.iter().take(NAMED) {
            change.push_str(&format!("\n{name} ({bytes} bytes)"));
        }
        if outline.files.len() > NAMED {
            change.push_str("\n…");
        }
        Some(Subject::Setting {
            key: format!("skills.{}", outline.name),
            change,
            hash: outline.hash.clone(),
        })
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        // Only reached without an outline if nobody asked policy: fail closed.
        let Self { from, to, outline } = *self;
        let Some(outline) = outline else {
            return Err(words::for_model(cx, "results/denied.md", &[]));
        };
        let install = move || skills::install_exact(&from.path, &to, &outline);
        let installed = own::blocking(cx, install).await?;
        let mut text = cx.texts.render(
            "results/skill-installed.md",
            &[
                ("name", &installed.name),
                ("folder", &installed.folder.display().to_string()),
                ("files", &installed.files.to_string()),
            ],
        );
        let skipped = installed.skipped.iter();
        let mut odd: Vec<String> = skipped.map(|path| path.display().to_string()).collect();
        odd.extend(installed.problems);
        if !odd.is_empty() {
            odd.truncate(NAMED);
            text.push('\n');
            text.push_str(
                &cx.texts
                    .render("results/skill-odd.md", &[("list", &odd.join(", "))]),
            );
        }
        Ok(ToolOutput::text(text))
    }
}
