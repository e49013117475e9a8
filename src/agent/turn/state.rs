//! A running turn: what it has counted, changed and admitted so far, and how it ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::problems::Problems;
use crate::agent::calls::Call;
use crate::agent::request::context::RequestContext;
use crate::agent::request::{facts, mcp_tools};
use crate::agent::{TurnEnv, compact};
use crate::conversation::{
    Block, ContextUse, Entry, EpochId, Event, Failure, FileChange, Input, Message, Segment, Spent,
    TurnId, TurnStop,
};
use crate::env::order;
use crate::env::tasks;
use crate::workspace::Revision;

/// How a turn ended.
#[derive(Clone, Debug)]
pub struct TurnEnd {
    pub stop: TurnStop,
    pub error: Option<Failure>,
    pub usage: Spent,
    pub files: Vec<FileChange>,
    /// A turn in plan mode ended with a plan written as todos.
    pub planned: bool,
}

/// A running turn.
pub(super) struct Turn<'a> {
    pub(super) cx: &'a Arc<TurnEnv>,
    pub(super) usage: Spent,
    pub(super) files: Vec<FileChange>,
    /// The user was warned that the cost of the turn is unknown.
    pub(super) unpriced: bool,
    /// Revisions whose changes were reported in part, so they are not repeated in this turn.
    pub(super) partly_reported: BTreeMap<String, Revision>,
    /// The input that the turn began with, for layouts that are rendered again between steps.
    pub(super) input: Vec<Input>,
    /// Results for the parts of it that MCP servers provide.
    pub(super) picked: mcp_tools::Picked,
    pub(super) segments: Vec<Segment>,
    /// A plan was written as todos and not removed since.
    pub(super) plan_written: bool,
    pub(super) planned: bool,
    /// Index of the message that began the turn.
    pub(super) prompt: Option<usize>,
    /// The user's messages since then.
    pub(super) steered: Vec<Block>,
    /// Those of them that the next message carries.
    pub(super) carried: Vec<TurnId>,
    pub(super) compactions: Compactions,
    /// The problems of documents that the model was given.
    pub(super) problems: Problems,
    /// How often hooks let it continue.
    pub(super) continued: u32,
}

/// The compactions of a turn so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Compactions {
    pub(super) in_row: u32,
    /// The current step already had its compaction.
    pub(super) done: bool,
    /// An answer filled the window, and the turn continued after a compaction.
    pub(super) filled: bool,
    /// A compaction began an epoch that the turn has not taken up.
    pub(super) begun: bool,
}

impl Compactions {
    /// Whether the turn must take up the epoch that a compaction began.
    pub(super) fn take_renewed(&mut self) -> bool {
        std::mem::take(&mut self.begun)
    }
}

/// Reads files and compares texts on a blocking thread; `None` if that panicked.
pub(super) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    tasks::blocking(work)
        .await
        .inspect_err(|error| tracing::error!("gathering the prompt failed: {error}"))
        .ok()
}

impl<'a> Turn<'a> {
    pub(super) fn new(cx: &'a Arc<TurnEnv>, input: &[Input], segments: &[Segment]) -> Self {
        Self {
            cx,
            usage: Spent::default(),
            files: Vec::new(),
            unpriced: false,
            partly_reported: BTreeMap::new(),
            input: input.to_vec(),
            picked: mcp_tools::Picked::new(),
            segments: segments.to_vec(),
            plan_written: false,
            planned: false,
            prompt: None,
            steered: Vec::new(),
            carried: Vec::new(),
            compactions: Compactions::default(),
            problems: Problems::default(),
            continued: 0,
        }
    }
}

impl Turn<'_> {
    pub(super) fn request_context(
        &self,
        input: Vec<Input>,
        segments: Vec<Segment>,
    ) -> RequestContext {
        let cx = self.cx;
        RequestContext {
            shared: cx.shared.clone(),
            settings: cx.settings(),
            cwd: cx.cwd.clone(),
            model: cx.model.clone(),
            layout: cx.layout.clone(),
            editor: cx.editor.clone(),
            segments,
            seen: cx.state.seen(),
            encoding: cx.host.encoding(),
            news: Vec::new(),
            parent: cx.parent.clone(),
            conversation: cx.with_conversation(|conversation| conversation.clone()),
            input,
            servers_known: false,
            picked: self.picked.clone(),
            epoch: EpochId(cx.shared.env.id("epoch")),
            hooks: cx.state.hooks.found(),
            session: Some(cx.session.clone()),
        }
    }

    /// Keeps the text that arrived before an error or a cancellation.
    pub(super) fn push_partial(&self, partial: Vec<Block>) {
        let kept: Vec<Block> = partial
            .into_iter()
            .filter(|block| block.as_text().is_none_or(|text| !text.trim().is_empty()))
            .collect();
        if !kept.is_empty() {
            self.cx.push(Message::assistant(kept, &self.cx.model.name));
        }
    }

    /// Gives every call a result that says why it did not run.
    pub(super) fn answer_all(&self, calls: &[Call], text: &str) {
        if calls.is_empty() {
            return;
        }
        let text = self.cx.text(text, &[]);
        let results = calls.iter().map(|call| Block::failed_call(&call.id, &text));
        self.cx.push(Message::user(results.collect()));
    }

    /// A message carries the user's steering, so it no longer waits.
    pub(super) fn dequeue_carried(&mut self) {
        for turn in std::mem::take(&mut self.carried) {
            self.cx.recorder.record(Entry::Dequeued { turn });
        }
    }

    /// Adds the usage of a step; the session already has it.
    pub(super) fn count(&mut self, step: &Spent) {
        self.usage.join(step);
        if step.total() == 0 {
            return;
        }
        self.cx.sink.emit(Event::Usage {
            usage: self.usage,
            step: *step,
            context: Some(ContextUse {
                used: self.cx.with_conversation(|it| compact::total(it)),
                window: self.cx.model.facts.context,
            }),
        });
    }

    /// Adds the usage of sub-agents, which was already reported, to the turn.
    pub(super) fn count_children(&mut self) {
        let spent = self.cx.budget.spent();
        if self.cx.parent.is_none() && spent.total() > self.usage.total() {
            let estimated = self.usage.estimated;
            self.usage = spent;
            self.usage.estimated |= estimated;
        }
    }

    pub(super) fn note_changed(&mut self, file: FileChange) {
        self.cx.with_conversation(|it| it.note_created(&file));
        file.add_to(&mut self.files);
    }

    /// Notes the changes that the model has now seen.
    pub(super) fn note_seen(&mut self, recent: Vec<facts::Recent>) {
        let partly = recent.iter().filter(|change| !change.whole);
        self.partly_reported
            .extend(partly.map(|change| (change.key.clone(), change.document.revision)));
        facts::admit_recent(&self.cx.state.seen, recent);
    }

    pub(super) fn end(&mut self, stop: TurnStop, error: Option<Failure>) -> TurnEnd {
        let mut files = std::mem::take(&mut self.files);
        order::sort_by(&mut files, |a, b| a.uri.cmp(&b.uri));
        TurnEnd {
            stop,
            error,
            usage: self.usage,
            files,
            planned: self.planned,
        }
    }

    pub(super) fn fail(&mut self, failure: Failure) -> TurnEnd {
        self.end(TurnStop::Error, Some(failure))
    }
}
