//! `diagnostics`: what language servers report now, for a file or for all.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::{
    BuiltIn, DIAGNOSTICS, Preparation, Prepared, ToolContext, ToolOutput, ToolResult, ToolSpec,
    language, target,
};
use crate::conversation::Tier;
use crate::env::order;
use crate::host::{QueryKind, QueryStatus};
use crate::languages::Question;
use crate::prompt::fence;
use crate::workspace::diagnostics::{Report, Reported};
use crate::workspace::search::Shown;
use crate::workspace::{Document, Located, Uri, beneath};

/// Most lines.
const MOST: usize = 100;
/// How long a report about the current text is waited for.
const WAIT: Duration = Duration::from_secs(2);

pub struct Diagnostics;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The file; default all files with reports
    path: Option<String>,
}

#[async_trait]
impl BuiltIn for Diagnostics {
    const NAME: &'static str = "diagnostics";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Filesystem).needs(DIAGNOSTICS);
    type Arguments = Arguments;

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        let Some(path) = arguments.path else {
            let title = "List reported problems";
            return Ok(Prepared::new(title, |cx| of_all(cx).boxed()));
        };
        let located = target::locate(cx, &path)?;
        let title = format!("List problems of {}", located.display(&cx.workspace));
        let place = located.clone();
        Ok(Prepared::reading(title, &place, |cx| {
            of_file(cx, located).boxed()
        }))
    }
}

/// A file's problems, and whether they are of its current text.
struct Of {
    uri: String,
    version: Option<i32>,
    items: Vec<Reported>,
}

async fn of_file(cx: &ToolContext, located: Located) -> ToolResult {
    let path = target::display_name(cx, &located);
    let rope = language::current_text(cx, &located).await?;
    let question = Question::new(QueryKind::Diagnostics, located.clone(), rope);
    let answer = language::asked(cx, &question).await?;
    let asked = answer.answer.status == QueryStatus::Ok;
    let mut found = match asked {
        true => read(&answer.answer.items, answer.of_editor),
        false => Vec::new(),
    };
    let key = located.key();
    found.retain(|of| Uri::new(of.uri.as_str()).key() == key);
    let mut known = asked;
    if found.is_empty()
        && let Some(report) = settled(cx, &key).await
    {
        known = true;
        found.push(reported(&key, &report));
    }
    if !known {
        return Ok(ToolOutput::text(
            cx.text("results/diagnostics-unchecked.md", &[("path", &path)]),
        ));
    }
    Ok(shown(cx, found, &path).await)
}

async fn of_all(cx: &ToolContext) -> ToolResult {
    let reports = cx.workspace.diagnostics.reports();
    let mut found: Vec<Of> = reports
        .iter()
        .map(|(key, report)| reported(key, report))
        .collect();
    if found.is_empty() {
        let question = Question {
            located: None,
            ..Question::new(QueryKind::Diagnostics, nowhere(cx), ropey::Rope::new())
        };
        let answer = language::asked(cx, &question).await?;
        found = read(&answer.answer.items, answer.of_editor);
    }
    Ok(shown(cx, found, "the workspace").await)
}

fn nowhere(cx: &ToolContext) -> Located {
    beneath::locate_path(&cx.workspace, &cx.cwd)
}

/// The editor's report about a file, once it is about the current text.
async fn settled(cx: &ToolContext, key: &str) -> Option<Arc<Report>> {
    let diagnostics = &cx.workspace.diagnostics;
    let until = Instant::now() + WAIT;
    let mut changes = diagnostics.changes();
    loop {
        changes.mark_unchanged();
        let report = diagnostics.report(key)?;
        let document = cx.workspace.document_by_key(key);
        if document.is_none_or(|document| current(report.version, &document)) {
            return Some(report);
        }
        tokio::select! {
            more = timeout_at(until, changes.changed()) => if more.is_err() { return Some(report) },
            () = cx.cancel.cancelled() => return Some(report),
        }
    }
}

fn current(version: Option<i32>, document: &Document) -> bool {
    version.is_none_or(|version| version >= document.version)
}

fn reported(key: &str, report: &Report) -> Of {
    let uri = match key.starts_with('/') {
        true => Uri::from_path(std::path::Path::new(key)).to_string(),
        false => key.to_owned(),
    };
    Of {
        uri,
        version: report.version,
        items: report.items.clone(),
    }
}

/// The items of an answer. Versions of other servers than the editor's are not the mirror's.
fn read(items: &[Value], of_editor: bool) -> Vec<Of> {
    let one = |item: &Value| Of {
        uri: item["uri"].as_str().unwrap_or_default().to_owned(),
        version: item["version"]
            .as_i64()
            .filter(|_| of_editor)
            .and_then(|version| i32::try_from(version).ok()),
        items: item["diagnostics"]
            .as_array()
            .into_iter()
            .flatten()
            .map(Reported::read)
            .collect(),
    };
    items.iter().map(one).collect()
}

/// The problems of the files that a search would show, errors first.
async fn shown(cx: &ToolContext, found: Vec<Of>, about: &str) -> ToolOutput {
    let (workspace, policy, cwd) = (cx.workspace.clone(), cx.policy.clone(), cx.cwd.clone());
    let sort = move || {
        let mut visible = Shown::new(&workspace, &policy);
        let (mut lines, mut old) = (Vec::new(), Vec::new());
        for of in found {
            let Ok(located) = beneath::locate(&workspace, &cwd, &of.uri) else {
                continue;
            };
            if !visible.shows(&located) {
                continue;
            }
            let path = located.path.strip_prefix(&cwd).unwrap_or(&located.path);
            let path = fence::name(&path.display().to_string());
            let document = workspace.document(&located.uri);
            if document.is_some_and(|document| !current(of.version, &document)) {
                old.push(path);
                continue;
            }
            lines.extend(of.items.iter().map(|it| it.shown_at(&path)));
        }
        order::sort_by_key(&mut lines, |(rank, _)| *rank);
        (lines, old)
    };
    let (lines, old) = cx.blocking(sort).await.unwrap_or_default();
    let more = lines.len().saturating_sub(MOST);
    let lines: Vec<String> = lines.into_iter().take(MOST).map(|(_, line)| line).collect();
    let mut parts = Vec::new();
    if !lines.is_empty() {
        let list = fence::block(&lines.join("\n"));
        parts.push(cx.text("results/diagnostics-list.md", &[("list", &list)]));
    } else if old.is_empty() {
        parts.push(cx.text("results/diagnostics-none.md", &[("path", &about)]));
    }
    if more > 0 {
        parts.push(cx.text("results/lookup-more.md", &[("count", &more)]));
    }
    if !old.is_empty() {
        let paths = old.join(", ");
        parts.push(cx.text("results/diagnostics-old.md", &[("paths", &paths)]));
    }
    ToolOutput {
        truncated: more > 0,
        ..ToolOutput::text(parts.join("\n"))
    }
}
