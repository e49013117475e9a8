//! `glob`: files whose paths match a pattern.

use async_trait::async_trait;
use serde::Deserialize;

use super::search::{Job, Search, search_root};
use super::{BuiltIn, Preparation, ToolContext, ToolSpec};
use crate::conversation::Tier;

pub struct Glob;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// A glob relative to the folder: `**/*.rs`, `src/{a,b}/*.ts`
    pub(super) pattern: String,
    /// The folder to look below; default the session's directory
    pub(super) path: Option<String>,
}

#[async_trait]
impl BuiltIn for Glob {
    const NAME: &'static str = "glob";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Filesystem);
    type Arguments = Arguments;

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        let place = search_root(cx, arguments.path.as_deref())?;
        let shown = place.display(&cx.workspace);
        Ok(Search {
            title: format!("Find {} in {shown}", arguments.pattern),
            place,
            job: Job::Glob(arguments.pattern),
        }
        .prepared())
    }
}
