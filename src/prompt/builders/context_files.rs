//! The project's files in full, each under its own heading: instruction files, then the files
//! that the layout names, in its order. There is a limit for each file and for all together; an
//! omission is marked in place, and one fixed line says that files were truncated. An expected file
//! that is missing is marked, too.

use super::framed::{self, Piece};
use super::{Built, Input};
use crate::prompt::facts::Detail;
use crate::prompt::sources::source_key;
use crate::prompt::types::Trust;

/// The parameters.
pub(super) const PARAMS: &str = "files expected frame before cutNotice missing fileChars chars";

const FILE_CHARS: usize = 20_000;
const CHARS: usize = 60_000;

pub(super) fn build(cx: &Input<'_>) -> Vec<Built> {
    let file_chars = cx.number("fileChars", FILE_CHARS);
    let mut pieces = pieces(cx);
    if pieces.is_empty() {
        let reason = "no project files were found";
        return vec![Built::absent("project files", Trust::Workspace, reason)];
    }
    let over = pieces
        .iter()
        .any(|piece| piece.text.chars().count() > file_chars);
    let dropped = keep_within(&mut pieces, file_chars, cx.number("chars", CHARS));
    let mut rows = framed::rows(cx, &pieces, "\n\n", Some(file_chars));
    let first = pieces.first().map(|piece| piece.trust);
    if let Some(row) = rows.first_mut() {
        let trusted = first != Some(Trust::Untrusted) || row.trust != Trust::Untrusted;
        if trusted && row.trust != Trust::Untrusted {
            row.text = format!("{}{}{}", before(cx), row.text, after(cx, over || dropped));
        }
    }
    if dropped && let Some(row) = rows.last_mut() {
        row.reason = format!("{}; the rest exceeds the total limit", row.reason);
    }
    rows
}

/// Instruction files first, then the named ones; a sub-agent gets the instruction files only.
fn pieces(cx: &Input<'_>) -> Vec<Piece> {
    let facts = cx.facts;
    let frame = cx.string("frame").unwrap_or("segments/file.md");
    let mut pieces: Vec<Piece> = facts
        .instructions
        .iter()
        .filter(|one| !one.text.trim().is_empty())
        .map(|one| Piece {
            label: one.source.clone(),
            text: one.text.trim().to_owned(),
            source: one.source.clone(),
            trust: facts.trust(one.standing),
            frame: frame.to_owned(),
            key: Some((source_key(&one.source), one.hash.clone())),
        })
        .collect();
    if facts.detail != Detail::Full {
        return pieces;
    }
    for name in cx.strings("files") {
        // Already included as an instruction file.
        if pieces.iter().any(|piece| piece.label == name) {
            continue;
        }
        let mut files = facts.files.iter();
        if let Some(file) = files.find(|file| file.name == name && !file.text.trim().is_empty()) {
            pieces.push(Piece {
                label: file.name.clone(),
                text: file.text.trim().to_owned(),
                source: file.name.clone(),
                trust: facts.trust(file.standing),
                frame: frame.to_owned(),
                key: None,
            });
        }
    }
    pieces
}

/// Drops complete files from the end until all fit together; `true` when some were dropped.
fn keep_within(pieces: &mut Vec<Piece>, file_chars: usize, chars: usize) -> bool {
    let mut left = chars;
    let mut kept = 0;
    for piece in pieces.iter() {
        let size = piece.text.chars().count().min(file_chars);
        if size > left {
            break;
        }
        left -= size;
        kept += 1;
    }
    let dropped = kept < pieces.len();
    pieces.truncate(kept.max(1));
    dropped
}

/// The line about the persona when a SOUL.md is among the files.
fn before(cx: &Input<'_>) -> String {
    let soul = cx.facts.detail == Detail::Full
        && cx.facts.files.iter().any(|file| {
            file.name == "SOUL.md" && cx.facts.trust(file.standing) != Trust::Untrusted
        });
    match cx.string("before") {
        Some(name) if soul => format!("{}\n", cx.texts.render(name, &[])),
        _ => String::new(),
    }
}

fn after(cx: &Input<'_>, cut: bool) -> String {
    let mut out = String::new();
    let there = |name: &str| {
        let named = cx.facts.files.iter().any(|file| file.name == name);
        let mut found = cx.facts.instructions.iter();
        named || found.any(|one| one.source == name || one.source.ends_with(&format!("/{name}")))
    };
    if cx.facts.detail == Detail::Full
        && let Some(text) = cx.string("missing")
    {
        for name in cx.strings("expected") {
            if !there(name) {
                out.push_str("\n\n");
                out.push_str(&cx.texts.render(text, &[("label", name)]));
            }
        }
    }
    if cut && let Some(text) = cx.string("cutNotice") {
        out.push_str("\n\n");
        out.push_str(&cx.texts.render(text, &[]));
    }
    out
}
