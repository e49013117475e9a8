//! `memory_search`: saved memories, ranked by words, without a network.

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::Value;

use super::save_memory::{memory, problems_note, scope_key};
use super::{
    BuiltIn, Preparation, Prepared, Targets, ToolContext, ToolOutput, ToolResult, ToolSpec, schema,
};
use crate::config::Citations;
use crate::conversation::Tier;
use crate::knowledge::memory::{self, Entry, Memory, Scope};

/// Most memories in an answer, and most bytes.
const HITS: usize = 20;
const BYTES: usize = 20 * 1024;

pub struct MemorySearch;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Words that the memory would have
    query: String,
}

#[async_trait]
impl BuiltIn for MemorySearch {
    const NAME: &'static str = "memory_search";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Knowledge);
    type Arguments = Arguments;

    fn targets(_cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::reads(Scope::ALL.map(scope_key).to_vec())
    }

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        schema::check_query(cx, Self::NAME, &arguments.query)?;
        let memory = memory(cx)?;
        let title = format!("Search memory for {}", shown(&arguments.query));
        Ok(Prepared::new(title, |cx| {
            search(cx, memory, arguments.query).boxed()
        }))
    }
}

/// The query on one line, truncated.
fn shown(query: &str) -> String {
    let words: Vec<&str> = query.split_whitespace().collect();
    words.join(" ").chars().take(80).collect()
}

async fn search(cx: &ToolContext, memory: Memory, query: String) -> ToolResult {
    let shown = shown(&query);
    let citations = cx.config.memory.citations;
    let look = move || {
        let loaded = memory.read();
        let hits = memory::search(&loaded, &query, HITS);
        let lines = hits.iter().map(|hit| line(hit.entry, citations));
        let mut bytes = 0;
        let list: Vec<String> = lines
            .take_while(|line| {
                bytes += line.len();
                bytes <= BYTES
            })
            .collect();
        (list, hits.len(), loaded.entries.len(), loaded.problems)
    };
    let (list, found, total, problems) = cx.blocking(look).await?;
    let mut text = if list.is_empty() {
        cx.text(
            "results/memory-nothing.md",
            &[("total", &total), ("query", &shown)],
        )
    } else {
        cx.text(
            "results/memory-found.md",
            &[
                ("count", &list.len()),
                ("total", &total),
                ("list", &list.join("\n")),
            ],
        )
    };
    text.push_str(&problems_note(cx, &problems));
    Ok(ToolOutput {
        text,
        truncated: list.len() < found,
        ..ToolOutput::default()
    })
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
