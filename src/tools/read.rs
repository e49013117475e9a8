//! `read`: a text with numbered lines, the open buffer first.

use async_trait::async_trait;
use futures_util::FutureExt as _;
use ropey::Rope;
use serde::Deserialize;
use serde_json::Value;

use super::{
    BuiltIn, Preparation, Prepared, Targets, ToolContext, ToolError, ToolOutput, ToolResult,
    ToolSpec, snippet, target,
};
use crate::conversation::Tier;
use crate::workspace::Located;

const LINES: u64 = 2_000;
const BYTES: usize = 50 * 1024;

pub struct Read;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Absolute, relative, or an open document's URI
    pub(super) path: String,
    /// First line, counted from 1
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub(super) offset: Option<u64>,
    /// Number of lines
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub(super) limit: Option<u64>,
    /// First character of a long line
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub(super) column: Option<u64>,
}

struct Reading {
    located: Located,
    offset: u64,
    limit: u64,
    column: Option<u64>,
}

#[async_trait]
impl BuiltIn for Read {
    const NAME: &'static str = "read";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Filesystem);
    type Arguments = Arguments;

    fn targets(cx: &ToolContext, arguments: &Value) -> Targets {
        Targets::reads(target::document_keys(cx, arguments["path"].as_str()))
    }

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        let (offset, limit) = (
            arguments.offset.unwrap_or(1),
            arguments.limit.unwrap_or(LINES),
        );
        if offset == 0 || limit == 0 || arguments.column == Some(0) {
            return Err(cx.error("results/read-from-1.md", &[]));
        }
        let located = target::locate(cx, &arguments.path)?;
        let reading = Reading {
            located: located.clone(),
            offset,
            limit: limit.min(LINES),
            column: arguments.column,
        };
        let title = format!("Read {}", located.display(&cx.workspace));
        Ok(Prepared::reading(title, &located, |cx| {
            reading.run(cx).boxed()
        }))
    }
}

/// The beginning of a text, as a call without limits shows it.
pub(super) fn first_page(cx: &ToolContext, rope: &Rope) -> String {
    let wanted = snippet::Wanted {
        first: 0,
        column: None,
        lines: LINES as usize,
        bytes: BYTES,
    };
    page_text(cx, rope, wanted).0
}

/// The wanted lines, with a note if there are more; whether something was left out.
fn page_text(cx: &ToolContext, rope: &Rope, wanted: snippet::Wanted) -> (String, bool) {
    let (first, total) = (wanted.first, snippet::line_count(rope));
    let page = snippet::page(&cx.texts, rope, wanted);
    let mut text = page.text;
    let last = first + page.lines;
    if total == 0 {
        text.push_str(&cx.text("results/read-empty.md", &[]));
    } else if last < total {
        text.push_str(&cx.text(
            "results/read-more.md",
            &[
                ("first", &(first + 1)),
                ("last", &last),
                ("total", &total),
                ("next", &(last + 1)),
            ],
        ));
    } else {
        text.pop();
    }
    (text, last < total || page.cut)
}

impl Reading {
    async fn run(self, cx: &ToolContext) -> ToolResult {
        let present = target::read_current(cx, &self.located)
            .await
            .map_err(|error| target::file_error(cx, &self.located, &error))?;
        let total = snippet::line_count(&present.rope);
        let first = usize::try_from(self.offset - 1).unwrap_or(usize::MAX);
        let most = usize::try_from(self.limit).unwrap_or(usize::MAX);
        if first > 0 && first >= total {
            return Err(cx.error(
                "results/read-past-end.md",
                &[("offset", &self.offset), ("total", &total)],
            ));
        }
        let column = match self.column {
            Some(column) => Some(self.within(cx, &present.rope, first, column)?),
            None => None,
        };
        let wanted = snippet::Wanted {
            first,
            column,
            lines: most,
            bytes: BYTES,
        };
        let (mut text, truncated) = page_text(cx, &present.rope, wanted);
        if present.held {
            text.push('\n');
            text.push_str(&cx.text("results/read-held.md", &[]));
        } else if present.outdated {
            text.push('\n');
            text.push_str(&cx.text("results/read-outdated.md", &[]));
        } else if present.unsaved {
            text.push('\n');
            text.push_str(&cx.text("results/read-unsaved.md", &[]));
        }
        target::remember(cx, self.located.key(), present.seen());
        Ok(ToolOutput {
            text,
            truncated,
            ..ToolOutput::default()
        })
    }

    /// The 0-based character of the line, if the line has it.
    fn within(
        &self,
        cx: &ToolContext,
        rope: &Rope,
        line: usize,
        column: u64,
    ) -> Result<usize, ToolError> {
        let total = match line < snippet::line_count(rope) {
            true => snippet::characters(rope, line),
            false => 0,
        };
        let at = usize::try_from(column - 1).unwrap_or(usize::MAX);
        if at == 0 || at < total {
            return Ok(at);
        }
        Err(cx.error(
            "results/read-past-column.md",
            &[
                ("line", &(line + 1)),
                ("column", &column),
                ("total", &total),
            ],
        ))
    }
}
