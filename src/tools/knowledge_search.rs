//! `knowledge_search`: passages of the documents that the user named, ranked by words.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Prepared, Targets, Tool, ToolContext, ToolError, ToolOutput, schema, words};
use crate::config::Config;
use crate::conversation::Tier;
use crate::host::Subject;
use crate::knowledge::documents::Library;
use crate::policy::Fact;
use crate::prompt::fence;

/// Most passages in an answer.
const HITS: usize = 8;

pub struct KnowledgeSearch;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
}

#[async_trait]
impl Tool for KnowledgeSearch {
    fn name(&self) -> &'static str {
        "knowledge_search"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "query": {"type": "string", "description": "Words that the passage would have"},
            }),
            &["query"],
        )
    }

    fn tier(&self) -> Tier {
        Tier::Knowledge
    }

    fn there(&self, config: &Config) -> bool {
        !config.knowledge.folders.is_empty()
    }

    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::default()
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let Arguments { query } = schema::check(cx, "knowledge_search", arguments)?;
        if !query.contains(char::is_alphanumeric) {
            return Err(words::for_model(
                cx,
                "results/arguments-wrong.md",
                &[
                    ("tool", "knowledge_search"),
                    ("problem", "`query`: it has no words"),
                ],
            ));
        }
        Ok(Box::new(Searching { query }))
    }
}

struct Searching {
    query: String,
}

#[async_trait]
impl Prepared for Searching {
    fn title(&self) -> String {
        let words: Vec<&str> = self.query.split_whitespace().collect();
        let shown: String = words.join(" ").chars().take(80).collect();
        format!("Search the documents for {shown}")
    }

    fn facts(&self) -> Vec<Fact> {
        // The user named the folders for this.
        Vec::new()
    }

    fn subject(&self) -> Option<Subject> {
        None
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (env, config) = (cx.env.clone(), cx.config.clone());
        let look = move || {
            let library = Library::list(&env, &config.knowledge.folders);
            let found = library.search(&self.query, HITS);
            (found, library.documents.len().to_string())
        };
        let (found, total) = tokio::task::spawn_blocking(look)
            .await
            .map_err(|error| ToolError::Fatal(error.into()))?;
        if found.is_empty() {
            return Ok(ToolOutput::text(
                cx.texts
                    .render("results/knowledge-nothing.md", &[("total", &total)]),
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
        Ok(ToolOutput::text(cx.texts.render(
            "results/knowledge-found.md",
            &[("total", &total), ("body", &body)],
        )))
    }
}
