//! `self_update_soul`: rewrites the agent's SOUL.md through the editor, as `write` does.

use async_trait::async_trait;
use ropey::Rope;
use serde::Deserialize;
use serde_json::{Value, json};

use super::change::{Base, Change, base};
use super::{Prepared, Targets, Tool, ToolContext, ToolError, schema, target, words};
use crate::conversation::Tier;
use crate::edit::plan;
use crate::workspace::{FileKind, Located, beneath};

/// The file that prompts show.
const FILE: &str = "SOUL.md";

pub struct SelfUpdateSoul;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    text: String,
}

/// Where prompts find it: in the session's directory, else in its root; a new one in the first.
fn place(cx: &ToolContext) -> Located {
    let own = beneath::locate_path(&cx.workspace, &cx.cwd.join(FILE));
    let there = |located: &Located| located.open || located.kind != FileKind::Missing;
    let root = cx.workspace.root_for(&cx.cwd);
    match root.filter(|_| !there(&own)) {
        Some(root) => Some(beneath::locate_path(&cx.workspace, &root.path.join(FILE)))
            .filter(there)
            .unwrap_or(own),
        None => own,
    }
}

#[async_trait]
impl Tool for SelfUpdateSoul {
    fn name(&self) -> &'static str {
        "self_update_soul"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "text": {"type": "string", "description": "The whole new text of SOUL.md"},
            }),
            &["text"],
        )
    }

    fn tier(&self) -> Tier {
        Tier::Middleware
    }

    fn changes(&self) -> bool {
        true
    }

    fn escapes(&self) -> bool {
        true
    }

    fn opt_in(&self) -> bool {
        true
    }

    fn targets(&self, cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets {
            writes: vec![place(cx).key()],
            ..Targets::default()
        }
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let Arguments { text } = schema::check(cx, "self_update_soul", arguments)?;
        if text.trim().is_empty() {
            return Err(words::for_model(cx, "results/soul-empty.md", &[]));
        }
        let located = place(cx);
        let change = match base(cx, &located).await? {
            Base::Denied => Change::denied(cx, "Rewrite", located),
            Base::Missing => {
                let plan = plan::write(&Rope::new(), &text);
                Change::created(cx, located, plan)
            }
            // The prompt showed its text, and the user is asked with the difference.
            Base::Text { present, .. } => {
                let seen = target::seen(cx, &located.uri.key()).unwrap_or_else(|| present.seen());
                let plan = plan::write(&seen.rope, &text);
                Change::planned(cx, "Rewrite", located, plan, seen.revision)
            }
        };
        Ok(Box::new(change))
    }
}
