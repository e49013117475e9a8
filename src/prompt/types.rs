//! What assembly produces and how much of a text it keeps: plain data, used by all of `prompt`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::conversation::SystemBlock;
use crate::conversation::input::Slot;

/// Who may have written a segment's text; decides how it may be delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Our own text.
    Own,
    /// The user's: the config folder, the caller's segments.
    User,
    /// From a workspace that the user trusts.
    Workspace,
    /// Anything else: fenced, and only in the tail or a user message.
    #[default]
    Untrusted,
}

/// One row of the preview: a segment, whether it is included, and why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// Why it is included or not.
    pub reason: String,
    pub bytes: usize,
    /// Estimated.
    pub tokens: u64,
    pub hash: String,
    /// Used in assembly; on the wire only on request.
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
    /// For each row its index in the layout's segments; `None` for an added row.
    pub entries: Vec<Option<usize>>,
    /// Ids of the rows that are placed below the cache boundary, though the layout has them above
    /// it, because they belong to this turn only.
    pub below: BTreeSet<String>,
    pub system: Vec<SystemBlock>,
    pub tail: Vec<TailPart>,
    /// The sources of the system slot beyond our own text: source → hash of its text. Also
    /// `mode` → its name.
    pub sources: BTreeMap<String, String>,
    /// Instruction files elsewhere in the prompt, in the tail or in a row that is journaled as a
    /// whole: source → hash.
    pub shown: BTreeMap<String, String>,
}

/// How much of a segment's own text is kept; an omission is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Budget {
    /// Characters.
    pub chars: usize,
    #[serde(default)]
    pub keep: Keep,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Keep {
    #[default]
    Head,
    Tail,
    /// 70 % from the head, 20 % from the tail.
    Ends,
}
