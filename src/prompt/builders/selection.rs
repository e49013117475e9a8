//! The selected text.

use super::{Builder, Built, Input};
use crate::prompt::fence;
use crate::prompt::types::{Keep, Trust};

pub(super) const BUILDER: Builder = Builder {
    id: "selection",
    title: "Selection",
    layer: "editor",
    params: &[],
    build,
};

const CHARS: usize = 8_000;

fn build(cx: &Input<'_>) -> Vec<Built> {
    let active = cx.facts.editor.active.as_ref();
    let selected = active.and_then(|active| Some((active, active.selection.as_ref()?)));
    let Some((active, (first, last, text))) = selected else {
        return vec![Built::absent(
            "editor",
            Trust::Untrusted,
            "nothing is selected",
        )];
    };
    // Only the text is truncated, so that the header line and the fence stay complete.
    let text = cx.capped(text, CHARS, Keep::Ends);
    let body = format!(
        "File: {}\nLines {first}-{last}:\n{text}",
        fence::name(&active.path)
    );
    let trust = cx.editor_trust(std::iter::once(active.path.as_str()));
    vec![Built::new(
        cx.fenced(&body),
        "editor",
        trust,
        "text is selected",
    )]
}
