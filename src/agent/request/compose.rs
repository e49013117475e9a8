//! Gathers the facts and drafts a turn's first user message; previews use the same path.

use std::path::PathBuf;
use std::sync::Arc;

use super::draft::{Draft, Sources, baseline_between_steps, draft};
use super::facts::{Gather, Recent, gather, recent};
use super::transform;
use crate::agent::request::attachments::{self, Reader, shown_path};
use crate::agent::request::mcp_tools::Picked;
use crate::agent::request::nested_instructions::{self, Present};
use crate::agent::{Conversation, Settings, Shared};
use crate::config::Config;
use crate::conversation::entry::Baseline;
use crate::conversation::{Block, EditorContext, EpochId, Input, Message, Segment, SessionId};
use crate::edit::Seen;
use crate::knowledge::instructions;
use crate::policy::Policy;
use crate::prompt::{Assembled, Facts, Layout, assemble, fence};
use crate::provider::Model;
use crate::workspace::Encoding;

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

/// Everything that the first message of a turn depends on, owned, so that gathering can run off the
/// async threads.
pub struct Compose {
    pub shared: Arc<Shared>,
    pub settings: Settings,
    pub cwd: PathBuf,
    pub model: Model,
    pub layout: Arc<Layout>,
    pub editor: EditorContext,
    pub segments: Vec<Segment>,
    pub seen: Seen,
    pub encoding: Encoding,
    /// Background commands that ended.
    pub news: Vec<String>,
    pub conversation: Conversation,
    pub input: Vec<Input>,
    /// Results for the parts that MCP servers provide.
    pub picked: Picked,
    pub epoch: EpochId,
    /// The parent session.
    pub parent: Option<SessionId>,
    /// The session whose own memories apply.
    pub session: Option<SessionId>,
}

impl Compose {
    /// Gathers and drafts; also returns the user's changes that the message reports. Blocking.
    pub fn draft(&self) -> (Facts, Draft, Vec<Recent>) {
        self.draft_with(|policy, facts| self.blocks(policy, facts))
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
        let policy = self.shared.policy(self.settings.clone(), &self.cwd);
        let session = self.session.as_ref().map(ToString::to_string);
        let session = session.unwrap_or_default();
        let workspace = &self.shared.workspace;
        let recent = recent(workspace, &policy, &self.cwd, &session, &self.seen);
        let facts = self.gather(&policy, &recent);
        let input = input(&policy, &facts);
        let search = &self.layout.head.instructions;
        let told = &self.conversation.told;
        let nested =
            nested_instructions::gather(&self.shared, &self.cwd, search, told, &self.editor);
        let draft = draft(&self.conversation, &self.sources(&facts, &nested), input);
        (facts, draft, recent)
    }

    /// Between two steps: the baseline of a layout that is rendered again. Blocking.
    pub fn baseline_between_steps(&self) -> Option<Baseline> {
        let policy = self.shared.policy(self.settings.clone(), &self.cwd);
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
        let request = transform::Request {
            agent: facts.agent.clone(),
            model: facts.model.clone(),
            mode: facts.mode,
            layout: self.layout.name.clone(),
            segments: transform::parts(&assembled),
        };
        let reply = transform::run(&self.shared.env, command, &request);
        // This thread belongs to the composition, so blocking it delays nothing else.
        let reply = tokio::runtime::Handle::current().block_on(reply);
        Some(transform::apply_reply(&self.layout, assembled, reply))
    }

    fn blocks(&self, policy: &Policy, facts: &Facts) -> Vec<Block> {
        let placed = self.layout.shows(PICKED, facts);
        attachments::blocks(
            &Reader {
                workspace: &self.shared.workspace,
                texts: &self.shared.texts,
                facts: &self.model.facts,
                policy,
                cwd: &self.cwd,
                env: &self.shared.env,
                config: &self.settings.config,
                encoding: self.encoding,
                picked: &self.picked,
                documents: self.model.provider.documents(),
                placed,
            },
            &self.input,
        )
    }

    /// A hint about files that the user reverted.
    fn reverted(&self) -> Option<String> {
        let uris = &self.conversation.reverted;
        let names: Vec<String> = uris
            .iter()
            .map(|uri| shown_path(&self.shared.workspace, uri, &self.cwd))
            .map(|path| fence::name(&path))
            .collect();
        let values = [("files", names.join(", "))];
        let values = values.each_ref().map(|(name, text)| (*name, text.as_str()));
        let texts = &self.shared.texts;
        (!names.is_empty()).then(|| texts.render("hints/reverted.md", &values))
    }

    /// One-time hints: commands that ended, changes that the user reverted.
    fn hints(&self) -> Vec<String> {
        let news = self.news.iter().cloned();
        self.reverted().into_iter().chain(news).collect()
    }

    fn gather(&self, policy: &Policy, recent: &[Recent]) -> Facts {
        let began = std::time::Instant::now();
        let facts = gather(Gather {
            shared: &self.shared,
            settings: &self.settings,
            policy,
            cwd: &self.cwd,
            model: &self.model.family,
            editor: &self.editor,
            segments: &self.segments,
            recent,
            encoding: self.encoding,
            hints: self.hints(),
            layout: &self.layout,
            input: &self.input,
            picked: &self.picked,
            thinking: self.model.facts.thinking,
            effort: self.model.facts.effort,
            degraded: &self.conversation.failing.degraded(),
            created: &self.conversation.created,
            said: &earlier_prompts(&self.conversation.messages),
            parent: self.parent.as_ref(),
            session: self.session.as_ref(),
            summary: self.conversation.carried.hint.as_deref(),
        });
        // The benchmark reads this.
        tracing::debug!(micros = began.elapsed().as_micros(), "gathered");
        facts
    }
}

/// Earlier prompts that show what the conversation is about.
const SAID: usize = 5;
/// Prefixes of blocks that the user did not write.
const OURS: [&str; 4] = ["<context", "<update", "<system", "```"];

/// The user's text in the last prompts, the newest first.
fn earlier_prompts(messages: &[Message]) -> Vec<String> {
    let prompts = messages.iter().rev().filter(|message| message.is_prompt());
    let words = prompts.take(SAID).map(|message| {
        let texts = message.content.iter().filter_map(|block| match block {
            Block::Text { text } if !OURS.iter().any(|begin| text.starts_with(begin)) => {
                Some(text.as_str())
            }
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    });
    words.filter(|text| !text.is_empty()).collect()
}

#[cfg(test)]
mod tests;
