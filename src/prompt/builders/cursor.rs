//! The active document, the cursor in it, and the lines around the cursor.

use super::{Builder, Built, Input};
use crate::prompt::fence;
use crate::prompt::types::{Keep, Trust};

pub(super) const BUILDER: Builder = Builder {
    id: "cursor",
    title: "Active document and cursor",
    layer: "editor",
    params: &[],
    build,
};

const CHARS: usize = 4_000;

fn build(cx: &Input<'_>) -> Vec<Built> {
    let Some(active) = &cx.facts.editor.active else {
        let reason = "the editor did not report an active document";
        return vec![Built::absent("editor", Trust::Untrusted, reason)];
    };
    let mut lines = vec![format!("File: {}", fence::name(&active.path))];
    if !active.language.is_empty() {
        lines.push(format!("Language: {}", fence::name(&active.language)));
    }
    let unsaved = if active.dirty {
        ", with unsaved changes"
    } else {
        ""
    };
    lines.push(format!("Lines: {}{unsaved}", active.lines));
    if let Some((first, last)) = active.visible {
        lines.push(format!("Visible: lines {first}-{last}"));
    }
    if let Some((line, column)) = active.cursor {
        lines.push(format!("Cursor: line {line}, column {column}"));
    }
    if let Some((first, around)) = &active.around {
        lines.push("Text around the cursor:".to_owned());
        lines.push(numbered(*first, around));
    }
    let trust = cx.editor_trust(std::iter::once(active.path.as_str()));
    let body = cx.capped(&lines.join("\n"), CHARS, Keep::Head);
    vec![Built::new(
        cx.fenced(&body),
        "editor",
        trust,
        "the editor reported the active document",
    )]
}

/// Lines with their numbers, as `read` shows them.
fn numbered(first: u32, text: &str) -> String {
    text.lines()
        .zip(first..)
        .map(|(line, number)| format!("{number}: {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
