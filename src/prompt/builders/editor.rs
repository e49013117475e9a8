//! What the editor reported: the active document and its cursor, the selection, open and visible
//! documents, the user's edits, diagnostics. All of it is fenced.

use super::{Built, Input};
use crate::prompt::fence;
use crate::prompt::types::{Keep, Trust};

/// Default limits: characters of a segment, of the selection, and of the recent edits.
const CHARS: usize = 4_000;
const SELECTION_CHARS: usize = 8_000;
const VISIBLE_CHARS: usize = 2_000;
const RECENT_CHARS: usize = 6_000;
/// Documents and diagnostics that are listed.
const DOCUMENTS: usize = 50;
const DIAGNOSTICS: usize = 30;

fn row(cx: &Input<'_>, body: &str, trust: Trust, reason: &str) -> Vec<Built> {
    vec![Built::new(cx.fenced(body), "editor", trust, reason)]
}

fn absent(reason: &str) -> Vec<Built> {
    vec![Built::absent("editor", Trust::Untrusted, reason)]
}

/// The active document, the cursor in it, and the lines around the cursor.
pub(super) fn cursor(cx: &Input<'_>) -> Vec<Built> {
    let Some(active) = &cx.facts.editor.active else {
        return absent("the editor did not report an active document");
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
        let numbered = around.lines().zip(*first..);
        lines.extend(numbered.map(|(line, number)| format!("{number}: {line}")));
    }
    let trust = cx.editor_trust(std::iter::once(active.path.as_str()));
    let body = cx.capped(&lines.join("\n"), CHARS, Keep::Head);
    row(cx, &body, trust, "the editor reported the active document")
}

/// The selected text.
pub(super) fn selection(cx: &Input<'_>) -> Vec<Built> {
    let active = cx.facts.editor.active.as_ref();
    let selected = active.and_then(|active| Some((active, active.selection.as_ref()?)));
    let Some((active, (first, last, text))) = selected else {
        return absent("nothing is selected");
    };
    // Only the text is truncated, so that the header line and the fence stay complete.
    let text = cx.capped(text, SELECTION_CHARS, Keep::Ends);
    let file = fence::name(&active.path);
    let trust = cx.editor_trust(std::iter::once(active.path.as_str()));
    let body = format!("File: {file}\nLines {first}-{last}:\n{text}");
    row(cx, &body, trust, "text is selected")
}

/// Open documents, and which of them have unsaved text.
pub(super) fn documents(cx: &Input<'_>) -> Vec<Built> {
    let open = &cx.facts.editor.open;
    if open.is_empty() {
        return absent("no document is open");
    }
    let items = cx.number("items", DOCUMENTS);
    // Unsaved ones must not fall beyond the limit: their files on disk would mislead.
    let dirty = open.iter().filter(|(_, dirty)| *dirty);
    let clean = open.iter().filter(|(_, dirty)| !dirty);
    let mut shown: Vec<&(String, bool)> = dirty.chain(clean).take(items).collect();
    shown.sort();
    let line = |(path, dirty): &&(String, bool)| {
        let unsaved = if *dirty { " (unsaved)" } else { "" };
        format!("{}{unsaved}", fence::name(path))
    };
    let body = listed(cx, shown.iter().map(line).collect(), open.len());
    let trust = cx.editor_trust(open.iter().map(|(path, _)| path.as_str()));
    row(cx, &body, trust, &format!("{} open", open.len()))
}

/// Diagnostics near the cursor. Their messages quote code and come from other servers, so they are
/// never trusted, even in a trusted folder.
pub(super) fn diagnostics(cx: &Input<'_>) -> Vec<Built> {
    let all = &cx.facts.editor.diagnostics;
    if all.is_empty() {
        return absent("no diagnostic is near the cursor");
    }
    let shown = all.iter().take(cx.number("items", DIAGNOSTICS));
    let lines = shown.map(|(path, line, severity, message)| {
        let (path, severity) = (fence::name(path), fence::name(severity));
        format!("{path}:{line}: {severity}: {}", message.trim())
    });
    let body = listed(cx, lines.collect(), all.len());
    let reason = format!("{} near the cursor", all.len());
    row(cx, &body, Trust::Untrusted, &reason)
}

/// The lines, and how many of `all` they leave out.
fn listed(cx: &Input<'_>, mut lines: Vec<String>, all: usize) -> String {
    if all > lines.len() {
        lines.push(format!("… and {} more", all - lines.len()));
    }
    cx.capped(&lines.join("\n"), CHARS, Keep::Head)
}

/// Other visible editors: file names and line ranges, no text.
pub(super) fn visible(cx: &Input<'_>) -> Vec<Built> {
    let visible = &cx.facts.editor.visible;
    if visible.is_empty() {
        return absent("no other editor is visible");
    }
    let lines: Vec<String> = visible
        .iter()
        .map(|(path, first, last)| format!("{}: lines {first}-{last}", fence::name(path)))
        .collect();
    let trust = cx.editor_trust(visible.iter().map(|(path, ..)| path.as_str()));
    let body = cx.capped(&lines.join("\n"), VISIBLE_CHARS, Keep::Head);
    row(cx, &body, trust, "other editors are visible")
}

/// What the user changed in documents since the model last read them.
pub(super) fn recent(cx: &Input<'_>) -> Vec<Built> {
    let recent = &cx.facts.editor.recent;
    if recent.is_empty() {
        return absent("the user changed no document that the model has read");
    }
    let parts: Vec<String> = recent
        .iter()
        .map(|(path, diff)| format!("File: {}\n{}", fence::name(path), diff.trim_end()))
        .collect();
    let trust = cx.editor_trust(recent.iter().map(|(path, _)| path.as_str()));
    let body = cx.capped(&parts.join("\n\n"), RECENT_CHARS, Keep::Head);
    let reason = "the user changed documents that the model has read";
    row(cx, &body, trust, reason)
}
