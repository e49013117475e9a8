//! Skills: the catalogue (name, description, location), or the full text of those that the layout
//! or the skill itself asks for, or that match the current prompt.

use super::framed::{self, Piece};
use super::{Built, Input};
use crate::conversation::input::Slot;
use crate::prompt::facts::SkillFacts;
use crate::prompt::fence;
use crate::prompt::texts::substitute;
use crate::prompt::types::{Keep, Trust};

/// Most characters of the catalogue.
const CHARS: usize = 18_000;
/// Most characters of one description in it.
const DESCRIPTION: usize = 300;
/// Most characters of one body, and of all bodies in one segment.
const BODY: usize = 20_000;
const BODIES_CHARS: usize = 200_000;

pub(super) fn list(cx: &Input<'_>) -> Vec<Built> {
    let skills = cx.facts.skills.iter();
    let skills: Vec<&SkillFacts> = skills.filter(|it| it.connector.is_none()).collect();
    if skills.is_empty() {
        return vec![Built::absent("skills", Trust::User, "there are no skills")];
    }
    let line = cx.string("line").unwrap_or("- {{name}}: {{description}}");
    let limit = cx.number("description", DESCRIPTION);
    let lines: Vec<String> = skills
        .iter()
        .map(|skill| {
            let description = one_line(&skill.description, limit);
            let (name, location) = (fence::name(&skill.name), fence::name(&skill.location));
            let values = [
                ("name", name.as_str()),
                ("description", description.as_str()),
                ("location", location.as_str()),
            ];
            substitute(line, &values)
        })
        .collect();
    let body = cx.capped(&lines.join("\n"), CHARS, Keep::Head);
    let text = cx.string("text").unwrap_or("segments/skills.md");
    let reason = match skills.len() {
        1 => "there is 1 skill".to_owned(),
        count => format!("there are {count} skills"),
    };
    let trust = skills.iter().map(|skill| skill.trust);
    let trust = if trust.clone().any(|trust| trust == Trust::Workspace) {
        Trust::Workspace
    } else {
        Trust::User
    };
    let mut built = Built::new(
        cx.texts.render(text, &[("body", &body)]),
        "skills",
        trust,
        &reason,
    );
    built.journaled = true;
    vec![built]
}

pub(super) fn bodies(cx: &Input<'_>) -> Vec<Built> {
    let which = cx.string("which").unwrap_or("always");
    let tail = cx.entry.slot == Slot::Tail;
    let wanted = |skill: &&SkillFacts| match which {
        "all" => true,
        // Those that are always included need no second copy in the tail.
        "matched" => skill.matched && !(tail && skill.always),
        _ => skill.always,
    };
    let mut pieces: Vec<Piece> = cx
        .facts
        .skills
        .iter()
        .filter(wanted)
        .filter(|skill| skill.connector.is_none())
        .filter(|skill| !skill.body.trim().is_empty())
        .map(|skill| Piece {
            label: skill.name.clone(),
            text: skill.body.trim().to_owned(),
            source: skill.location.clone(),
            trust: skill.trust,
            frame: cx.string("frame").unwrap_or("segments/skill.md").to_owned(),
            key: None,
        })
        .collect();
    if pieces.is_empty() {
        let reason = match which {
            "matched" => "no skill matches the prompt",
            "all" => "there are no skills",
            _ => "no skill asks to be included in full",
        };
        return vec![Built::absent("skills", Trust::User, reason)];
    }
    let chars = cx.entry.budget.map_or(BODY, |budget| budget.chars);
    let joiner = cx.entry.join.as_deref().unwrap_or(&cx.layout.head.joiner);
    let all = pieces.len();
    let mut left = cx.number("chars", BODIES_CHARS);
    pieces.retain(|piece| {
        let size = piece.text.chars().count().min(chars);
        let fits = size <= left;
        left -= if fits { size } else { 0 };
        fits
    });
    let dropped = all - pieces.len();
    let mut rows = framed::rows(cx, &pieces, joiner, Some(chars));
    if let (true, Some(row)) = (dropped > 0, rows.last_mut()) {
        let reason = "exceed the total limit; the model can load them";
        row.reason = format!("{}; {dropped} more {reason}", row.reason);
    }
    rows
}

/// The description on one line, truncated, whatever its author wrote.
fn one_line(text: &str, limit: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = fence::name(&words.join(" "));
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
