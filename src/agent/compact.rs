//! Compacts a conversation between steps: first by pruning old tool outputs, else by replacing the
//! older messages with a summary. State that must survive is retained without a model
//! (`compact/retained.rs`). One log record holds the result; until it is written, and on any failure
//! or cancellation, the conversation stays unchanged (INV-6).

pub mod cut;
pub mod retained;
pub mod summary;

use super::{Conversation, TurnEnv};
use crate::agent::request::context::RequestContext;
use crate::agent::request::draft::{self, Draft};
use crate::agent::request::facts::Recent;
use crate::conversation::entry::{Baseline, Begun, Carried, Compaction};
use crate::conversation::usage::estimated_tokens;
use crate::conversation::{
    Block, CompactionItem, CompactionStatus, Entry, Event, Input, Message, Role, Spent,
};
use crate::env::tasks;
use crate::prompt::fence;
use crate::prompt::layout::Summary;
use cut::Numbers;

/// Why a conversation is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It reached the limit of its layout and model.
    Threshold,
    /// The model rejected the request as too long.
    Overflow,
    /// The user asked for it.
    Request,
}

impl Why {
    fn word(self) -> &'static str {
        match self {
            Why::Threshold => "threshold",
            Why::Overflow => "overflow",
            Why::Request => "request",
        }
    }
}

/// A compaction to run.
pub struct Ask<'a> {
    pub why: Why,
    /// What the summary should emphasise.
    pub focus: Option<&'a str>,
    /// The turn that continues afterwards.
    pub going: Option<Going<'a>>,
}

impl Ask<'_> {
    /// Index of the message that began the running turn.
    fn prompt(&self) -> Option<usize> {
        self.going.as_ref().map(|going| going.prompt)
    }
}

/// A turn that continues after the compaction.
pub struct Going<'a> {
    /// Index of the message that began the turn.
    pub prompt: usize,
    /// The user's messages since then.
    pub said: &'a [Block],
    /// Makes the new baseline and everything the messages must repeat.
    pub context: Box<RequestContext>,
}

/// The outcome; its event was sent.
pub enum Outcome {
    Shortened {
        /// Where the running turn's first message is now.
        prompt: Option<usize>,
        /// The user's changes that the messages now report.
        reported: Vec<Recent>,
    },
    /// The conversation is unchanged, for this reason.
    Failed(String),
    Cancelled,
}

/// Why there was no compaction.
#[derive(Debug)]
enum Stop {
    Cancelled,
    Failed(String),
}

/// The size of a conversation in tokens.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The provider's last count plus an estimate of everything since.
    pub total: u64,
    /// Real tokens per estimated token.
    pub scale: f64,
}

/// The tokens of a conversation: the provider's last count plus an estimate of everything since.
/// Costs what is new since that count.
pub fn total(conversation: &Conversation) -> u64 {
    let messages = &conversation.messages;
    match conversation.counted {
        Some(counted) => {
            let known = counted.messages.min(messages.len());
            let since = cut::weigh(&messages[known..]);
            counted.tokens.saturating_add(since)
        }
        None => conversation.baseline.as_ref().map_or(0, base) + messages.tokens(),
    }
}

impl Size {
    pub fn of(conversation: &Conversation) -> Self {
        let total = total(conversation);
        let Some(counted) = conversation.counted else {
            return Self { total, scale: 1.0 };
        };
        let base = conversation.baseline.as_ref().map_or(0, base);
        let messages = &conversation.messages;
        let known = counted.messages.min(messages.len());
        let estimated = (base + cut::weigh(&messages[..known])).max(1);
        #[expect(clippy::cast_precision_loss)]
        let scale = (counted.tokens as f64 / estimated as f64).clamp(0.25, 64.0);
        Self { total, scale }
    }
}

/// If a conversation must be compacted before a turn with `input`: the tokens it would have.
pub fn due(conversation: &Conversation, numbers: &Numbers, input: &[Input]) -> Option<u64> {
    let bytes = serde_json::to_string(input).map_or(0, |json| json.len());
    let total = total(conversation).saturating_add(estimated_tokens(bytes));
    (total >= numbers.threshold && !held_off(conversation, numbers, total)).then_some(total)
}

/// Whether an automatic compaction failed and the conversation has not grown much since.
pub fn held_off(conversation: &Conversation, numbers: &Numbers, total: u64) -> bool {
    let at = conversation.held_off;
    at.is_some_and(|at| total < at.saturating_add(numbers.threshold / 10))
}

/// Estimated tokens of tools and system text.
pub fn base(baseline: &Baseline) -> u64 {
    let system = baseline.system.iter().map(|block| block.text.len());
    let tools = baseline
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.to_string().len());
    estimated_tokens(system.chain(tools).sum())
}

/// Compacts the conversation. Also returns the usage.
pub async fn run(cx: &TurnEnv, ask: Ask<'_>) -> (Outcome, Spent) {
    if let Some(why) = refused_by_hooks(cx, &ask).await {
        return (Outcome::Failed(why), Spent::default());
    }
    let before = cx.with_conversation(|it| it.clone());
    let size = Size::of(&before);
    let mut item = CompactionItem {
        item_id: cx.shared.env.id("item").into(),
        status: CompactionStatus::Running,
        reason: ask.why.word().to_owned(),
        tokens_before: size.total,
        tokens_after: None,
        text: None,
    };
    cx.sink.emit(Event::Compaction(item.clone()));
    let mut work = Work {
        cx,
        before: &before,
        size,
        numbers: Numbers::of(&cx.layout, &cx.model.facts),
        spent: Spent::default(),
        writer: cx.model.name.clone(),
    };
    let outcome = work.shorten(ask).await;
    let spent = work.spent;
    let outcome = match outcome {
        Ok((compaction, prompt, reported)) => {
            item.status = CompactionStatus::Completed;
            item.tokens_after = Some(compaction.tokens_after);
            item.text.clone_from(&compaction.summary);
            cx.recorder
                .record(Entry::Compaction(Box::new(compaction.clone())));
            cx.with_conversation(|it| it.compact(compaction));
            cx.compacted_hooks().await;
            Outcome::Shortened { prompt, reported }
        }
        Err(Stop::Cancelled) => {
            item.status = CompactionStatus::Cancelled;
            Outcome::Cancelled
        }
        Err(Stop::Failed(why)) => {
            item.status = CompactionStatus::Failed;
            item.text = Some(why.clone());
            Outcome::Failed(why)
        }
    };
    cx.sink.emit(Event::Compaction(item));
    (outcome, spent)
}

/// Why hooks refuse the compaction; the user is notified.
async fn refused_by_hooks(cx: &TurnEnv, ask: &Ask<'_>) -> Option<String> {
    let trigger = if ask.why == Why::Request {
        "manual"
    } else {
        "auto"
    };
    let outcome = cx.compact_hooks(trigger, ask.focus).await;
    let mut reasons = outcome.refused;
    reasons.extend(outcome.ends_turn);
    if reasons.is_empty() {
        return None;
    }
    let why = format!("A hook refused it: {}", fence::line(&reasons.join(" ")));
    if ask.why != Why::Request {
        cx.notice(format!("The conversation was not compacted. {why}"));
    }
    Some(why)
}

struct Work<'a> {
    cx: &'a TurnEnv,
    before: &'a Conversation,
    size: Size,
    numbers: Numbers,
    spent: Spent,
    /// The model that writes the summary.
    writer: String,
}

type Shortened = (Compaction, Option<usize>, Vec<Recent>);

impl Work<'_> {
    async fn shorten(&mut self, ask: Ask<'_>) -> Result<Shortened, Stop> {
        let messages = &self.before.messages;
        if ask.why != Why::Request
            && let Some(pruned) = self.pruned()
        {
            let (prompt, carried) = (ask.prompt(), self.before.carried.clone());
            return self.finish(ask, None, 0, carried, (pruned, prompt)).await;
        }
        let first = cut::first_kept(messages, &self.numbers, self.size.total, self.size.scale);
        let first = match self.cx.layout.head.summary {
            // Such layouts clear the history.
            Summary::Hint => messages.len(),
            Summary::Message => {
                match ask.prompt().is_some_and(|at| at < first) {
                    // The turn's prompt is before the kept messages.
                    true => first,
                    false => cut::from_a_prompt(messages, first),
                }
            }
        };
        if first == 0 || messages.len() < 2 {
            let why = "There is nothing to compact: all messages are recent.";
            return Err(Stop::Failed(why.to_owned()));
        }
        let summary = self.summarize(&ask, first).await?;
        let (mut carried, content) = self.retained(&ask, first);
        if self.cx.layout.head.summary == Summary::Hint {
            carried.hint = Some(summary.clone());
        }
        let built = self.rebuild_messages(&ask, &summary, first, content);
        if cut::weigh(&built.0) >= messages.tokens() {
            let why = "The summary is not shorter than the messages it would replace.";
            return Err(Stop::Failed(why.to_owned()));
        }
        self.finish(ask, Some(summary), first, carried, built).await
    }

    /// The messages without old tool outputs, if that saves enough.
    fn pruned(&self) -> Option<Vec<Message>> {
        let texts = &self.cx.shared.texts;
        let marker = |output: &cut::Output<'_>| {
            let bytes = output.bytes.to_string();
            let what = fence::name(output.what);
            let values = [
                ("tool", output.tool),
                ("what", what.as_str()),
                ("bytes", bytes.as_str()),
            ];
            texts.render("compact/pruned.md", &values)
        };
        let layout = &self.cx.layout;
        let (messages, scale) = (&self.before.messages, self.size.scale);
        let wire = |name: &str| layout.wire_name(name).to_owned();
        let (out, saved) = cut::pruned(messages, &self.numbers, scale, wire, marker);
        let saved = cut::scaled(saved, scale);
        let most = self.numbers.threshold.min(self.size.total) / 4 * 3;
        let enough = saved >= self.numbers.threshold / 10;
        (enough && self.size.total.saturating_sub(saved) <= most).then_some(out)
    }

    /// The messages afterwards, and the index of the running turn's prompt among them.
    fn rebuild_messages(
        &self,
        ask: &Ask<'_>,
        summary: &str,
        first: usize,
        mut content: Vec<Block>,
    ) -> (Vec<Message>, Option<usize>) {
        let (cx, messages) = (self.cx, &self.before.messages);
        let (texts, kept) = (&cx.shared.texts, &messages[first..]);
        if cx.layout.head.summary == Summary::Message {
            content.insert(0, Block::text(draft::summary_text(texts, summary)));
        }
        let mut out = Vec::new();
        if !content.is_empty() {
            out.push(Message::user(content));
        }
        let prompt = ask.prompt();
        let pending = prompt.filter(|at| *at < first);
        let again = match pending {
            Some(at) => Some(messages[at].clone()),
            None => cut::answered_prompt(messages, first),
        };
        let begins = again.as_ref().or(kept.first());
        let answered = begins.is_none_or(|message| message.role == Role::User);
        if answered && !out.is_empty() && cx.layout.head.summary == Summary::Message {
            let text = texts.render("compact/ack.md", &[]);
            out.push(Message::assistant(vec![Block::text(text)], &cx.model.name));
        }
        out.extend(again);
        let prompt = match (prompt, pending) {
            (_, Some(_)) => Some(out.len() - 1),
            (Some(at), None) => Some(out.len() + at - first),
            (None, None) => None,
        };
        out.extend_from_slice(kept);
        (out, prompt)
    }

    /// The state and texts retained when the messages before `first` are dropped.
    fn retained(&self, ask: &Ask<'_>, first: usize) -> (Carried, Vec<Block>) {
        let messages = &self.before.messages;
        let carried = retained::carried(self.before, &self.cx.layout, &messages[..first]);
        let mut content = retained::blocks(self.cx, self.before, &carried);
        let said = ask.going.iter().flat_map(|going| going.said);
        let mut said: Vec<Block> = said.cloned().collect();
        let kept = &messages[first..];
        said.retain(|block| !kept.iter().any(|it| it.content.contains(block)));
        if !said.is_empty() {
            let text = self.cx.text("compact/said.md", &[]);
            content.push(Block::text(text));
            content.extend(said);
        }
        (carried, content)
    }

    /// Builds the record; for a running turn, with the epoch that begins.
    async fn finish(
        &self,
        ask: Ask<'_>,
        summary: Option<String>,
        first: usize,
        carried: Carried,
        (messages, prompt): (Vec<Message>, Option<usize>),
    ) -> Result<Shortened, Stop> {
        let mut compaction = Compaction {
            turn: self.cx.turn.clone(),
            reason: ask.why.word().to_owned(),
            first_kept: first,
            summary,
            tokens_before: self.size.total,
            tokens_after: 0,
            model: self.writer.clone(),
            messages,
            carried,
            begun: None,
        };
        let mut reported = Vec::new();
        if let Some(going) = ask.going {
            reported = self.begin_epoch(*going.context, &mut compaction).await?;
        }
        let tokens =
            self.before.baseline.as_ref().map_or(0, base) + cut::weigh(&compaction.messages);
        compaction.tokens_after = cut::scaled(tokens, self.size.scale);
        Ok((compaction, prompt, reported))
    }

    /// For a running turn: makes the new baseline, and repeats in the newest message what the
    /// dropped messages said about the environment.
    async fn begin_epoch(
        &self,
        mut context: RequestContext,
        compaction: &mut Compaction,
    ) -> Result<Vec<Recent>, Stop> {
        context.conversation.compact(compaction.clone());
        let drafted = tasks::blocking(move || context.draft_after_compaction()).await;
        let (draft, recent) = drafted.map_err(|error| {
            tracing::error!("gathering the prompt failed: {error}");
            Stop::Failed("The prompt could not be assembled.".to_owned())
        })?;
        let tail = draft.tail_hashes();
        let Draft {
            mut baseline,
            journal,
            message,
            ..
        } = draft;
        match compaction.messages.last_mut() {
            Some(last) if last.role == Role::User => last.content.extend(message.content),
            _ if message.content.is_empty() => {}
            _ => compaction.messages.push(message),
        }
        // If thinking is bound to the old prompt, all of it is dropped.
        baseline.start = compaction.messages.len();
        compaction.begun = Some(Box::new(Begun {
            baseline,
            journal: journal
                .into_iter()
                .map(|entry| (entry.source, entry.hash))
                .collect(),
            tail,
        }));
        Ok(recent)
    }
}

#[cfg(test)]
mod tests;
