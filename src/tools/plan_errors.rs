//! Why a change could not be planned, and how the text to replace was found, in words for the
//! model.

use ropey::Rope;

use super::{ToolContext, snippet, target};
use crate::edit::matching::Strategy;
use crate::edit::matching::similar::Difference;
use crate::edit::plan::PlanError;
use crate::workspace::Located;

/// Lines shown before and after a similar place.
const SIMILAR_RADIUS: usize = 4;

/// `rope`: the text to quote, if the model may see it.
pub(super) fn of_edit(
    cx: &ToolContext,
    located: &Located,
    rope: Option<&Rope>,
    error: &PlanError,
) -> String {
    let path = target::display_name(cx, located);
    match error {
        PlanError::EmptyOld => cx.text("results/edit-empty.md", &[("path", &path)]),
        PlanError::Same => cx.text("results/edit-same.md", &[("path", &path)]),
        PlanError::NotFound { similar, differs } => {
            match similar_places(cx, rope, similar, differs.as_ref()) {
                Some(places) => cx.text(
                    "results/edit-not-found-similar.md",
                    &[("path", &path), ("text", &places)],
                ),
                None => cx.text("results/edit-not-found.md", &[("path", &path)]),
            }
        }
        PlanError::Ambiguous { lines, strategy } => match how(cx, *strategy) {
            None => cx.text(
                "results/edit-ambiguous.md",
                &[
                    ("path", &path),
                    ("count", &lines.len()),
                    ("lines", &listed(lines)),
                ],
            ),
            Some(how) => cx.text(
                "results/edit-ambiguous-loosely.md",
                &[
                    ("path", &path),
                    ("how", &how),
                    ("count", &lines.len()),
                    ("lines", &listed(lines)),
                ],
            ),
        },
        PlanError::Count {
            found,
            expected,
            lines,
            strategy,
        } => {
            let times = cx.text(
                "results/edit-count.md",
                &[
                    ("path", &path),
                    ("found", &found),
                    ("expected", &expected),
                    ("lines", &listed(lines)),
                ],
            );
            match how(cx, *strategy) {
                None => times,
                Some(how) => {
                    let note = cx.text("results/edit-count-loosely.md", &[("how", &how)]);
                    format!("{times} {note}")
                }
            }
        }
    }
}

/// The most similar places with their first difference, if there are any that the model may see.
pub(super) fn similar_places(
    cx: &ToolContext,
    rope: Option<&Rope>,
    similar: &[usize],
    differs: Option<&Difference>,
) -> Option<String> {
    let rope = rope.filter(|_| !similar.is_empty())?;
    let mut text = snippet::places(&cx.texts, rope, similar, SIMILAR_RADIUS);
    if let Some(differs) = differs {
        text.push_str(&cx.text(
            "results/edit-differs.md",
            &[
                ("line", &differs.line),
                ("there", &differs.there),
                ("wanted", &differs.wanted),
            ],
        ));
    }
    Some(text.trim_end_matches('\n').to_owned())
}

/// The first lines of all matches.
pub(super) fn listed(lines: &[usize]) -> String {
    let numbers: Vec<String> = lines.iter().take(20).map(usize::to_string).collect();
    numbers.join(", ")
}

/// How the text was found, unless it was found exactly.
pub(super) fn how(cx: &ToolContext, strategy: Strategy) -> Option<String> {
    let name = match strategy {
        Strategy::Exact => return None,
        Strategy::LineEnds => "results/found-line-ends.md",
        Strategy::TrailingSpace => "results/found-trailing-space.md",
        Strategy::Indentation => "results/found-indentation.md",
        Strategy::ReadPrefix => "results/found-read-prefix.md",
        Strategy::Typographic => "results/found-typographic.md",
    };
    Some(cx.text(name, &[]))
}
