//! `grep`: lines that match, in files and open buffers.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::search::{Job, LINES, Looking, place};
use super::{Prepared, Targets, Tool, ToolContext, ToolError, schema};
use crate::conversation::Tier;
use crate::workspace::search::Query;

pub struct Grep;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    context: Option<u32>,
}

#[async_trait]
impl Tool for Grep {
    fn name(&self) -> &'static str {
        "grep"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "pattern": {"type": "string", "description": "A regular expression in Rust's syntax"},
                "path": {"type": "string", "description": "File or folder; default the session's directory"},
                "glob": {"type": "string", "description": "Only files whose path relative to the folder matches"},
                "context": {"type": "integer", "minimum": 0, "description": "Lines shown before and after each match; default 0"},
            }),
            &["pattern"],
        )
    }

    fn tier(&self) -> Tier {
        Tier::Filesystem
    }

    /// Looks at the whole place: what an edit of the same message does first is seen or not.
    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::default()
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let arguments: Arguments = schema::check(cx, "grep", arguments)?;
        let place = place(cx, arguments.path.as_deref())?;
        let shown = place.display(&cx.workspace);
        Ok(Box::new(Looking {
            title: format!("Search {} in {shown}", arguments.pattern),
            place,
            job: Job::Grep(Query {
                pattern: arguments.pattern,
                glob: arguments.glob,
                context: arguments.context.map_or(0, |lines| lines.min(20) as usize),
                cap: LINES,
            }),
        }))
    }
}
