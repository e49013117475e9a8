//! Texts of MCP servers: what they say about their use, and the prompts that the user picked. A
//! server's text is never trusted.

use super::{Built, Input};
use crate::prompt::fence;
use crate::prompt::types::{Keep, Trust};

const CHARS: usize = 16_000;

/// What servers say about their use.
pub(super) fn instructions(cx: &Input<'_>) -> Vec<Built> {
    let reported = cx.facts.remote.iter().filter_map(|server| {
        let text = server.instructions.as_deref()?;
        Some(format!("{}:\n{text}", fence::name(&server.server)))
    });
    let absent = "no MCP server says anything about its use";
    fenced(cx, reported.collect(), "an MCP server says it", absent)
}

/// Prompts that the user picked.
pub(super) fn picked(cx: &Input<'_>) -> Vec<Built> {
    let picked = cx.facts.picked.iter();
    let parts = picked.map(|(title, text)| format!("{}\n{}", fence::name(title), text.trim()));
    let absent = "the user picked no prompt of an MCP server";
    fenced(cx, parts.collect(), "the user picked it", absent)
}

fn fenced(cx: &Input<'_>, parts: Vec<String>, reason: &str, absent: &str) -> Vec<Built> {
    if parts.is_empty() {
        return vec![Built::absent("mcp", Trust::Untrusted, absent)];
    }
    let body = cx.capped(&parts.join("\n\n"), CHARS, Keep::Head);
    let text = cx.fenced(&body);
    vec![Built::new(text, "mcp", Trust::Untrusted, reason)]
}
