//! `memory_search`: what was remembered, ranked by words, without a network.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::save_memory::{key, memory, problems};
use super::{Prepared, Targets, Tool, ToolContext, ToolError, ToolOutput, schema, words};
use crate::config::Citations;
use crate::conversation::Tier;
use crate::host::Subject;
use crate::knowledge::memory::{self, Entry, Memory, Scope};
use crate::policy::Fact;

/// Most memories in an answer, and most bytes of them.
const HITS: usize = 20;
const BYTES: usize = 20 * 1024;

pub struct MemorySearch;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
}

#[async_trait]
impl Tool for MemorySearch {
    fn name(&self) -> &'static str {
        "memory_search"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "query": {"type": "string", "description": "Words that the memory would have"},
            }),
            &["query"],
        )
    }

    fn tier(&self) -> Tier {
        Tier::Knowledge
    }

    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets {
            reads: Scope::ALL.map(key).to_vec(),
            ..Targets::default()
        }
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let arguments: Arguments = schema::check(cx, "memory_search", arguments)?;
        if !arguments.query.contains(char::is_alphanumeric) {
            return Err(words::for_model(
                cx,
                "results/arguments-wrong.md",
                &[
                    ("tool", "memory_search"),
                    ("problem", "`query`: it has no words"),
                ],
            ));
        }
        Ok(Box::new(Recalling {
            memory: memory(cx)?,
            query: arguments.query,
        }))
    }
}

struct Recalling {
    memory: Memory,
    query: String,
}

impl Recalling {
    /// The query on one line, cut.
    fn shown(&self) -> String {
        let words: Vec<&str> = self.query.split_whitespace().collect();
        words.join(" ").chars().take(80).collect()
    }
}

#[async_trait]
impl Prepared for Recalling {
    fn title(&self) -> String {
        format!("Search memory for {}", self.shown())
    }

    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    fn subject(&self) -> Option<Subject> {
        None
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let query = self.shown();
        let citations = cx.config.memory.citations;
        let look = move || {
            let loaded = self.memory.read();
            let hits = memory::search(&loaded, &self.query, HITS);
            let lines = hits.iter().map(|hit| line(hit.entry, citations));
            let mut bytes = 0;
            let list: Vec<String> = lines
                .take_while(|line| {
                    bytes += line.len();
                    bytes <= BYTES
                })
                .collect();
            (list, hits.len(), loaded.len(), loaded.problems)
        };
        let (list, found, total, told) = tokio::task::spawn_blocking(look)
            .await
            .map_err(|error| ToolError::Fatal(error.into()))?;
        let total = total.to_string();
        let mut text = if list.is_empty() {
            cx.texts.render(
                "results/memory-nothing.md",
                &[("total", &total), ("query", &query)],
            )
        } else {
            cx.texts.render(
                "results/memory-found.md",
                &[
                    ("count", &list.len().to_string()),
                    ("total", &total),
                    ("list", &list.join("\n")),
                ],
            )
        };
        text.push_str(&problems(cx, &told));
        Ok(ToolOutput {
            text,
            truncated: list.len() < found,
            ..ToolOutput::default()
        })
    }
}

/// One memory; its file is named where citations are on.
fn line(entry: &Entry, citations: Citations) -> String {
    let mut about = vec![entry.scope.as_str().to_owned()];
    about.extend(entry.date.map(|date| date.to_string()));
    if citations == Citations::On {
        about.push(entry.path.display().to_string());
    }
    let kind = entry.kind.as_str();
    format!("- [{kind}] {} ({})", entry.text, about.join(", "))
}
