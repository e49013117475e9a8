//! Runtime advice in the order given. Whoever gives a hint fences what others wrote in it.

use super::{Builder, Built, Input};
use crate::prompt::Trust;
use crate::prompt::layout::Keep;

pub(super) const BUILDER: Builder = Builder {
    id: "hints",
    title: "Hints",
    layer: "runtime",
    params: &[],
    build,
};

const CHARS: usize = 4_000;

fn build(cx: &Input<'_>) -> Vec<Built> {
    let hints: Vec<&str> = cx
        .facts
        .hints
        .iter()
        .map(|hint| hint.trim())
        .filter(|hint| !hint.is_empty())
        .collect();
    if hints.is_empty() {
        return vec![Built::absent("runtime", Trust::Own, "there is no hint")];
    }
    let text = cx.capped(&hints.join("\n\n"), CHARS, Keep::Head);
    let text = cx.texts.render("segments/hints.md", &[("body", &text)]);
    vec![Built::new(
        text,
        "runtime",
        Trust::Own,
        "the runtime has advice",
    )]
}
