//! What MCP servers say about their use. A server's text is never trusted.

use super::{Builder, Built, Input};
use crate::prompt::fence;
use crate::prompt::types::{Keep, Trust};

pub(super) const BUILDER: Builder = Builder {
    id: "servers",
    title: "What MCP servers say about their use",
    layer: "mcp",
    params: &[],
    build,
};

const CHARS: usize = 16_000;

fn build(cx: &Input<'_>) -> Vec<Built> {
    let reported = cx.facts.remote.iter().filter_map(|server| {
        let text = server.instructions.as_deref()?;
        Some(format!("{}:\n{text}", fence::name(&server.server)))
    });
    let parts: Vec<String> = reported.collect();
    if parts.is_empty() {
        let reason = "no MCP server says anything about its use";
        return vec![Built::absent("mcp", Trust::Untrusted, reason)];
    }
    let body = cx.capped(&parts.join("\n\n"), CHARS, Keep::Head);
    let reason = "an MCP server says it";
    vec![Built::new(
        cx.fenced(&body),
        "mcp",
        Trust::Untrusted,
        reason,
    )]
}
