//! Instruction files. Trust decides the delivery: the user's own and a trusted folder's are
//! system text, all others go into the tail, fenced and marked as unverified (INV-9).

use super::{Built, Input};
use crate::conversation::input::Slot;
use crate::knowledge::instructions::{Instruction, Origin};
use crate::prompt::facts::Facts;
use crate::prompt::fence;
use crate::prompt::sources::{rendered, source_key};
use crate::prompt::types::{Keep, Trust};

/// Most characters of all files together; the gatherer's budget is smaller.
const CHARS: usize = 64_000;

pub(super) fn global(cx: &Input<'_>) -> Vec<Built> {
    let files = files(cx.facts, |one| one.origin == Origin::Global);
    vec![one_row(
        cx,
        &files,
        Trust::User,
        "no global AGENTS.md was found",
    )]
}

pub(super) fn build(cx: &Input<'_>) -> Vec<Built> {
    let facts = cx.facts;
    let origins = cx.strings("origins");
    let wanted = |one: &Instruction| match origins.is_empty() {
        true => one.origin != Origin::Global,
        false => origins.contains(&one.origin.as_str()),
    };
    let (trusted, untrusted): (Vec<_>, Vec<_>) = files(facts, wanted)
        .into_iter()
        .partition(|one| facts.trust(one.standing) != Trust::Untrusted);
    let mut rows = Vec::new();
    if !trusted.is_empty() || untrusted.is_empty() {
        rows.extend(trusted_rows(cx, &trusted));
    }
    if !untrusted.is_empty() {
        let mut row = unverified_row(cx, &untrusted);
        if !rows.is_empty() {
            row.id = Some(format!("{}Unverified", cx.entry.id));
            row.title = Some("Project instructions, unverified".to_owned());
        }
        rows.push(row);
    }
    rows
}

/// The trusted files in one row, or in one row each where the layout wants blocks.
fn trusted_rows(cx: &Input<'_>, trusted: &[&Instruction]) -> Vec<Built> {
    let user = |one: &&Instruction| cx.facts.trust(one.standing) == Trust::User;
    let whose = |files: &[&Instruction]| match !files.is_empty() && files.iter().all(user) {
        true => Trust::User,
        false => Trust::Workspace,
    };
    if cx.string("rows") != Some("each") || trusted.is_empty() {
        let trust = whose(trusted);
        return vec![one_row(cx, trusted, trust, "no AGENTS.md was found")];
    }
    let each = trusted.chunks(1).enumerate().map(|(index, file)| {
        let mut row = one_row(cx, file, whose(file), "");
        if index > 0 {
            row.id = Some(format!("{}:{}", cx.entry.id, row.source));
        }
        row
    });
    each.collect()
}

fn files(facts: &Facts, wanted: impl Fn(&Instruction) -> bool) -> Vec<&Instruction> {
    facts
        .instructions
        .iter()
        .filter(|one| wanted(one) && !one.text.trim().is_empty())
        .collect()
}

fn one_row(cx: &Input<'_>, files: &[&Instruction], trust: Trust, absent: &str) -> Built {
    if files.is_empty() {
        let trust = match trust {
            Trust::Workspace if !cx.facts.trusted => Trust::Untrusted,
            trust => trust,
        };
        return Built::absent("AGENTS.md", trust, absent);
    }
    let text: Vec<String> = files.iter().map(|one| rendered(cx.texts, one)).collect();
    let text = cx.capped(&text.join("\n\n"), CHARS, Keep::Head);
    let mut built = Built::new(text, sources(files), trust, &found(files));
    built.sources = files
        .iter()
        .map(|one| (source_key(&one.source), one.hash.clone()))
        .collect();
    built
}

fn unverified_row(cx: &Input<'_>, files: &[&Instruction]) -> Built {
    let text: Vec<String> = files.iter().map(|one| rendered(cx.texts, one)).collect();
    // The names are fenced, too: a folder can have any name.
    let text = cx.capped(&text.join("\n\n"), CHARS, Keep::Head);
    let text = cx
        .texts
        .render("segments/unverified.md", &[("body", &fence::block(&text))]);
    let reason = format!("{}; untrusted folder: fenced, in the tail", found(files));
    let mut built = Built::new(text, sources(files), Trust::Untrusted, &reason);
    built.slot = Some(Slot::Tail);
    built
}

fn sources(files: &[&Instruction]) -> String {
    let names: Vec<String> = files.iter().map(|one| fence::name(&one.source)).collect();
    names.join(", ")
}

fn found(files: &[&Instruction]) -> String {
    let unsaved: Vec<&str> = files
        .iter()
        .filter(|one| one.unsaved)
        .map(|one| one.source.as_str())
        .collect();
    let count = match files.len() {
        1 => "1 file was found".to_owned(),
        count => format!("{count} files were found"),
    };
    if unsaved.is_empty() {
        count
    } else {
        format!(
            "{count}, unsaved text of {}",
            fence::name(&unsaved.join(", "))
        )
    }
}
