//! One step: one model request, retried by the one policy, streamed to the client, collected into
//! complete blocks. Runs no tools.

mod answer_limits;
mod meter;
mod reply_tags;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures_util::StreamExt as _;

use super::TurnEnv;
use crate::conversation::{
    Block, Demand, Event, Failure, FailureKind, ItemId, Request, RetryItem, Spent, ToolItem,
    ToolStatus, Usage,
};
use crate::env::order;
use crate::env::redact::Pieces;
use crate::prompt::fence;
use crate::provider::{ModelEvent, ProviderError, StopReason, retry};
pub use answer_limits::CALLS;
use answer_limits::Size;
use meter::Meter;
use reply_tags::{Piece, TagFilter};

/// How long to wait for the end of a body after its terminal event.
const LAST_BYTES: Duration = Duration::from_millis(100);

/// A complete answer: its terminal event arrived.
#[derive(Debug)]
pub struct Answer {
    pub blocks: Vec<Block>,
    /// Tool-call id → why its arguments did not parse.
    pub invalid: HashMap<String, String>,
    /// Tool-call id → the item that shows it.
    pub items: HashMap<String, ItemId>,
    pub stop: StopReason,
}

/// How a step ended.
#[derive(Debug)]
pub enum StepEnd {
    Answered(Answer),
    /// With the text received so far.
    Cancelled(Vec<Block>),
    Failed(ProviderError, Vec<Block>),
    /// The cost limit is reached; with the text received so far.
    Stopped(Vec<Block>),
}

/// Sends the request until an answer is complete, the retry policy gives up, or the turn is
/// cancelled. Each attempt's usage is recorded at once and added to `spent`, whatever its outcome.
pub async fn run(cx: &TurnEnv, request: &Request, spent: &mut Spent) -> StepEnd {
    let mut request = Cow::Borrowed(request);
    let mut attempt = 0;
    loop {
        let mut collector = Collector::new(cx, request.messages.len());
        let outcome = tokio::select! {
            outcome = stream(cx, &request, &mut collector) => outcome,
            () = cx.cancel.cancelled() => {
                spend(cx, collector.usage, true, spent);
                return StepEnd::Cancelled(collector.partial());
            }
        };
        if let Some(usage) = collector.over {
            spend(cx, usage, true, spent);
            spent.estimated = true;
            return StepEnd::Stopped(collector.partial());
        }
        spend(cx, collector.usage, outcome.is_err(), spent);
        let error = match outcome {
            Ok(()) => return StepEnd::Answered(collector.answer()),
            Err(error) => error,
        };
        attempt += 1;
        if collector.unreadable {
            let messages = request.messages.len();
            request.to_mut().unreadable = messages;
        }
        let partial = collector.partial();
        let Some(delay) = retry::delay(&error, attempt, seed(cx)) else {
            return StepEnd::Failed(error, partial);
        };
        let mut hurried = cx.state.retries.begin();
        cx.sink.emit(Event::Retry(RetryItem {
            reason: error.failure().what(),
            in_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            attempt: attempt + 1,
            attempts: retry::attempts(error.failure().kind),
        }));
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            // The user does not want to wait.
            _ = hurried.changed() => {}
            () = cx.cancel.cancelled() => return StepEnd::Cancelled(partial),
        }
    }
}

fn spend(cx: &TurnEnv, usage: Usage, failed: bool, spent: &mut Spent) {
    if failed && usage.total() == 0 {
        return;
    }
    spent.add(usage, cx.spend(usage, failed));
}

/// A number that differs between clients and turns.
fn seed(cx: &TurnEnv) -> u64 {
    u64::from(crc32fast::hash(cx.turn.as_str().as_bytes()))
}

async fn stream(
    cx: &TurnEnv,
    request: &Request,
    collector: &mut Collector<'_>,
) -> Result<(), ProviderError> {
    let body = cx.model.provider.body(request);
    let mut stream = cx.model.provider.stream(request, body.bytes).await?;
    let mut meter = Meter::for_turn(cx);
    while let Some(batch) = stream.next().await {
        let batch = batch?;
        if let Some(meter) = &mut meter {
            meter.count(&batch);
        }
        collector.handle_events(batch);
        collector.size.check()?;
        if collector.stop.is_some() {
            // A body read to its end frees its connection for the next step.
            let rest = async { while stream.next().await.is_some() {} };
            let _ = tokio::time::timeout(LAST_BYTES, rest).await;
            return Ok(());
        }
        if let Some(meter) = &meter {
            let known = cx.budget.spent().known();
            collector.over = meter.over(known, &collector.usage);
            if collector.over.is_some() {
                return Ok(());
            }
        }
        cx.host.ready().await;
    }
    Err(ProviderError::Retry {
        failure: Failure::new(
            FailureKind::Network,
            "The model's answer was cut off.",
            "Interline sends the request again; if this repeats, check the network.",
        ),
        after: None,
    })
}

/// An item that is streaming.
struct Open {
    item: ItemId,
    text: String,
    thought: bool,
    tool: Option<(String, String)>,
    /// The end of the received text, held back because a secret may begin in it.
    held: Pieces,
    /// What is shown instead of the raw text, if the prompt demanded marks.
    shown: Option<Shown>,
}

impl Open {
    /// `text` without keys that are in use; `None`: nothing to show yet.
    fn without_secrets(&mut self, cx: &TurnEnv, text: &str) -> Option<String> {
        let text = self.held.push(text, cx.shared.env.secrets());
        (!text.is_empty()).then_some(text)
    }

    /// Shows a piece of text.
    fn show(&mut self, cx: &TurnEnv, text: String) {
        self.text.push_str(&text);
        let item_id = self.item.clone();
        if let Some(shown) = &mut self.shown {
            let said = shown.filter.push(&text);
            return shown.keep(cx, &item_id, said);
        }
        cx.sink.emit(match self.thought {
            true => Event::ThoughtDelta { item_id, text },
            false => Event::TextDelta { item_id, text },
        });
    }

    /// Shows the text held back, at the end.
    fn release(&mut self, cx: &TurnEnv) {
        let text = self.held.finish();
        if !text.is_empty() && self.tool.is_none() {
            self.show(cx, text);
        }
    }
}

/// A text without the demanded marks; thoughts between them are separate items.
struct Shown {
    filter: TagFilter,
    text: String,
    thoughts: Vec<(ItemId, String)>,
    thinking: bool,
}

impl Shown {
    fn new(demands: &[Demand]) -> Option<Self> {
        TagFilter::new(demands).map(|filter| Self {
            filter,
            text: String::new(),
            thoughts: Vec::new(),
            thinking: false,
        })
    }

    /// Stores the pieces and returns the events that show them; the text is the item `item`.
    fn keep(&mut self, cx: &TurnEnv, item: &ItemId, said: Vec<Piece>) {
        for part in said {
            let event = match part {
                Piece::Text(text) => {
                    self.thinking = false;
                    self.text.push_str(&text);
                    let item_id = item.clone();
                    Event::TextDelta { item_id, text }
                }
                Piece::Thought(text) => {
                    if !self.thinking {
                        let item = cx.shared.env.id("item").into();
                        self.thoughts.push((item, String::new()));
                    }
                    self.thinking = true;
                    let Some((item, whole)) = self.thoughts.last_mut() else {
                        continue;
                    };
                    whole.push_str(&text);
                    let item_id = item.clone();
                    Event::ThoughtDelta { item_id, text }
                }
            };
            cx.sink.emit(event);
        }
    }

    /// The complete items, at the end of the answer.
    fn finish(mut self, cx: &TurnEnv, item: ItemId) {
        let said = self.filter.finish();
        self.keep(cx, &item, said);
        for (item_id, text) in self.thoughts {
            cx.sink.emit(Event::Thought { item_id, text });
        }
        let (reply_to, signal) = (self.filter.reply.clone(), self.filter.signal());
        if !self.text.is_empty() || reply_to.is_some() || signal.is_some() {
            cx.sink.emit(Event::Text {
                item_id: item,
                text: self.text,
                reply_to,
                signal,
            });
        }
    }
}

/// Emits a complete text as its item.
fn emit_text(cx: &TurnEnv, open: Open, text: &str) {
    match open.shown {
        Some(shown) => shown.finish(cx, open.item),
        None => cx.sink.emit(Event::text(open.item, text)),
    }
}

/// Turns model events into client events and complete blocks.
struct Collector<'a> {
    cx: &'a TurnEnv,
    demands: Vec<Demand>,
    open: HashMap<usize, Open>,
    blocks: Vec<Block>,
    invalid: HashMap<String, String>,
    items: HashMap<String, ItemId>,
    /// Calls in the order in which they began: item and tool.
    calls: Vec<(ItemId, String)>,
    ids: HashSet<String>,
    /// Id of a call → how often it occurred.
    repeated: HashMap<String, usize>,
    size: Size,
    usage: Usage,
    stop: Option<StopReason>,
    /// The estimated usage of an answer that was stopped for its cost.
    over: Option<Usage>,
    /// Messages of the request, and whether it was finally sent without their reasoning.
    messages: usize,
    unreadable: bool,
}

impl<'a> Collector<'a> {
    fn new(cx: &'a TurnEnv, messages: usize) -> Self {
        Self {
            cx,
            messages,
            over: None,
            unreadable: false,
            demands: cx.with_conversation(|it| {
                let baseline = it.baseline.as_ref();
                baseline.map_or_else(Vec::new, |baseline| baseline.demands.clone())
            }),
            open: HashMap::new(),
            blocks: Vec::new(),
            invalid: HashMap::new(),
            items: HashMap::new(),
            calls: Vec::new(),
            ids: HashSet::new(),
            repeated: HashMap::new(),
            size: Size::default(),
            usage: Usage::default(),
            stop: None,
        }
    }

    /// Handles the events of one read; adjacent deltas of one block are merged into one event.
    fn handle_events(&mut self, batch: Vec<ModelEvent>) {
        let mut merged: Option<(usize, bool, String)> = None;
        for event in batch {
            self.size.count(&event);
            let (index, thought, text) = match event {
                ModelEvent::TextDelta { index, text } => (index, false, text),
                ModelEvent::ThoughtDelta { index, text } => (index, true, text),
                other => {
                    self.flush(merged.take());
                    self.handle_event(other);
                    continue;
                }
            };
            match &mut merged {
                Some((at, kind, sum)) if *at == index && *kind == thought => sum.push_str(&text),
                _ => {
                    self.flush(merged.take());
                    merged = Some((index, thought, text));
                }
            }
        }
        self.flush(merged);
    }

    fn flush(&mut self, merged: Option<(usize, bool, String)>) {
        let Some((index, thought, text)) = merged else {
            return;
        };
        let cx = self.cx;
        let open = self.open(index, thought);
        if let Some(text) = open.without_secrets(cx, &text) {
            open.show(cx, text);
        }
    }

    fn open(&mut self, index: usize, thought: bool) -> &mut Open {
        let env = &self.cx.shared.env;
        let demands: &[Demand] = if thought { &[] } else { &self.demands };
        self.open.entry(index).or_insert_with(|| Open {
            item: env.id("item").into(),
            text: String::new(),
            thought,
            tool: None,
            held: Pieces::default(),
            shown: Shown::new(demands),
        })
    }

    fn handle_event(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::TextDelta { .. } | ModelEvent::ThoughtDelta { .. } => {}
            ModelEvent::ToolStart { index, id, name } => {
                let id = self.unique(&id);
                let name = self.cx.layout.wire_name(&name).to_owned();
                let beyond = self.calls.len() >= CALLS;
                let open = self.open(index, false);
                open.tool = Some((id.clone(), name.clone()));
                if beyond {
                    // It is answered without being run or shown.
                    return;
                }
                let item = open.item.clone();
                self.items.insert(id, item.clone());
                self.calls.push((item.clone(), name.clone()));
                self.cx.sink.emit(Event::ToolCall(ToolItem::new(
                    item,
                    fence::name(&name),
                    ToolStatus::Pending,
                )));
            }
            ModelEvent::ToolInputDelta { index, text } => {
                let cx = self.cx;
                let open = self.open(index, false);
                let (item_id, tool) = (open.item.clone(), open.tool.clone());
                let Some(text) = open.without_secrets(cx, &text) else {
                    return;
                };
                let known = tool.as_ref().map(|(id, _)| id);
                if known.is_some_and(|id| !self.items.contains_key(id)) {
                    return;
                }
                let tool = tool.and_then(|(_, name)| self.cx.shared.registry.get(&name));
                // It is unknown which argument this is a part of.
                if tool.is_none_or(|tool| tool.spec().private.is_empty()) {
                    self.cx.sink.emit(Event::ToolInputDelta { item_id, text });
                }
            }
            ModelEvent::Block {
                index,
                block,
                invalid,
            } => self.block(index, block, invalid),
            ModelEvent::Usage(usage) => self.usage = usage.sane(),
            ModelEvent::Stop(stop) => self.stop = Some(stop),
            ModelEvent::Unreadable => {
                self.unreadable = true;
                self.cx.note_unreadable(self.messages);
            }
        }
    }

    fn block(&mut self, index: usize, mut block: Block, invalid: Option<String>) {
        let mut open = self.open.remove(&index);
        if let Some(open) = &mut open {
            open.release(self.cx);
        }
        block.clean(self.cx.shared.env.secrets());
        match (&mut block, open) {
            (Block::Text { text }, Some(open)) => emit_text(self.cx, open, text),
            (Block::Thinking { thinking, .. }, Some(open)) if !thinking.is_empty() => {
                self.cx.sink.emit(Event::Thought {
                    item_id: open.item,
                    text: thinking.clone(),
                });
            }
            (Block::ToolUse { id, .. }, open) => {
                *id = match open.and_then(|open| open.tool) {
                    Some((unique, _)) => unique,
                    None => self.unique(id),
                };
                if let Some(reason) = invalid {
                    self.invalid.insert(id.clone(), reason);
                }
            }
            _ => {}
        }
        self.blocks.push(block);
    }

    /// Providers may repeat ids or leave them empty; each call gets its own (P25).
    fn unique(&mut self, id: &str) -> String {
        let base = if id.is_empty() { "call" } else { id };
        let mut unique = base.to_owned();
        while !self.ids.insert(unique.clone()) {
            let n = self.repeated.entry(base.to_owned()).or_insert(1);
            *n += 1;
            unique = format!("{base}_{n}");
        }
        unique
    }

    fn answer(self) -> Answer {
        Answer {
            blocks: self.blocks,
            invalid: self.invalid,
            items: self.items,
            stop: self.stop.unwrap_or(StopReason::EndTurn),
        }
    }

    /// The texts received so far, complete or not, in order. Completes their items and cancels the
    /// items of calls that will never run.
    fn partial(self) -> Vec<Block> {
        let mut texts: Vec<Block> = self
            .blocks
            .into_iter()
            .filter(|block| matches!(block, Block::Text { .. }))
            .collect();
        for (item_id, tool) in self.calls {
            self.cx.sink.emit(Event::ToolCall(ToolItem {
                title: "interrupted before it was complete".to_owned(),
                ..ToolItem::new(item_id, tool, ToolStatus::Cancelled)
            }));
        }
        let mut open: Vec<(usize, Open)> = self.open.into_iter().collect();
        order::sort_by_key(&mut open, |(index, _)| *index);
        for (_, mut open) in open {
            open.release(self.cx);
            if open.text.is_empty() || open.tool.is_some() {
                continue;
            }
            if open.thought {
                self.cx.sink.emit(Event::Thought {
                    item_id: open.item,
                    text: open.text,
                });
            } else {
                let text = open.text.clone();
                emit_text(self.cx, open, &text);
                texts.push(Block::Text { text });
            }
        }
        texts
    }
}
