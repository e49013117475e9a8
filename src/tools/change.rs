//! Shared by `edit` and `write`: the text to plan against, the planned change that policy and the
//! user judge, and the text of its outcome.

use std::sync::Arc;

use futures_util::FutureExt as _;
use ropey::Rope;

use super::target::{self, CurrentText};
use super::{Prepared, ToolContext, ToolError, ToolOutput, ToolResult, snippet};
use crate::conversation::FileChange;
use crate::edit::apply::{DEADLINE, Landed};
use crate::edit::rebase::Conflict;
use crate::edit::{EditJob, Outcome, Plan, SeenText, apply};
use crate::host::{Access, Fidelity, Subject};
use crate::policy::{Decision, Fact};
use crate::workspace::files::rope_hash;
use crate::workspace::{Author, FileError, FileKind, Located, Revision};

#[cfg(test)]
mod tests;

/// The text that a change is planned against.
pub(super) enum Base {
    /// Policy denies any change, so nothing was read.
    Denied,
    Missing,
    Text {
        /// The text as a tool last showed it to the model in this session.
        seen: Option<SeenText>,
        present: CurrentText,
        /// The model may see the current text without asking.
        open: bool,
    },
}

/// Reads only what the model may read, so that no answer or failed match reveals the content of a
/// file that the model may not see.
pub(super) async fn change_base(cx: &ToolContext, located: &Located) -> Result<Base, ToolError> {
    if matches!(
        target::decision(cx, located, Access::Write),
        Decision::Deny(_)
    ) {
        return Ok(Base::Denied);
    }
    let seen = target::last_seen(cx, &located.key());
    let open = matches!(
        target::decision(cx, located, Access::Read),
        Decision::Allow(_)
    );
    if !open && seen.is_none() && located.kind != FileKind::Missing {
        let path = target::display_name(cx, located);
        return Err(cx.error("results/read-first.md", &[("path", &path)]));
    }
    match target::read_current(cx, located).await {
        Ok(present) => Ok(Base::Text {
            seen,
            present,
            open,
        }),
        Err(FileError::Missing) => Ok(Base::Missing),
        Err(error) => Err(target::file_error(cx, located, &error)),
    }
}

/// A change that policy denies.
pub(super) fn denied(cx: &ToolContext, verb: &str, located: Located) -> Prepared {
    let title = format!("{verb} {}", located.display(&cx.workspace));
    let access = Access::Write;
    Prepared::denied(title, vec![Fact::Path { located, access }])
}

/// A change of an existing text. `base_revision` is of `plan.base`.
pub(super) fn planned(
    cx: &ToolContext,
    verb: &str,
    located: Located,
    plan: Plan,
    base_revision: Option<Revision>,
) -> Prepared {
    let title = format!("{verb} {}", located.display(&cx.workspace));
    if plan.hunks.is_empty() {
        // The text is already as requested.
        let path = target::display_name(cx, &located);
        let text = cx.text("results/edit-nothing.md", &[("path", &path)]);
        return Prepared {
            facts: target::read_facts(&located),
            ..Prepared::done(title, ToolOutput::text(text))
        };
    }
    let change = Change {
        title,
        located,
        plan,
        base_revision,
        create: false,
        on_disk: false,
    };
    change.prepared(cx)
}

/// A new file.
pub(super) fn created(cx: &ToolContext, located: Located, plan: Plan) -> Prepared {
    let change = Change {
        title: format!("Create {}", located.display(&cx.workspace)),
        located,
        plan,
        base_revision: None,
        create: true,
        on_disk: !cx.host.creates() && cx.host.fidelity() != Fidelity::Disk,
    };
    change.prepared(cx)
}

/// A planned change of one document.
struct Change {
    title: String,
    located: Located,
    plan: Plan,
    base_revision: Option<Revision>,
    create: bool,
    /// Created on disk, because the editor does not create files on request.
    on_disk: bool,
}

impl Change {
    fn prepared(self, cx: &ToolContext) -> Prepared {
        let (located, access) = (self.located.clone(), Access::Write);
        let diff = self.plan.diff(&located.display(&cx.workspace));
        let subject = Subject::Edit {
            uri: located.uri.to_string(),
            diff: diff.clone(),
            after: rope_hash(&self.plan.result()),
        };
        let mut facts = vec![Fact::Path { located, access }];
        facts.extend(self.on_disk.then_some(Fact::OnDisk));
        Prepared {
            facts,
            subject: Some(subject),
            diff: Some(diff),
            ..Prepared::new(self.title.clone(), |cx| self.run(cx).boxed())
        }
    }

    async fn run(self, cx: &ToolContext) -> ToolResult {
        let path = target::display_name(cx, &self.located);
        let lines = hunk_lines(&self.plan);
        let outcome = apply(EditJob {
            session: cx.session.clone(),
            turn: cx.turn.clone(),
            item: cx.item.clone(),
            label: self.title,
            located: self.located.clone(),
            plan: self.plan,
            base_revision: self.base_revision,
            create: self.create,
            closed_files: cx.config.edits.closed_files,
            deadline: DEADLINE,
            workspace: Arc::clone(&cx.workspace),
            lanes: Arc::clone(&cx.lanes),
            host: Arc::clone(&cx.host),
            recorder: Arc::clone(&cx.recorder),
            cancel: cx.cancel.clone(),
        })
        .await;
        if self.on_disk && matches!(outcome, Outcome::Applied(_)) {
            cx.host.message(&format!(
                "Interline created {path} on disk, because this editor does not create files on request."
            ));
        }
        let report = OutcomeReport {
            cx,
            located: &self.located,
            path,
            create: self.create,
            lines,
        };
        report.outcome(outcome).await
    }
}

/// 1-based lines of the base at which hunks begin.
fn hunk_lines(plan: &Plan) -> Vec<usize> {
    let line = |start: usize| plan.base.try_byte_to_line(start).unwrap_or(0) + 1;
    let mut lines: Vec<usize> = plan.hunks.iter().map(|hunk| line(hunk.start)).collect();
    lines.dedup();
    lines
}

/// Builds the text of an outcome.
struct OutcomeReport<'a> {
    cx: &'a ToolContext,
    located: &'a Located,
    path: String,
    create: bool,
    lines: Vec<usize>,
}

impl OutcomeReport<'_> {
    async fn outcome(self, outcome: Outcome) -> ToolResult {
        let texts = &self.cx.texts;
        let path = self.path.as_str();
        Ok(match outcome {
            Outcome::Applied(landed) => {
                let name = if self.create {
                    "results/edit-created.md"
                } else {
                    "results/edit-applied.md"
                };
                self.landed(name, &landed)
            }
            Outcome::Rebased(landed) => self.landed("results/edit-rebased.md", &landed),
            Outcome::Unknown { now, revision } => {
                self.failed_with_text("results/edit-unknown.md", now, revision, "")
            }
            Outcome::Held(landed) => self.landed("results/edit-held.md", &landed),
            Outcome::Refused { reason } => failed(texts.render(
                "results/edit-refused.md",
                &[("path", path), ("reason", &reason)],
            )),
            Outcome::Diverged { restored } => self.diverged(restored).await,
            Outcome::Unconfirmed => {
                failed(texts.render("results/edit-unconfirmed.md", &[("path", path)]))
            }
            Outcome::Conflict {
                conflict,
                now,
                revision,
            } => self.conflict(&conflict, now, revision),
            Outcome::Blocked { reason } => failed(texts.render(
                "results/edit-blocked.md",
                &[("path", path), ("reason", &reason)],
            )),
            Outcome::Cancelled => return Err(ToolError::Cancelled),
        })
    }

    fn landed(&self, name: &str, landed: &Landed) -> ToolOutput {
        let ranges = snippet::new_ranges(&landed.diff);
        let shown = snippet::ranges_text(&self.cx.texts, &landed.text, ranges.into_iter());
        self.remember(landed.text.clone(), landed.revision);
        let who = self.who(&landed.others);
        let values = [
            ("path", self.path.as_str()),
            ("who", who.as_str()),
            ("added", &landed.added.to_string()),
            ("removed", &landed.removed.to_string()),
            ("text", shown.trim_end_matches('\n')),
        ];
        ToolOutput {
            text: self.cx.texts.render(name, &values),
            files: vec![FileChange {
                uri: self.located.uri.to_string(),
                added: landed.added,
                removed: landed.removed,
                created: self.create,
            }],
            diff: Some(landed.diff.clone()),
            ..ToolOutput::default()
        }
    }

    async fn diverged(&self, restored: bool) -> ToolOutput {
        let name = if restored {
            "results/edit-restored.md"
        } else {
            "results/edit-diverged.md"
        };
        let shown = match target::read_current(self.cx, self.located).await {
            Ok(present) => {
                let shown = snippet::around(&self.cx.texts, &present.rope, &self.lines, 8);
                self.remember(present.rope, present.revision);
                shown
            }
            Err(_) => String::new(),
        };
        let text = shown.trim_end_matches('\n');
        failed(self.cx.text(name, &[("path", &self.path), ("text", &text)]))
    }

    fn conflict(&self, conflict: &Conflict, now: Rope, revision: Option<Revision>) -> ToolOutput {
        match conflict {
            Conflict::Overlap { by, .. } => {
                let who = self.who(std::slice::from_ref(by));
                self.failed_with_text("results/edit-conflict.md", now, revision, &who)
            }
            Conflict::Forgotten => {
                self.failed_with_text("results/edit-conflict-lost.md", now, revision, "")
            }
            Conflict::Busy => {
                self.failed_with_text("results/edit-conflict-busy.md", now, revision, "")
            }
        }
    }

    /// A failure that shows the current text around the place.
    fn failed_with_text(
        &self,
        name: &str,
        now: Rope,
        revision: Option<Revision>,
        who: &str,
    ) -> ToolOutput {
        let shown = snippet::around(&self.cx.texts, &now, &self.lines, 8);
        self.remember(now, revision);
        let values = [
            ("path", self.path.as_str()),
            ("who", who),
            ("text", shown.trim_end_matches('\n')),
        ];
        failed(self.cx.texts.render(name, &values))
    }

    /// Who changed a text, at the beginning of a sentence or inside one.
    fn who(&self, authors: &[Author]) -> String {
        let own = |id: &String| *id == self.cx.session.to_string();
        let mut names: Vec<&str> = authors
            .iter()
            .map(|author| match author {
                Author::Session(id) if own(id) => "an earlier edit of yours",
                Author::Session(_) => "another agent session",
                Author::Formatter => "a formatter",
                Author::Disk => "another program",
                Author::User => "the user",
            })
            .collect();
        names.dedup();
        match names.is_empty() {
            true => "the user".to_owned(),
            false => names.join(" and "),
        }
    }

    fn remember(&self, rope: Rope, revision: Option<Revision>) {
        let hash = rope_hash(&rope);
        let seen = SeenText {
            rope,
            revision,
            hash,
        };
        target::remember(self.cx, self.located.key(), seen);
    }
}

fn failed(text: String) -> ToolOutput {
    ToolOutput {
        text,
        is_error: true,
        ..ToolOutput::default()
    }
}
