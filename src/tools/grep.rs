//! `grep`: lines that match, in files and open buffers.

use async_trait::async_trait;
use serde::Deserialize;

use super::search::{Job, LINES, Search, search_root};
use super::{BuiltIn, Preparation, ToolContext, ToolSpec};
use crate::conversation::Tier;
use crate::workspace::search::Query;

pub struct Grep;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// A regular expression in Rust's syntax
    pattern: String,
    /// File or folder; default the session's directory
    path: Option<String>,
    /// Only files whose path relative to the folder matches
    glob: Option<String>,
    /// Lines shown before and after each match; default 0
    context: Option<u32>,
}

#[async_trait]
impl BuiltIn for Grep {
    const NAME: &'static str = "grep";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Filesystem);
    type Arguments = Arguments;

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        let place = search_root(cx, arguments.path.as_deref())?;
        let shown = place.display(&cx.workspace);
        Ok(Search {
            title: format!("Search {} in {shown}", arguments.pattern),
            place,
            job: Job::Grep(Query {
                pattern: arguments.pattern,
                glob: arguments.glob,
                context: arguments.context.map_or(0, |lines| lines.min(20) as usize),
                cap: LINES,
            }),
        }
        .prepared())
    }
}
