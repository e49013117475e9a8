//! The records of a session log, one JSON object a line. Types that this version does not know
//! are kept by the reader and never rewritten.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::event::EnvelopeBody;
use super::plan::Todo;
use super::request::Effort;
use super::{
    Demand, EpochId, Input, ItemId, Message, Mode, Segment, SessionId, SystemBlock, ToolSpec,
    TurnId, Usage,
};

/// One record. The header is the first line of the file; the rest follow in the order in which
/// things happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Entry {
    /// A message joined the conversation; written before the request that carries it.
    Message { turn: TurnId, message: Message },
    /// The bytes that hold for the epoch.
    PromptBaseline(Box<Baseline>),
    /// An update to the baseline that the next message carries: what it was about and its hash.
    /// About `reasoning` it is carried by none: of so many messages (`hash`) a model cannot read
    /// the reasoning.
    Journal {
        about: String,
        source: String,
        hash: String,
    },
    /// An edit is about to be sent. `hash` is of the expected text, `before` of the present one.
    EditIntent {
        item: ItemId,
        uri: String,
        version: Option<i32>,
        before: String,
        hash: String,
        /// Byte range in the text before, and what replaces it; with the replaced text, so
        /// that the edit can be reverted from the log alone.
        hunks: Vec<LoggedHunk>,
    },
    EditOutcome {
        item: ItemId,
        uri: String,
        outcome: String,
        version: Option<i32>,
        hash: String,
    },
    /// The edits of this item that follow take back those of a turn, or those of the revert `of`.
    Revert {
        item: ItemId,
        turn: TurnId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<ItemId>,
    },
    /// Tokens of one request, the one just answered.
    Usage {
        turn: TurnId,
        model: String,
        usage: Usage,
        /// US dollars; absent where the model's price is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// No answer joined the conversation: it was tried again, cancelled, failed, or asked
        /// for something beside the turn. It costs, and says nothing of how long that is.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        aside: bool,
        /// The sub-agent's session that asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<SessionId>,
    },
    /// A shorter history stands for all messages before it.
    Compaction(Box<Compaction>),
    /// The entries before it are those of another session, before one of its turns.
    Fork {
        of: SessionId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<TurnId>,
    },
    /// For display: started, completed items, ended. Never sent to a model.
    Item {
        turn: TurnId,
        seq: u64,
        body: EnvelopeBody,
    },
    /// What streamed of a text or thought since the last such record. Its item, once it is
    /// complete, stands for all of them.
    Partial {
        turn: TurnId,
        item: ItemId,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        thought: bool,
        text: String,
    },
    /// The client's name for a prompt. It became the turn, or joined it: then it waits as
    /// `waits` until the turn takes it up.
    ClientTurn {
        client: String,
        turn: TurnId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waits: Option<TurnId>,
    },
    /// The user was told that so many lines of the log cannot be read.
    Lost { lines: usize },
    /// The log of another program goes on as ours: its lines without sums are those of so many
    /// bytes, with this sum over them.
    Vouched { bytes: u64, sum: u32 },
    /// A prompt waits behind the running turn, until its own is started.
    Queued { turn: TurnId, input: Vec<Input> },
    /// It was taken back.
    Dequeued { turn: TurnId },
    /// The session's settings changed.
    Configure {
        model: String,
        mode: Mode,
        layout: String,
        title: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        segments: Vec<Segment>,
        /// Nobody chose the model for this session.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        routed: bool,
        #[serde(default, skip_serializing_if = "Uninvited::is_empty")]
        uninvited: Uninvited,
        /// How much the model thinks, if that was chosen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thinking: Option<Effort>,
    },
    /// Volatile segments that the turn's message carried: id → hash, so that a resumed session
    /// repeats only what changed.
    Tail { hashes: BTreeMap<String, String> },
}

/// What of a session only a client's settings named, which a repository can carry: it brings no
/// opt-in tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Uninvited {
    pub layout: bool,
    pub agent: bool,
}

impl Uninvited {
    /// The user, or a request, named all that is there.
    pub fn is_empty(&self) -> bool {
        !(self.layout || self.agent)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedHunk {
    pub start: usize,
    pub old: String,
    pub new: String,
    /// 1-based line of the new text after the edit; 0: not known.
    #[serde(default)]
    pub line: usize,
    /// What stood before and behind it, a few lines: by these it is found again in a text that
    /// others went on changing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lead: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trail: String,
}

/// A conversation made shorter. The record alone says how the conversation goes on, so that one
/// that was not written whole, or is lost, leaves the history before it as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    pub turn: TurnId,
    /// `threshold`, `overflow` or `request`.
    pub reason: String,
    /// The number, from 0, of the first message before it that is kept word for word; as many as
    /// there were: none is.
    pub first_kept: usize,
    /// `None`: only old outputs of tools were left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    pub tokens_before: u64,
    /// Estimated.
    pub tokens_after: u64,
    /// `<provider>/<id>` of the model that wrote the summary.
    pub model: String,
    /// All messages from here on.
    pub messages: Vec<Message>,
    #[serde(default)]
    pub carried: Carried,
    /// The epoch that begins here, where a turn goes on; else the next turn begins it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<Box<Begun>>,
}

/// What compactions hand on, besides messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Carried {
    /// The summary, where the layout shows it as a hint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub todos: Vec<Todo>,
    /// Paths as the calls named them → whether they were changed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, bool>,
    /// Names of the skills that were loaded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
}

/// An epoch that begins amid a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Begun {
    pub baseline: Baseline,
    /// Updates that the messages carry: source and hash.
    #[serde(default)]
    pub journal: Vec<(String, String)>,
    /// Tail segments that they carry: id → hash.
    #[serde(default)]
    pub tail: BTreeMap<String, String>,
}

/// Tools and system text of an epoch, verbatim (design: baseline + journal).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    pub epoch: EpochId,
    /// Why this epoch began.
    pub reason: String,
    /// `<provider>/<id>`.
    pub model: String,
    pub layout: String,
    /// Name of the session's agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub system: Vec<SystemBlock>,
    pub tools: Vec<ToolSpec>,
    /// Hash over the tool code's version: a changed tool begins a new epoch.
    pub tool_code: String,
    /// Every segment of the system slot: source path or URI → hash of its text, by which a
    /// later turn knows what changed.
    pub sources: BTreeMap<String, String>,
    /// Messages that the conversation had when the epoch began.
    #[serde(default)]
    pub start: usize,
    /// Marks that the prompt demands of answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub demands: Vec<Demand>,
    /// Those of the tools that the client offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<ToolSpec>,
}
