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
use crate::env::order;
use crate::prompt::fence;
use crate::workspace::diagnostics::{Report, Reported, Reports};
use crate::workspace::search::Visibility as _;
use crate::workspace::{Author, Change, Document, Revision, Workspace};

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
    /// This editor has reported something.
    heard: bool,
    revisions: BTreeMap<String, Revision>,
    /// The step runs commands.
    commands: bool,
    /// Open documents without unsaved text, if the step runs commands: those may rewrite the files,
    /// and the editor loads them a moment later.
    clean: BTreeSet<String>,
}

impl Before {
    pub fn new(workspace: &Workspace, calls: &[Call]) -> Self {
        let commands = calls.iter().any(|call| call.name == "exec");
        let documents = || workspace.documents().into_iter();
        let saved = |it: &Document| commands && it.opened && !workspace.dirty(it);
        Self {
            reports: workspace.diagnostics.reports(),
            heard: workspace.diagnostics.any(),
            revisions: order::map(documents().map(|it| (it.key, it.revision))),
            commands,
            clean: order::set(documents().filter(saved).map(|it| it.key)),
        }
    }

    /// The open documents that the agent or a command changed since.
    fn changed(&self, workspace: &Workspace) -> Vec<Document> {
        let mut documents = workspace.documents();
        documents.retain(|it| {
            let then = self.revisions.get(&it.key);
            let same = then == Some(&it.revision);
            let rewritten = || self.clean.contains(&it.key) && workspace.dirty(it);
            let changed = !same && !self.only_typed(workspace, it, then.copied());
            it.opened && (changed || rewritten())
        });
        documents
    }

    /// Whether all changes since are the user's typing.
    fn only_typed(&self, workspace: &Workspace, now: &Document, then: Option<Revision>) -> bool {
        let changes = then.and_then(|then| workspace.changes_since(&now.uri, then));
        let user = |change: &Change| change.author == Author::User;
        !self.commands && changes.is_some_and(|it| it.iter().all(user))
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

/// What a turn was given of the reports, from its first step that changed documents on. A report
/// that arrives after the waiting time of its step is new in the next one.
#[derive(Default)]
pub struct Problems(Option<Given>);

struct Given {
    /// The reports before the first change, each replaced once the model was given the difference.
    reports: Reports,
    /// Documents that have no problems if they have no report: those that the turn changed, and
    /// those that were open before, if the editor had reported something. The first report of
    /// another one may be about old problems.
    known: BTreeSet<String>,
    /// The documents after the last step.
    revisions: BTreeMap<String, Revision>,
}

impl Problems {
    /// If the step changed documents: waits until they are reported about, and nothing more is
    /// reported for a moment. Then the difference to what the model was given, for the model.
    pub async fn difference(&mut self, before: Before, cx: &TurnEnv) -> Option<String> {
        let workspace = &cx.shared.workspace;
        let mut changed = before.changed(workspace);
        if changed.is_empty() && self.0.is_none() {
            return None;
        }
        let late = changed.is_empty();
        let given = self.0.get_or_insert_with(|| Given {
            reports: before.reports.clone(),
            known: match before.heard {
                true => order::set(before.revisions.keys().cloned()),
                false => BTreeSet::new(),
            },
            revisions: BTreeMap::new(),
        });
        given.known.extend(changed.iter().map(|it| it.key.clone()));
        changed.retain(|it| workspace.diagnostics.expected(&it.key));
        if !changed.is_empty() {
            before.settle(workspace, &changed, cx).await;
        }
        let (new, gone) = given.compare(cx, late);
        let room = MOST.saturating_sub(new.len());
        let mut parts = Vec::new();
        if !new.is_empty() {
            let problems = fence::block(&list(new, MOST));
            parts.push(match late {
                false => cx.text("results/problems-new.md", &[("problems", &problems)]),
                true => cx.text("results/problems-late.md", &[("problems", &problems)]),
            });
        }
        if !gone.is_empty() {
            let problems = fence::block(&list(gone, room));
            parts.push(match late {
                false => cx.text("results/problems-gone.md", &[("problems", &problems)]),
                true => cx.text("results/problems-late-gone.md", &[("problems", &problems)]),
            });
        }
        (!parts.is_empty()).then(|| parts.join("\n"))
    }
}

impl Given {
    /// The problems that are new and gone, which count as given from now on. `late`: the step
    /// changed nothing, so the user typed in documents that changed since the last one; they are
    /// compared when they rest.
    fn compare(&mut self, cx: &TurnEnv, late: bool) -> (Vec<String>, Vec<String>) {
        let workspace = &cx.shared.workspace;
        let after = workspace.diagnostics.reports();
        let policy = cx.policy();
        let (mut new, mut gone) = (Vec::new(), Vec::new());
        for document in workspace.documents() {
            let key = &document.key;
            let then = self.revisions.insert(key.clone(), document.revision);
            let typed = late && then != Some(document.revision);
            let Some(now) = after.get(key).filter(|now| current(now, &document)) else {
                continue;
            };
            if typed || !document.opened || !policy.visible(Path::new(key)) {
                continue;
            }
            let before = self.reports.insert(key.clone(), now.clone());
            if before.is_none() && !self.known.contains(key) {
                continue;
            }
            let path = fence::name(&shown_path(workspace, document.uri.as_str(), &cx.cwd));
            let before = before.as_ref().map_or(&[][..], |report| &report.items);
            new.extend(beyond(&now.items, before).map(|it| it.shown_at(&path).1));
            gone.extend(beyond(before, &now.items).map(|it| it.shown_at(&path).1));
        }
        (new, gone)
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
    order::sort_by_key(&mut problems, |it| !it.contains(": error: "));
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
