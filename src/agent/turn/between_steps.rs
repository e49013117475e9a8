//! What joins a turn's messages between two steps: instructions of folders, MCP tools, the health
//! of tools, the user's edits and steering.

use std::cell::LazyCell;

use tokio::sync::mpsc::UnboundedReceiver;

use super::problems::Before;
use super::state::{Turn, off_thread};
use crate::agent::Steering;
use crate::agent::calls::tool_health::{self, Health};
use crate::agent::request::{facts, language_tools, mcp_tools, reviewed};
use crate::conversation::{Block, Event, plan};
use crate::prompt::epoch::JournalEntry;
use crate::prompt::fence;
use crate::tools::exec::background_results;

impl Turn<'_> {
    /// Instructions of the folders that the calls touched, recorded with the message that carries
    /// them.
    pub(super) fn record_claims(&self, entries: Vec<JournalEntry>) -> Vec<Block> {
        self.record_journal(&entries);
        self.cx.with_conversation(|it| {
            for entry in &entries {
                it.note_update(entry.source.clone(), entry.hash.clone());
            }
        });
        let texts = entries.into_iter().map(|entry| entry.text);
        texts.map(Block::text).collect()
    }

    /// Announces MCP tools that appeared or disappeared during the turn, and reports unavailable
    /// servers once.
    pub(super) fn late_tools(&self) -> Vec<JournalEntry> {
        let cx = self.cx;
        self.report_servers();
        // A layout that is rendered for every request lists them among its tools.
        if self.renders_each_step() {
            return Vec::new();
        }
        let servers = cx.servers().facts(&cx.cwd);
        let (texts, settings) = (&cx.shared.texts, cx.settings());
        let abilities = language_tools::abilities(&cx.shared, &settings);
        let tools = settings.registry(&cx.shared.registry, &cx.layout, &abilities, &cx.model.facts);
        let present = language_tools::present(&tools, texts);
        cx.with_conversation(|it| {
            let tools = it.baseline.as_ref().map(|baseline| &baseline.tools);
            let tools = tools.map_or(&[][..], Vec::as_slice);
            let (layout, sent) = (&cx.layout, &it.sent_updates);
            let mut entries = mcp_tools::late_tools(texts, layout, &servers, tools, sent);
            entries.extend(language_tools::announcement(
                texts, layout, &present, tools, sent,
            ));
            entries
        })
    }

    /// Text after the tool results: problems that are new or gone since the model was last given
    /// them, steering, the user's decisions about changes, and the user's edits since the model
    /// last read.
    pub(super) async fn additions(
        &mut self,
        before: Before,
        steer: &mut UnboundedReceiver<Steering>,
    ) -> Vec<Block> {
        let cx = self.cx;
        let mut blocks = Vec::new();
        let problems = self.problems.difference(before, cx).await;
        blocks.extend(problems.map(Block::text));
        blocks.extend(self.steering(steer).await);
        blocks.extend(self.few_steps());
        for (command, text) in
            background_results::ended_notices(&cx.state.background, &cx.shared.texts)
        {
            blocks.push(Block::text(text));
            command.mark_reported();
        }
        blocks.extend(self.reviewed().map(Block::text));
        let added = cx.state.hooks.take_pending();
        blocks.extend(added.into_iter().map(Block::text));
        let seen = cx.state.seen();
        let (shared, settings, cwd) = (cx.shared.clone(), cx.settings(), cx.cwd.clone());
        let session = cx.session.to_string();
        let compare = move || {
            let policy = LazyCell::new(|| shared.policy(&settings, &cwd));
            facts::recent(&shared.workspace, &policy, &cwd, &session, &seen)
        };
        let mut recent = off_thread(compare).await.unwrap_or_default();
        recent.retain(|change| {
            self.partly_reported.get(&change.key) != Some(&change.document.revision)
        });
        if !recent.is_empty() {
            let diffs: String = recent.iter().map(|change| change.diff.as_str()).collect();
            blocks.push(Block::text(cx.text(
                "results/recent-edits.md",
                &[("diff", &fence::block(&diffs))],
            )));
            self.note_seen(recent);
        }
        blocks
    }

    /// What the user decided about changes during this turn; it is reported once.
    fn reviewed(&self) -> Option<String> {
        let shared = &self.cx.shared;
        self.cx.with_conversation(|conversation| {
            let (texts, workspace) = (&shared.texts, &shared.workspace);
            let hint = reviewed::hint(texts, workspace, &self.cx.cwd, conversation);
            conversation.reverted.clear();
            conversation.reviewed.clear();
            hint
        })
    }

    /// Records tool health. If the prompt is not rendered for the next step, changes follow the
    /// results.
    pub(super) fn health_changes(&self, shown: &[(String, Health)]) -> Vec<Block> {
        let cx = self.cx;
        let changes = cx.with_conversation(|conversation| conversation.failing.count(shown));
        if self.renders_each_step() {
            return Vec::new();
        }
        let said = |change| Block::text(tool_health::hint(&cx.layout, &cx.shared.texts, change));
        changes.iter().map(said).collect()
    }

    pub(super) async fn steering(&mut self, steer: &mut UnboundedReceiver<Steering>) -> Vec<Block> {
        let cx = self.cx;
        let mut blocks = Vec::new();
        while let Ok(Steering { waits, input }) = steer.try_recv() {
            self.carried.push(waits);
            cx.sink.emit(Event::UserMessage {
                item_id: cx.shared.env.id("item").into(),
                input: input.clone(),
            });
            let Some(added) = self.prompt_allowed(&input).await else {
                continue;
            };
            blocks.extend(added.into_iter().map(Block::text));
            let picked = mcp_tools::pick(cx, &input).await;
            // Steering carries no segments.
            let mut context = self.request_context(input, Vec::new());
            context.picked = picked;
            let policy = cx.policy();
            let read = move || context.attachments(&policy, false);
            blocks.extend(off_thread(read).await.unwrap_or_default());
        }
        self.steered.extend_from_slice(&blocks);
        blocks
    }

    /// Notes whether the step that just ran wrote the plan.
    pub(super) fn note_plan(&mut self) {
        let written = self.cx.with_conversation(|it| {
            let step = it.messages.len().saturating_sub(2);
            plan::written(&it.messages[step..])
        });
        if let Some(todos) = written {
            self.plan_written = !todos.is_empty();
        }
    }
}
