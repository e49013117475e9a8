//! A conversation out of its log: any prefix of a log opens as a valid one (INV-6).

use std::collections::BTreeMap;

use super::routing::Own;
use crate::agent::{Conversation, draft};
use crate::conversation::event::{Envelope, EnvelopeBody};
use crate::conversation::{
    Block, CompactionStatus, Entry, Event, Input, Message, Mode, Role, Segment, SessionId, Spent,
    TurnId, TurnStop,
};
use crate::prompt::facts::Detail;

/// What a log says of its session.
#[derive(Clone, Debug, Default)]
pub struct Resumed {
    pub conversation: Conversation,
    pub model: Own,
    pub mode: Mode,
    pub layout: Option<String>,
    pub title: Option<String>,
    pub agent: Option<String>,
    pub detail: Detail,
    pub segments: Vec<Segment>,
    /// For display, in order.
    pub items: Vec<Envelope>,
    pub seq: u64,
    /// The turn that was running when the process ended.
    pub interrupted: Option<TurnId>,
    /// Prompts that waited when the process ended, in order.
    pub waiting: Vec<(TurnId, Vec<Input>)>,
    /// Tool calls without a result, in order: their results must be added before anything else.
    pub unanswered: Vec<String>,
}

impl Resumed {
    /// The turns that were started, in order.
    pub fn turns(&self) -> Vec<TurnId> {
        self.items
            .iter()
            .filter(|item| matches!(item.body, EnvelopeBody::Started { .. }))
            .map(|item| item.turn_id.clone())
            .collect()
    }
}

/// Numbers that clients may have seen and that no log has: the deltas of a turn that was cut off.
const UNLOGGED: u64 = 1 << 20;

/// Entries that count only once the message that carries them follows.
#[derive(Default)]
struct Pending {
    baseline: Option<crate::conversation::entry::Baseline>,
    journal: Vec<(String, String)>,
    tail: BTreeMap<String, String>,
}

/// Replays `entries`.
pub fn resume(session: &SessionId, entries: Vec<Entry>) -> Resumed {
    let mut out = Resumed::default();
    let mut pending = Pending::default();
    let mut pending_reverts = Vec::new();
    for entry in entries {
        match entry {
            Entry::PromptBaseline(baseline) => pending.baseline = Some(*baseline),
            Entry::Journal { source, hash, .. } => pending.journal.push((source, hash)),
            Entry::Tail { hashes } => pending.tail.extend(hashes),
            Entry::Message { message, .. } => {
                commit(&mut out.conversation, std::mem::take(&mut pending));
                out.conversation.reverted.clear();
                pending_reverts.clear();
                out.conversation.messages.push(message);
            }
            Entry::Usage {
                usage, cost, aside, ..
            } => out.conversation.spend(usage, cost, aside),
            Entry::Compaction(compaction) => {
                pending = Pending::default();
                out.conversation.shorten(*compaction);
            }
            Entry::Configure {
                model,
                mode,
                layout,
                title,
                agent,
                detail,
                segments,
                routed,
            } => {
                let name = Some(model).filter(|name| !name.is_empty());
                out.model = Own { name, routed };
                out.mode = mode;
                out.layout = Some(layout);
                out.title = title.or(out.title);
                out.agent = agent;
                out.detail = detail
                    .as_deref()
                    .and_then(Detail::parse)
                    .unwrap_or_default();
                out.segments = segments;
            }
            Entry::Queued { turn, input } => out.waiting.push((turn, input)),
            Entry::Dequeued { turn } => out.waiting.retain(|(waiting, _)| *waiting != turn),
            Entry::Fork { .. } => {
                pending = Pending::default();
                out.conversation.renew = Some(draft::FORK);
            }
            Entry::Item { turn, seq, body } => item(&mut out, session, turn, seq, body),
            Entry::Revert { item, .. } => pending_reverts.push(item),
            Entry::EditIntent { item, uri, .. } if pending_reverts.contains(&item) => {
                if !out.conversation.reverted.contains(&uri) {
                    out.conversation.reverted.push(uri);
                }
            }
            Entry::EditIntent { .. } | Entry::EditOutcome { .. } => {}
        }
    }
    out.unanswered = unanswered(&out.conversation.messages);
    if out.interrupted.is_some() {
        out.seq += UNLOGGED;
    }
    out
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

fn item(out: &mut Resumed, session: &SessionId, turn: TurnId, seq: u64, body: EnvelopeBody) {
    match &body {
        EnvelopeBody::Started { .. } => {
            out.waiting.retain(|(waiting, _)| *waiting != turn);
            out.interrupted = Some(turn.clone());
            out.conversation.turns += 1;
        }
        EnvelopeBody::Ended { .. } => out.interrupted = None,
        EnvelopeBody::Event {
            event: Event::UserMessage { input, .. },
        } => out.conversation.note_skills(input),
        EnvelopeBody::Event {
            event: Event::ToolCall(call),
        } => {
            for file in &call.files {
                out.conversation.note_created(file);
            }
        }
        EnvelopeBody::Event { .. } => {}
    }
    out.seq = out.seq.max(seq);
    out.items.push(Envelope {
        session_id: session.clone(),
        turn_id: turn,
        seq,
        body,
    });
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
