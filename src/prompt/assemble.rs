//! Pure assembly: the facts laid out by the layout, every segment with its reason. Trust decides
//! the delivery here, last, whatever layout or builder said: untrusted text is never system text
//! (INV-5, INV-9).

use std::collections::BTreeMap;

use super::builders::{self, Builder, Built, Input};
use super::layout::{Blocks, Entry, builder_of, static_text};
use super::{Assembled, Facts, Layout, SegmentRow, TailPart, Texts, Trust, fence};
use crate::conversation::input::Slot;
use crate::conversation::{SystemBlock, sha256};

/// A row on its way, with the layout's entry that it came from.
struct Placed<'a> {
    entry: &'a Entry,
    row: SegmentRow,
    sources: Vec<(String, String)>,
}

/// Lays the facts out. Pure.
pub fn assemble(layout: &Layout, texts: &Texts, facts: &Facts) -> Assembled {
    let built: Vec<(&Entry, Option<&Builder>, Vec<Built>)> = layout
        .segments
        .iter()
        .map(|entry| {
            // A loaded layout names only known builders.
            let builder = builder_of(entry).ok().flatten();
            let built = match builder {
                Some(builder) => (builder.build)(&Input {
                    layout,
                    entry,
                    builder: builder.id,
                    texts,
                    facts,
                }),
                None => vec![fixed(texts, entry)],
            };
            (entry, builder, built)
        })
        .collect();
    let non_empty = |id: &str| {
        built
            .iter()
            .any(|(entry, _, rows)| entry.id == id && rows.iter().any(|row| !row.text.is_empty()))
    };
    let mut placed = Vec::new();
    for (entry, builder, rows) in &built {
        let judged = entry
            .when
            .as_ref()
            .map(|when| when.judge(facts, &non_empty));
        for one in rows {
            placed.push(place(texts, facts, entry, *builder, one, judged.as_ref()));
        }
    }
    Assembled {
        system: system(layout, &placed),
        tail: tail(&placed),
        sources: sources(facts, &placed),
        rows: placed.into_iter().map(|one| one.row).collect(),
    }
}

/// A segment that is a text of its own.
fn fixed(texts: &Texts, entry: &Entry) -> Built {
    let name = static_text(entry);
    let text = texts.render(&name, &[]);
    let text = match entry.budget {
        Some(budget) => fence::cut(texts, &text, budget),
        None => text,
    };
    let (source, trust) = texts.origin(&name);
    Built {
        id: None,
        title: None,
        text,
        source,
        trust,
        reason: String::new(),
        slot: None,
        sources: Vec::new(),
    }
}

fn place<'a>(
    texts: &Texts,
    facts: &Facts,
    entry: &'a Entry,
    builder: Option<&Builder>,
    built: &Built,
    judged: Option<&(bool, String)>,
) -> Placed<'a> {
    let id = built.id.clone().unwrap_or_else(|| entry.id.clone());
    let (slot, moved) = slot(facts, entry, builder, built);
    let off = [&id, &entry.id]
        .iter()
        .any(|id| facts.switches.get(*id) == Some(&false));
    let (included, mut reason) = match judged {
        _ if off => (false, "switched off by prompt.segments".to_owned()),
        Some((false, why)) => (false, why.clone()),
        _ if built.text.trim().is_empty() && built.reason.is_empty() => {
            (false, "its text is empty".to_owned())
        }
        _ if built.text.trim().is_empty() => (false, built.reason.clone()),
        Some((true, why)) if built.reason.is_empty() => (true, why.clone()),
        _ if built.reason.is_empty() => (true, "always there".to_owned()),
        _ => (true, built.reason.clone()),
    };
    if included && let Some(moved) = moved {
        reason = format!("{reason}; {moved}");
    }
    // A text that trust moved into the tail is no longer what the heading promises.
    let heading = entry.heading.as_deref();
    let heading = heading.filter(|_| slot == Slot::System || entry.slot == Slot::Tail);
    let text = included.then(|| finished(texts, heading, &id, slot, &built.text));
    let title = built.title.clone().or_else(|| entry.title.clone());
    let title = title.or_else(|| builder.map(|builder| builder.title.to_owned()));
    let layer = entry.layer.clone();
    let layer = layer.or_else(|| builder.map(|builder| builder.layer.to_owned()));
    let row = SegmentRow {
        title: title.unwrap_or_else(|| id.clone()),
        layer: layer.unwrap_or_else(|| "text".to_owned()),
        source: built.source.clone(),
        slot,
        trust: built.trust,
        included,
        reason,
        bytes: text.as_ref().map_or(0, String::len),
        tokens: tokens(text.as_ref().map_or(0, String::len)),
        hash: text
            .as_ref()
            .map_or_else(String::new, |text| sha256(text.as_bytes())),
        text,
        id,
    };
    let mut sources = Vec::new();
    if row.included && row.slot == Slot::System {
        sources.clone_from(&built.sources);
        if is_editor(builder) {
            sources.push((format!("editor:{}", row.id), row.hash.clone()));
        }
    }
    Placed {
        entry,
        row,
        sources,
    }
}

/// Where the segment rides, and in words why that is not where the layout says.
fn slot(
    facts: &Facts,
    entry: &Entry,
    builder: Option<&Builder>,
    built: &Built,
) -> (Slot, Option<&'static str>) {
    let wanted = built.slot.unwrap_or(entry.slot);
    let wanted_system = wanted == Slot::System || (is_editor(builder) && facts.editor_in_system);
    match (wanted_system, built.trust) {
        (true, Trust::Untrusted) => (Slot::Tail, Some("untrusted: rides in the tail")),
        (true, _) if wanted == Slot::Tail => (
            Slot::System,
            Some("prompt.editorSlot puts it into the system text"),
        ),
        (true, _) => (Slot::System, None),
        (false, _) => (Slot::Tail, None),
    }
}

fn is_editor(builder: Option<&Builder>) -> bool {
    builder.is_some_and(|builder| builder.layer == "editor")
}

/// Heading above; in the tail the wrapper that tells the model what the block is.
fn finished(texts: &Texts, heading: Option<&str>, id: &str, slot: Slot, text: &str) -> String {
    let text = match heading {
        Some(heading) => format!("{heading}\n{text}"),
        None => text.to_owned(),
    };
    match slot {
        Slot::System => text,
        Slot::Tail => texts.render("tail.md", &[("id", id), ("text", &text)]),
    }
}

/// An estimate that rather says too much: newer tokenizers make more tokens of the same text.
fn tokens(bytes: usize) -> u64 {
    (bytes as u64 * 2).div_ceil(7)
}

fn system(layout: &Layout, placed: &[Placed<'_>]) -> Vec<SystemBlock> {
    let mut blocks = Vec::new();
    let mut open = String::new();
    for one in placed {
        if let (Slot::System, Some(text)) = (one.row.slot, &one.row.text) {
            if !open.is_empty() {
                open.push_str(one.entry.join.as_deref().unwrap_or(&layout.head.joiner));
            }
            open.push_str(text);
        }
        if one.entry.boundary && layout.head.blocks == Blocks::Many {
            close(&mut blocks, &mut open);
        }
    }
    close(&mut blocks, &mut open);
    blocks
}

fn close(blocks: &mut Vec<SystemBlock>, open: &mut String) {
    if !open.is_empty() {
        blocks.push(SystemBlock {
            text: std::mem::take(open),
            boundary: true,
        });
    }
}

fn tail(placed: &[Placed<'_>]) -> Vec<TailPart> {
    placed
        .iter()
        .filter(|one| one.row.slot == Slot::Tail)
        .filter_map(|one| {
            Some(TailPart {
                id: one.row.id.clone(),
                text: one.row.text.clone()?,
                hash: one.row.hash.clone(),
            })
        })
        .collect()
}

fn sources(facts: &Facts, placed: &[Placed<'_>]) -> BTreeMap<String, String> {
    let mut sources = BTreeMap::from([
        ("mode".to_owned(), facts.mode.as_str().to_owned()),
        ("trust".to_owned(), trust_word(facts).to_owned()),
    ]);
    sources.extend(placed.iter().flat_map(|one| one.sources.iter().cloned()));
    sources
}

/// The value of `trust` among the sources.
pub(super) fn trust_word(facts: &Facts) -> &'static str {
    if facts.trusted {
        "trusted"
    } else {
        "untrusted"
    }
}

/// The id under which the preview and the tail show a caller's segment.
pub fn caller_id(layout: &Layout, id: &str) -> String {
    builders::row_id(layout, id)
}

#[cfg(test)]
pub(super) mod tests;
