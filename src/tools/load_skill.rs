//! `load_skill`: the full text of a skill and the names of its files. Skills that are untrusted,
//! disabled or for the user only are not loaded, and the answer says why.

use std::path::Path;

use async_trait::async_trait;
use serde::Deserialize;

use super::{BuiltIn, Preparation, Prepared, ToolContext, ToolError, ToolOutput, ToolSpec};
use crate::conversation::Tier;
use crate::env::tasks;
use crate::knowledge::skills::{self, Found, Skill};
use crate::prompt::{Texts, fence};

/// Most names in an answer.
const NAMES: usize = 200;

pub struct LoadSkill;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The skill's name as the list of skills has it
    name: String,
}

#[async_trait]
impl BuiltIn for LoadSkill {
    const NAME: &'static str = "load_skill";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Knowledge);
    type Arguments = Arguments;

    async fn prepare(&self, cx: &ToolContext, Arguments { name }: Arguments) -> Preparation {
        let context = cx.clone();
        let look = move || {
            let cx = &context;
            let trusted = cx.policy.trusted;
            let found = skills::find(&cx.workspace, &cx.env, &cx.config, &cx.cwd, trusted);
            match found.get(name.trim()).filter(|skill| skill.for_model) {
                Some(skill) => {
                    let output = ToolOutput {
                        text: skill_text(&cx.texts, &cx.cwd, skill),
                        truncated: skill.cut,
                        ..ToolOutput::default()
                    };
                    Ok((format!("Load the skill {}", skill.name), output))
                }
                None => Err(why_not_loaded(
                    &cx.texts,
                    &found,
                    name.trim(),
                    Caller::Model,
                )),
            }
        };
        match tasks::blocking(look).await {
            // Without facts: the user's trust decides what may be loaded.
            Ok(Ok((title, output))) => Ok(Prepared::done(title, output)),
            Ok(Err(words)) => Err(ToolError::ForModel(words)),
            Err(error) => Err(cx.error("results/skill-unread.md", &[("reason", &error)])),
        }
    }
}

/// Who loads a skill. Some skills are only for one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    Model,
    User,
}

/// A skill as the model reads it: body, folder, file names. Lists the folder.
pub fn skill_text(texts: &Texts, cwd: &Path, skill: &Skill) -> String {
    let shown = |path: &Path| {
        let path = path.strip_prefix(cwd).unwrap_or(path);
        fence::name(&path.display().to_string())
    };
    let resources = skills::resources(skill);
    let names: Vec<String> = resources
        .names
        .iter()
        .map(|name| fence::name(name))
        .collect();
    let names = names.join(", ");
    let files = match (names.is_empty(), resources.more) {
        (true, _) => texts.render("results/skill-no-files.md", &[]),
        (false, false) => texts.render("results/skill-files.md", &[("names", &names)]),
        (false, true) => texts.render("results/skill-files-more.md", &[("names", &names)]),
    };
    let mut text = texts.render(
        "results/skill.md",
        &[
            ("name", &skill.name),
            ("folder", &shown(skill.folder())),
            ("files", &files),
            ("body", &skill.body),
        ],
    );
    if skill.cut {
        let path = shown(&skill.path);
        text.push('\n');
        text.push_str(&texts.render("results/skill-cut.md", &[("path", &path)]));
    }
    text
}

/// Why the skill cannot be loaded, and which skills can (ZE-52).
pub fn why_not_loaded(texts: &Texts, found: &Found, name: &str, by: Caller) -> String {
    let shown = fence::name(name);
    let known: Vec<&str> = found
        .skills
        .iter()
        .filter(|skill| match by {
            Caller::Model => skill.for_model,
            Caller::User => skill.for_user,
        })
        .map(|skill| skill.name.as_str())
        .take(NAMES)
        .collect();
    let known = known.join(", ");
    let known = match known.is_empty() {
        true => texts.render("results/skill-none.md", &[]),
        false => texts.render("results/skill-known.md", &[("names", &known)]),
    };
    if found.get(name).is_some() {
        return match by {
            Caller::Model => texts.render(
                "results/skill-users.md",
                &[("name", &shown), ("known", &known)],
            ),
            Caller::User => texts.render(
                "results/skill-models.md",
                &[("name", &shown), ("known", &known)],
            ),
        };
    }
    if let Some(one) = found.untrusted.iter().find(|one| one.name == name) {
        // Paths in it may be longer than a name that is shown.
        let reason = fence::visible(&one.reason).replace('\n', " ");
        return texts.render(
            "results/skill-untrusted.md",
            &[("name", &shown), ("reason", &reason), ("known", &known)],
        );
    }
    if let Some(one) = found.gated.iter().find(|one| one.name == name) {
        let reason = fence::line(&one.reason);
        return texts.render(
            "results/skill-gated.md",
            &[("name", &shown), ("reason", &reason), ("known", &known)],
        );
    }
    if found.disabled.iter().any(|skill| skill.name == name) {
        return texts.render(
            "results/skill-off.md",
            &[("name", &shown), ("known", &known)],
        );
    }
    texts.render(
        "results/skill-unknown.md",
        &[("name", &shown), ("known", &known)],
    )
}
