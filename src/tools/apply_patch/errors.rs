//! Why a patch cannot be read or planned, in words for the model.

use ropey::Rope;

use crate::edit::v4a::{ChunkError, ParseError, Problem};
use crate::tools::{ToolContext, ToolError, plan_errors, target};
use crate::workspace::Located;

pub(super) fn unreadable(cx: &ToolContext, error: &ParseError) -> ToolError {
    match error {
        ParseError::Empty => cx.error("results/patch-empty.md", &[]),
        ParseError::Unexpected { line, text } => {
            let text: String = text.chars().take(80).collect();
            cx.error(
                "results/patch-unexpected.md",
                &[("line", line), ("text", &text)],
            )
        }
        ParseError::NoLines { line } => cx.error("results/patch-no-lines.md", &[("line", line)]),
    }
}

/// A file that the patch creates exists.
pub(super) fn exists(cx: &ToolContext, located: &Located) -> ToolError {
    let path = target::display_name(cx, located);
    cx.error("results/patch-exists.md", &[("path", &path)])
}

/// All chunks of a file that have no place. `rope`: the text to quote.
pub(super) fn of_chunks(
    cx: &ToolContext,
    located: &Located,
    rope: Option<&Rope>,
    errors: &[ChunkError],
) -> String {
    let path = target::display_name(cx, located);
    let texts: Vec<String> = errors
        .iter()
        .map(|error| of_chunk(cx, &path, rope, error))
        .collect();
    texts.join("\n")
}

fn of_chunk(cx: &ToolContext, path: &str, rope: Option<&Rope>, error: &ChunkError) -> String {
    let line = error.line;
    match &error.problem {
        Problem::NotFound {
            header,
            similar,
            differs,
        } => {
            let mut text = match header {
                None => cx.text(
                    "results/patch-not-found.md",
                    &[("path", &path), ("line", &line)],
                ),
                Some(header) => cx.text(
                    "results/patch-no-header.md",
                    &[("path", &path), ("line", &line), ("header", header)],
                ),
            };
            let places = plan_errors::similar_places(cx, rope, similar, differs.as_ref());
            if let Some(places) = places {
                text.push('\n');
                text.push_str(&cx.text("results/patch-similar.md", &[("text", &places)]));
            }
            text
        }
        Problem::Ambiguous { lines, strategy } => {
            let how = plan_errors::how(cx, *strategy).map(|how| format!("{how} "));
            cx.text(
                "results/patch-ambiguous.md",
                &[
                    ("path", &path),
                    ("line", &line),
                    ("how", &how.unwrap_or_default()),
                    ("count", &lines.len()),
                    ("lines", &plan_errors::listed(lines)),
                ],
            )
        }
        Problem::Nowhere => cx.text(
            "results/patch-nowhere.md",
            &[("path", &path), ("line", &line)],
        ),
        Problem::Overlap { other } => cx.text(
            "results/patch-overlap.md",
            &[("path", &path), ("line", &line), ("other", other)],
        ),
    }
}
