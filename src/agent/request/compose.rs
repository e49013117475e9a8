//! Gathers the facts and drafts a turn's first user message; previews use the same path.

use super::context::RequestContext;
use super::draft::{Draft, Sources, baseline_between_steps, draft};
use super::facts::{Recent, gather, recent};
use super::transform_hook;
use crate::agent::Shared;
use crate::agent::request::attachments::{self, Reader};
use crate::agent::request::nested_instructions::{self, Present};
use crate::agent::request::reviewed;
use crate::config::Config;
use crate::conversation::entry::Baseline;
use crate::conversation::{Block, SessionId};
use crate::knowledge::instructions;
use crate::policy::Policy;
use crate::prompt::{Assembled, Facts, Layout, assemble};

/// The builder for the prompts that the user picked.
const PICKED: &str = "picked";

/// Refreshes the instruction texts at the user's addresses if the layout uses them; bounded in
/// time, never fails. In a session's turn (`of`), skips addresses that already failed in it.
/// Returns the addresses that failed now, with the reason.
pub async fn fetch(
    shared: &Shared,
    config: &Config,
    layout: &Layout,
    of: Option<&SessionId>,
) -> Vec<(String, String)> {
    let urls = instructions::urls(config, &layout.head.instructions);
    match of {
        Some(session) => instructions::fetch::refresh_for(&urls, &shared.urls, session).await,
        None => {
            instructions::fetch::refresh(&urls, &shared.urls).await;
            Vec::new()
        }
    }
}

impl RequestContext {
    /// Gathers and drafts; also returns the user's changes that the message reports. Blocking.
    pub fn draft(&self) -> (Facts, Draft, Vec<Recent>) {
        self.draft_with(|policy, facts| self.attachments(policy, self.layout.shows(PICKED, facts)))
    }

    /// For a turn whose history was just compacted: the new baseline, and what its messages must
    /// repeat. Blocking.
    pub fn draft_after_compaction(&self) -> (Draft, Vec<Recent>) {
        let (_, draft, recent) = self.draft_with(|_, _| Vec::new());
        (draft, recent)
    }

    fn draft_with(
        &self,
        input: impl FnOnce(&Policy, &Facts) -> Vec<Block>,
    ) -> (Facts, Draft, Vec<Recent>) {
        let policy = self.shared.policy(&self.settings, &self.cwd);
        let session = self.session.as_ref().map(ToString::to_string);
        let session = session.unwrap_or_default();
        let workspace = &self.shared.workspace;
        let recent = recent(workspace, &&policy, &self.cwd, &session, &self.seen);
        let facts = self.gather(&policy, &recent);
        let input = input(&policy, &facts);
        let search = &self.layout.head.instructions;
        let sent_updates = &self.conversation.sent_updates;
        let nested = nested_instructions::gather(
            &self.shared,
            &self.cwd,
            search,
            sent_updates,
            &self.editor,
        );
        let draft = draft(&self.conversation, &self.sources(&facts, &nested), input);
        (facts, draft, recent)
    }

    /// Between two steps: the baseline of a layout that is rendered again. Blocking.
    pub fn baseline_between_steps(&self) -> Option<Baseline> {
        let policy = self.shared.policy(&self.settings, &self.cwd);
        let facts = self.gather(&policy, &[]);
        baseline_between_steps(&self.conversation, &self.sources(&facts, &[]))
    }

    fn sources<'a>(&'a self, facts: &'a Facts, nested: &'a [Present]) -> Sources<'a> {
        Sources {
            layout: &self.layout,
            texts: &self.shared.texts,
            facts,
            model: &self.model,
            nested,
            epoch: self.epoch.clone(),
            changed: self.transformed(facts),
        }
    }

    /// The prompt as the user's command changed it; `None` without a command. Blocking.
    fn transformed(&self, facts: &Facts) -> Option<Assembled> {
        let command = &self.settings.config.prompt.transform;
        if command.is_empty() {
            return None;
        }
        let assembled = assemble(&self.layout, &self.shared.texts, facts);
        let request = transform_hook::Request {
            agent: facts.agent.clone(),
            model: facts.model.clone(),
            mode: facts.mode,
            layout: self.layout.name.clone(),
            segments: transform_hook::parts(&assembled),
        };
        let reply = transform_hook::run(&self.shared.env, command, &request);
        // This thread belongs to the composition, so blocking it delays nothing else.
        let reply = tokio::runtime::Handle::current().block_on(reply);
        Some(transform_hook::apply_reply(&self.layout, assembled, reply))
    }

    /// The blocks for the prompt's parts; `placed`: a segment shows the picked prompts. Blocking.
    pub fn attachments(&self, policy: &Policy, placed: bool) -> Vec<Block> {
        attachments::blocks(&Reader::new(self, policy, placed), &self.input)
    }

    /// One-time hints: commands that ended, changes that the user reverted or reviewed.
    fn hints(&self) -> Vec<String> {
        let news = self.news.iter().cloned();
        let (workspace, texts) = (&self.shared.workspace, &self.shared.texts);
        let decided = reviewed::hint(texts, workspace, &self.cwd, &self.conversation);
        decided.into_iter().chain(news).collect()
    }

    fn gather(&self, policy: &Policy, recent: &[Recent]) -> Facts {
        let began = std::time::Instant::now();
        let facts = gather(self, policy, recent, self.hints());
        // The benchmark reads this.
        tracing::debug!(micros = began.elapsed().as_micros(), "gathered");
        facts
    }
}

#[cfg(test)]
mod tests;
