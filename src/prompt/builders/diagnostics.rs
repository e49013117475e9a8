//! Diagnostics near the cursor. Their messages quote code and come from other servers, so they are
//! never trusted, even in a trusted folder.

use super::{Builder, Built, Input};
use crate::prompt::fence;
use crate::prompt::types::{Keep, Trust};

pub(super) const BUILDER: Builder = Builder {
    id: "diagnostics",
    title: "Diagnostics",
    layer: "editor",
    params: &["items"],
    build,
};

const ITEMS: usize = 30;
const CHARS: usize = 4_000;

fn build(cx: &Input<'_>) -> Vec<Built> {
    let all = &cx.facts.editor.diagnostics;
    if all.is_empty() {
        let reason = "no diagnostic is near the cursor";
        return vec![Built::absent("editor", Trust::Untrusted, reason)];
    }
    let items = cx.number("items", ITEMS);
    let mut lines: Vec<String> = all
        .iter()
        .take(items)
        .map(|(path, line, severity, message)| {
            let (path, severity) = (fence::name(path), fence::name(severity));
            format!("{path}:{line}: {severity}: {}", message.trim())
        })
        .collect();
    if all.len() > items {
        lines.push(format!("… and {} more", all.len() - items));
    }
    let body = cx.capped(&lines.join("\n"), CHARS, Keep::Head);
    let reason = format!("{} near the cursor", all.len());
    vec![Built::new(
        cx.fenced(&body),
        "editor",
        Trust::Untrusted,
        &reason,
    )]
}
