//! From a conversation and its facts to the next request: the one function behind a turn and a
//! preview, so that a preview's bytes are the bytes that are sent.

use std::sync::Arc;

use super::Conversation;
use crate::conversation::entry::Baseline;
use crate::conversation::{Block, EpochId, Message, Request};
use crate::prompt::epoch::{JournalEntry, editor_changed, journal, withdrawn};
use crate::prompt::{Assembled, Facts, Layout, TailPart, Texts, assemble};
use crate::provider::Model;

/// What the next user message and request are made of.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The baseline of the request; `Some(reason)` when it begins a new epoch.
    pub baseline: Baseline,
    pub new_epoch: Option<String>,
    pub journal: Vec<JournalEntry>,
    /// The tail segments that this message carries.
    pub tail: Vec<TailPart>,
    pub message: Message,
    pub assembled: Assembled,
}

/// What decides a draft besides the conversation.
pub struct Sources<'a> {
    pub layout: &'a Layout,
    pub texts: &'a Texts,
    pub facts: &'a Facts,
    pub model: &'a Model,
    /// The id that a new epoch would get.
    pub epoch: EpochId,
}

/// Tail segments that are said once and never taken back.
pub const SAID_ONCE: [&str; 2] = ["recent", "hints"];

/// The version of the tool code: a change begins a new epoch for stored conversations.
pub const TOOL_CODE: &str = concat!("interline-", env!("CARGO_PKG_VERSION"), "-1");

/// Drafts the user message that carries `input`. Pure.
pub fn draft(conversation: &Conversation, sources: &Sources<'_>, input: Vec<Block>) -> Draft {
    let assembled = assemble(sources.layout, sources.texts, sources.facts);
    let reason = epoch_reason(conversation.baseline.as_ref(), sources, &assembled);
    let (baseline, entries, sent_tail) = match (&conversation.baseline, &reason) {
        (Some(baseline), None) => (
            baseline.clone(),
            journal(
                sources.layout,
                sources.texts,
                sources.facts,
                &conversation.admitted,
            ),
            Some(&conversation.tail),
        ),
        _ => (
            new_baseline(sources, &assembled, reason.as_deref().unwrap_or("start")),
            Vec::new(),
            None,
        ),
    };
    let mut tail: Vec<TailPart> = assembled
        .tail
        .iter()
        .filter(|part| sent_tail.and_then(|sent| sent.get(&part.id)) != Some(&part.hash))
        .cloned()
        .collect();
    if let Some(sent) = sent_tail {
        tail.extend(withdrawn(sources.texts, sent, &assembled.tail));
    }
    let mut content = input;
    content.extend(entries.iter().map(|entry| Block::text(entry.text.clone())));
    content.extend(tail.iter().map(|part| Block::text(part.text.clone())));
    Draft {
        baseline,
        new_epoch: reason,
        journal: entries,
        tail,
        message: Message::user(content),
        assembled,
    }
}

/// Why a new epoch begins; `None` when the present one holds.
fn epoch_reason(
    baseline: Option<&Baseline>,
    sources: &Sources<'_>,
    assembled: &Assembled,
) -> Option<String> {
    let Some(baseline) = baseline else {
        return Some("start".to_owned());
    };
    if baseline.model != sources.model.name {
        return Some("model".to_owned());
    }
    if baseline.layout != sources.layout.name {
        return Some("layout".to_owned());
    }
    if baseline.tool_code != TOOL_CODE {
        return Some("tools".to_owned());
    }
    if editor_changed(assembled, &baseline.sources) {
        return Some("setting".to_owned());
    }
    None
}

fn new_baseline(sources: &Sources<'_>, assembled: &Assembled, reason: &str) -> Baseline {
    Baseline {
        epoch: sources.epoch.clone(),
        reason: reason.to_owned(),
        model: sources.model.name.clone(),
        layout: sources.layout.name.clone(),
        system: assembled.system.clone(),
        tools: sources.facts.tools.clone(),
        tool_code: TOOL_CODE.to_owned(),
        sources: assembled.sources.clone(),
        segments: serde_json::Value::Null,
    }
}

/// The request for `messages` under `baseline`.
pub fn request(baseline: &Baseline, model: &Model, messages: Vec<Message>) -> Request {
    Request {
        model: model.id.clone(),
        facts: Arc::clone(&model.facts),
        system: Arc::new(baseline.system.clone()),
        tools: Arc::new(baseline.tools.clone()),
        messages,
    }
}
