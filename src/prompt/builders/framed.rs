//! Texts of others in a prompt: each framed and within its limit; untrusted ones go into a row of
//! their own, fenced, in the tail (INV-9). Shared by the builders of files.

use super::{Built, Input};
use crate::conversation::input::Slot;
use crate::prompt::fence;
use crate::prompt::types::Trust;

/// One text with its label.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The label in the frame; escaped by [`fence::name`].
    pub label: String,
    pub text: String,
    pub source: String,
    pub trust: Trust,
    /// The name of the frame's template.
    pub frame: String,
    /// For an instruction file: its key among the sources, and its hash.
    pub key: Option<(String, String)>,
}

impl Piece {
    /// The framed text, truncated to `chars`.
    fn framed(&self, cx: &Input<'_>, chars: Option<usize>) -> String {
        let text = match chars {
            Some(chars) => fence::cut_file(cx.texts, &self.text, chars, &self.label),
            None => self.text.clone(),
        };
        let (label, source) = (fence::name(&self.label), fence::name(&self.source));
        let values = [
            ("label", label.as_str()),
            ("source", source.as_str()),
            ("text", text.as_str()),
        ];
        cx.texts.render(&self.frame, &values)
    }
}

/// One row with the trusted pieces, joined, and one with the untrusted pieces, if any.
pub(super) fn rows(
    cx: &Input<'_>,
    pieces: &[Piece],
    joiner: &str,
    chars: Option<usize>,
) -> Vec<Built> {
    let (untrusted, trusted): (Vec<&Piece>, Vec<&Piece>) = pieces
        .iter()
        .partition(|piece| piece.trust == Trust::Untrusted);
    let mut rows = Vec::new();
    if !trusted.is_empty() {
        rows.push(row(cx, &trusted, joiner, chars));
    }
    if !untrusted.is_empty() {
        let mut built = row(cx, &untrusted, joiner, chars);
        built.text = cx.texts.render(
            "segments/unverified.md",
            &[("body", &fence::block(&built.text))],
        );
        built.reason = format!("{}; untrusted folder: fenced, in the tail", built.reason);
        built.slot = Some(Slot::Tail);
        if !rows.is_empty() {
            built.id = Some(format!("{}Unverified", cx.entry.id));
        }
        rows.push(built);
    }
    rows
}

fn row(cx: &Input<'_>, pieces: &[&Piece], joiner: &str, chars: Option<usize>) -> Built {
    let texts: Vec<String> = pieces.iter().map(|piece| piece.framed(cx, chars)).collect();
    let sources: Vec<String> = pieces
        .iter()
        .map(|piece| fence::name(&piece.source))
        .collect();
    let trust = pieces.iter().map(|piece| piece.trust);
    let trust = trust.max_by_key(|trust| weight(*trust));
    let reason = match pieces.len() {
        1 => "the file exists".to_owned(),
        count => format!("{count} files exist"),
    };
    let mut built = Built::new(
        texts.join(joiner),
        sources.join(", "),
        trust.unwrap_or(Trust::Own),
        &reason,
    );
    built.journaled = true;
    built.shows = pieces.iter().filter_map(|it| it.key.clone()).collect();
    built
}

/// The order of trust: the least trusted piece decides.
fn weight(trust: Trust) -> u8 {
    match trust {
        Trust::Own => 0,
        Trust::User => 1,
        Trust::Workspace => 2,
        Trust::Untrusted => 3,
    }
}
