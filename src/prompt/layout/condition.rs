//! Conditions of segments: a closed set, evaluated on facts alone. Each result comes with a reason
//! for the preview.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::conversation::Mode;
use crate::prompt::facts::{Detail, Facts};

/// When a segment is included.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum When {
    All(Vec<When>),
    Any(Vec<When>),
    Not(Box<When>),
    /// A tool with this wire name is offered.
    Tool(String),
    Detail(Detail),
    Mode(Mode),
    /// The model id (without its provider) matches the pattern.
    Model(String),
    /// One of [`FACTS`] or [`CLIENT_FACTS`].
    Fact(String),
    /// `prompt.segments` switches this name on; it need not be a segment.
    Setting(String),
    /// The segment of this id has text (its own condition is ignored).
    NonEmpty(String),
    /// An instruction file, or a file named by the layout, with this name was found.
    File(String),
}

/// A fact that a condition may ask for: its name, whether it holds, and the preview's words
/// before and after a possible "not".
type Fact = (&'static str, fn(&Facts) -> bool, &'static str, &'static str);

#[rustfmt::skip]
const FACTS: [Fact; 12] = [
    ("git", |it| it.git.is_some(), "the directory is", "in a git repository"),
    ("trusted", |it| it.trusted, "the folder is", "trusted"),
    ("folders", |it| it.roots.len() > 1, "the workspace has", "more than one folder"),
    ("language", |it| it.language.is_some(), "prompt.language is", "set"),
    ("agent", |it| it.agent.is_some(), "an agent is", "selected"),
    ("editor", |it| it.editor.active.is_some(), "the active document is", "known"),
    ("subAgent", |it| it.runtime.parent.is_some(), "the session is", "a sub-agent's"),
    ("citations", |it| it.memory.citations, "memory.citations is", "on"),
    ("memoryTree", |it| it.memory.tree, "the folder memory/ is", "present"),
    ("sandbox", |it| it.sandbox().is_some(), "a sandbox is", "in force"),
    ("skills", |it| !it.skills.is_empty(), "a skill is", "available"),
    ("docs", |it| it.docs_path.is_some(), "prompt.docsPath is", "set"),
];

/// Facts that the client declares under the same name.
#[rustfmt::skip]
const CLIENT_FACTS: [&str; 11] = [
    "browser", "desktop", "fileSend", "heartbeat", "images", "inlineButtons", "messaging",
    "reactions", "replyTags", "silentReplies", "tts",
];

impl When {
    /// Whether the condition holds, and the reason.
    pub fn judge(&self, facts: &Facts, non_empty: &dyn Fn(&str) -> bool) -> (bool, String) {
        match self {
            When::All(parts) => {
                let mut reasons = Vec::new();
                for part in parts {
                    let (holds, reason) = part.judge(facts, non_empty);
                    if !holds {
                        return (false, reason);
                    }
                    reasons.push(reason);
                }
                (true, reasons.join(", "))
            }
            When::Any(parts) => {
                let mut reasons = Vec::new();
                for part in parts {
                    let (holds, reason) = part.judge(facts, non_empty);
                    if holds {
                        return (true, reason);
                    }
                    reasons.push(reason);
                }
                (false, reasons.join(", "))
            }
            When::Not(part) => {
                let (holds, reason) = part.judge(facts, non_empty);
                (!holds, reason)
            }
            When::Tool(name) => {
                let there = facts.offers(name);
                (
                    there,
                    phrase(there, format!("the tool {name} is"), "offered"),
                )
            }
            When::Detail(detail) => {
                let reason = format!("the detail is {}", facts.detail.as_str());
                (facts.detail == *detail, reason)
            }
            When::Mode(mode) => {
                let reason = format!("the mode is {}", facts.mode.as_str());
                (facts.mode == *mode, reason)
            }
            When::Model(pattern) => {
                let holds = matches(pattern, model_id(&facts.model));
                let verb = if holds { "matches" } else { "does not match" };
                (holds, format!("the model id {verb} {pattern}"))
            }
            When::Fact(name) => judge_fact(facts, name),
            When::Setting(name) => {
                let on = facts.switches.get(name) == Some(&true);
                (on, phrase(on, format!("prompt.segments.{name} is"), "on"))
            }
            When::NonEmpty(id) => {
                let there = non_empty(id);
                let what = if there { "has" } else { "has no" };
                (there, format!("the segment {id} {what} text"))
            }
            When::File(name) => {
                let instruction = facts.instructions.iter().any(|one| {
                    one.path.as_ref().and_then(|path| path.file_name()) == Some(name.as_ref())
                });
                let found = instruction || facts.files.iter().any(|file| file.name == *name);
                (found, phrase(found, format!("{name} was"), "found"))
            }
        }
    }

    /// An error if the condition names an unknown fact or a segment that the layout does not have.
    pub(in crate::prompt) fn check(&self, ids: &BTreeSet<&str>) -> Result<(), String> {
        match self {
            When::All(parts) | When::Any(parts) => {
                parts.iter().try_for_each(|part| part.check(ids))
            }
            When::Not(part) => part.check(ids),
            When::NonEmpty(id) if !ids.contains(id.as_str()) => Err(format!(
                "the condition names the unknown segment {id:?}; known: {}",
                ids.iter().copied().collect::<Vec<_>>().join(", ")
            )),
            When::Fact(name) => {
                let own = FACTS.iter().map(|(known, ..)| *known);
                let known: Vec<&str> = own.chain(CLIENT_FACTS).collect();
                match known.contains(&name.as_str()) {
                    true => Ok(()),
                    false => Err(format!(
                        "the condition names the unknown fact {name:?}; known: {}",
                        known.join(", ")
                    )),
                }
            }
            _ => Ok(()),
        }
    }
}

/// A fact of [`FACTS`], else one that the client may declare.
fn judge_fact(facts: &Facts, name: &str) -> (bool, String) {
    match FACTS.iter().find(|(known, ..)| *known == name) {
        Some((_, holds, subject, rest)) => {
            let holds = holds(facts);
            (holds, phrase(holds, (*subject).to_owned(), rest))
        }
        None => {
            let declared = facts.declared(name);
            let subject = format!("the client has {name}");
            (declared, phrase(declared, subject, "declared"))
        }
    }
}

fn phrase(holds: bool, subject: String, rest: &str) -> String {
    let not = if holds { "" } else { "not " };
    format!("{subject} {not}{rest}")
}

/// The model's id at its provider: what follows the first slash of `<provider>/<id>`.
pub(in crate::prompt) fn model_id(model: &str) -> &str {
    model.split_once('/').map_or(model, |(_, id)| id)
}

/// Whether `text` matches: `*` stands for any characters, slashes included; case is ignored.
pub(in crate::prompt) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_lowercase(), text.to_lowercase());
    let parts: Vec<&str> = pattern.split('*').collect();
    let [first, middle @ .., last] = parts.as_slice() else {
        return pattern == text;
    };
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}
