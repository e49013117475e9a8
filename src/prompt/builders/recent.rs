//! What the user changed in documents since the model last read them.

use super::{Builder, Built, Input};
use crate::prompt::fence;
use crate::prompt::types::{Keep, Trust};

pub(super) const BUILDER: Builder = Builder {
    id: "recent",
    title: "The user's recent edits",
    layer: "editor",
    params: &[],
    build,
};

const CHARS: usize = 6_000;

fn build(cx: &Input<'_>) -> Vec<Built> {
    let recent = &cx.facts.editor.recent;
    if recent.is_empty() {
        let reason = "the user changed no document that the model has read";
        return vec![Built::absent("editor", Trust::Untrusted, reason)];
    }
    let parts: Vec<String> = recent
        .iter()
        .map(|(path, diff)| format!("File: {}\n{}", fence::name(path), diff.trim_end()))
        .collect();
    let trust = cx.editor_trust(recent.iter().map(|(path, _)| path.as_str()));
    let body = cx.capped(&parts.join("\n\n"), CHARS, Keep::Head);
    let reason = "the user changed documents that the model has read";
    vec![Built::new(cx.fenced(&body), "editor", trust, reason)]
}
