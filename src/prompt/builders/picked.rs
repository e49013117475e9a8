//! MCP prompts that the user picked. A server's text is never trusted.

use super::{Builder, Built, Input};
use crate::prompt::fence;
use crate::prompt::types::{Keep, Trust};

pub(super) const BUILDER: Builder = Builder {
    id: "picked",
    title: "Picked prompts",
    layer: "mcp",
    params: &[],
    build,
};

const CHARS: usize = 16_000;

fn build(cx: &Input<'_>) -> Vec<Built> {
    let picked = &cx.facts.picked;
    if picked.is_empty() {
        let reason = "the user picked no prompt of an MCP server";
        return vec![Built::absent("mcp", Trust::Untrusted, reason)];
    }
    let parts: Vec<String> = picked
        .iter()
        .map(|(title, text)| format!("{}\n{}", fence::name(title), text.trim()))
        .collect();
    let body = cx.capped(&parts.join("\n\n"), CHARS, Keep::Head);
    let reason = "the user picked it";
    vec![Built::new(
        cx.fenced(&body),
        "mcp",
        Trust::Untrusted,
        reason,
    )]
}
