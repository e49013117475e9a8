//! The layered prompt: segments with id, source, trust and reason, laid out by data, assembled
//! purely (INV-5: same inputs, same bytes). Reads nothing but the [`Facts`] it is given and the
//! texts of `prompts/`.

pub mod assemble;
pub mod builders;
pub mod epoch;
pub mod facts;
pub mod fence;
pub mod layout;
pub mod texts;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use assemble::assemble;
pub use facts::Facts;
pub use layout::Layout;
pub use texts::Texts;

use crate::conversation::SystemBlock;
use crate::conversation::input::Slot;

/// Who can have written a segment's text; decides how it may be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Our own text.
    Own,
    /// The user's: config folder, caller's segments.
    User,
    /// A workspace that the user trusts.
    Workspace,
    /// Anything else: only fenced, only in the tail or a user message.
    Untrusted,
}

/// One row of the preview: a segment, present or not, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SegmentRow {
    pub id: String,
    pub title: String,
    pub layer: String,
    /// Path, URI or `built in`.
    pub source: String,
    pub slot: Slot,
    pub trust: Trust,
    pub included: bool,
    /// Why it is there or not.
    pub reason: String,
    pub bytes: usize,
    /// Estimated.
    pub tokens: u64,
    pub hash: String,
    /// Kept for assembly; the wire leaves it out unless asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// One segment of the tail, sent again only when its hash changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailPart {
    pub id: String,
    pub text: String,
    pub hash: String,
}

/// The result of assembly.
#[derive(Clone, Debug, PartialEq)]
pub struct Assembled {
    /// All segments of the layout in order, present or not.
    pub rows: Vec<SegmentRow>,
    /// For each row its place among the layout's segments; `None` for one that was added.
    pub entries: Vec<Option<usize>>,
    /// Ids of the rows that stand below the cache boundary although the layout has them above
    /// it: the turn alone brought them.
    pub below: BTreeSet<String>,
    pub system: Vec<SystemBlock>,
    pub tail: Vec<TailPart>,
    /// What the system slot was made of, beyond our own text: source → hash of its text. Also
    /// `mode` → its name.
    pub sources: BTreeMap<String, String>,
    /// Instruction files that stand in the prompt otherwise, in the tail or as a part of a row
    /// that is told as a whole: source → hash.
    pub shown: BTreeMap<String, String>,
}
