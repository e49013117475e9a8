//! The records of a session log, one JSON object per line. The reader keeps types that this version
//! does not know, and never rewrites them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::event::EnvelopeBody;
use super::plan::Todo;
use super::request::Effort;
use super::{
    Demand, EpochId, Input, ItemId, Message, Mode, Segment, SessionId, SystemBlock, ToolSpec,
    TurnId, Usage,
};

/// What a text file is besides its text and its line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileShape {
    /// Permissions, without set-id bits.
    pub mode: u32,
    /// It starts with a byte order mark.
    pub bom: bool,
}

/// One record. The header is the first line of the file; the rest follow in the order of events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Entry {
    /// A message joined the conversation; written before the request that carries it.
    Message { turn: TurnId, message: Message },
    /// The bytes that are valid for the epoch.
    PromptBaseline(Box<Baseline>),
    /// An update to the baseline that the next message carries: its subject and hash. Entries about
    /// `reasoning` are carried by no message: the model cannot read the reasoning of the first
    /// `hash` messages.
    Journal {
        about: String,
        source: String,
        hash: String,
    },
    /// An edit is about to be sent. `hash` is of the expected text, `before` of the current one.
    EditIntent {
        item: ItemId,
        uri: String,
        version: Option<i32>,
        before: String,
        hash: String,
        /// Byte range in the text before, its replacement, and the replaced text, so that the edit
        /// can be reverted from the log alone.
        hunks: Vec<LoggedHunk>,
        /// The file does not exist before it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        create: bool,
        /// The file is deleted after it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        delete: bool,
        /// What the created or deleted file is besides its text, if an editor would not create it
        /// like that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shape: Option<FileShape>,
    },
    /// The following edits of this item belong together: all of them land, or none.
    EditsTogether { item: ItemId, uris: Vec<String> },
    EditOutcome {
        item: ItemId,
        uri: String,
        outcome: String,
        version: Option<i32>,
        hash: String,
    },
    /// The following edits of this item revert those of a turn, or of the revert `of`, or of the
    /// running tool call `of`, which failed after some of its edits.
    Revert {
        item: ItemId,
        turn: TurnId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<ItemId>,
        /// Only these hunks, by the names that the journal gives them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        hunks: Vec<String>,
    },
    /// What the user decided about hunks. Edits of this item have the user's text.
    Review {
        item: ItemId,
        decided: Vec<Reviewed>,
    },
    /// A call's change waits for the user's review; nothing of it is applied yet.
    Proposed {
        item: ItemId,
        /// The call's id in its message.
        call: String,
    },
    /// A formatter changed the text when the document was saved. `hash` is of the text afterwards.
    Formatted {
        uri: String,
        hash: String,
        hunks: Vec<LoggedHunk>,
    },
    /// Tokens of the request that was just answered.
    Usage {
        turn: TurnId,
        model: String,
        usage: Usage,
        /// US dollars; absent if the model's price is unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// No answer joined the conversation: the request was retried, cancelled, failed, or was a
        /// side request. It costs, and says nothing about the conversation's length.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        aside: bool,
        /// The sub-agent's session that asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<SessionId>,
    },
    /// A compacted history replaces all messages before it.
    Compaction(Box<Compaction>),
    /// The entries before it are another session's, before one of its turns.
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
    /// The part of a text or thought that streamed since the last such record. The complete item
    /// replaces all of them.
    Partial {
        turn: TurnId,
        item: ItemId,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        thought: bool,
        text: String,
    },
    /// The client's name for a prompt. The prompt became the turn, or joins it: then it waits as
    /// `waits` until the turn takes it up.
    ClientTurn {
        client: String,
        turn: TurnId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waits: Option<TurnId>,
    },
    /// The user was notified that this many lines of the log are unreadable.
    Lost { lines: usize },
    /// Another program's log continues as ours: this many bytes of lines without sums, with this
    /// sum over them.
    Vouched { bytes: u64, sum: u32 },
    /// A prompt waits behind the running turn, until its own turn starts.
    Queued { turn: TurnId, input: Vec<Input> },
    /// It was removed from the queue.
    Dequeued { turn: TurnId },
    /// The session's settings changed.
    Configure(Box<StoredSettings>),
    /// Volatile segments that the turn's message carried: id → hash, so that a resumed session
    /// repeats only changed ones.
    Tail { hashes: BTreeMap<String, String> },
}

/// The settings of a session, as its log stores them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredSettings {
    /// Empty: the default one.
    pub model: String,
    pub mode: Mode,
    pub layout: String,
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<Segment>,
    /// The model was not chosen for this session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub routed: bool,
    #[serde(default, skip_serializing_if = "Uninvited::is_empty")]
    pub uninvited: Uninvited,
    /// The thinking effort, if one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Effort>,
}

/// Names in a session that only a client's settings mentioned, which a repository can carry: they
/// bring no opt-in tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Uninvited {
    pub layout: bool,
    pub agent: bool,
}

impl Uninvited {
    /// The user, or a request, named everything.
    pub fn is_empty(&self) -> bool {
        !(self.layout || self.agent)
    }
}

/// A decision about one place of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewed {
    pub uri: String,
    /// The logged hunks of this place, or [`Reviewed::of_call`].
    pub hunks: Vec<String>,
    /// 1-based.
    pub line: usize,
    pub verdict: Verdict,
}

impl Reviewed {
    const CALL: &str = "call:";

    /// Stands for all hunks of a call, decided before they were applied.
    pub fn of_call(item: &ItemId) -> String {
        format!("{}{item}", Self::CALL)
    }

    /// The call whose hunks were decided before they were applied.
    pub fn call(&self) -> Option<&str> {
        self.hunks.first()?.strip_prefix(Self::CALL)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Kept,
    Rejected,
    /// Kept with the user's changes.
    Amended,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedHunk {
    pub start: usize,
    pub old: String,
    pub new: String,
    /// 1-based line of the new text after the edit; 0: unknown.
    #[serde(default)]
    pub line: usize,
    /// A few lines before and behind it, by which it is found again after others changed the text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lead: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trail: String,
    /// Which of the lines that it changed, as ranges of numbers from 0, were nowhere in the text
    /// after the edit: if one is in a later text, something brought it back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vanished: Vec<(usize, usize)>,
    /// Which of the lines of `lead`, `new` and `trail` together, as ranges of numbers from 0, the
    /// text after the edit has elsewhere too: they do not identify the place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub common: Vec<(usize, usize)>,
    /// Nor do all of them together.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}

/// A compacted conversation. This record alone says how the conversation continues, so that if it
/// is incomplete or lost, the history before it is unchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    pub turn: TurnId,
    /// `threshold`, `overflow` or `request`.
    pub reason: String,
    /// Index of the first earlier message that is kept verbatim; if it equals their number, none
    /// is.
    pub first_kept: usize,
    /// `None`: only old tool outputs were pruned.
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
    /// The epoch that begins here, if a turn continues; else the next turn begins it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<Box<Begun>>,
}

/// State that compactions retain, besides messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Carried {
    /// The summary, if the layout shows it as a hint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub todos: Vec<Todo>,
    /// Paths as the calls named them → whether they were changed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, bool>,
    /// Names of the loaded skills.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
}

/// An epoch that begins during a turn.
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
    /// Every segment of the system slot: source path or URI → hash of its text, so that a later
    /// turn detects changes.
    pub sources: BTreeMap<String, String>,
    /// Number of messages in the conversation when the epoch began.
    #[serde(default)]
    pub start: usize,
    /// Marks that the prompt demands of answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub demands: Vec<Demand>,
    /// Those of the tools that the client offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<ToolSpec>,
}
