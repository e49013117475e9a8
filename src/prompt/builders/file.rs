//! A file of the session's folder that the layout names: `SOUL.md`, `memory/INDEX.md`. The first
//! of several names that exists is used; without any, the layout's fallback text if it has one,
//! else nothing, not even a heading.

use super::framed::{self, Piece};
use super::{Built, Input};
use crate::prompt::types::Trust;

const FRAME: &str = "segments/file.md";
/// Most characters of one file, unless it is shown exactly.
const CHARS: usize = 20_000;

pub(super) fn build(cx: &Input<'_>) -> Vec<Built> {
    let names = cx.strings("files");
    let found = names.iter().find_map(|name| {
        let mut files = cx.facts.files.iter();
        files.find(|file| file.name == *name && !file.text.trim().is_empty())
    });
    let Some(file) = found else {
        return vec![absent(cx, &names)];
    };
    let trust = cx.facts.trust(file.standing);
    // The index would cost less than the file that replaces it.
    let advice = match names.first() {
        Some(first) if *first != file.name => cx.facts.memory.advice.as_deref(),
        _ => None,
    };
    let label = cx.string("label").unwrap_or(&file.name);
    if cx.flag("exact") && trust != Trust::Untrusted {
        let reason = "the file exists";
        let mut built = Built::new(file.text.clone(), file.name.clone(), trust, reason);
        built.journaled = true;
        return vec![built];
    }
    let piece = Piece {
        label: label.to_owned(),
        text: file.text.trim().to_owned(),
        source: file.name.clone(),
        trust,
        frame: cx.string("frame").unwrap_or(FRAME).to_owned(),
        key: None,
    };
    let chars = cx.entry.budget.map_or(CHARS, |budget| budget.chars);
    let mut rows = framed::rows(cx, &[piece], "\n", Some(chars));
    if let (Some(advice), Some(row)) = (advice, rows.first_mut()) {
        row.reason = format!("{}; {advice}", row.reason);
    }
    rows
}

fn absent(cx: &Input<'_>, names: &[&str]) -> Built {
    let missing = format!("{} does not exist", names.join(" or "));
    match cx.string("fallback") {
        Some(name) => {
            let text = cx.filled(name);
            let (source, trust) = cx.texts.origin(name);
            Built::new(
                text,
                source,
                trust,
                &format!("{missing}: the layout's own text"),
            )
        }
        None => Built::absent(names.join(", "), Trust::Workspace, &missing),
    }
}
