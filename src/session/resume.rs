//! Restores a conversation from its log: any prefix of a log gives a valid one (INV-6).

mod cut_off;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::journal::title_of;
use super::store::FOREIGN_TURN;
use crate::agent::{Conversation, Renewal};
use crate::conversation::entry::{Baseline, StoredSettings};
use crate::conversation::event::{Envelope, EnvelopeBody};
use crate::conversation::{
    CompactionStatus, Entry, Event, Failure, FailureKind, Input, ItemId, Message, Role, SessionId,
    TurnId, TurnStop,
};
pub use cut_off::{CutOff, Unreported};

/// What a log says about its session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resumed {
    pub conversation: Conversation,
    pub settings: StoredSettings,
    /// The last turns that were started, in order.
    pub turns: Vec<TurnId>,
    /// The first prompts, in lower case and truncated, for searching.
    pub said: String,
    pub seq: u64,
    /// The turn that was running when the process ended.
    pub interrupted: Option<TurnId>,
    /// What is known about it.
    pub cut_off: CutOff,
    /// Prompts that waited when the process ended, in order.
    pub waiting: Vec<(TurnId, Vec<Input>)>,
    /// The clients' names for the last prompts.
    pub clients: Vec<ClientTurn>,
    /// Unreadable lines of the log.
    pub lost: usize,
    /// How many of them the user was notified about.
    pub reported: usize,
    /// One of them is the torn last line, which is part of the report about an interrupted turn.
    #[serde(skip)]
    pub torn: bool,
    /// Tool calls without a result, in order: their results must be added before anything else.
    #[serde(skip)]
    pub unanswered: Vec<String>,
}

/// A prompt's client name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientTurn {
    pub client: String,
    /// The turn that it became or joined.
    pub turn: TurnId,
    /// Its id while it waits, or waited, if it joined a turn.
    pub waits: Option<TurnId>,
}

/// Numbers that clients may have seen but no log has: the deltas of a turn that was cut off.
const UNLOGGED: u64 = 1 << 20;

/// Most turns known by client name; older ones are forgotten.
const TURNS: usize = 1_000;

/// Bytes of a session's prompts that a search reads.
const SAID: usize = 8 * 1024;

/// Entries that apply only once the message that carries them follows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Pending {
    baseline: Option<Baseline>,
    journal: Vec<(String, String)>,
    tail: BTreeMap<String, String>,
    reverts: Vec<ItemId>,
}

/// A log replayed up to some record. It can be stored and continued.
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
            Entry::Message { turn, message } => {
                commit(&mut state.conversation, std::mem::take(pending));
                state.message(&turn, message);
            }
            Entry::Usage {
                usage, cost, aside, ..
            } => {
                state.cut_off.spent.add(usage, cost);
                state.conversation.spend(usage, cost, aside);
            }
            Entry::Partial {
                item,
                thought,
                text,
                ..
            } => state.cut_off.streamed(item, thought, &text),
            Entry::ClientTurn {
                client,
                turn,
                waits,
            } => state.named(client, turn, waits),
            Entry::Lost { lines } => state.reported = state.reported.max(lines),
            Entry::Vouched { .. } | Entry::Formatted { .. } => {}
            Entry::Compaction(compaction) => {
                pending.forget();
                state.conversation.compact(*compaction);
            }
            Entry::Configure(settings) => state.configured(*settings),
            Entry::Queued { turn, input } => state.waiting.push((turn, input)),
            Entry::Dequeued { turn } => {
                state.waiting.retain(|(waiting, _)| *waiting != turn);
                state.clients.retain(|known| known.turn != turn);
            }
            Entry::Fork { .. } => {
                pending.forget();
                state.conversation.renew = Some(Renewal::Fork);
            }
            Entry::Item { turn, seq, body } => {
                item(state, turn, &body);
                self.shown(seq, completed(&body));
            }
            Entry::Revert { item, of, .. } => match of.filter(|_| state.interrupted.is_some()) {
                Some(call) => state.cut_off.undoes(item, call),
                None => pending.reverts.push(item),
            },
            Entry::EditsTogether { item, uris } => state.cut_off.begins(item, uris),
            Entry::Review { item, decided } => {
                pending.reverts.push(item);
                state.conversation.review(decided);
            }
            Entry::Proposed { item, call } => state.cut_off.proposes(item, call),
            Entry::EditIntent { item, uri, .. } if pending.reverts.contains(&item) => {
                if !state.conversation.reverted.contains(&uri) {
                    state.conversation.reverted.push(uri);
                }
            }
            Entry::EditIntent {
                item, uri, hunks, ..
            } => state.cut_off.intends(item, uri, &hunks),
            Entry::EditOutcome {
                item, uri, outcome, ..
            } => state.cut_off.landed(&item, &uri, &outcome),
        }
    }

    /// An item of which only the number matters, and the text or thought that it completes.
    pub fn shown(&mut self, seq: u64, item: Option<&ItemId>) {
        self.state.seq = self.state.seq.max(seq);
        if let Some(item) = item {
            self.state.cut_off.completed(item);
        }
    }

    /// Counts unreadable lines; `torn`: the last of them was incomplete.
    pub fn lose(&mut self, lines: usize, torn: bool) {
        self.state.lost += lines;
        self.state.torn = torn;
    }

    /// The result of the records.
    pub fn finish(self) -> Resumed {
        let mut out = self.state;
        out.unanswered = unanswered(&out.conversation.messages);
        if out.interrupted.is_some() {
            out.seq += UNLOGGED;
        }
        // A client name without a turn in the log may be sent again.
        let (turns, waiting) = (&out.turns, &out.waiting);
        out.clients.retain(|known| {
            let waits = waiting.iter().any(|(turn, _)| *turn == known.turn);
            waits || turns.contains(&known.turn)
        });
        out
    }
}

impl Pending {
    /// The pending part of the prompt is no longer sent.
    fn forget(&mut self) {
        *self = Self {
            reverts: std::mem::take(&mut self.reverts),
            ..Self::default()
        };
    }
}

impl Resumed {
    /// The name of its layout.
    pub fn layout(&self) -> &str {
        match self.settings.layout.as_str() {
            "" => "default",
            name => name,
        }
    }

    fn configured(&mut self, mut settings: StoredSettings) {
        settings.title = settings.title.or(self.settings.title.take());
        self.settings = settings;
    }

    fn message(&mut self, turn: &TurnId, message: Message) {
        if message.role == Role::User {
            self.conversation.reverted.clear();
            self.conversation.reviewed.clear();
        }
        self.cut_off.message_logged(message.role);
        if turn.as_str() == FOREIGN_TURN {
            foreign(self, &message);
        }
        self.conversation.push(message);
    }

    /// Keeps only the last names; older ones are forgotten.
    fn named(&mut self, client: String, turn: TurnId, waits: Option<TurnId>) {
        self.clients.retain(|known| known.client != client);
        if self.clients.len() >= 2 * TURNS {
            self.clients.drain(..TURNS);
        }
        self.clients.push(ClientTurn {
            client,
            turn,
            waits,
        });
    }
}

/// A message of another program's log, which has no other sign that a turn began.
fn foreign(state: &mut Resumed, message: &Message) {
    let texts = message.texts().map(|text| Input::Text {
        text: text.to_owned(),
    });
    let input: Vec<Input> = texts.collect();
    if message.role != Role::User || input.is_empty() {
        return;
    }
    state.conversation.turns += 1;
    add_prompt_text(&mut state.said, &input);
    let title = &mut state.settings.title;
    *title = title.take().or_else(|| title_of(&input));
}

/// The text or thought that an item completes.
fn completed(body: &EnvelopeBody) -> Option<&ItemId> {
    match body {
        EnvelopeBody::Event {
            event: Event::Text { item_id, .. } | Event::Thought { item_id, .. },
        } => Some(item_id),
        _ => None,
    }
}

fn commit(conversation: &mut Conversation, pending: Pending) {
    if let Some(baseline) = pending.baseline {
        conversation.begin(baseline);
    }
    for (source, hash) in pending.journal {
        conversation.note_update(source, hash);
    }
    conversation.tail.extend(pending.tail);
}

fn item(state: &mut Resumed, turn: TurnId, body: &EnvelopeBody) {
    match body {
        EnvelopeBody::Started { input, .. } => {
            state.waiting.retain(|(waiting, _)| *waiting != turn);
            // It did not join the other turn.
            let joined = |known: &ClientTurn| known.waits.as_ref() != Some(&turn);
            state.clients.retain(joined);
            state.interrupted = Some(turn.clone());
            state.cut_off = CutOff::default();
            state.conversation.turns += 1;
            add_prompt_text(&mut state.said, input);
            if state.turns.len() >= 2 * TURNS {
                state.turns.drain(..TURNS);
            }
            state.turns.push(turn);
        }
        EnvelopeBody::Ended { .. } => {
            state.interrupted = None;
            state.cut_off = CutOff::default();
        }
        EnvelopeBody::Event {
            event: Event::UserMessage { input, .. },
        } => state.conversation.note_skills(input),
        EnvelopeBody::Event {
            event: Event::ToolCall(call),
        } => {
            for file in &call.files {
                state.conversation.note_created(file);
            }
            state.cut_off.changed(call);
        }
        EnvelopeBody::Event { .. } => {}
    }
}

fn add_prompt_text(said: &mut String, input: &[Input]) {
    for text in input.iter().filter_map(Input::as_text) {
        if said.len() < SAID {
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
        Entry::Configure(settings) => settings.title.as_deref(),
        _ => None,
    })
}

/// The shown items, in order.
pub fn items(session: &SessionId, entries: Vec<Entry>) -> Vec<Envelope> {
    let entries = entries.into_iter();
    entries.filter_map(|it| envelope(session, it)).collect()
}

/// The item that an entry shows.
pub fn envelope(session: &SessionId, entry: Entry) -> Option<Envelope> {
    match entry {
        Entry::Item { turn, seq, body } => Some(Envelope {
            session_id: session.clone(),
            turn_id: turn,
            seq,
            body,
        }),
        _ => None,
    }
}

/// Calls of the last assistant message that no later message answers.
pub fn unanswered(messages: &[Message]) -> Vec<String> {
    let Some(at) = messages
        .iter()
        .rposition(|message| message.role == Role::Assistant)
    else {
        return Vec::new();
    };
    let later = messages[at + 1..].iter();
    let answered: Vec<&str> = later.flat_map(Message::answered_calls).collect();
    messages[at]
        .tool_uses()
        .map(|(id, _, _)| id)
        .filter(|id| !answered.contains(id))
        .map(str::to_owned)
        .collect()
}

/// Whether a log stores this event: completed items, never deltas.
pub fn is_logged(event: &Event) -> bool {
    match event {
        Event::TextDelta { .. }
        | Event::ThoughtDelta { .. }
        | Event::ToolInputDelta { .. }
        | Event::ToolOutputDelta { .. }
        | Event::Usage { .. }
        | Event::Step { .. }
        | Event::Retry(_) => false,
        Event::ToolCall(item) => item.status.is_final(),
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

/// The end of an interrupted turn. `shown`: the path of a URI.
pub fn interrupted_end(cut_off: &CutOff, shown: impl Fn(&str) -> String) -> EnvelopeBody {
    let mut message = "The turn was interrupted when Interline ended.".to_owned();
    if !cut_off.proposed().is_empty() {
        message.push_str(" The change that waited for your review was not applied.");
    }
    let left = cut_off.unreported();
    let names = |uris: &[String]| {
        uris.iter()
            .map(|it| shown(it))
            .collect::<Vec<_>>()
            .join(", ")
    };
    for (uris, words) in [
        (&left.missing, "Not changed"),
        (&left.unknown, "Check whether these are changed"),
    ] {
        if !uris.is_empty() {
            message.push_str(&format!(" {words}: {}.", names(uris)));
        }
    }
    let hint = "Send a prompt to continue from here.";
    ended(cut_off, Failure::new(FailureKind::TurnEnded, message, hint))
}

/// The end of a prompt that waited.
pub fn unsent_end() -> EnvelopeBody {
    ended(
        &CutOff::default(),
        Failure::new(
            FailureKind::TurnEnded,
            "This prompt was waiting when Interline ended and was not sent.",
            "Send it again if you still want it.",
        ),
    )
}

fn ended(cut_off: &CutOff, failure: Failure) -> EnvelopeBody {
    EnvelopeBody::Ended {
        stop_reason: TurnStop::Error,
        error: Some(failure),
        usage: cut_off.spent,
        files: cut_off.files(),
    }
}
