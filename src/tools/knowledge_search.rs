//! `knowledge_search`: passages from the documents that the user configured, ranked by words.

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde::Deserialize;

use super::{
    BuiltIn, Preparation, Prepared, ToolContext, ToolOutput, ToolResult, ToolSpec, schema,
};
use crate::config::Config;
use crate::conversation::Tier;
use crate::knowledge::documents::Library;
use crate::prompt::fence;

/// Most passages in an answer.
const HITS: usize = 8;

pub struct KnowledgeSearch;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Words that the passage would have
    query: String,
}

#[async_trait]
impl BuiltIn for KnowledgeSearch {
    const NAME: &'static str = "knowledge_search";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Knowledge);
    type Arguments = Arguments;

    fn available(config: &Config) -> bool {
        !config.knowledge.folders.is_empty()
    }

    async fn prepare(&self, cx: &ToolContext, Arguments { query }: Arguments) -> Preparation {
        schema::check_query(cx, Self::NAME, &query)?;
        let words: Vec<&str> = query.split_whitespace().collect();
        let shown: String = words.join(" ").chars().take(80).collect();
        let title = format!("Search the documents for {shown}");
        // Without facts: the user configured the folders for this.
        Ok(Prepared::new(title, |cx| search(cx, query).boxed()))
    }
}

async fn search(cx: &ToolContext, query: String) -> ToolResult {
    let (env, config) = (cx.env.clone(), cx.config.clone());
    let look = move || {
        let library = Library::list(&env, &config.knowledge.folders);
        let found = library.search(&query, HITS);
        (found, library.documents.len().to_string())
    };
    let (found, total) = cx.blocking(look).await?;
    if found.is_empty() {
        return Ok(ToolOutput::text(
            cx.text("results/knowledge-nothing.md", &[("total", &total)]),
        ));
    }
    let list: Vec<String> = found
        .iter()
        .map(|passage| {
            let place = format!("{}:{}", fence::name(&passage.document), passage.line);
            format!("{place}\n{}", fence::visible(passage.text.trim_end()))
        })
        .collect();
    let body = fence::block(&list.join("\n\n"));
    Ok(ToolOutput::text(cx.text(
        "results/knowledge-found.md",
        &[("total", &total), ("body", &body)],
    )))
}
