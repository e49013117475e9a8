//! Turns a conversation and its facts into the next request. Turns and previews share this
//! function, so a preview shows exactly the bytes that would be sent.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::agent::Conversation;
use crate::agent::request::language_tools;
use crate::agent::request::mcp_tools;
use crate::agent::request::nested_instructions::{self, Present};
use crate::conversation::entry::Baseline;
use crate::conversation::{Block, Demand, EpochId, History, Message, Request, ToolSpec, sha256};
use crate::env::order;
use crate::prompt::epoch::{
    JournalEntry, NESTED, SUMMARY, at_start, corrections, editor_changed, journal, withdrawn,
};
use crate::prompt::layout::{Cadence, Modes, Summary};
use crate::prompt::{Assembled, Facts, Layout, TailPart, Texts, assemble};
use crate::provider::Model;

/// The next user message and request.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The baseline of the request.
    pub baseline: Baseline,
    pub new_epoch: Option<String>,
    pub journal: Vec<JournalEntry>,
    /// The tail segments that this message carries.
    pub tail: Vec<TailPart>,
    pub message: Message,
    pub assembled: Assembled,
}

impl Draft {
    /// The tail segments of which only changes are sent again: id → hash.
    pub fn tail_hashes(&self) -> BTreeMap<String, String> {
        let lasting = self.tail.iter();
        let lasting = lasting.filter(|part| !SAID_ONCE.contains(&part.id.as_str()));
        order::map(lasting.map(|part| (part.id.clone(), part.hash.clone())))
    }
}

/// Everything besides the conversation that determines a draft.
pub struct Sources<'a> {
    pub layout: &'a Layout,
    pub texts: &'a Texts,
    pub facts: &'a Facts,
    pub model: &'a Model,
    /// Instruction files of the folders in use.
    pub nested: &'a [Present],
    /// The id for a new epoch.
    pub epoch: EpochId,
    /// The prompt as changed by the user's transform command.
    pub changed: Option<Assembled>,
}

impl Sources<'_> {
    fn assembled(&self) -> Assembled {
        match &self.changed {
            Some(assembled) => assembled.clone(),
            None => assemble(self.layout, self.texts, self.facts),
        }
    }
}

/// Tail segments that are sent once and never withdrawn.
const SAID_ONCE: [&str; 3] = ["recent", "hints", "mcpPrompts"];

/// The version of the tool code: a change begins a new epoch in stored conversations.
pub const TOOL_CODE: &str = concat!("interline-", env!("CARGO_PKG_VERSION"), "-8");

/// Drafts the user message that carries `input`. Pure.
pub fn draft(conversation: &Conversation, sources: &Sources<'_>, input: Vec<Block>) -> Draft {
    let assembled = sources.assembled();
    let reason = epoch_reason(conversation, sources, &assembled);
    let (layout, texts, facts) = (sources.layout, sources.texts, sources.facts);
    let sent_updates = &conversation.sent_updates;
    let nested = |admitted| {
        nested_instructions::entries(texts, facts.trusted, sources.nested, admitted, sent_updates)
    };
    let (baseline, mut entries, sent_tail) = match (&conversation.baseline, &reason) {
        (Some(baseline), None) => {
            let admitted = &conversation.known_sources;
            // What the user's command changed is no news of the sources.
            let plain = sources.changed.is_some();
            let plain = plain.then(|| assemble(layout, texts, facts));
            let plain = plain.as_ref().unwrap_or(&assembled);
            let mut entries = journal(layout, texts, facts, plain, admitted);
            entries.extend(nested(admitted));
            (baseline.clone(), entries, Some(&conversation.tail))
        }
        _ => {
            let reason = reason.as_deref().unwrap_or("start");
            let baseline = new_baseline(conversation, sources, &assembled, reason);
            // A new epoch forgets what was claimed and sent; one that only renders again does not.
            let mut begun = conversation.clone();
            begun.begin(baseline.clone());
            let mut entries = at_start(
                layout,
                texts,
                facts,
                &assembled,
                &conversation.known_sources,
            );
            entries.extend(nested(&begun.known_sources));
            let goes_on = reason == REBUILT;
            (baseline, entries, goes_on.then_some(&conversation.tail))
        }
    };
    entries.extend(summary(conversation, sources));
    entries.extend(late_tools(sources, &baseline, sent_updates));
    let same_layout = conversation.baseline.as_ref().map(|it| &it.layout) == Some(&layout.name);
    for entry in corrections(texts, facts, &assembled, sent_updates, same_layout) {
        if !entries.iter().any(|one| one.source == entry.source) {
            entries.push(entry);
        }
    }
    let mut tail: Vec<TailPart> = assembled
        .tail
        .iter()
        .filter(|part| sent_tail.and_then(|sent| sent.get(&part.id)) != Some(&part.hash))
        .cloned()
        .collect();
    // An epoch sends the whole tail again; the messages of earlier epochs stay.
    tail.extend(withdrawn(texts, &conversation.tail, &assembled.tail));
    let mut content = input;
    content.extend(entries.iter().map(|entry| Block::text(entry.text.clone())));
    content.extend(tail.iter().map(|part| Block::text(part.text.clone())));
    if layout.head.one_text {
        content = join_texts(content);
    }
    Draft {
        baseline,
        new_epoch: reason,
        journal: entries,
        tail,
        message: Message::user(content),
        assembled,
    }
}

/// Announcements of tools that are not in the baseline.
fn late_tools(
    sources: &Sources<'_>,
    baseline: &Baseline,
    sent: &BTreeMap<String, String>,
) -> Vec<JournalEntry> {
    let (texts, layout, facts) = (sources.texts, sources.layout, sources.facts);
    let tools = &baseline.tools;
    let mut entries = mcp_tools::late_tools(texts, layout, &facts.remote, tools, sent);
    let present = &facts.language_tools;
    let ours = language_tools::announcement(texts, layout, present, tools, sent);
    entries.extend(ours);
    entries
}

/// Beside images, all texts become one block after them.
fn join_texts(content: Vec<Block>) -> Vec<Block> {
    if content.iter().all(|block| block.as_text().is_some()) {
        return content;
    }
    let mut texts = Vec::new();
    let mut out = Vec::new();
    for block in content {
        match block {
            Block::Text { text } => texts.push(text),
            other => out.push(other),
        }
    }
    if !texts.is_empty() {
        out.push(Block::text(texts.join("\n\n")));
    }
    out
}

/// Between two steps of a turn: the baseline of a layout that is rendered for every request, if its
/// bytes differ. If thinking is bound to those bytes, the turn's baseline stays until the next
/// turn.
pub fn baseline_between_steps(
    conversation: &Conversation,
    sources: &Sources<'_>,
) -> Option<Baseline> {
    let present = conversation.baseline.as_ref()?;
    if sources.layout.head.cadence != Cadence::Step || sources.model.facts.prefix_bound {
        return None;
    }
    let assembled = sources.assembled();
    differs(present, sources, &assembled)
        .then(|| new_baseline(conversation, sources, &assembled, REBUILT))
}

/// The reason of an epoch that the layout's cadence began.
pub const REBUILT: &str = "rebuilt";

impl Conversation {
    /// Begins an epoch. Forgets what was claimed and what the tail sent, unless only the layout's
    /// cadence rendered the baseline again: then the history continues.
    pub fn begin(&mut self, baseline: Baseline) {
        let goes_on = baseline.reason == REBUILT;
        self.known_sources
            .retain(|key, _| goes_on && key.starts_with(NESTED));
        self.known_sources.extend(baseline.sources.clone());
        if !goes_on {
            self.tail.clear();
        }
        self.renew = None;
        self.baseline = Some(baseline);
    }
}

/// The message that stands for the dropped history.
pub fn summary_text(texts: &Texts, summary: &str) -> String {
    texts.render("compact/summary.md", &[("summary", summary.trim())])
}

/// The summary that another layout carried as a hint, if this layout has it in a message; sent
/// once.
fn summary(conversation: &Conversation, sources: &Sources<'_>) -> Option<JournalEntry> {
    let hint = conversation.carried.hint.as_deref()?;
    let hash = sha256(hint.as_bytes());
    let said = conversation.sent_updates.get(SUMMARY) == Some(&hash);
    if said || sources.layout.head.summary == Summary::Hint {
        return None;
    }
    Some(JournalEntry {
        about: SUMMARY.to_owned(),
        source: SUMMARY.to_owned(),
        hash,
        text: summary_text(sources.texts, hint),
    })
}

/// Why a new epoch begins; `None` while the current one is valid.
fn epoch_reason(
    conversation: &Conversation,
    sources: &Sources<'_>,
    assembled: &Assembled,
) -> Option<String> {
    let Some(baseline) = &conversation.baseline else {
        return Some("start".to_owned());
    };
    if let Some(reason) = conversation.renew {
        return Some(reason.as_str().to_owned());
    }
    let head = &sources.layout.head;
    let mode = baseline.sources.get("mode").map(String::as_str);
    let reason = if baseline.model != sources.model.name {
        "model"
    } else if baseline.agent != sources.facts.agent {
        "agent"
    } else if baseline.layout != sources.layout.name {
        "layout"
    } else if baseline.tool_code != TOOL_CODE || baseline.offered != offered(sources) {
        "tools"
    } else if editor_changed(assembled, &baseline.sources) {
        "setting"
    } else if head.modes == Modes::Placeholders && mode != Some(sources.facts.mode.as_str()) {
        "mode"
    } else if head.cadence != Cadence::Session && differs(baseline, sources, assembled) {
        REBUILT
    } else {
        return None;
    };
    Some(reason.to_owned())
}

/// Whether the sources now give other bytes than the baseline.
fn differs(baseline: &Baseline, sources: &Sources<'_>, assembled: &Assembled) -> bool {
    assembled.system != baseline.system || tools(sources) != baseline.tools
}

/// The client's own tools: it can withdraw them and offer others.
fn offered(sources: &Sources<'_>) -> Vec<ToolSpec> {
    let tools = sources.facts.tools.iter();
    let ours = tools.filter(|tool| tool.of_client);
    ours.map(|tool| tool.spec.clone()).collect()
}

fn tools(sources: &Sources<'_>) -> Vec<ToolSpec> {
    let facts = sources.facts;
    let layout = sources.layout;
    layout.tools(sources.texts, &facts.tools, facts.mode)
}

fn new_baseline(
    conversation: &Conversation,
    sources: &Sources<'_>,
    assembled: &Assembled,
    reason: &str,
) -> Baseline {
    Baseline {
        epoch: sources.epoch.clone(),
        reason: reason.to_owned(),
        model: sources.model.name.clone(),
        layout: sources.layout.name.clone(),
        agent: sources.facts.agent.clone(),
        system: assembled.system.clone(),
        tools: tools(sources),
        tool_code: TOOL_CODE.to_owned(),
        sources: assembled.sources.clone(),
        start: conversation.messages.len(),
        demands: demands(sources.layout, assembled),
        offered: offered(sources),
    }
}

/// The marks that the included segments demand of answers.
fn demands(layout: &Layout, assembled: &Assembled) -> Vec<Demand> {
    let included = |at: usize| {
        let mut rows = assembled.entries.iter().zip(&assembled.rows);
        rows.any(|(entry, row)| *entry == Some(at) && row.included)
    };
    let entries = layout.segments.iter().enumerate();
    let entries = entries.filter(|(at, _)| included(*at));
    entries
        .flat_map(|(_, entry)| entry.demands.clone())
        .collect()
}

/// The request for `messages` under `baseline`. If thinking is signed over everything before it,
/// thoughts under another baseline are left out; so are those that the model cannot read.
pub fn request(
    conversation: &Conversation,
    baseline: &Baseline,
    model: &Model,
    messages: History,
) -> Request {
    let messages = match model.facts.prefix_bound {
        true => messages.without_thoughts_before(baseline.start),
        false => messages,
    };
    Request {
        model: model.id.clone(),
        facts: Arc::clone(&model.facts),
        system: Arc::new(baseline.system.clone()),
        tools: Arc::new(baseline.tools.clone()),
        messages,
        unreadable: conversation.unreadable(&model.name),
    }
}
