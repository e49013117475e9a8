//! `self_list_skills`: the skills that there are, also those that do not count, and why.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Prepared, Targets, Tool, ToolContext, ToolError, ToolOutput, own, schema};
use crate::conversation::Tier;
use crate::host::Subject;
use crate::knowledge::skills::{self, Found};
use crate::policy::Fact;
use crate::prompt::{Texts, fence};

/// Skills in one answer.
const SHOWN: usize = 200;

pub struct SelfListSkills;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {}

struct Listing;

#[async_trait]
impl Tool for SelfListSkills {
    fn name(&self) -> &'static str {
        "self_list_skills"
    }

    fn schema(&self) -> Value {
        schema::object(json!({}), &[])
    }

    fn tier(&self) -> Tier {
        Tier::Knowledge
    }

    fn opt_in(&self) -> bool {
        true
    }

    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        let Targets { writes, .. } = own::skill_targets();
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
        let Arguments {} = schema::check(cx, "self_list_skills", arguments)?;
        Ok(Box::new(Listing))
    }
}

#[async_trait]
impl Prepared for Listing {
    fn title(&self) -> String {
        "List the skills".to_owned()
    }

    fn facts(&self) -> Vec<Fact> {
        // The user's own folders, and what the prompt names anyway.
        Vec::new()
    }

    fn subject(&self) -> Option<Subject> {
        None
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let context = cx.clone();
        let look = move || {
            let cx = &context;
            let trusted = cx.policy.trusted;
            let found = skills::find(&cx.workspace, &cx.env, &cx.config, &cx.cwd, trusted);
            Ok::<_, std::convert::Infallible>(found)
        };
        let found = own::blocking(cx, look).await?;
        Ok(listed(&cx.texts, &found))
    }
}

fn listed(texts: &Texts, found: &Found) -> ToolOutput {
    let mut lines: Vec<String> = Vec::new();
    for skill in &found.skills {
        let (name, location) = (fence::name(&skill.name), fence::line(&skill.location));
        let about = fence::line(&skill.description);
        lines.push(texts.render(
            "results/skill-line.md",
            &[("name", &name), ("location", &location), ("about", &about)],
        ));
    }
    for skill in &found.disabled {
        let (name, location) = (fence::name(&skill.name), fence::line(&skill.location));
        lines.push(texts.render(
            "results/skill-line-off.md",
            &[("name", &name), ("location", &location)],
        ));
    }
    for skill in &found.untrusted {
        let (name, location) = (fence::name(&skill.name), fence::line(&skill.location));
        let reason = fence::line(&skill.reason);
        lines.push(texts.render(
            "results/skill-line-untrusted.md",
            &[
                ("name", &name),
                ("location", &location),
                ("reason", &reason),
            ],
        ));
    }
    for skill in &found.gated {
        let (name, location) = (fence::name(&skill.name), fence::line(&skill.location));
        let reason = fence::line(&skill.reason);
        lines.push(texts.render(
            "results/skill-line-gated.md",
            &[
                ("name", &name),
                ("location", &location),
                ("reason", &reason),
            ],
        ));
    }
    if lines.is_empty() {
        return ToolOutput::text(texts.render("results/skill-none.md", &[]));
    }
    let truncated = lines.len() > SHOWN;
    if truncated {
        let left = (lines.len() - SHOWN).to_string();
        lines.truncate(SHOWN);
        lines.push(texts.render("results/skill-lines-more.md", &[("left", &left)]));
    }
    ToolOutput {
        text: lines.join("\n"),
        truncated,
        ..ToolOutput::default()
    }
}
