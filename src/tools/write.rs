//! `write`: creates a file or replaces one that the model has read, reduced to minimal hunks.

use async_trait::async_trait;
use ropey::Rope;
use serde::Deserialize;
use serde_json::{Value, json};

use super::change::{Base, Change, base};
use super::{Prepared, Targets, Tool, ToolContext, ToolError, schema, target, words};
use crate::conversation::Tier;
use crate::edit::plan;

pub struct Write;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    content: String,
}

#[async_trait]
impl Tool for Write {
    fn name(&self) -> &'static str {
        "write"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "path": {"type": "string", "description": "Absolute, relative, or an open document's URI"},
                "content": {"type": "string", "description": "The whole text of the file"},
            }),
            &["path", "content"],
        )
    }

    fn tier(&self) -> Tier {
        Tier::Filesystem
    }

    fn changes(&self) -> bool {
        true
    }

    fn targets(&self, cx: &ToolContext, arguments: &Value) -> Targets {
        Targets {
            writes: target::key_of(cx, arguments["path"].as_str()),
            ..Targets::default()
        }
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let arguments: Arguments = schema::check(cx, "write", arguments)?;
        let located = target::locate(cx, &arguments.path)?;
        let change = match base(cx, &located).await? {
            Base::Denied => Change::denied(cx, "Write", located),
            Base::Missing => {
                let plan = plan::write(&Rope::new(), &arguments.content);
                Change::created(cx, located, plan)
            }
            Base::Text {
                seen: Some(seen), ..
            } => {
                let plan = plan::write(&seen.rope, &arguments.content);
                Change::planned(cx, "Write", located, plan, seen.revision)
            }
            // Nothing is there that could be lost.
            Base::Text { present, .. } if present.rope.len_bytes() == 0 => {
                let plan = plan::write(&present.rope, &arguments.content);
                Change::planned(cx, "Write", located, plan, present.revision)
            }
            Base::Text { .. } => {
                let path = target::name(cx, &located);
                return Err(words::for_model(
                    cx,
                    "results/read-first.md",
                    &[("path", &path)],
                ));
            }
        };
        Ok(Box::new(change))
    }
}
