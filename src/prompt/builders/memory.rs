//! Memory: the index, the profiles of user and project, and the memories relevant to the current
//! prompt. Read by the gatherer; a memory is a fact, never an instruction.

use super::{Builder, Built, Input};
use crate::prompt::fence;
use crate::prompt::types::{Keep, Trust};

pub(super) const INDEX: Builder = Builder {
    id: "memoryIndex",
    title: "Memory index",
    layer: "memory",
    params: &["text"],
    build: index,
};

pub(super) const PROFILE: Builder = Builder {
    id: "profile",
    title: "Profile",
    layer: "memory",
    params: &["of", "text"],
    build: profile,
};

pub(super) const RELATED: Builder = Builder {
    id: "memories",
    title: "Related memories",
    layer: "memory",
    params: &["text"],
    build: related,
};

const CHARS: usize = 4_000;

fn index(cx: &Input<'_>) -> Vec<Built> {
    let lines = &cx.facts.memory.index;
    journaled(
        cx,
        lines,
        "segments/memoryIndex.md",
        "there are no memories",
    )
}

fn profile(cx: &Input<'_>) -> Vec<Built> {
    let memory = &cx.facts.memory;
    let project = cx.string("of") == Some("project");
    let (lines, text, absent) = if project {
        let absent = "there are no memories about the project";
        (&memory.project, "segments/projectProfile.md", absent)
    } else {
        let absent = "there are no memories about the user";
        (&memory.user, "segments/userProfile.md", absent)
    };
    journaled(cx, lines, text, absent)
}

fn related(cx: &Input<'_>) -> Vec<Built> {
    let lines = &cx.facts.memory.related;
    listed(
        cx,
        lines,
        "segments/memories.md",
        "no memory is relevant to the prompt",
    )
}

fn journaled(cx: &Input<'_>, lines: &[String], text: &str, absent: &str) -> Vec<Built> {
    let mut rows = listed(cx, lines, text, absent);
    for row in &mut rows {
        row.journaled = true;
    }
    rows
}

fn listed(cx: &Input<'_>, lines: &[String], text: &str, absent: &str) -> Vec<Built> {
    if lines.is_empty() {
        return vec![Built::absent("memory", Trust::User, absent)];
    }
    let lines: Vec<String> = lines
        .iter()
        .map(|line| format!("- {}", fence::line(line)))
        .collect();
    let body = cx.capped(&lines.join("\n"), CHARS, Keep::Head);
    let text = cx.string("text").unwrap_or(text);
    let text = cx.texts.render(text, &[("body", &body)]);
    let reason = match lines.len() {
        1 => "1 entry".to_owned(),
        count => format!("{count} entries"),
    };
    vec![Built::new(text, "memory", Trust::User, &reason)]
}
