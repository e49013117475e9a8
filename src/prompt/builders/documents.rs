//! Open documents, and which of them have unsaved text.

use super::{Builder, Built, Input};
use crate::prompt::fence;
use crate::prompt::types::{Keep, Trust};

pub(super) const BUILDER: Builder = Builder {
    id: "documents",
    title: "Open documents",
    layer: "editor",
    params: &["items"],
    build,
};

/// Documents listed; the unsaved ones come first when there are more.
const ITEMS: usize = 50;
const CHARS: usize = 4_000;

fn build(cx: &Input<'_>) -> Vec<Built> {
    let open = &cx.facts.editor.open;
    if open.is_empty() {
        return vec![Built::absent(
            "editor",
            Trust::Untrusted,
            "no document is open",
        )];
    }
    let items = cx.number("items", ITEMS);
    // Unsaved ones must not fall beyond the limit: their files on disk would mislead.
    let dirty = open.iter().filter(|(_, dirty)| *dirty);
    let clean = open.iter().filter(|(_, dirty)| !dirty);
    let mut shown: Vec<&(String, bool)> = dirty.chain(clean).take(items).collect();
    shown.sort();
    let mut lines: Vec<String> = shown
        .iter()
        .map(|(path, dirty)| {
            let unsaved = if *dirty { " (unsaved)" } else { "" };
            format!("{}{unsaved}", fence::name(path))
        })
        .collect();
    if open.len() > items {
        lines.push(format!("… and {} more", open.len() - items));
    }
    let trust = cx.editor_trust(open.iter().map(|(path, _)| path.as_str()));
    let body = cx.capped(&lines.join("\n"), CHARS, Keep::Head);
    let reason = format!("{} open", open.len());
    vec![Built::new(cx.fenced(&body), "editor", trust, &reason)]
}
