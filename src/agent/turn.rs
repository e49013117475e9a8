//! One turn: the user's message, then requests and tool calls until the model is done, a limit is
//! reached, the user cancels or the turn fails. Once a tool has run, the turn only continues; it is
//! never sent again from its start (INV-7).

mod budget;
mod context_window;
mod untrusted_notice;

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedReceiver;

use super::calls::{self, Call, tool_health};
use super::request::attachments::{self, Reader};
use super::request::compose::{self, Compose};
use super::request::draft::{self, Draft, SAID_ONCE};
use super::request::{facts, mcp_tools};
use super::step::{Answer, StepEnd};
use super::{Steering, TurnContext};
use crate::conversation::entry::Baseline;
use crate::conversation::plan;
use crate::conversation::{
    Block, Entry, EpochId, Event, Failure, FailureKind, FileChange, Input, Message, Mode, Segment,
    Spent, TurnId, TurnStop,
};
use crate::prompt::epoch::JournalEntry;
use crate::prompt::fence;
use crate::prompt::layout::Cadence;
use crate::provider::{ProviderError, StopReason};
use crate::tools::exec::background;
use crate::workspace::{Revision, Uri};
use context_window::{Made, Room};

/// How long a turn waits for the mirror to reach the versions that the client named.
const VERSIONS: Duration = Duration::from_secs(1);

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

/// Runs a turn to its end. `steer` delivers the user's messages to the running turn.
pub async fn run(
    cx: &TurnContext,
    input: Vec<Input>,
    segments: Vec<Segment>,
    steer: &mut UnboundedReceiver<Steering>,
) -> TurnEnd {
    let mut turn = Turn {
        cx,
        usage: Spent::default(),
        files: BTreeMap::new(),
        unpriced: false,
        told: BTreeMap::new(),
        input: input.clone(),
        picked: mcp_tools::Picked::new(),
        segments: segments.clone(),
        written: false,
        planned: false,
        prompt: None,
        said: Vec::new(),
        taken: Vec::new(),
        room: Room::default(),
    };
    wait_for_versions(cx).await;
    cx.sink.emit(Event::UserMessage {
        item_id: cx.shared.env.id("item").into(),
        input: input.clone(),
    });
    cx.with_conversation(|it| it.note_skills(&input));
    if let Made::Failed(failure) = turn.room_between(&input).await {
        return turn.end(TurnStop::Error, Some(failure));
    }
    let baseline = match turn.begin(input, segments).await {
        Ok(baseline) => baseline,
        Err(failure) => return turn.end(TurnStop::Error, Some(failure)),
    };
    turn.steps(baseline, steer).await
}

async fn wait_for_versions(cx: &TurnContext) {
    let versions = cx.editor.versions.clone().unwrap_or_default();
    let deadline = Instant::now() + VERSIONS;
    for (uri, version) in versions {
        let left = deadline.saturating_duration_since(Instant::now());
        cx.shared
            .workspace
            .wait_for_version(&Uri::new(uri), version, left)
            .await;
    }
}

/// Reads files and compares texts on a blocking thread; `None` if that panicked.
async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work)
        .await
        .inspect_err(|error| tracing::error!("gathering the prompt failed: {error}"))
        .ok()
}

/// Whether a text is not blank.
fn speaks(block: &Block) -> bool {
    matches!(block, Block::Text { text } if !text.trim().is_empty())
}

struct Turn<'a> {
    cx: &'a TurnContext,
    usage: Spent,
    files: BTreeMap<String, FileChange>,
    /// The user was warned that the cost of the turn is unknown.
    unpriced: bool,
    /// Revisions whose changes were reported in part, so they are not repeated in this turn.
    told: BTreeMap<String, Revision>,
    /// The input that the turn began with, for layouts that are rendered again between steps.
    input: Vec<Input>,
    /// Results for the parts of it that MCP servers provide.
    picked: mcp_tools::Picked,
    segments: Vec<Segment>,
    /// A plan was written as todos and not removed since.
    written: bool,
    planned: bool,
    /// Index of the message that began the turn.
    prompt: Option<usize>,
    /// The user's messages since then.
    said: Vec<Block>,
    /// Those of them that the next message carries.
    taken: Vec<TurnId>,
    room: Room,
}

impl Turn<'_> {
    /// Drafts, records and admits the turn's first message.
    async fn begin(
        &mut self,
        input: Vec<Input>,
        segments: Vec<Segment>,
    ) -> Result<Baseline, Failure> {
        let cx = self.cx;
        let config = cx.settings().config;
        let servers = cx.servers();
        let (of, at, cwd) = (servers.clone(), config.clone(), cx.cwd.clone());
        off_thread(move || of.reload(&at, &cwd)).await;
        servers.start_all(&cx.cwd);
        let session = cx.parent.as_ref().unwrap_or(&cx.session);
        tokio::select! {
            (failed, ()) = async {
                tokio::join!(
                    compose::fetch(&cx.shared, &config, &cx.layout, Some(session)),
                    servers.wait(&cx.cwd),
                )
            } => self.tell_addresses(failed),
            // The next step ends the turn; the user's message stays in the conversation.
            () = cx.cancel.cancelled() => {}
        }
        self.tell_servers();
        let picked = mcp_tools::pick(cx, &input).await;
        let mut compose = self.compose(input, segments);
        self.picked.clone_from(&picked);
        compose.picked = picked;
        let news = background::ended_notices(&cx.background, &cx.shared.texts);
        let (ended, news): (Vec<_>, Vec<_>) = news.into_iter().unzip();
        compose.news = news;
        let (facts, draft, recent) =
            off_thread(move || compose.draft()).await.ok_or_else(|| {
                Failure::new(
                    FailureKind::Invalid,
                    "The prompt could not be assembled.",
                    "See Interline's log, and report the panic in it.",
                )
            })?;
        self.fits(&draft)?;
        self.tell(recent);
        ended.iter().for_each(|command| command.mark_reported());
        self.warn(&draft);
        untrusted_notice::tell(cx, &facts);
        let baseline = self.admit(draft);
        self.prompt = cx.with_conversation(|it| it.messages.len().checked_sub(1));
        Ok(baseline)
    }

    fn compose(&self, input: Vec<Input>, segments: Vec<Segment>) -> Compose {
        let cx = self.cx;
        Compose {
            shared: cx.shared.clone(),
            settings: cx.settings(),
            cwd: cx.cwd.clone(),
            model: cx.model.clone(),
            layout: cx.layout.clone(),
            editor: cx.editor.clone(),
            segments,
            seen: cx
                .seen
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            encoding: cx.host.encoding(),
            news: Vec::new(),
            parent: cx.parent.clone(),
            conversation: cx.with_conversation(|conversation| conversation.clone()),
            input,
            picked: self.picked.clone(),
            epoch: EpochId(cx.shared.env.id("epoch")),
            session: Some(cx.session.clone()),
        }
    }

    /// Warns once per layout and model about the cost of a layout that is rendered for every
    /// request.
    fn warn(&self, draft: &Draft) {
        let first = draft
            .new_epoch
            .as_deref()
            .is_some_and(|reason| reason != draft::REBUILT);
        let (layout, model) = (&self.cx.layout, &self.cx.model);
        if first && layout.head.cadence != Cadence::Session && model.facts.prefix_bound {
            self.cx.sink.emit(Event::Notice {
                text: format!(
                    "The layout {} is rendered again for each turn. {} signs its thinking over the \
                     prompt, so each change drops its earlier thinking and most of the cache; the \
                     layout `default` avoids both.",
                    layout.name, model.name
                ),
            });
        }
    }

    /// The baseline of the next step, if the layout is rendered for every request.
    async fn rebuilt(&self, baseline: Baseline) -> Baseline {
        let cx = self.cx;
        if cx.layout.head.cadence != Cadence::Step || cx.model.facts.prefix_bound {
            return baseline;
        }
        let compose = self.compose(self.input.clone(), self.segments.clone());
        let rebuilt = off_thread(move || compose.rebuilt()).await.flatten();
        let Some(rebuilt) = rebuilt else {
            return baseline;
        };
        cx.recorder
            .record(Entry::PromptBaseline(Box::new(rebuilt.clone())));
        cx.with_conversation(|conversation| conversation.begin(rebuilt.clone()));
        rebuilt
    }

    /// Logs the draft and adds it to the conversation: baseline, journal, tail, message. A reader
    /// applies the first three only once the message follows.
    fn admit(&mut self, mut draft: Draft) -> Baseline {
        let cx = self.cx;
        let secrets = cx.shared.env.secrets();
        let content = draft.message.content.iter_mut();
        content.for_each(|block| block.clean(secrets));
        cx.budget.grew(&draft.message);
        if draft.new_epoch.is_some() {
            cx.recorder
                .record(Entry::PromptBaseline(Box::new(draft.baseline.clone())));
        }
        for entry in &draft.journal {
            cx.recorder.record(Entry::Journal {
                about: entry.about.clone(),
                source: entry.source.clone(),
                hash: entry.hash.clone(),
            });
        }
        let hashes: BTreeMap<String, String> = draft
            .tail
            .iter()
            .filter(|part| !SAID_ONCE.contains(&part.id.as_str()))
            .map(|part| (part.id.clone(), part.hash.clone()))
            .collect();
        if !hashes.is_empty() {
            cx.recorder.record(Entry::Tail {
                hashes: hashes.clone(),
            });
        }
        cx.recorder.record(Entry::Message {
            turn: cx.turn.clone(),
            message: draft.message.clone(),
        });
        cx.with_conversation(|conversation| {
            if draft.new_epoch.is_some() {
                conversation.begin(draft.baseline.clone());
            }
            for entry in draft.journal {
                conversation.tell(entry.source, entry.hash);
            }
            conversation.tail.extend(hashes);
            conversation.reverted.clear();
            conversation.messages.push(draft.message);
        });
        draft.baseline
    }

    async fn steps(
        &mut self,
        baseline: Baseline,
        steer: &mut UnboundedReceiver<Steering>,
    ) -> TurnEnd {
        let limits = self.cx.settings().config.limits.clone();
        let mut baseline = baseline;
        let mut n = 0;
        loop {
            if let Some(end) = self.over_budget(&limits) {
                return end;
            }
            if !self.cx.budget.step(limits.steps, self.cx.parent.is_some()) {
                return self.out_of_steps();
            }
            n += 1;
            self.cx.sink.emit(Event::Step {
                n,
                model: self.cx.model.name.clone(),
            });
            match self.room_for_step(self.prompt.unwrap_or_default()).await {
                Made::Nothing => {}
                Made::Room => self.present(&mut baseline),
                Made::Cancelled => return self.cancelled(steer).await,
                Made::Failed(failure) => return self.end(TurnStop::Error, Some(failure)),
            }
            if self.room.renewed() {
                self.present(&mut baseline);
            }
            if n > 1 {
                baseline = self.rebuilt(baseline).await;
            }
            let answer = match self.ask(&mut baseline).await {
                StepEnd::Answered(answer) => answer,
                StepEnd::Cancelled(partial) => {
                    self.keep(partial);
                    return self.cancelled(steer).await;
                }
                StepEnd::Stopped(partial) => return self.stopped(partial),
                StepEnd::Failed(error, partial) => {
                    self.keep(partial);
                    return self.failed(&error);
                }
            };
            if let Some(end) = self.after(answer, steer).await {
                return end;
            }
        }
    }

    /// Handles one answer: records its message and runs its calls; `Some` ends the turn.
    async fn after(
        &mut self,
        answer: Answer,
        steer: &mut UnboundedReceiver<Steering>,
    ) -> Option<TurnEnd> {
        let calls = self.calls_of(&answer);
        let spoke = answer.blocks.iter().any(speaks);
        let text = |block: &Block| matches!(block, Block::Text { .. });
        if spoke || !answer.blocks.iter().all(text) {
            self.push(Message::assistant(answer.blocks, &self.cx.model.name));
        }
        if let StopReason::Refusal(why) = &answer.stop {
            self.answer_all(&calls, "results/not-run.md");
            return Some(self.declined(why.as_deref()));
        }
        if calls.is_empty() {
            return self.without_calls(&answer.stop, spoke, steer).await;
        }
        if matches!(
            answer.stop,
            StopReason::MaxTokens | StopReason::ContextWindow
        ) {
            self.answer_all(&calls, "results/cut-off.md");
            return match answer.stop {
                StopReason::ContextWindow => self.window_filled().await,
                _ => None,
            };
        }
        let done = calls::run(self.cx, calls).await;
        self.count_children();
        for file in done.files {
            self.changed(file);
        }
        let mut content = done.results;
        let (texts, facts) = (&self.cx.shared.texts, &self.cx.model.facts);
        content.extend(attachments::images(texts, facts, &done.images));
        content.extend(self.claimed(done.claimed));
        content.extend(self.claimed(self.remote()));
        content.extend(self.health(&done.health));
        let closing = done.closing.or_else(|| {
            let text =
                "The approval request expired, so the turn ended. Send a prompt to continue.";
            done.expired.then(|| text.to_owned())
        });
        let ended = done.cancelled || closing.is_some() || done.fatal.is_some();
        if !ended {
            content.extend(self.between(steer).await);
        }
        self.push(Message::user(content));
        self.taken_up();
        self.note_plan();
        if done.cancelled {
            return Some(self.cancelled(steer).await);
        }
        if let Some(text) = closing {
            self.cx.sink.emit(Event::Notice { text });
            return Some(self.end(TurnStop::EndTurn, None));
        }
        done.fatal.map(|reason| {
            self.end(
                TurnStop::Error,
                Some(Failure::new(
                    FailureKind::Invalid,
                    format!("A tool could not continue: {reason}"),
                    "Nothing else was done; fix the cause and send the prompt again.",
                )),
            )
        })
    }

    /// Instructions of the folders that the calls touched, recorded with the message that carries
    /// them.
    fn claimed(&self, entries: Vec<JournalEntry>) -> Vec<Block> {
        let mut blocks = Vec::new();
        for entry in entries {
            self.cx.recorder.record(Entry::Journal {
                about: entry.about,
                source: entry.source.clone(),
                hash: entry.hash.clone(),
            });
            self.cx
                .with_conversation(|it| it.tell(entry.source, entry.hash));
            blocks.push(Block::text(entry.text));
        }
        blocks
    }

    /// Announces MCP tools that appeared or disappeared during the turn, and reports unavailable
    /// servers once.
    fn remote(&self) -> Vec<JournalEntry> {
        let cx = self.cx;
        self.tell_servers();
        // A layout that is rendered for every request lists them among its tools.
        if cx.layout.head.cadence == Cadence::Step && !cx.model.facts.prefix_bound {
            return Vec::new();
        }
        let servers = cx.servers().facts(&cx.cwd);
        cx.with_conversation(|it| {
            let tools = it.baseline.as_ref().map(|baseline| &baseline.tools);
            let tools = tools.map_or(&[][..], Vec::as_slice);
            mcp_tools::late(&cx.shared.texts, &cx.layout, &servers, tools, &it.told)
        })
    }

    /// Reports unavailable servers, each failure once.
    fn tell_servers(&self) {
        for text in self.cx.servers().failure_notices(&self.cx.cwd) {
            self.cx.sink.emit(Event::Notice { text });
        }
    }

    /// Reports instruction addresses that failed for the first time in this session.
    fn tell_addresses(&self, failed: Vec<(String, String)>) {
        for (source, reason) in failed {
            let text = format!(
                "The instructions at {} could not be fetched: {}. Interline tries again in a new \
                 session or after a settings reload.",
                fence::name(&source),
                fence::line(&reason)
            );
            self.cx.sink.emit(Event::Notice { text });
        }
    }

    fn declined(&mut self, why: Option<&str>) -> TurnEnd {
        let failure = Failure::new(
            FailureKind::Invalid,
            match why {
                Some(why) => format!("The model declined to continue ({why})."),
                None => "The model declined to continue.".to_owned(),
            },
            "Rephrase the prompt or switch the model.",
        );
        self.end(TurnStop::Refusal, Some(failure))
    }

    fn calls_of(&self, answer: &Answer) -> Vec<Call> {
        answer
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::ToolUse { id, name, input } => Some(Call {
                    id: id.clone(),
                    name: self.cx.layout.wire_name(name).to_owned(),
                    input: input.clone(),
                    item: answer
                        .items
                        .get(id)
                        .cloned()
                        .unwrap_or_else(|| self.cx.shared.env.id("item").into()),
                    invalid: answer.invalid.get(id).cloned(),
                }),
                _ => None,
            })
            .collect()
    }

    /// An answer without calls ends the turn, unless the user sent more input or the provider only
    /// paused.
    async fn without_calls(
        &mut self,
        stop: &StopReason,
        spoke: bool,
        steer: &mut UnboundedReceiver<Steering>,
    ) -> Option<TurnEnd> {
        if *stop == StopReason::Pause {
            return None;
        }
        let further = self.steering(steer).await;
        if !further.is_empty() {
            self.push(Message::user(further));
            self.taken_up();
            return None;
        }
        if *stop == StopReason::ContextWindow {
            return self.window_filled().await;
        }
        Some(match stop {
            StopReason::MaxTokens => self.end(TurnStop::MaxTokens, None),
            _ => {
                if !spoke {
                    self.tell_silence(stop);
                }
                self.tell_plan();
                // Nobody continues a sub-agent's conversation.
                if self.cx.parent.is_some() {
                    return Some(self.end(TurnStop::EndTurn, None));
                }
                match self.room_between(&[]).await {
                    Made::Cancelled => self.end(TurnStop::Cancelled, None),
                    _ => self.end(TurnStop::EndTurn, None),
                }
            }
        })
    }

    /// An empty answer would look as if nothing had happened (P30).
    fn tell_silence(&self, stop: &StopReason) {
        let why = match stop {
            StopReason::Other(reason) => format!(" (it stopped for {reason:?})"),
            _ => String::new(),
        };
        self.cx.sink.emit(Event::Notice {
            text: format!(
                "{} returned an empty answer{why}. Prompt \"continue\" or rephrase; if this \
                 repeats, switch the model.",
                self.cx.model.name
            ),
        });
    }

    /// Notes whether the step that just ran wrote the plan.
    fn note_plan(&mut self) {
        let written = self.cx.with_conversation(|it| {
            let step = it.messages.len().saturating_sub(2);
            plan::written(&it.messages[step..])
        });
        if let Some(todos) = written {
            self.written = !todos.is_empty();
        }
    }

    /// For a plan written in plan mode: says how to carry it out, since nothing was changed yet.
    fn tell_plan(&mut self) {
        if self.cx.settings().mode != Mode::Plan {
            return;
        }
        let lists =
            |block: &Block| matches!(block, Block::Text { text } if plan::lists_steps(text));
        let said = self.cx.with_conversation(|it| {
            let last = it.messages.last();
            last.is_some_and(|message| message.content.iter().any(lists))
        });
        self.planned = self.written || said;
        if self.planned {
            self.cx.sink.emit(Event::Notice {
                text: "This is a plan; nothing was changed. To carry it out, switch to mode agent \
                       (interline.mode agent; in a terminal: interline run --continue --mode \
                       agent) and prompt \"go on\", or say what to change."
                    .to_owned(),
            });
        }
    }

    /// Text after the tool results: the user's edits since the model last read, and steering.
    async fn between(&mut self, steer: &mut UnboundedReceiver<Steering>) -> Vec<Block> {
        let cx = self.cx;
        let mut blocks = self.steering(steer).await;
        blocks.extend(self.few_steps());
        for (command, text) in background::ended_notices(&cx.background, &cx.shared.texts) {
            blocks.push(Block::text(text));
            command.mark_reported();
        }
        let seen = cx
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let (shared, policy, cwd) = (cx.shared.clone(), cx.policy(), cx.cwd.clone());
        let session = cx.session.to_string();
        let compare = move || facts::recent(&shared.workspace, &policy, &cwd, &session, &seen);
        let mut recent = off_thread(compare).await.unwrap_or_default();
        recent.retain(|change| self.told.get(&change.key) != Some(&change.document.revision));
        if !recent.is_empty() {
            let diffs: String = recent.iter().map(|change| change.diff.as_str()).collect();
            blocks.push(Block::text(cx.shared.texts.render(
                "results/recent-edits.md",
                &[("diff", &fence::block(&diffs))],
            )));
            self.tell(recent);
        }
        blocks
    }

    /// Records tool health. If the prompt is not rendered for the next step, changes follow the
    /// results.
    fn health(&self, shown: &[(String, calls::Health)]) -> Vec<Block> {
        let cx = self.cx;
        let changes = cx.with_conversation(|conversation| conversation.failing.count(shown));
        if cx.layout.head.cadence == Cadence::Step && !cx.model.facts.prefix_bound {
            return Vec::new();
        }
        let said = |change| Block::text(tool_health::said(&cx.layout, &cx.shared.texts, change));
        changes.iter().map(said).collect()
    }

    /// The user's additions to a cancelled turn stay in the conversation and start nothing.
    async fn cancelled(&mut self, steer: &mut UnboundedReceiver<Steering>) -> TurnEnd {
        let further = self.steering(steer).await;
        if !further.is_empty() {
            self.push(Message::user(further));
        }
        self.taken_up();
        self.end(TurnStop::Cancelled, None)
    }

    /// Notes the changes that the model has now seen.
    fn tell(&mut self, recent: Vec<facts::Recent>) {
        let partly = recent.iter().filter(|change| !change.whole);
        self.told
            .extend(partly.map(|change| (change.key.clone(), change.document.revision)));
        facts::admit_recent(&self.cx.seen, recent);
    }

    async fn steering(&mut self, steer: &mut UnboundedReceiver<Steering>) -> Vec<Block> {
        let cx = self.cx;
        let mut blocks = Vec::new();
        while let Ok(Steering { waits, input }) = steer.try_recv() {
            self.taken.push(waits);
            cx.sink.emit(Event::UserMessage {
                item_id: cx.shared.env.id("item").into(),
                input: input.clone(),
            });
            let (shared, policy, cwd) = (cx.shared.clone(), cx.policy(), cx.cwd.clone());
            let (facts, encoding) = (cx.model.facts.clone(), cx.host.encoding());
            let documents = cx.model.provider.documents();
            let config = cx.settings().config;
            let picked = mcp_tools::pick(cx, &input).await;
            let read = move || {
                let reader = Reader {
                    workspace: &shared.workspace,
                    texts: &shared.texts,
                    facts: &facts,
                    policy: &policy,
                    cwd: &cwd,
                    env: &shared.env,
                    config: &config,
                    encoding,
                    picked: &picked,
                    documents,
                    // Steering carries no segments.
                    placed: false,
                };
                attachments::blocks(&reader, &input)
            };
            blocks.extend(off_thread(read).await.unwrap_or_default());
        }
        self.said.extend_from_slice(&blocks);
        blocks
    }

    /// A message carries the user's steering, so it no longer waits.
    fn taken_up(&mut self) {
        for turn in std::mem::take(&mut self.taken) {
            self.cx.recorder.record(Entry::Dequeued { turn });
        }
    }

    /// Gives every call a result that says why it did not run.
    fn answer_all(&self, calls: &[Call], text: &str) {
        if calls.is_empty() {
            return;
        }
        let text = self.cx.shared.texts.render(text, &[]);
        self.push(Message::user(
            calls
                .iter()
                .map(|call| Block::ToolResult {
                    tool_use_id: call.id.clone(),
                    content: text.clone(),
                    is_error: true,
                })
                .collect(),
        ));
    }

    /// Records a message and adds it to the conversation.
    fn push(&self, message: Message) {
        self.cx.budget.grew(&message);
        self.cx.recorder.record(Entry::Message {
            turn: self.cx.turn.clone(),
            message: message.clone(),
        });
        self.cx
            .with_conversation(|conversation| conversation.messages.push(message));
    }

    /// Keeps the text that arrived before an error or a cancellation.
    fn keep(&self, partial: Vec<Block>) {
        let kept: Vec<Block> = partial
            .into_iter()
            .filter(|block| !matches!(block, Block::Text { text } if text.trim().is_empty()))
            .collect();
        if !kept.is_empty() {
            self.push(Message::assistant(kept, &self.cx.model.name));
        }
    }

    /// Adds the usage of a step; the session already has it.
    fn count(&mut self, step: &Spent) {
        self.usage.join(step);
        if step.total() == 0 {
            return;
        }
        self.cx.sink.emit(Event::Usage {
            usage: self.usage,
            step: *step,
        });
    }

    /// Adds the usage of sub-agents, which was already reported, to the turn.
    fn count_children(&mut self) {
        let spent = self.cx.budget.spent();
        if self.cx.parent.is_none() && spent.total() > self.usage.total() {
            let estimated = self.usage.estimated;
            self.usage = spent;
            self.usage.estimated |= estimated;
        }
    }

    fn changed(&mut self, file: FileChange) {
        self.cx.with_conversation(|it| it.note_created(&file));
        let entry = self
            .files
            .entry(file.uri.clone())
            .or_insert_with(|| FileChange {
                uri: file.uri.clone(),
                added: 0,
                removed: 0,
                created: false,
            });
        entry.added += file.added;
        entry.removed += file.removed;
        entry.created |= file.created;
    }

    fn failed(&mut self, error: &ProviderError) -> TurnEnd {
        self.end(TurnStop::Error, Some(error.failure().clone()))
    }

    fn end(&mut self, stop: TurnStop, error: Option<Failure>) -> TurnEnd {
        TurnEnd {
            stop,
            error,
            usage: self.usage,
            files: std::mem::take(&mut self.files).into_values().collect(),
            planned: self.planned,
        }
    }
}
