//! What the editor's language servers report after the changes of a step: problems that are new and
//! problems that are gone, compared by content, because edits move lines.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::agent::TurnEnv;
use crate::agent::calls::Call;
use crate::agent::request::attachments::shown_path;
use crate::prompt::fence;
use crate::workspace::diagnostics::{Report, Reported, Reports};
use crate::workspace::search::Visibility as _;
use crate::workspace::{Document, Revision, Workspace};

/// No report for this long means that the servers are done.
const QUIET: Duration = Duration::from_millis(300);
/// An editor sends nothing if nothing changed, so a first report later than this is not waited for.
const FIRST: Duration = Duration::from_secs(1);
/// Nor are reports after this time.
const LIMIT: Duration = Duration::from_secs(2);
/// Most problems that are listed.
const MOST: usize = 10;

/// The reports and documents before a step.
pub struct Before {
    reports: Reports,
    revisions: BTreeMap<String, Revision>,
    /// Open documents without unsaved text, if the step runs commands: those may rewrite the files,
    /// and the editor loads them a moment later.
    clean: BTreeSet<String>,
}

impl Before {
    /// `None`: this editor never reported anything.
    pub fn new(workspace: &Workspace, calls: &[Call]) -> Option<Self> {
        let commands = calls.iter().any(|call| call.name == "exec");
        let documents = || workspace.documents().into_iter();
        let saved = |it: &Document| commands && it.opened && !workspace.dirty(it);
        workspace.diagnostics.any().then(|| Self {
            reports: workspace.diagnostics.reports(),
            revisions: documents().map(|it| (it.key, it.revision)).collect(),
            clean: documents().filter(saved).map(|it| it.key).collect(),
        })
    }

    /// The open documents that changed since, by the agent or a command, and are reported about.
    fn changed(&self, workspace: &Workspace) -> Vec<Document> {
        let mut documents = workspace.documents();
        documents.retain(|it| {
            let same = self.revisions.get(&it.key) == Some(&it.revision);
            let rewritten = || self.clean.contains(&it.key) && workspace.dirty(it);
            it.opened && workspace.diagnostics.expected(&it.key) && (!same || rewritten())
        });
        documents
    }

    /// Waits until the changed documents are reported about, and nothing more is reported for a
    /// moment. Then the difference, for the model.
    pub async fn difference(self, cx: &TurnEnv) -> Option<String> {
        let workspace = &cx.shared.workspace;
        let changed = self.changed(workspace);
        if changed.is_empty() {
            return None;
        }
        self.settle(workspace, &changed, cx).await;
        let after = workspace.diagnostics.reports();
        let mut new = Vec::new();
        let mut gone = Vec::new();
        let policy = cx.policy();
        for document in workspace.documents() {
            let (before, now) = (self.reports.get(&document.key), after.get(&document.key));
            let Some(now) = now.filter(|now| current(now, &document)) else {
                continue;
            };
            if !document.opened || !policy.visible(Path::new(&document.key)) {
                continue;
            }
            let path = fence::name(&shown_path(workspace, document.uri.as_str(), &cx.cwd));
            let before = before.map_or(&[][..], |report| &report.items);
            new.extend(beyond(&now.items, before).map(|it| it.shown_at(&path).1));
            gone.extend(beyond(before, &now.items).map(|it| it.shown_at(&path).1));
        }
        let room = MOST.saturating_sub(new.len());
        let mut parts = Vec::new();
        if !new.is_empty() {
            let problems = fence::block(&list(new, MOST));
            parts.push(cx.text("results/problems-new.md", &[("problems", &problems)]));
        }
        if !gone.is_empty() {
            let problems = fence::block(&list(gone, room));
            parts.push(cx.text("results/problems-gone.md", &[("problems", &problems)]));
        }
        (!parts.is_empty()).then(|| parts.join("\n"))
    }

    async fn settle(&self, workspace: &Workspace, changed: &[Document], cx: &TurnEnv) {
        let first = Instant::now() + FIRST;
        let limit = Instant::now() + LIMIT;
        let mut changes = workspace.diagnostics.changes();
        loop {
            changes.mark_unchanged();
            let reports = workspace.diagnostics.reports();
            let reported = |it: &&Document| {
                let now = reports.get(&it.key);
                // It may have changed since.
                let document = workspace.document_by_key(&it.key);
                let document = document.as_ref().unwrap_or(it);
                now.is_some_and(|now| {
                    current(now, document) && !same(now, self.reports.get(&it.key))
                })
            };
            let until = match changed.iter().filter(reported).count() {
                0 => first,
                count if count < changed.len() => limit,
                _ => limit.min(Instant::now() + QUIET),
            };
            tokio::select! {
                more = timeout_at(until, changes.changed()) => if more.is_err() { return },
                () = cx.cancel.cancelled() => return,
            }
        }
    }
}

fn same(now: &Arc<Report>, before: Option<&Arc<Report>>) -> bool {
    before.is_some_and(|before| before.number == now.number)
}

/// A report of an older version says nothing about this text.
fn current(report: &Report, document: &Document) -> bool {
    report
        .version
        .is_none_or(|version| version >= document.version)
}

/// What `all` has more often than `known`, whatever its line.
fn beyond<'a>(all: &'a [Reported], known: &[Reported]) -> impl Iterator<Item = &'a Reported> {
    let mut known: Vec<(String, String)> = known.iter().map(content).collect();
    all.iter().filter(move |it| {
        let at = known.iter().position(|known| *known == content(it));
        at.map(|at| known.swap_remove(at)).is_none()
    })
}

fn content(reported: &Reported) -> (String, String) {
    (reported.severity.clone(), reported.message.clone())
}

fn list(mut problems: Vec<String>, most: usize) -> String {
    let more = problems.len().saturating_sub(most);
    // Errors come before warnings.
    problems.sort_by_key(|it| !it.contains(": error: "));
    problems.truncate(most);
    if more > 0 {
        problems.push(format!("+{more}"));
    }
    problems.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(line: u32, message: &str) -> Reported {
        Reported {
            line,
            severity: "error".to_owned(),
            message: message.to_owned(),
        }
    }

    #[test]
    fn problems_are_compared_by_content_and_counted() {
        let before = [reported(1, "a"), reported(2, "b")];
        let after = [reported(7, "a"), reported(8, "a"), reported(9, "c")];
        let new: Vec<u32> = beyond(&after, &before).map(|it| it.line).collect();
        assert_eq!(new, [8, 9]);
        let gone: Vec<u32> = beyond(&before, &after).map(|it| it.line).collect();
        assert_eq!(gone, [2]);
    }

    #[test]
    fn a_long_list_is_cut_and_counts_the_rest() {
        let all: Vec<String> = (0..13).map(|n| format!("a.rs:{n}: warning: w")).collect();
        let mut with_error = all.clone();
        with_error.push("a.rs:99: error: e".to_owned());
        let shown = list(with_error, MOST);
        assert!(shown.starts_with("a.rs:99: error: e\n"));
        assert!(shown.ends_with("\n+4"));
        assert_eq!(list(all, 0), "+13");
    }
}
