//! `list`: the entries of a folder.

use async_trait::async_trait;
use serde::Deserialize;

use super::search::{Job, Search, search_root};
use super::{BuiltIn, Preparation, ToolContext, ToolSpec};
use crate::conversation::Tier;

pub struct List;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The folder; default the session's directory
    path: Option<String>,
}

#[async_trait]
impl BuiltIn for List {
    const NAME: &'static str = "list";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Filesystem);
    type Arguments = Arguments;

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        let place = search_root(cx, arguments.path.as_deref())?;
        let shown = place.display(&cx.workspace);
        Ok(Search {
            title: format!("List {shown}"),
            place,
            job: Job::List,
        }
        .prepared())
    }
}
