//! Pure assembly: lays the facts out by the layout and gives every segment a reason. Trust decides
//! the delivery here, last, whatever the layout or the builder asked for: untrusted text is never
//! system text (INV-5, INV-9).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::builders::{self, Built, FIXED, Input};
use super::facts::Facts;
use super::fence;
use super::layout::{Blocks, Entry, Layout, Modes};
use super::texts::Texts;
use super::types::{Assembled, SegmentRow, TailPart, Trust};
use crate::conversation::input::Slot;
use crate::conversation::{Mode, SystemBlock, sha256};
use crate::env::order;

/// A row with its origin in the layout.
#[derive(Default)]
struct Placed {
    at: Option<usize>,
    row: SegmentRow,
    /// It belongs to this turn only.
    passing: bool,
    sources: Vec<(String, String)>,
    shows: Vec<(String, String)>,
}

/// Assembles the prompt from the facts. Pure.
pub fn assemble(layout: &Layout, texts: &Texts, facts: &Facts) -> Assembled {
    let facts = &*without_refused_tools(layout, facts);
    let built: Vec<(Input<'_>, Vec<Built>)> = layout
        .segments
        .iter()
        .map(|entry| {
            let input = Input {
                layout,
                entry,
                // Loading checked that the builder exists.
                builder: builders::for_entry(entry).unwrap_or(&FIXED),
                texts,
                facts,
            };
            let rows = (input.builder.build)(&input);
            (input, rows)
        })
        .collect();
    let non_empty = |id: &str| {
        let mut built = built.iter().filter(|(input, _)| input.entry.id == id);
        built.any(|(_, rows)| rows.iter().any(|row| !row.text.is_empty()))
    };
    let mut placed = Vec::new();
    for (at, (input, rows)) in built.iter().enumerate() {
        let when = input.entry.when.as_ref();
        let judged = when.map(|when| when.judge(facts, &non_empty));
        let row = |built| place(input, at, built, judged.as_ref());
        placed.extend(rows.iter().map(row));
    }
    report_problems(layout, facts, &mut placed);
    let below = below(layout, &placed);
    let sources = sources(facts, &placed);
    let shown = placed.iter().flat_map(|one| one.shows.iter().cloned());
    let shown = order::map(shown.filter(|(key, _)| !sources.contains_key(key)));
    let (entries, rows) = placed.into_iter().map(|one| (one.at, one.row)).unzip();
    from_rows(layout, rows, entries, below, [sources, shown])
}

/// The facts without the tools that the mode refuses, for layouts that render the system text per
/// mode. The request's tools keep those names, with the reason instead of the description.
fn without_refused_tools<'f>(layout: &Layout, facts: &'f Facts) -> Cow<'f, Facts> {
    if layout.head.modes == Modes::Notice || facts.mode == Mode::Agent {
        return Cow::Borrowed(facts);
    }
    let mut facts = facts.clone();
    facts.tools.retain(|tool| !tool.changes);
    Cow::Owned(facts)
}

/// Ids of the system rows that belong to this turn only and that the layout has above its cache
/// boundary: they go right below it, so that the cached block keeps its bytes.
fn below(layout: &Layout, placed: &[Placed]) -> BTreeSet<String> {
    let Some(boundary) = layout.segments.iter().position(|entry| entry.boundary) else {
        return BTreeSet::new();
    };
    let rows = placed.iter().filter(|one| {
        let above = one.at.is_some_and(|at| at <= boundary);
        one.passing && above && one.row.included && one.row.slot == Slot::System
    });
    order::set(rows.map(|one| one.row.id.clone()))
}

/// The prompt made of these rows: blocks and tail parts.
fn from_rows(
    layout: &Layout,
    rows: Vec<SegmentRow>,
    entries: Vec<Option<usize>>,
    below: BTreeSet<String>,
    [sources, shown]: [BTreeMap<String, String>; 2],
) -> Assembled {
    Assembled {
        system: system(layout, &rows, &entries, &below),
        tail: tail(&rows),
        rows,
        entries,
        below,
        sources,
        shown,
    }
}

/// The same prompt with other texts: `texts` has the text of each row that stays, by id; other rows
/// are dropped, and `added` are further system segments of the user's at the end. The sources stay
/// those of the facts, so that changes are journaled as before.
pub fn with_texts(
    layout: &Layout,
    assembled: Assembled,
    texts: &BTreeMap<String, String>,
    added: &[(String, String)],
    by: &str,
) -> Assembled {
    let Assembled {
        mut rows,
        mut entries,
        below,
        sources,
        shown,
        ..
    } = assembled;
    for row in rows.iter_mut().filter(|row| row.included) {
        let text = texts.get(&row.id).cloned();
        if row.text != text {
            let what = if text.is_some() { "changed" } else { "dropped" };
            row.reason = format!("{}; {what} by {by}", row.reason);
            set_text(row, text);
        }
    }
    for (id, text) in added {
        let mut row = SegmentRow {
            id: id.clone(),
            title: id.clone(),
            layer: "user".to_owned(),
            source: by.to_owned(),
            slot: Slot::System,
            trust: Trust::User,
            included: true,
            reason: format!("{by} added it"),
            ..SegmentRow::default()
        };
        set_text(&mut row, Some(text.clone()));
        rows.push(row);
        entries.push(None);
    }
    from_rows(layout, rows, entries, below, [sources, shown])
}

/// Sets the row's text and everything derived from it.
fn set_text(row: &mut SegmentRow, text: Option<String>) {
    row.included = text.is_some();
    row.bytes = text.as_ref().map_or(0, String::len);
    row.tokens = tokens(row.bytes);
    row.hash = text
        .as_ref()
        .map_or_else(String::new, |text| sha256(text.as_bytes()));
    row.text = text;
}

/// One row of a segment. `judged`: whether the entry's condition holds, and why.
fn place(cx: &Input<'_>, at: usize, built: &Built, judged: Option<&(bool, String)>) -> Placed {
    let (entry, builder) = (cx.entry, cx.builder);
    let id = built.id.clone().unwrap_or_else(|| entry.id.clone());
    let (slot, moved) = slot(cx, built);
    let (included, mut reason) = verdict(cx, &id, built, judged);
    if included && let Some(moved) = moved {
        reason = format!("{reason}; {moved}");
    }
    // The heading does not fit a text that was moved into the tail as untrusted.
    let heading = entry.heading.as_deref();
    let heading = heading.filter(|_| slot == Slot::System || entry.slot == Slot::Tail);
    let heading = heading.map(|heading| cx.layout.fill(cx.facts, heading));
    let text = included.then(|| wrapped(cx.texts, heading.as_deref(), &id, slot, &built.text));
    let title = built.title.as_ref().or(entry.title.as_ref()).cloned();
    let own = if builder.title.is_empty() {
        &id
    } else {
        builder.title
    };
    let mut row = SegmentRow {
        title: title.unwrap_or_else(|| own.to_owned()),
        layer: entry
            .layer
            .clone()
            .unwrap_or_else(|| builder.layer.to_owned()),
        source: fence::line(&built.source),
        slot,
        trust: built.trust,
        included,
        reason: fence::line(&reason),
        id,
        ..SegmentRow::default()
    };
    set_text(&mut row, text);
    let mut sources = Vec::new();
    if row.included && row.slot == Slot::System {
        sources.clone_from(&built.sources);
        if builder.is_editor() {
            sources.push((format!("editor:{}", row.id), row.hash.clone()));
        } else if built.journaled {
            sources.push((format!("row:{}", row.id), row.hash.clone()));
        }
    }
    let mut shows = Vec::new();
    if row.included && row.trust != Trust::Untrusted {
        shows.clone_from(&built.shows);
        if row.slot == Slot::Tail {
            shows.extend(built.sources.iter().cloned());
        }
    }
    Placed {
        at: Some(at),
        row,
        passing: built.passing,
        sources,
        shows,
    }
}

/// Whether the row is included, and why.
fn verdict(
    cx: &Input<'_>,
    id: &str,
    built: &Built,
    judged: Option<&(bool, String)>,
) -> (bool, String) {
    let off = [id, &cx.entry.id]
        .iter()
        .any(|id| cx.facts.switches.get(*id) == Some(&false));
    let empty = built.text.trim().is_empty();
    match judged {
        _ if off => (
            false,
            "switched off by the setting prompt.segments".to_owned(),
        ),
        Some((false, why)) => (false, why.clone()),
        _ if empty && built.reason.is_empty() => (false, "its text is empty".to_owned()),
        _ if empty => (false, built.reason.clone()),
        Some((true, why)) if built.reason.is_empty() => (true, why.clone()),
        _ if built.reason.is_empty() => (true, "always included".to_owned()),
        _ => (true, built.reason.clone()),
    }
}

/// The segment's slot, and the reason if it is not the layout's.
fn slot(cx: &Input<'_>, built: &Built) -> (Slot, Option<&'static str>) {
    let wanted = built.slot.unwrap_or(cx.entry.slot);
    let editor_in_system = cx.builder.is_editor() && cx.facts.editor_in_system;
    if wanted == Slot::Tail && !editor_in_system {
        (Slot::Tail, None)
    } else if built.trust == Trust::Untrusted {
        (Slot::Tail, Some("untrusted: goes into the tail"))
    } else if wanted == Slot::Tail {
        let reason = "prompt.editorSlot puts it into the system text";
        (Slot::System, Some(reason))
    } else {
        (Slot::System, None)
    }
}

/// Builders of instruction files: the last row of one of them lists the sources not used.
const LIST_PROBLEMS: [&str; 2] = ["instructions", "contextFiles"];
/// Most problems that a reason lists.
const PROBLEMS: usize = 20;

/// Adds the sources that could not be used to a row's reason, whatever the layout leaves out.
fn report_problems(layout: &Layout, facts: &Facts, placed: &mut Vec<Placed>) {
    if facts.problems.is_empty() {
        return;
    }
    let listed = facts.problems.iter().take(PROBLEMS);
    let mut listed: Vec<String> = listed
        .map(|(source, reason)| format!("{}: {}", fence::name(source), fence::name(reason)))
        .collect();
    if facts.problems.len() > PROBLEMS {
        listed.push(format!("and {} more", facts.problems.len() - PROBLEMS));
    }
    let listed = format!("not used: {}", listed.join("; "));
    let lists_problems = |one: &&mut Placed| {
        let entry = one.at.and_then(|at| layout.segments.get(at));
        let builder = entry.and_then(|entry| builders::for_entry(entry).ok());
        let off = facts.switches.get(&one.row.id) == Some(&false);
        !off && builder.is_some_and(|builder| LIST_PROBLEMS.contains(&builder.id))
    };
    match placed.iter_mut().rfind(lists_problems) {
        Some(one) => one.row.reason = format!("{}; {listed}", one.row.reason),
        None => placed.push(Placed {
            at: None,
            row: SegmentRow {
                id: "problems".to_owned(),
                title: "Sources that are not used".to_owned(),
                layer: "files".to_owned(),
                source: "session".to_owned(),
                slot: Slot::Tail,
                reason: listed,
                ..SegmentRow::default()
            },
            ..Placed::default()
        }),
    }
}

/// The text below its heading; in the tail inside the wrapper that names the block.
fn wrapped(texts: &Texts, heading: Option<&str>, id: &str, slot: Slot, text: &str) -> String {
    let text = match heading {
        Some(heading) => format!("{heading}\n{text}"),
        None => text.to_owned(),
    };
    match slot {
        Slot::System => text,
        Slot::Tail => texts.render("tail.md", &[("id", id), ("text", &text)]),
    }
}

/// A high estimate: newer tokenizers make more tokens of the same text.
fn tokens(bytes: usize) -> u64 {
    (bytes as u64 * 2).div_ceil(7)
}

fn system(
    layout: &Layout,
    rows: &[SegmentRow],
    entries: &[Option<usize>],
    below: &BTreeSet<String>,
) -> Vec<SystemBlock> {
    let mut blocks = Vec::new();
    let mut open = String::new();
    let mut waiting: Vec<(&SegmentRow, Option<&Entry>)> = Vec::new();
    for (row, at) in rows.iter().zip(entries) {
        let entry = at.and_then(|at| layout.segments.get(at));
        if below.contains(&row.id) {
            waiting.push((row, entry));
        } else {
            join(layout, &mut blocks, &mut open, row, entry);
        }
        if entry.is_some_and(|entry| entry.boundary) {
            close(&mut blocks, &mut open, true);
            for (row, entry) in waiting.drain(..) {
                join(layout, &mut blocks, &mut open, row, entry);
            }
        }
    }
    close(&mut blocks, &mut open, true);
    blocks
}

/// Appends the row's system text to the open block.
fn join(
    layout: &Layout,
    blocks: &mut Vec<SystemBlock>,
    open: &mut String,
    row: &SegmentRow,
    entry: Option<&Entry>,
) {
    let (Slot::System, Some(text)) = (row.slot, &row.text) else {
        return;
    };
    if layout.head.blocks == Blocks::Many {
        close(blocks, open, false);
    } else if !open.is_empty() {
        let join = entry.and_then(|entry| entry.join.as_deref());
        open.push_str(join.unwrap_or(&layout.head.joiner));
    }
    open.push_str(text);
}

fn close(blocks: &mut Vec<SystemBlock>, open: &mut String, boundary: bool) {
    if !open.is_empty() {
        blocks.push(SystemBlock {
            text: std::mem::take(open),
            boundary,
        });
    }
}

fn tail(rows: &[SegmentRow]) -> Vec<TailPart> {
    let parts = rows.iter().filter(|row| row.slot == Slot::Tail);
    let parts = parts.filter_map(|row| {
        Some(TailPart {
            id: row.id.clone(),
            text: row.text.clone()?,
            hash: row.hash.clone(),
        })
    });
    parts.collect()
}

fn sources(facts: &Facts, placed: &[Placed]) -> BTreeMap<String, String> {
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
