//! The sandbox that commands run in.

use super::{Builder, Built, Input};
use crate::prompt::fence;
use crate::prompt::types::Trust;

pub(super) const BUILDER: Builder = Builder {
    id: "sandbox",
    title: "Sandbox",
    layer: "environment",
    params: &["text"],
    build,
};

fn build(cx: &Input<'_>) -> Vec<Built> {
    let Some(sandbox) = cx.facts.sandbox() else {
        let reason = "commands run without a sandbox, with the user's own rights";
        return vec![Built::absent("setting: sandbox", Trust::Own, reason)];
    };
    let body = fence::line(sandbox);
    let name = cx.string("text").unwrap_or("segments/sandbox.md");
    let text = cx.texts.render(name, &[("body", &body)]);
    let reason = "a sandbox is in force";
    vec![Built::new(text, "setting: sandbox", Trust::Own, reason)]
}
