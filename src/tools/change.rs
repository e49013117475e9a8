//! Shared by `edit` and `write`: the text to plan against, the planned change that policy and the
//! user judge, and the text of its outcome.

use std::sync::Arc;

use async_trait::async_trait;
use ropey::Rope;

use super::target::{self, CurrentText};
use super::{Prepared, ToolContext, ToolError, ToolOutput, snippet};
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
    let seen = target::last_seen(cx, &located.uri.key());
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

/// A planned change of one document.
pub(super) struct Change {
    verb: &'static str,
    located: Located,
    display: String,
    kind: Kind,
}

enum Kind {
    Denied,
    /// The text is already as requested.
    Nothing,
    Planned(Box<Planned>),
}

struct Planned {
    plan: Plan,
    base_revision: Option<Revision>,
    create: bool,
    /// Created on disk, because the editor does not create files on request.
    on_disk: bool,
    diff: String,
    after: String,
}

impl Change {
    pub fn denied(cx: &ToolContext, verb: &'static str, located: Located) -> Self {
        Self::new(cx, verb, located, Kind::Denied)
    }

    /// `base_revision` is of `plan.base`.
    pub fn planned(
        cx: &ToolContext,
        verb: &'static str,
        located: Located,
        plan: Plan,
        base_revision: Option<Revision>,
    ) -> Self {
        if plan.hunks.is_empty() {
            return Self::new(cx, verb, located, Kind::Nothing);
        }
        let planned = Planned {
            diff: plan.diff(&located.display(&cx.workspace)),
            after: rope_hash(&plan.result()),
            plan,
            base_revision,
            create: false,
            on_disk: false,
        };
        Self::new(cx, verb, located, Kind::Planned(Box::new(planned)))
    }

    pub fn created(cx: &ToolContext, located: Located, plan: Plan) -> Self {
        let planned = Planned {
            diff: plan.diff(&located.display(&cx.workspace)),
            after: rope_hash(&plan.result()),
            plan,
            base_revision: None,
            create: true,
            on_disk: !cx.host.creates() && cx.host.fidelity() != Fidelity::Disk,
        };
        Self::new(cx, "Create", located, Kind::Planned(Box::new(planned)))
    }

    fn new(cx: &ToolContext, verb: &'static str, located: Located, kind: Kind) -> Self {
        Self {
            verb,
            display: located.display(&cx.workspace),
            located,
            kind,
        }
    }
}

#[async_trait]
impl Prepared for Change {
    fn title(&self) -> String {
        format!("{} {}", self.verb, self.display)
    }

    fn facts(&self) -> Vec<Fact> {
        let mut facts = vec![Fact::Path {
            located: self.located.clone(),
            access: match self.kind {
                Kind::Nothing => Access::Read,
                Kind::Denied | Kind::Planned(_) => Access::Write,
            },
        }];
        if matches!(&self.kind, Kind::Planned(planned) if planned.on_disk) {
            facts.push(Fact::OnDisk);
        }
        facts
    }

    fn subject(&self) -> Option<Subject> {
        match &self.kind {
            Kind::Planned(planned) => Some(Subject::Edit {
                uri: self.located.uri.to_string(),
                diff: planned.diff.clone(),
                after: planned.after.clone(),
            }),
            Kind::Denied | Kind::Nothing => None,
        }
    }

    fn diff(&self) -> Option<String> {
        match &self.kind {
            Kind::Planned(planned) => Some(planned.diff.clone()),
            Kind::Denied | Kind::Nothing => None,
        }
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let label = self.title();
        let path = target::display_name(cx, &self.located);
        let planned = match self.kind {
            Kind::Planned(planned) => planned,
            // Only reached if policy was not asked: fail closed.
            Kind::Denied => return Err(cx.error("results/denied.md", &[])),
            Kind::Nothing => {
                return Ok(ToolOutput::text(
                    cx.text("results/edit-nothing.md", &[("path", &path)]),
                ));
            }
        };
        let lines = hunk_lines(&planned.plan);
        let (create, on_disk) = (planned.create, planned.on_disk);
        let outcome = apply(EditJob {
            session: cx.session.clone(),
            turn: cx.turn.clone(),
            item: cx.item.clone(),
            label,
            located: self.located.clone(),
            plan: planned.plan,
            base_revision: planned.base_revision,
            create,
            closed_files: cx.config.edits.closed_files,
            deadline: DEADLINE,
            workspace: Arc::clone(&cx.workspace),
            lanes: Arc::clone(&cx.lanes),
            host: Arc::clone(&cx.host),
            recorder: Arc::clone(&cx.recorder),
            cancel: cx.cancel.clone(),
        })
        .await;
        if on_disk && matches!(outcome, Outcome::Applied(_)) {
            cx.host.message(&format!(
                "Interline created {path} on disk, because this editor does not create files on request."
            ));
        }
        let telling = OutcomeReport {
            cx,
            located: &self.located,
            path,
            create,
            lines,
        };
        telling.outcome(outcome).await
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
    async fn outcome(self, outcome: Outcome) -> Result<ToolOutput, ToolError> {
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
            text: self.cx.text(name, &values),
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
        failed(self.cx.text(name, &[("path", &self.path), ("text", text)]))
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
        failed(self.cx.text(name, &values))
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
        target::remember(self.cx, self.located.uri.key(), seen);
    }
}

fn failed(text: String) -> ToolOutput {
    ToolOutput {
        text,
        is_error: true,
        ..ToolOutput::default()
    }
}
