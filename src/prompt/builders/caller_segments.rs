//! Segments that the caller adds: one row each, in the order given, in the slot that each asks
//! for. The caller acts for the user.

use super::client::claimed;
use super::{Built, Input};
use crate::conversation::Segment;
use crate::conversation::input::Slot;
use crate::conversation::sha256;
use crate::prompt::fence;
use crate::prompt::layout::Layout;
use crate::prompt::types::{Keep, Trust};

/// Most characters of one segment.
const CHARS: usize = 16_000;

pub(super) fn build(cx: &Input<'_>) -> Vec<Built> {
    let segments: Vec<(usize, &Segment)> = cx
        .facts
        .segments
        .iter()
        .enumerate()
        .filter(|(_, segment)| !claimed(cx.layout, segment))
        .collect();
    if segments.is_empty() {
        let reason = "the caller gave no segments";
        return vec![Built::absent("caller", Trust::User, reason)];
    }
    segments
        .into_iter()
        .map(|(at, segment)| {
            let slot = segment.slot.unwrap_or_default();
            let id = row_id(cx.layout, &segment.id);
            let body = segment.body.trim();
            if body.is_empty() {
                let mut built = Built::absent("caller", Trust::User, "the caller's text is empty");
                (built.id, built.slot) = (Some(id), Some(slot));
                return built;
            }
            let (title, body) = (
                fence::name(&segment.title),
                cx.capped(body, CHARS, Keep::Head),
            );
            let text = if title.is_empty() {
                body
            } else {
                cx.texts
                    .render("segments/caller.md", &[("title", &title), ("body", &body)])
            };
            let mut built = Built::new(text, "caller", Trust::User, "the caller gave it");
            built.id = Some(id);
            built.title = Some(title).filter(|title| !title.is_empty());
            built.slot = Some(slot);
            built.passing = cx.facts.passes(at);
            if slot == Slot::System {
                let hash = sha256(format!("{}\n{}", segment.title, segment.body).as_bytes());
                built.sources = vec![(format!("segment:{}", segment.id), hash)];
            }
            built
        })
        .collect()
}

/// A caller's id as shown, never equal to the id of one of the layout's segments.
pub(in crate::prompt) fn row_id(layout: &Layout, id: &str) -> String {
    let id = fence::name(id);
    if layout.segments.iter().any(|entry| entry.id == id) {
        format!("segment:{id}")
    } else {
        id
    }
}
