//! Changes of several files that belong together: one approval shows all of them, and all are made
//! or none.

use futures_util::FutureExt as _;

use super::{Change, Prepared, failed};
use crate::config::Review;
use crate::conversation::{FileChange, ItemId, sha256};
use crate::edit::Outcome;
use crate::edit::apply::{Fate, Landed, together};
use crate::host::Subject;
use crate::tools::{Reviewable, ToolContext, ToolError, ToolOutput, ToolResult, snippet, target};
use crate::workspace::files::rope_hash;

/// The changes as one call, none of which is empty.
pub fn prepared(cx: &ToolContext, title: String, changes: Vec<Change>) -> Prepared {
    let diffs: Vec<String> = changes.iter().map(|change| change.diff(cx)).collect();
    let diff = diffs.concat();
    let facts = changes.iter().flat_map(|it| it.facts(cx)).collect();
    let mut uris: Vec<String> = changes
        .iter()
        .map(|change| change.located.uri.to_string())
        .collect();
    let mut after: Vec<String> = changes
        .iter()
        .map(|change| rope_hash(&change.plan.result()))
        .collect();
    let uri = uris.first().cloned().unwrap_or_default();
    if uris.len() < 2 {
        uris.clear();
    }
    let after = match after.len() {
        1 => after.remove(0),
        _ => sha256(
            after
                .iter()
                .map(|hash| format!("{hash}\n"))
                .collect::<String>()
                .as_bytes(),
        ),
    };
    let subject = Subject::Edit {
        uri,
        diff: diff.clone(),
        after,
        files: uris,
    };
    let before = cx.config.edits.review == Review::Before;
    Prepared {
        facts,
        subject: Some(subject),
        diff: Some(diff),
        reviewable: before.then(|| reviewable(&title, &changes)),
        ..Prepared::new(title, |cx| run(cx, changes).boxed())
    }
}

/// The same with the parts that the user keeps. A moved file is decided about at its new place
/// only, or its text could be rejected there and deleted here.
fn reviewable(title: &str, changes: &[Change]) -> Reviewable {
    let decided = changes.iter().filter(|change| !change.moves);
    let files = decided.map(Change::proposed).collect();
    let (title, changes) = (title.to_owned(), changes.to_vec());
    Reviewable::new(files, move |cx, plans| {
        let mut plans = plans.into_iter();
        let mut kept: Vec<Change> = Vec::new();
        let mut rejected = false;
        for change in changes {
            if change.moves {
                kept.extend((!rejected).then_some(change));
                continue;
            }
            let plan = plans.next().unwrap_or_else(|| change.plan.clone());
            // A file without text has no place to decide about.
            rejected = plan.hunks.is_empty() && !change.plan.hunks.is_empty();
            let delete = change.delete && plan.result().len_bytes() == 0;
            let revised = Change {
                delete,
                plan,
                ..change
            };
            kept.extend((!rejected).then_some(revised));
        }
        prepared(cx, title, kept)
    })
}

async fn run(cx: &ToolContext, changes: Vec<Change>) -> ToolResult {
    let jobs = changes.iter().map(|change| change.job(cx)).collect();
    let numbered = changes.iter().enumerate();
    let moves: Vec<usize> = numbered
        .filter_map(|(at, it)| it.moves.then_some(at))
        .collect();
    let fates = together(jobs, &moves, ItemId(cx.env.id("undo"))).await;
    let cancelled = |fate: &Fate| matches!(fate, Fate::Failed(Outcome::Cancelled));
    let unknown = fates.iter().any(unknown);
    if fates.iter().any(cancelled) && !unknown {
        return Err(ToolError::Cancelled);
    }
    let failed = !fates.iter().all(landed);
    let mut all = ToolOutput {
        is_error: failed,
        ..ToolOutput::default()
    };
    let mut rows = Vec::new();
    let mut diffs = String::new();
    for (change, fate) in changes.iter().zip(fates) {
        let row = report(cx, change, fate).await?;
        rows.push(row.text);
        all.files.extend(row.files);
        diffs.push_str(&row.diff.unwrap_or_default());
    }
    let rows = rows.join("\n");
    all.text = match (failed, unknown) {
        (false, _) => rows,
        (true, false) => cx.text("results/several-failed.md", &[("rows", &rows)]),
        (true, true) => cx.text("results/several-unknown.md", &[("rows", &rows)]),
    };
    all.diff = (!all.files.is_empty()).then_some(diffs);
    Ok(all)
}

fn landed(fate: &Fate) -> bool {
    matches!(fate, Fate::Landed { .. })
}

/// Whether the file may have a change although the call failed.
fn unknown(fate: &Fate) -> bool {
    let Fate::Failed(outcome) = fate else {
        return matches!(fate, Fate::Stuck { .. });
    };
    matches!(
        outcome,
        Outcome::Unconfirmed | Outcome::Unknown { .. } | Outcome::Diverged { restored: false }
    )
}

/// What became of one of the changes.
async fn report(cx: &ToolContext, change: &Change, fate: Fate) -> ToolResult {
    let path = target::display_name(cx, &change.located);
    let not_made = || failed(cx.text("results/several-not-made.md", &[("path", &path)]));
    Ok(match fate {
        Fate::Landed { outcome, deleted } => {
            change.announce(cx, &outcome);
            match outcome {
                Outcome::Applied(landed) | Outcome::Rebased(landed) | Outcome::Held(landed)
                    if change.delete =>
                {
                    deletion(cx, change, &path, landed, deleted)
                }
                outcome => change.report(cx).outcome(outcome).await?,
            }
        }
        Fate::Failed(Outcome::Cancelled) | Fate::NotSent => not_made(),
        Fate::Failed(outcome) => change.report(cx).outcome(outcome).await?,
        Fate::Reverted => {
            if target::last_seen(cx, &change.located.key()).is_some()
                && let Ok(present) = target::read_current(cx, &change.located).await
            {
                target::remember(cx, change.located.key(), present.seen());
            }
            failed(cx.text("results/several-reverted.md", &[("path", &path)]))
        }
        Fate::Stuck { landed, reason } => {
            let text = left(cx, &path, &reason);
            ToolOutput {
                text,
                ..change.report(cx).outcome(Outcome::Applied(landed)).await?
            }
        }
    })
}

fn left(cx: &ToolContext, path: &str, reason: &str) -> String {
    cx.text(
        "results/several-left.md",
        &[("path", &path), ("reason", &reason)],
    )
}

fn deletion(
    cx: &ToolContext,
    change: &Change,
    path: &str,
    landed: Landed,
    deleted: bool,
) -> ToolOutput {
    let key = change.located.key();
    let text = match (deleted, landed.text.len_bytes()) {
        (true, _) => {
            cx.seen.lock().remove(&key);
            let removed = landed.removed;
            cx.text(
                "results/file-deleted.md",
                &[("path", &path), ("removed", &removed)],
            )
        }
        (false, 0) => cx.text("results/file-not-deleted.md", &[("path", &path)]),
        (false, _) => {
            let lines = snippet::line_count(&landed.text);
            let ranges = std::iter::once((1, lines));
            let shown = snippet::ranges_text(&cx.texts, &landed.text, ranges);
            let shown = shown.trim_end_matches('\n');
            cx.text(
                "results/file-typed.md",
                &[("path", &path), ("text", &shown)],
            )
        }
    };
    if !deleted {
        change
            .report(cx)
            .remember(landed.text.clone(), landed.revision);
    }
    ToolOutput {
        text,
        files: vec![FileChange {
            uri: change.located.uri.to_string(),
            added: landed.added,
            removed: landed.removed,
            created: false,
            deleted,
        }],
        diff: Some(landed.diff),
        ..ToolOutput::default()
    }
}
