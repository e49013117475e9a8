//! `edit`: replaces a text that occurs exactly once (or `expected_count` times) in the version that
//! the model last saw.

use async_trait::async_trait;
use ropey::Rope;
use serde::Deserialize;
use serde_json::Value;

use super::change::{self, Base, change_base};
use super::target::CurrentText;
use super::{BuiltIn, Preparation, Targets, ToolContext, ToolError, ToolSpec, plan_errors, target};
use crate::conversation::Tier;
use crate::edit::matching::Strategy;
use crate::edit::plan::{self, PlanError};
use crate::edit::{Plan, SeenText};
use crate::workspace::{FileError, Revision};

pub struct Edit;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    #[cfg_attr(test, schemars(range(min = 1)))]
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
                let unread = seen.is_none() && open;
                let (plan, revision) =
                    planned(&arguments, seen, &present, open).map_err(|error| {
                        let rope = (open && !unread).then_some(&present.rope);
                        let problem = plan_errors::of_edit(cx, &located, rope, &error);
                        let lost = matches!(error, PlanError::NotFound { .. });
                        match unread && lost {
                            true => change::with_text(cx, &located, &present, &problem),
                            false => ToolError::ForModel(problem),
                        }
                    })?;
                change::planned(cx, "Edit", located, plan, revision)
            }
        })
    }
}

/// An empty text becomes the new one; otherwise the place is where the old one is.
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
    change::on_what_was_seen((seen, present, open), replace, |planned| match planned {
        Ok(plan) => plan.strategy == Strategy::Exact,
        Err(PlanError::Ambiguous { strategy, .. } | PlanError::Count { strategy, .. }) => {
            *strategy == Strategy::Exact
        }
        Err(error) => !matches!(error, PlanError::NotFound { .. }),
    })
}
