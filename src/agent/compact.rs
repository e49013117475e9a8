//! Making a conversation shorter at the boundary of a step: first old outputs of tools go, else a
//! summary takes the place of the older messages. What must survive is handed on without a model
//! (`compact/carry.rs`). One record of the log holds all of it; until it is written, and whenever
//! something fails or the user cancels, the conversation is as it was (INV-6).

pub mod carry;
pub mod cut;
pub mod summary;

use std::collections::BTreeMap;

use super::compose::Compose;
use super::draft::{Draft, SAID_ONCE};
use super::facts::Recent;
use super::{Conversation, TurnContext};
use crate::conversation::entry::{Baseline, Begun, Carried, Compaction};
use crate::conversation::{
    Block, CompactionItem, CompactionStatus, Entry, Event, Input, Message, Role, Spent,
};
use crate::prompt::fence;
use crate::prompt::layout::Summary;
use cut::Numbers;

/// Why a conversation is made shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It reached what its layout and its model allow.
    Threshold,
    /// The model refused the request as too long.
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

/// What is asked.
pub struct Ask<'a> {
    pub why: Why,
    /// What the summary should keep above all.
    pub focus: Option<&'a str>,
    /// A turn that goes on.
    pub going: Option<Going<'a>>,
}

/// A turn that goes on after it.
pub struct Going<'a> {
    /// The number of the message that the turn began with.
    pub prompt: usize,
    /// What the user said since.
    pub said: &'a [Block],
    /// Makes the new baseline and what the messages must say anew.
    pub compose: Box<Compose>,
}

/// How it went; the event was sent.
pub enum Outcome {
    Shortened {
        /// Where the running turn's first message is now.
        prompt: Option<usize>,
        /// Changes of the user's that the messages tell now.
        told: Vec<Recent>,
    },
    /// The conversation is as it was, and why.
    Failed(String),
    Cancelled,
}

/// Why there is no shorter conversation.
#[derive(Debug)]
enum Stop {
    Cancelled,
    Failed(String),
}

/// How many tokens a conversation has.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// What the provider counted last and an estimate of what came since.
    pub total: u64,
    /// Real tokens for each estimated one.
    pub scale: f64,
}

impl Size {
    pub fn of(conversation: &Conversation) -> Self {
        let base = conversation.baseline.as_ref().map_or(0, base);
        let messages = &conversation.messages;
        let Some(counted) = conversation.counted else {
            return Self {
                total: base + cut::weigh(messages),
                scale: 1.0,
            };
        };
        let known = counted.messages.min(messages.len());
        let estimated = (base + cut::weigh(&messages[..known])).max(1);
        #[expect(clippy::cast_precision_loss)]
        let scale = (counted.tokens as f64 / estimated as f64).clamp(0.25, 64.0);
        Self {
            total: counted
                .tokens
                .saturating_add(cut::weigh(&messages[known..])),
            scale,
        }
    }
}

/// Where a conversation is made shorter before a turn with `input` begins: how long it would be.
pub fn due(conversation: &Conversation, numbers: &Numbers, input: &[Input]) -> Option<u64> {
    let bytes = serde_json::to_string(input).map_or(0, |json| json.len());
    let total = Size::of(conversation).total;
    let total = total.saturating_add(cut::of_bytes(bytes));
    (total >= numbers.threshold && !held_off(conversation, numbers, total)).then_some(total)
}

/// An automatic compaction failed, and there is not much more since.
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
    cut::of_bytes(system.chain(tools).sum())
}

/// Makes the conversation shorter. Returns what that took.
pub async fn run(cx: &TurnContext, ask: Ask<'_>) -> (Outcome, Spent) {
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
        Ok((compaction, prompt, told)) => {
            item.status = CompactionStatus::Completed;
            item.tokens_after = Some(compaction.tokens_after);
            item.text.clone_from(&compaction.summary);
            cx.recorder
                .record(Entry::Compaction(Box::new(compaction.clone())));
            cx.with_conversation(|it| it.shorten(compaction));
            Outcome::Shortened { prompt, told }
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

struct Work<'a> {
    cx: &'a TurnContext,
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
            let prompt = ask.going.as_ref().map(|going| going.prompt);
            let carried = self.before.carried.clone();
            return self.finish(ask, None, 0, carried, (pruned, prompt)).await;
        }
        let first = cut::first_kept(messages, &self.numbers, self.size.total, self.size.scale);
        let first = match self.cx.layout.head.summary {
            // There the history is cleared.
            Summary::Hint => messages.len(),
            Summary::Message => {
                let prompt = ask.going.as_ref().map(|going| going.prompt);
                match prompt.is_some_and(|at| at < first) {
                    // The turn's prompt stands before what is kept.
                    true => first,
                    false => cut::from_a_prompt(messages, first),
                }
            }
        };
        if first == 0 || messages.len() < 2 {
            let why = "There is nothing to leave out: all of it is recent.";
            return Err(Stop::Failed(why.to_owned()));
        }
        let summary = self.summarized(&ask, first).await?;
        let (mut carried, content) = self.handed_on(&ask, first);
        if self.cx.layout.head.summary == Summary::Hint {
            carried.hint = Some(summary.clone());
        }
        let built = self.built(&ask, &summary, first, content);
        if cut::weigh(&built.0) >= cut::weigh(messages) {
            let why = "The summary is not shorter than what it stands for.";
            return Err(Stop::Failed(why.to_owned()));
        }
        self.finish(ask, Some(summary), first, carried, built).await
    }

    /// The messages without old outputs of tools, if that is enough.
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

    /// The messages after it, and where the running turn's prompt is among them.
    fn built(
        &self,
        ask: &Ask<'_>,
        summary: &str,
        first: usize,
        mut content: Vec<Block>,
    ) -> (Vec<Message>, Option<usize>) {
        let (cx, messages) = (self.cx, &self.before.messages);
        let (texts, kept) = (&cx.shared.texts, &messages[first..]);
        if cx.layout.head.summary == Summary::Message {
            content.insert(0, Block::text(carry::summary_text(texts, summary)));
        }
        let mut out = Vec::new();
        if !content.is_empty() {
            out.push(Message::user(content));
        }
        let prompt = ask.going.as_ref().map(|going| going.prompt);
        let pending = prompt.filter(|at| *at < first);
        let again = match pending {
            Some(at) => Some(messages[at].clone()),
            None => cut::answered(messages, first),
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

    /// What is handed on when the messages before `first` go, as state and as texts.
    fn handed_on(&self, ask: &Ask<'_>, first: usize) -> (Carried, Vec<Block>) {
        let messages = &self.before.messages;
        let carried = carry::carried(self.before, &self.cx.layout, &messages[..first]);
        let mut content = carry::blocks(self.cx, self.before, &carried);
        let said = ask.going.iter().flat_map(|going| going.said);
        let kept = |block: &&Block| {
            messages[first..]
                .iter()
                .any(|it| it.content.contains(block))
        };
        let said: Vec<Block> = said.filter(|block| !kept(block)).cloned().collect();
        if !said.is_empty() {
            let text = self.cx.shared.texts.render("compact/said.md", &[]);
            content.push(Block::text(text));
            content.extend(said);
        }
        (carried, content)
    }

    /// The record; where a turn goes on, with the epoch that begins.
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
        let mut told = Vec::new();
        if let Some(going) = ask.going {
            told = self.begin(*going.compose, &mut compaction).await?;
        }
        let tokens =
            self.before.baseline.as_ref().map_or(0, base) + cut::weigh(&compaction.messages);
        compaction.tokens_after = cut::scaled(tokens, self.size.scale);
        Ok((compaction, prompt, told))
    }

    /// A turn goes on: its next request has a new baseline, and its newest message says what the
    /// messages that are gone told of the surroundings.
    async fn begin(
        &self,
        mut compose: Compose,
        compaction: &mut Compaction,
    ) -> Result<Vec<Recent>, Stop> {
        compose.conversation.shorten(compaction.clone());
        let drafted = tokio::task::spawn_blocking(move || compose.renewed()).await;
        let (draft, recent) = drafted.map_err(|error| {
            tracing::error!("gathering the prompt failed: {error}");
            Stop::Failed("The prompt could not be put together.".to_owned())
        })?;
        let Draft {
            mut baseline,
            journal,
            tail,
            message,
            ..
        } = draft;
        match compaction.messages.last_mut() {
            Some(last) if last.role == Role::User => last.content.extend(message.content),
            _ if message.content.is_empty() => {}
            _ => compaction.messages.push(message),
        }
        // All thinking goes with the old prompt, where it is bound to it.
        baseline.start = compaction.messages.len();
        let tail: BTreeMap<String, String> = tail
            .into_iter()
            .filter(|part| !SAID_ONCE.contains(&part.id.as_str()))
            .map(|part| (part.id, part.hash))
            .collect();
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
