//! A conversation out of its log: any prefix of a log opens as a valid one (INV-6).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::routing::Own;
use crate::agent::{Conversation, draft};
use crate::conversation::entry::Baseline;
use crate::conversation::event::{Envelope, EnvelopeBody};
use crate::conversation::{
    Block, CompactionStatus, Entry, Event, Input, ItemId, Message, Mode, Role, Segment, SessionId,
    Spent, TurnId, TurnStop,
};
use crate::prompt::facts::Detail;

/// What a log says of its session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resumed {
    pub conversation: Conversation,
    pub model: Own,
    pub mode: Mode,
    pub layout: Option<String>,
    pub title: Option<String>,
    pub agent: Option<String>,
    pub detail: Detail,
    pub segments: Vec<Segment>,
    /// The last turns that were started, in order.
    pub turns: Vec<TurnId>,
    /// What the first prompts said, in lower case, cut: what a search looks at.
    pub said: String,
    pub seq: u64,
    /// The turn that was running when the process ended.
    pub interrupted: Option<TurnId>,
    /// Prompts that waited when the process ended, in order.
    pub waiting: Vec<(TurnId, Vec<Input>)>,
    /// Tool calls without a result, in order: their results must be added before anything else.
    #[serde(skip)]
    pub unanswered: Vec<String>,
}

/// Numbers that clients may have seen and that no log has: the deltas of a turn that was cut off.
const UNLOGGED: u64 = 1 << 20;

/// Turns that are known by name; older ones are as good as unknown.
const TURNS: usize = 1_000;

/// Bytes of a session's prompts that a search looks at.
const SAID: usize = 8 * 1024;

/// Entries that count only once the message that carries them follows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Pending {
    baseline: Option<Baseline>,
    journal: Vec<(String, String)>,
    tail: BTreeMap<String, String>,
    reverts: Vec<ItemId>,
}

/// A log that is read up to some record. It can be kept and gone on with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    state: Resumed,
    pending: Pending,
}

/// Replays `entries`.
pub fn resume(entries: impl IntoIterator<Item = Entry>) -> Resumed {
    let mut replay = Replay::default();
    for entry in entries {
        replay.apply(entry);
    }
    replay.finish()
}

impl Replay {
    /// The next record.
    pub fn apply(&mut self, entry: Entry) {
        let Self { state, pending } = self;
        match entry {
            Entry::PromptBaseline(baseline) => pending.baseline = Some(*baseline),
            Entry::Journal { source, hash, .. } => pending.journal.push((source, hash)),
            Entry::Tail { hashes } => pending.tail.extend(hashes),
            Entry::Message { message, .. } => {
                commit(&mut state.conversation, std::mem::take(pending));
                state.conversation.reverted.clear();
                state.conversation.messages.push(message);
            }
            Entry::Usage {
                usage, cost, aside, ..
            } => state.conversation.spend(usage, cost, aside),
            Entry::Compaction(compaction) => {
                pending.forget();
                state.conversation.shorten(*compaction);
            }
            settings @ Entry::Configure { .. } => configure(state, settings),
            Entry::Queued { turn, input } => state.waiting.push((turn, input)),
            Entry::Dequeued { turn } => state.waiting.retain(|(waiting, _)| *waiting != turn),
            Entry::Fork { .. } => {
                pending.forget();
                state.conversation.renew = Some(draft::FORK);
            }
            Entry::Item { turn, seq, body } => {
                item(state, turn, &body);
                self.shown(seq);
            }
            Entry::Revert { item, .. } => pending.reverts.push(item),
            Entry::EditIntent { item, uri, .. } if pending.reverts.contains(&item) => {
                if !state.conversation.reverted.contains(&uri) {
                    state.conversation.reverted.push(uri);
                }
            }
            Entry::EditIntent { .. } | Entry::EditOutcome { .. } => {}
        }
    }

    /// An item of which only the number counts.
    pub fn shown(&mut self, seq: u64) {
        self.state.seq = self.state.seq.max(seq);
    }

    /// What the records came to.
    pub fn finish(self) -> Resumed {
        let mut out = self.state;
        out.unanswered = unanswered(&out.conversation.messages);
        if out.interrupted.is_some() {
            out.seq += UNLOGGED;
        }
        out
    }
}

impl Pending {
    /// What was pending of the prompt is not sent any more.
    fn forget(&mut self) {
        *self = Self {
            reverts: std::mem::take(&mut self.reverts),
            ..Self::default()
        };
    }
}

fn configure(state: &mut Resumed, settings: Entry) {
    let Entry::Configure {
        model,
        mode,
        layout,
        title,
        agent,
        detail,
        segments,
        routed,
    } = settings
    else {
        return;
    };
    let name = Some(model).filter(|name| !name.is_empty());
    state.model = Own { name, routed };
    state.mode = mode;
    state.layout = Some(layout);
    state.title = title.or(state.title.take());
    state.agent = agent;
    state.detail = detail
        .as_deref()
        .and_then(Detail::parse)
        .unwrap_or_default();
    state.segments = segments;
}

fn commit(conversation: &mut Conversation, pending: Pending) {
    if let Some(baseline) = pending.baseline {
        conversation.begin(baseline);
    }
    for (source, hash) in pending.journal {
        conversation.tell(source, hash);
    }
    conversation.tail.extend(pending.tail);
}

fn item(state: &mut Resumed, turn: TurnId, body: &EnvelopeBody) {
    match body {
        EnvelopeBody::Started { input, .. } => {
            state.waiting.retain(|(waiting, _)| *waiting != turn);
            state.interrupted = Some(turn.clone());
            state.conversation.turns += 1;
            say(&mut state.said, input);
            if state.turns.len() >= 2 * TURNS {
                state.turns.drain(..TURNS);
            }
            state.turns.push(turn);
        }
        EnvelopeBody::Ended { .. } => state.interrupted = None,
        EnvelopeBody::Event {
            event: Event::UserMessage { input, .. },
        } => state.conversation.note_skills(input),
        EnvelopeBody::Event {
            event: Event::ToolCall(call),
        } => {
            for file in &call.files {
                state.conversation.note_created(file);
            }
        }
        EnvelopeBody::Event { .. } => {}
    }
}

fn say(said: &mut String, input: &[Input]) {
    for part in input {
        if let Input::Text { text } = part
            && said.len() < SAID
        {
            let cut = text.floor_char_boundary(SAID);
            said.push_str(&text[..cut].to_lowercase());
            said.push('\n');
            said.truncate(said.floor_char_boundary(SAID));
        }
    }
}

/// The session's title.
pub fn title(entries: &[Entry]) -> Option<&str> {
    entries.iter().rev().find_map(|entry| match entry {
        Entry::Configure { title, .. } => title.as_deref(),
        _ => None,
    })
}

/// What was shown, in order.
pub fn items(session: &SessionId, entries: Vec<Entry>) -> Vec<Envelope> {
    let shown = entries.into_iter().filter_map(|entry| match entry {
        Entry::Item { turn, seq, body } => Some(Envelope {
            session_id: session.clone(),
            turn_id: turn,
            seq,
            body,
        }),
        _ => None,
    });
    shown.collect()
}

/// Calls of the last assistant message that no later message answers.
pub fn unanswered(messages: &[Message]) -> Vec<String> {
    let Some(at) = messages
        .iter()
        .rposition(|message| message.role == Role::Assistant)
    else {
        return Vec::new();
    };
    let answered: Vec<&str> = messages[at + 1..]
        .iter()
        .flat_map(|message| &message.content)
        .filter_map(|block| match block {
            Block::ToolResult { tool_use_id, .. } => Some(tool_use_id.as_str()),
            _ => None,
        })
        .collect();
    messages[at]
        .tool_uses()
        .map(|(id, _, _)| id)
        .filter(|id| !answered.contains(id))
        .map(str::to_owned)
        .collect()
}

/// Whether a log keeps this event: completed items, never deltas.
pub fn kept(event: &Event) -> bool {
    match event {
        Event::TextDelta { .. }
        | Event::ThoughtDelta { .. }
        | Event::ToolInputDelta { .. }
        | Event::ToolOutputDelta { .. }
        | Event::Usage { .. }
        | Event::Step { .. }
        | Event::Retry { .. } => false,
        Event::ToolCall(item) => !matches!(
            item.status,
            crate::conversation::ToolStatus::Pending
                | crate::conversation::ToolStatus::Running
                | crate::conversation::ToolStatus::AwaitingApproval
                | crate::conversation::ToolStatus::AwaitingSave
        ),
        Event::Compaction(item) => item.status != CompactionStatus::Running,
        Event::Text { .. }
        | Event::Thought { .. }
        | Event::UserMessage { .. }
        | Event::Plan { .. }
        | Event::Notice { .. }
        | Event::Image { .. }
        | Event::File { .. }
        | Event::ApprovalResolved { .. } => true,
    }
}

/// How an interrupted turn is closed in the log.
pub fn interrupted_end() -> EnvelopeBody {
    not_finished(
        "The turn was interrupted when Interline ended.",
        "Send a prompt to go on from here.",
    )
}

/// How a prompt that waited is closed in the log.
pub fn unsent_end() -> EnvelopeBody {
    not_finished(
        "This prompt was waiting when Interline ended and was not sent.",
        "Send it again if it is still wanted.",
    )
}

fn not_finished(message: &str, hint: &str) -> EnvelopeBody {
    EnvelopeBody::Ended {
        stop_reason: TurnStop::Error,
        error: Some(crate::conversation::Failure::new(
            crate::conversation::FailureKind::TurnEnded,
            message,
            hint,
        )),
        usage: Spent::default(),
        files: Vec::new(),
    }
}
