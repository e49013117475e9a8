//! `save_memory`: saves one memory as a line of Markdown in the user's own files.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::Value;

use super::{
    BuiltIn, Preparation, Prepared, Targets, ToolContext, ToolError, ToolOutput, ToolResult,
    ToolSpec,
};
use crate::conversation::{Tier, sha256};
use crate::host::Subject;
use crate::knowledge::memory::{Kind, Memory, Saved, Scope, Unsaved};
use crate::policy::Fact;
use crate::workspace::Uri;

pub struct SaveMemory;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// What it says
    #[cfg_attr(test, schemars(with = "String", extend("enum" = Kind::ALL.map(Kind::as_str))))]
    r#type: Kind,
    /// Where it holds
    #[cfg_attr(test, schemars(with = "String", extend("enum" = Scope::ALL.map(Scope::as_str))))]
    scope: Scope,
    /// One paragraph that can be understood alone, at most 2,000 characters
    text: String,
}

/// The memories of the session and its workspace.
pub(super) fn memory(cx: &ToolContext) -> Result<Memory, ToolError> {
    if !cx.config.memory.enabled {
        return Err(cx.error("results/memory-off.md", &[]));
    }
    let root = cx.workspace.root_for(&cx.cwd);
    let root = root.map_or_else(|| cx.cwd.clone(), |root| root.path);
    Ok(Memory::new(&cx.env, &root, Some(&cx.session)))
}

/// The target that calls on one scope's files share, so that they run in order.
pub(super) fn scope_key(scope: Scope) -> String {
    format!("memory:{}", scope.as_str())
}

/// A note about unusable files, for the model to report. Empty without problems.
pub(super) fn problems_note(cx: &ToolContext, problems: &[(String, String)]) -> String {
    const SHOWN: usize = 5;
    if problems.is_empty() {
        return String::new();
    }
    let line = |(source, reason): &(String, String)| format!("{source}: {reason}");
    let mut list: Vec<String> = problems.iter().take(SHOWN).map(line).collect();
    if problems.len() > SHOWN {
        list.push("…".to_owned());
    }
    let list = list.join("\n");
    let text = cx.text("results/memory-problems.md", &[("list", &list)]);
    format!("\n{text}")
}

#[async_trait]
impl BuiltIn for SaveMemory {
    const NAME: &'static str = "save_memory";
    /// What outlives the session; a memory of the session alone is saved in every mode.
    const SPEC: ToolSpec = ToolSpec::new(Tier::Middleware).changes().escapes();
    type Arguments = Arguments;

    fn targets(_cx: &ToolContext, arguments: &Value) -> Targets {
        let scope = Scope::ALL
            .into_iter()
            .find(|scope| arguments["scope"] == scope.as_str());
        Targets {
            writes: scope.map(scope_key).into_iter().collect(),
            ..Targets::default()
        }
    }

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        let memory = memory(cx)?;
        let text = memory
            .check(&arguments.text)
            .map_err(|error| refused(cx, &error))?;
        let (kind, scope) = (arguments.r#type, arguments.scope);
        let folder = memory.folder(scope);
        Ok(Prepared {
            facts: vec![Fact::Memory {
                lasting: scope != Scope::Session,
                everywhere: scope == Scope::User,
            }],
            // The line that is added to the topic's file.
            subject: folder.map(|folder| {
                let name = kind.as_str();
                let file = folder.join("topics").join(format!("{name}.md"));
                Subject::Edit {
                    uri: Uri::from_path(&file).to_string(),
                    diff: format!("+- [{name}] {text}\n"),
                    after: sha256(text.as_bytes()),
                    files: Vec::new(),
                }
            }),
            ..Prepared::new(title(scope, &text), move |cx| {
                save(cx, memory, kind, scope, text).boxed()
            })
        })
    }
}

fn title(scope: Scope, text: &str) -> String {
    const SHOWN: usize = 60;
    let scope = scope.as_str();
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("Remember for {scope}: {}…", &text[..at]),
        None => format!("Remember for {scope}: {text}"),
    }
}

async fn save(
    cx: &ToolContext,
    memory: Memory,
    kind: Kind,
    scope: Scope,
    text: String,
) -> ToolResult {
    let workspace = Arc::clone(&cx.workspace);
    // Locks and syncs: off the async threads.
    let save = move || {
        let open = |path: &std::path::Path| workspace.document(&Uri::from_path(path)).is_some();
        memory.save(kind, scope, &text, open)
    };
    match cx.blocking(save).await? {
        Ok(saved) => Ok(saved_output(cx, &saved)),
        Err(error) => Err(refused(cx, &error)),
    }
}

fn saved_output(cx: &ToolContext, saved: &Saved) -> ToolOutput {
    let path = saved.entry.path.display().to_string();
    let kind = saved.entry.kind.as_str();
    let mut text = if saved.known {
        cx.text(
            "results/memory-known.md",
            &[("kind", &kind), ("path", &path)],
        )
    } else {
        cx.text(
            "results/memory-saved.md",
            &[
                ("kind", &kind),
                ("scope", &saved.entry.scope.as_str()),
                ("path", &path),
            ],
        )
    };
    text.push_str(&problems_note(cx, &saved.problems));
    ToolOutput::text(text)
}

fn refused(cx: &ToolContext, error: &Unsaved) -> ToolError {
    match error {
        Unsaved::Secret(secret) => cx.error("results/memory-secret.md", &[("problem", &secret)]),
        error => cx.error("results/memory-not-saved.md", &[("problem", &error)]),
    }
}
