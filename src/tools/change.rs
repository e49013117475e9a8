//! Shared by the tools that change files: the text to plan against, the planned change that policy and the
//! user judge, and the text of its outcome.

use std::sync::Arc;

use futures_util::FutureExt as _;
use ropey::Rope;

use super::target::{self, CurrentText};
use super::{
    Prepared, ProposedFile, Reviewable, ToolContext, ToolError, ToolOutput, ToolResult,
    plan_errors, read, snippet,
};
use crate::config::Review;
use crate::conversation::{FileChange, FileShape};
use crate::edit::apply::{DEADLINE, Landed};
use crate::edit::matching::Strategy;
use crate::edit::rebase::Conflict;
use crate::edit::{EditJob, Outcome, Plan, SeenText, apply};
use crate::host::{Access, Fidelity, Subject};
use crate::policy::{Decision, Fact, schemas};
use crate::workspace::files::rope_hash;
use crate::workspace::{Author, FileError, FileKind, Located, Revision};

pub(super) mod several;
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
    target::loaded(cx, located).await?;
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

/// A change of a whole text that the model has not read: it gets the text if it may see it.
pub(super) fn unread(
    cx: &ToolContext,
    located: &Located,
    present: &CurrentText,
    open: bool,
) -> ToolError {
    let path = target::display_name(cx, located);
    let problem = match open {
        true => cx.text("results/unread.md", &[("path", &path)]),
        false => return cx.error("results/read-first.md", &[("path", &path)]),
    };
    with_text(cx, located, present, &problem)
}

/// A problem with a file that the model has not read, and its text.
pub(super) fn with_text(
    cx: &ToolContext,
    located: &Located,
    present: &CurrentText,
    problem: &str,
) -> ToolError {
    let path = target::display_name(cx, located);
    let text = read::first_page(cx, &present.rope);
    target::remember(cx, located.key(), present.seen());
    cx.error(
        "results/unread-text.md",
        &[("problem", &problem), ("path", &path), ("text", &text)],
    )
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
        delete: false,
        shape: None,
        moves: false,
        on_disk: false,
    };
    change.prepared(cx)
}

/// Plans against the version that the model saw. If that lacks the exact text, plans against the
/// current one if the model may see it, because the prompt may have shown the user's recent
/// changes. `exact`: the
/// plan, or its error, is about an exact match.
pub(super) fn on_what_was_seen<E>(
    (seen, present, open): (Option<SeenText>, &CurrentText, bool),
    plan: impl Fn(&Rope) -> Result<Plan, E>,
    exact: impl Fn(&Result<Plan, E>) -> bool,
) -> Result<(Plan, Option<Revision>), E> {
    let Some(seen) = seen else {
        return Ok((plan(&present.rope)?, present.revision));
    };
    let planned = plan(&seen.rope);
    if exact(&planned) || !open || seen.rope == present.rope {
        return Ok((planned?, seen.revision));
    }
    match plan(&present.rope) {
        Ok(plan) if planned.is_err() || plan.strategy == Strategy::Exact => {
            Ok((plan, present.revision))
        }
        Err(error) if planned.is_err() => Err(error),
        _ => Ok((planned?, seen.revision)),
    }
}

/// A new file.
pub(super) fn created(cx: &ToolContext, located: Located, plan: Plan) -> Prepared {
    Change::creation(cx, located, plan).prepared(cx)
}

/// A planned change of one document.
#[derive(Clone)]
pub(super) struct Change {
    pub title: String,
    pub located: Located,
    pub plan: Plan,
    pub base_revision: Option<Revision>,
    pub create: bool,
    /// The plan empties the file, which is then deleted.
    pub delete: bool,
    /// Of a file that is created or deleted, if an editor would not create it like that.
    pub shape: Option<FileShape>,
    /// The change before it, in the same call, creates the deleted file's text elsewhere.
    pub moves: bool,
    /// Created on disk, because the editor does not create files on request.
    pub on_disk: bool,
}

impl Change {
    /// A new file.
    pub fn creation(cx: &ToolContext, located: Located, plan: Plan) -> Self {
        Self {
            title: format!("Create {}", located.display(&cx.workspace)),
            located,
            plan,
            base_revision: None,
            create: true,
            delete: false,
            shape: None,
            moves: false,
            on_disk: !cx.host.creates() && cx.host.fidelity() != Fidelity::Disk,
        }
    }

    /// What a command wrote to the text that it saw.
    pub fn of_command(
        cx: &ToolContext,
        located: Located,
        plan: Plan,
        base_revision: Revision,
    ) -> Self {
        Self {
            title: format!("Edit {}", located.display(&cx.workspace)),
            located,
            plan,
            base_revision: Some(base_revision),
            create: false,
            delete: false,
            shape: None,
            moves: false,
            on_disk: false,
        }
    }

    fn prepared(self, cx: &ToolContext) -> Prepared {
        let diff = self.diff(cx);
        let subject = Subject::Edit {
            uri: self.located.uri.to_string(),
            diff: diff.clone(),
            after: rope_hash(&self.plan.result()),
            files: Vec::new(),
        };
        Prepared {
            facts: self.facts(cx),
            subject: Some(subject),
            diff: Some(diff),
            reviewable: (cx.config.edits.review == Review::Before).then(|| self.reviewable()),
            ..Prepared::new(self.title.clone(), |cx| self.run(cx).boxed())
        }
    }

    /// The same with the parts that the user keeps.
    fn reviewable(&self) -> Reviewable {
        let change = self.clone();
        Reviewable::new(vec![self.proposed()], move |cx, plans| {
            let plan = plans.into_iter().next();
            let plan = plan.unwrap_or_else(|| change.plan.clone());
            Self { plan, ..change }.prepared(cx)
        })
    }

    fn proposed(&self) -> ProposedFile {
        ProposedFile {
            located: self.located.clone(),
            plan: self.plan.clone(),
            base_revision: self.base_revision,
        }
    }

    fn facts(&self, cx: &ToolContext) -> Vec<Fact> {
        let (located, access) = (self.located.clone(), Access::Write);
        let mut facts = vec![Fact::Path { located, access }];
        facts.extend(self.on_disk.then_some(Fact::OnDisk));
        let before = || String::from(&self.plan.base);
        let schema = schemas::adds_remote(before, &String::from(&self.plan.result()));
        facts.extend(schema.then_some(Fact::RemoteSchema));
        let document = cx.workspace.document(&self.located.uri);
        let unsaved = document.is_some_and(|it| cx.workspace.file_state(&it).unsaved());
        // A file that moves takes its unsaved text with it.
        let deletes = self.delete && !self.moves && unsaved;
        facts.extend(deletes.then_some(Fact::DeletesUnsaved));
        facts
    }

    fn diff(&self, cx: &ToolContext) -> String {
        self.plan.diff(&self.located.display(&cx.workspace))
    }

    pub async fn run(self, cx: &ToolContext) -> ToolResult {
        let outcome = apply(self.job(cx)).await;
        self.announce(cx, &outcome);
        self.report(cx).outcome(outcome).await
    }

    fn job(&self, cx: &ToolContext) -> EditJob {
        EditJob {
            session: cx.session.clone(),
            turn: cx.turn.clone(),
            item: cx.item.clone(),
            label: self.title.clone(),
            located: self.located.clone(),
            plan: self.plan.clone(),
            base_revision: self.base_revision,
            create: self.create,
            delete: self.delete,
            strict: false,
            shape: self.shape,
            closed_files: cx.config.edits.closed_files,
            deadline: DEADLINE,
            workspace: Arc::clone(&cx.workspace),
            lanes: Arc::clone(&cx.lanes),
            host: Arc::clone(&cx.host),
            recorder: Arc::clone(&cx.recorder),
            cancel: cx.cancel.clone(),
        }
    }

    /// Tells the user about a file that the editor did not create.
    fn announce(&self, cx: &ToolContext, outcome: &Outcome) {
        if self.on_disk && matches!(outcome, Outcome::Applied(_)) {
            let path = target::display_name(cx, &self.located);
            cx.host.message(&format!(
                "Interline created {path} on disk, because this editor does not create files on request."
            ));
        }
    }

    fn report<'a>(&'a self, cx: &'a ToolContext) -> OutcomeReport<'a> {
        OutcomeReport {
            cx,
            located: &self.located,
            path: target::display_name(cx, &self.located),
            create: self.create,
            strategy: self.plan.strategy,
            lines: hunk_lines(&self.plan),
        }
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
    strategy: Strategy,
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
        let mut text = self.cx.texts.render(name, &values);
        if let Some(how) = plan_errors::how(self.cx, self.strategy) {
            let note = self.cx.text("results/edit-found.md", &[("how", &how)]);
            text = format!("{text}\n{note}");
        }
        ToolOutput {
            text,
            files: vec![FileChange {
                uri: self.located.uri.to_string(),
                added: landed.added,
                removed: landed.removed,
                created: self.create,
                deleted: false,
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
