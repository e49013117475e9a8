//! The tools for the user's skills: `self_list_skills` shows all of them, and why some are not
//! used; `self_install_skill` copies a skill's folder exactly as the user saw it listed;
//! `self_uninstall_skill` removes one.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::Value;

use super::user_store::{self, excerpt, lasting_change, not_changed, store_change};
use super::{
    BuiltIn, Preparation, Prepared, Targets, ToolContext, ToolOutput, ToolSpec, schema, target,
};
use crate::conversation::Tier;
use crate::host::{Access, Subject};
use crate::knowledge::skills::{self, InstallError, Installed, Outline};
use crate::policy::{Decision, Fact};
use crate::prompt::fence;
use crate::workspace::Located;

/// Files that an approval names.
const NAMED: usize = 50;
/// Skills in one list.
const SHOWN: usize = 200;

const SPEC: ToolSpec = ToolSpec::new(Tier::Knowledge).opt_in();

/// The user's folder of skills.
fn skills_folder(cx: &ToolContext) -> PathBuf {
    cx.env.dirs.config.join("skills")
}

pub struct SelfListSkills;

#[async_trait]
impl BuiltIn for SelfListSkills {
    const NAME: &'static str = "self_list_skills";
    const SPEC: ToolSpec = SPEC;
    type Arguments = schema::NoArguments;

    fn targets(_cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::reads(user_store::skill_targets().writes)
    }

    async fn prepare(&self, _cx: &ToolContext, _arguments: schema::NoArguments) -> Preparation {
        // Without facts: the user's own folders, and what the prompt names anyway.
        Ok(Prepared::new("List the skills", |cx| {
            let context = cx.clone();
            cx.blocking(move || list(&context)).boxed()
        }))
    }
}

fn list(cx: &ToolContext) -> ToolOutput {
    let trusted = cx.policy.trusted;
    let found = skills::find(&cx.workspace, &cx.env, &cx.config, &cx.cwd, trusted);
    let used = found.skills.iter().map(|skill| {
        let (name, location) = (fence::name(&skill.name), fence::line(&skill.location));
        let about = fence::line(&skill.description);
        cx.text(
            "results/skill-line.md",
            &[("name", &name), ("location", &location), ("about", &about)],
        )
    });
    let disabled = found.disabled.iter().map(|skill| {
        let (name, location) = (fence::name(&skill.name), fence::line(&skill.location));
        cx.text(
            "results/skill-line-off.md",
            &[("name", &name), ("location", &location)],
        )
    });
    let untrusted = found.untrusted.iter().map(|skill| {
        let (name, location) = (fence::name(&skill.name), fence::line(&skill.location));
        let reason = fence::line(&skill.reason);
        cx.text(
            "results/skill-line-untrusted.md",
            &[
                ("name", &name),
                ("location", &location),
                ("reason", &reason),
            ],
        )
    });
    let gated = found.gated.iter().map(|skill| {
        let (name, location) = (fence::name(&skill.name), fence::line(&skill.location));
        let reason = fence::line(&skill.reason);
        cx.text(
            "results/skill-line-gated.md",
            &[
                ("name", &name),
                ("location", &location),
                ("reason", &reason),
            ],
        )
    });
    let lines = used.chain(disabled).chain(untrusted).chain(gated);
    let mut lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return ToolOutput::text(cx.text("results/skill-none.md", &[]));
    }
    let truncated = lines.len() > SHOWN;
    if truncated {
        let left = lines.len() - SHOWN;
        lines.truncate(SHOWN);
        lines.push(cx.text("results/skill-lines-more.md", &[("left", &left)]));
    }
    ToolOutput {
        text: lines.join("\n"),
        truncated,
        ..ToolOutput::default()
    }
}

pub struct SelfInstallSkill;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Source {
    /// A local folder that has a SKILL.md: absolute, or relative to the session's directory
    path: String,
}

/// An unsaved document below the folder. Copying reads the disk, so there must be none.
fn unsaved_below(cx: &ToolContext, folder: &Path) -> Option<String> {
    let mut documents = cx.workspace.documents().into_iter();
    let document = documents.find(|document| {
        Path::new(&document.key).starts_with(folder) && cx.workspace.dirty(document)
    })?;
    Some(document.uri.to_string())
}

#[async_trait]
impl BuiltIn for SelfInstallSkill {
    const NAME: &'static str = "self_install_skill";
    const SPEC: ToolSpec = SPEC.changes().escapes();
    type Arguments = Source;

    fn targets(cx: &ToolContext, arguments: &Value) -> Targets {
        Targets {
            reads: target::document_keys(cx, arguments["path"].as_str()),
            ..user_store::skill_targets()
        }
    }

    async fn prepare(&self, cx: &ToolContext, Source { path }: Source) -> Preparation {
        let from = target::locate(cx, &path)?;
        let access = Access::Read;
        let mut facts = target::read_facts(&from);
        facts.push(Fact::Setting { lasting: true });
        if let Decision::Deny(_) = target::decision(cx, &from, access) {
            let title = format!("Install a skill from {}", from.path.display());
            return Ok(Prepared::denied(title, facts));
        }
        let (context, source) = (cx.clone(), from.path.clone());
        let read = move || match unsaved_below(&context, &source) {
            Some(uri) => Err(format!(
                "{uri} has unsaved text: ask the user to save it first"
            )),
            None => skills::outline(&source).map_err(|error| error.to_string()),
        };
        let outline = user_store::blocking(cx, read).await?;
        let (name, shown) = (&outline.name, from.path.display());
        let title = format!("Install the skill {name} from {shown}");
        let subject = install_subject(&from, &skills_folder(cx), &outline);
        Ok(store_change(title, facts, subject, move |cx| {
            let installed = skills::install_exact(&from.path, &skills_folder(cx), &outline);
            let installed = installed.map_err(|error| not_changed(cx, &error))?;
            Ok(installed_text(cx, installed))
        }))
    }
}

fn install_subject(from: &Located, to: &Path, outline: &Outline) -> Subject {
    let mut change = format!(
        "copy {} files of {} into {}, where your sessions obey them.\nDescription: {}\n\
         SKILL.md:\n{}\nFiles:",
        outline.files.len(),
        from.path.display(),
        to.display(),
        fence::line(&outline.description),
        excerpt(&outline.text)
    );
    for (name, bytes) in outline.files.iter().take(NAMED) {
        change.push_str(&format!("\n{name} ({bytes} bytes)"));
    }
    if outline.files.len() > NAMED {
        change.push_str("\n…");
    }
    Subject::Setting {
        key: format!("skills.{}", outline.name),
        change,
        hash: outline.hash.clone(),
    }
}

fn installed_text(cx: &ToolContext, installed: Installed) -> String {
    let mut text = cx.text(
        "results/skill-installed.md",
        &[
            ("name", &installed.name),
            ("folder", &installed.folder.display()),
            ("files", &installed.files),
        ],
    );
    let skipped = installed.skipped.iter();
    let mut odd: Vec<String> = skipped.map(|path| path.display().to_string()).collect();
    odd.extend(installed.problems);
    if !odd.is_empty() {
        odd.truncate(NAMED);
        text.push('\n');
        text.push_str(&cx.text("results/skill-odd.md", &[("list", &odd.join(", "))]));
    }
    text
}

pub struct SelfUninstallSkill;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Name {
    /// The skill's name as `self_list_skills` has it
    name: String,
}

#[async_trait]
impl BuiltIn for SelfUninstallSkill {
    const NAME: &'static str = "self_uninstall_skill";
    const SPEC: ToolSpec = SPEC.changes().escapes();
    type Arguments = Name;

    fn targets(_cx: &ToolContext, _arguments: &Value) -> Targets {
        user_store::skill_targets()
    }

    async fn prepare(&self, cx: &ToolContext, Name { name }: Name) -> Preparation {
        let all = skills_folder(cx);
        let read = move || {
            let folder = skills::installed(name.trim(), &all)?;
            let outline = skills::outline(&folder)?;
            Ok::<_, InstallError>((all, folder, outline))
        };
        let (all, folder, outline) = user_store::blocking(cx, read).await?;
        let subject = Subject::Setting {
            key: format!("skills.{}", outline.name),
            change: format!(
                "delete {} with {} files",
                folder.display(),
                outline.files.len()
            ),
            hash: outline.hash.clone(),
        };
        let title = format!("Uninstall the skill {}", outline.name);
        Ok(lasting_change(title, subject, move |cx| {
            let removed = uninstall(&all, &folder, &outline);
            let removed = removed.map_err(|error| not_changed(cx, &error))?;
            Ok(cx.text(
                "results/skill-uninstalled.md",
                &[("name", &outline.name), ("folder", &removed.display())],
            ))
        }))
    }
}

/// Removes the skill unless it changed since the user was asked.
fn uninstall(all: &Path, folder: &Path, outline: &Outline) -> Result<PathBuf, InstallError> {
    if skills::outline(folder)? != *outline {
        return Err(InstallError::Changed(folder.to_owned()));
    }
    skills::uninstall(&outline.name, all)
}
