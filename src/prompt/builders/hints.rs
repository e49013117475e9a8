//! Runtime advice: the summary of a compacted conversation if the layout shows it here, failing
//! tools, constraints, hints, in this order. Whoever gives a hint fences untrusted text in it.

use super::{Built, Input};
use crate::conversation::Segment;
use crate::conversation::input::Slot;
use crate::prompt::fence;
use crate::prompt::layout::Summary;
use crate::prompt::types::{Keep, Trust};

const CHARS: usize = 4_000;

pub(super) fn build(cx: &Input<'_>) -> Vec<Built> {
    let hints = all(cx);
    if hints.is_empty() {
        return vec![Built::absent("runtime", Trust::Own, "there are no hints")];
    }
    // The summary is the conversation's memory and is never truncated.
    let text = match cx.entry.budget {
        None if cx.facts.summary.is_some() => hints.join("\n\n"),
        _ => cx.capped(&hints.join("\n\n"), CHARS, Keep::Head),
    };
    let name = cx.string("text").unwrap_or("segments/hints.md");
    let text = cx.texts.render(name, &[("body", &text)]);
    vec![Built::new(
        text,
        "runtime",
        Trust::Own,
        "the runtime has advice",
    )]
}

fn all(cx: &Input<'_>) -> Vec<String> {
    let facts = cx.facts;
    let mut hints = Vec::new();
    if cx.layout.head.summary == Summary::Hint
        && let Some(summary) = facts.summary.as_deref().map(str::trim)
        && !summary.is_empty()
    {
        let name = cx.string("summary").unwrap_or("hints/summary.md");
        hints.push(cx.texts.render(name, &[("summary", summary)]));
    }
    for (tool, reason) in &facts.degraded {
        let name = cx.string("degraded").unwrap_or("hints/tool-degraded.md");
        let (tool, reason) = (cx.layout.tool_name(tool), fence::name(reason));
        let values = [("tool", tool), ("reason", reason.as_str())];
        hints.push(cx.texts.render(name, &values));
    }
    if cx.flag("caller") {
        let own = |segment: &&Segment| segment.slot == Some(Slot::System);
        let bodies = facts.segments.iter().filter(own);
        hints.extend(bodies.map(|segment| segment.body.trim().to_owned()));
        hints.retain(|hint| !hint.is_empty());
    }
    let given = facts.constraints.iter().chain(&facts.hints);
    hints.extend(
        given
            .map(|hint| hint.trim().to_owned())
            .filter(|hint| !hint.is_empty()),
    );
    hints
}
