//! The text about the mode at the start of the epoch; a later switch is a journal entry.

use super::{Builder, Built, Input};

pub(super) const BUILDER: Builder = Builder {
    id: "mode",
    title: "Mode",
    layer: "mode",
    params: &[],
    build,
};

fn build(cx: &Input<'_>) -> Vec<Built> {
    let mode = cx.facts.mode.as_str();
    let name = format!("modes/{mode}.md");
    let text = cx.texts.render(&name, &[]);
    let reason = format!("the mode is {mode}");
    let (source, trust) = cx.texts.origin(&name);
    vec![Built::new(text, source, trust, &reason)]
}
