//! The tools as text: one line each, in the layout's order and under its names. The layout chooses
//! the line's format; the format `schema` is for models without native tool calls.

use super::{Built, Input};
use crate::conversation::ToolFacts;
use crate::prompt::layout::ToolTexts;
use crate::prompt::texts::substitute;
use crate::prompt::types::Trust;

pub(super) fn build(cx: &Input<'_>) -> Vec<Built> {
    let source = "registry of tools";
    if cx.layout.head.tool_texts == ToolTexts::None {
        let reason = "the layout leaves the tools to their schemas";
        return vec![Built::absent(source, Trust::Own, reason)];
    }
    let lines: Vec<String> = cx
        .layout
        .ordered(&cx.facts.tools)
        .into_iter()
        .map(|tool| line(cx, tool))
        .collect();
    if lines.is_empty() {
        return vec![Built::absent(source, Trust::Own, "no tool is offered")];
    }
    let reason = format!("{} tools are offered", lines.len());
    vec![Built::new(lines.join("\n"), source, Trust::Own, &reason)]
}

/// One tool's line; only its name if it has no description.
pub(super) fn line(cx: &Input<'_>, tool: &ToolFacts) -> String {
    let name = cx.layout.tool_name(&tool.spec.name);
    let (summary, advice) = split(&cx.layout.with_tool_names(&tool.spec.description));
    if summary.is_empty() {
        return substitute(cx.string("bare").unwrap_or("- {{name}}"), &[("name", name)]);
    }
    let schema = match cx.layout.head.tool_texts {
        ToolTexts::Schema => tool.spec.input_schema.to_string(),
        _ => String::new(),
    };
    let values = [
        ("name", name),
        ("summary", summary.as_str()),
        ("advice", advice.as_str()),
        ("schema", schema.as_str()),
    ];
    substitute(
        cx.string("line").unwrap_or("- {{name}}: {{summary}}"),
        &values,
    )
}

/// A description's first line, and the rest joined on one line (or the first line again).
fn split(description: &str) -> (String, String) {
    let mut lines = description
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let summary = lines.next().unwrap_or_default().to_owned();
    let rest: Vec<&str> = lines.collect();
    let advice = if rest.is_empty() {
        summary.clone()
    } else {
        rest.join(" ")
    };
    (summary, advice)
}
