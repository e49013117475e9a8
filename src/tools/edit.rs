//! `edit`: replaces a text that occurs exactly once (or `expected_count` times) in the version that
//! the model last saw.

use async_trait::async_trait;
use ropey::Rope;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::change::{self, Base, change_base};
use super::target::CurrentText;
use super::{BuiltIn, Preparation, Targets, ToolContext, ToolError, ToolSpec, snippet, target};
use crate::conversation::Tier;
use crate::edit::plan::{self, PlanError};
use crate::edit::{Plan, SeenText};
use crate::workspace::{FileError, Located, Revision};

pub struct Edit;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Absolute, relative, or an open document's URI
    path: String,
    /// The exact text to replace; empty only to create a file
    old_string: String,
    /// The text to put there
    new_string: String,
    /// Replace all of exactly this many occurrences, counted from the top without overlaps; default
    /// 1
    #[schemars(range(min = 1))]
    expected_count: Option<u32>,
}

#[async_trait]
impl BuiltIn for Edit {
    const NAME: &'static str = "edit";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Filesystem).changes();
    type Arguments = Arguments;

    fn targets(cx: &ToolContext, arguments: &Value) -> Targets {
        Targets::writes(target::document_keys(cx, arguments["path"].as_str()))
    }

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        if arguments.expected_count == Some(0) {
            return Err(cx.error("results/edit-count-0.md", &[]));
        }
        let located = target::locate(cx, &arguments.path)?;
        Ok(match change_base(cx, &located).await? {
            Base::Denied => change::denied(cx, "Edit", located),
            Base::Missing if arguments.old_string.is_empty() => {
                let plan = plan::write(&Rope::new(), &arguments.new_string);
                change::created(cx, located, plan)
            }
            Base::Missing => {
                return Err(target::file_error(cx, &located, &FileError::Missing));
            }
            Base::Text {
                seen,
                present,
                open,
            } => {
                let (plan, revision) =
                    planned(&arguments, seen, &present, open).map_err(|error| {
                        let rope = open.then_some(&present.rope);
                        plan_error(cx, &located, rope, &error)
                    })?;
                change::planned(cx, "Edit", located, plan, revision)
            }
        })
    }
}

/// Plans against the version that the model saw. If that lacks the text, plans against the current
/// one if the model may see it, because the prompt may have shown the user's recent changes.
fn planned(
    arguments: &Arguments,
    seen: Option<SeenText>,
    present: &CurrentText,
    open: bool,
) -> Result<(Plan, Option<Revision>), PlanError> {
    if arguments.old_string.is_empty() && present.rope.len_bytes() == 0 {
        let plan = plan::write(&present.rope, &arguments.new_string);
        return Ok((plan, present.revision));
    }
    let expected = arguments.expected_count.map(|count| count as usize);
    let replace =
        |rope: &Rope| plan::replace(rope, &arguments.old_string, &arguments.new_string, expected);
    match seen {
        None => Ok((replace(&present.rope)?, present.revision)),
        Some(seen) => match replace(&seen.rope) {
            Ok(plan) => Ok((plan, seen.revision)),
            Err(PlanError::NotFound { .. }) if open && seen.rope != present.rope => {
                Ok((replace(&present.rope)?, present.revision))
            }
            Err(error) => Err(error),
        },
    }
}

/// Lines shown before and after a similar place.
const SIMILAR_RADIUS: usize = 4;

/// `rope`: the text to quote, if the model may see it.
fn plan_error(
    cx: &ToolContext,
    located: &Located,
    rope: Option<&Rope>,
    error: &PlanError,
) -> ToolError {
    let path = target::display_name(cx, located);
    let similar_places = |lines: &[usize]| {
        let text = rope.map(|rope| snippet::places(&cx.texts, rope, lines, SIMILAR_RADIUS));
        text.unwrap_or_default().trim_end_matches('\n').to_owned()
    };
    let listed = |lines: &[usize]| {
        let numbers: Vec<String> = lines.iter().take(20).map(usize::to_string).collect();
        numbers.join(", ")
    };
    match error {
        PlanError::EmptyOld => cx.error("results/edit-empty.md", &[("path", &path)]),
        PlanError::Same => cx.error("results/edit-same.md", &[("path", &path)]),
        PlanError::NotFound { similar } if similar.is_empty() || rope.is_none() => {
            cx.error("results/edit-not-found.md", &[("path", &path)])
        }
        PlanError::NotFound { similar } => cx.error(
            "results/edit-not-found-similar.md",
            &[("path", &path), ("text", &similar_places(similar))],
        ),
        PlanError::Ambiguous { lines } => cx.error(
            "results/edit-ambiguous.md",
            &[
                ("path", &path),
                ("count", &lines.len()),
                ("lines", &listed(lines)),
            ],
        ),
        PlanError::Count {
            found,
            expected,
            lines,
        } => cx.error(
            "results/edit-count.md",
            &[
                ("path", &path),
                ("found", &found),
                ("expected", &expected),
                ("lines", &listed(lines)),
            ],
        ),
    }
}
