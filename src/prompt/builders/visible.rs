//! Other visible editors: file names and line ranges, no text.

use super::{Builder, Built, Input};
use crate::prompt::fence;
use crate::prompt::types::{Keep, Trust};

pub(super) const BUILDER: Builder = Builder {
    id: "visible",
    title: "Other visible editors",
    layer: "editor",
    params: &[],
    build,
};

const CHARS: usize = 2_000;

fn build(cx: &Input<'_>) -> Vec<Built> {
    let visible = &cx.facts.editor.visible;
    if visible.is_empty() {
        let reason = "no other editor is visible";
        return vec![Built::absent("editor", Trust::Untrusted, reason)];
    }
    let lines: Vec<String> = visible
        .iter()
        .map(|(path, first, last)| format!("{}: lines {first}-{last}", fence::name(path)))
        .collect();
    let trust = cx.editor_trust(visible.iter().map(|(path, ..)| path.as_str()));
    let body = cx.capped(&lines.join("\n"), CHARS, Keep::Head);
    let reason = "other editors are visible";
    vec![Built::new(cx.fenced(&body), "editor", trust, reason)]
}
