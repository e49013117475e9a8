//! `write`: creates a file or replaces one that the model has read, reduced to minimal hunks.

use async_trait::async_trait;
use ropey::Rope;
use serde::Deserialize;
use serde_json::Value;

use super::change::{self, Base, change_base};
use super::{BuiltIn, Preparation, Targets, ToolContext, ToolSpec, target};
use crate::conversation::Tier;
use crate::edit::plan;

pub struct Write;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Absolute, relative, or an open document's URI
    pub(super) path: String,
    /// The whole text of the file
    pub(super) content: String,
}

#[async_trait]
impl BuiltIn for Write {
    const NAME: &'static str = "write";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Filesystem).changes();
    type Arguments = Arguments;

    fn targets(cx: &ToolContext, arguments: &Value) -> Targets {
        Targets::writes(target::document_keys(cx, arguments["path"].as_str()))
    }

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        let located = target::locate(cx, &arguments.path)?;
        Ok(match change_base(cx, &located).await? {
            Base::Denied => change::denied(cx, "Write", located),
            Base::Missing => {
                let plan = plan::write(&Rope::new(), &arguments.content);
                change::created(cx, located, plan)
            }
            Base::Text {
                seen: Some(seen), ..
            } => {
                let plan = plan::write(&seen.rope, &arguments.content);
                change::planned(cx, "Write", located, plan, seen.revision)
            }
            // The file is empty, so nothing can be lost.
            Base::Text { present, .. } if present.rope.len_bytes() == 0 => {
                let plan = plan::write(&present.rope, &arguments.content);
                change::planned(cx, "Write", located, plan, present.revision)
            }
            Base::Text { present, open, .. } => {
                return Err(change::unread(cx, &located, &present, open));
            }
        })
    }
}
