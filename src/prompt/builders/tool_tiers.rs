//! A text about tools with a placeholder for their list: the tools by tier, each tier under its
//! title, without empty tiers. The placeholder is `{{tools_description}}`, also with single braces,
//! and never reaches the model itself.

use super::tool_list::line;
use super::{Built, Input};
use crate::conversation::Tier;
use crate::prompt::fence;

/// Most documents that are named.
const DOCUMENTS: usize = 50;

const PLACES: [&str; 2] = ["{{tools_description}}", "{tools_description}"];

pub(super) fn build(cx: &Input<'_>) -> Vec<Built> {
    let name = cx.string("text").unwrap_or("segments/tools.md");
    let (source, trust) = cx.texts.origin(name);
    if cx.facts.tools.is_empty() {
        return vec![Built::absent(source, trust, "no tool is offered")];
    }
    let list = tiers(cx);
    // The list is inserted last, so that nothing in a tool's text is taken for a placeholder.
    let text = cx.filled(name);
    let parts = PLACES.iter().fold(vec![text], |parts, place| {
        let split = parts.iter().flat_map(|part| part.split(place));
        split.map(str::to_owned).collect()
    });
    vec![Built::new(parts.join(&list), source, trust, "")]
}

fn tiers(cx: &Input<'_>) -> String {
    let titles = cx
        .entry
        .params
        .get("titles")
        .and_then(toml::Value::as_table);
    let mut blocks = Vec::new();
    for tier in Tier::ALL {
        let tools = cx.layout.ordered(&cx.facts.tools);
        let lines: Vec<String> = tools
            .into_iter()
            .filter(|tool| tool.tier == tier)
            .map(|tool| line(cx, tool))
            .collect();
        if lines.is_empty() {
            continue;
        }
        let title = titles
            .and_then(|titles| titles.get(tier.as_str()))
            .and_then(toml::Value::as_str)
            .unwrap_or(tier.as_str());
        let mark = cx.string("heading").unwrap_or("###");
        let mut block = format!("{mark} {title}\n{}", lines.join("\n"));
        let documents = documents(cx);
        if tier == Tier::Knowledge && !documents.is_empty() {
            let text = cx
                .texts
                .render("segments/zeus/library.md", &[("names", &documents)]);
            block.push('\n');
            block.push_str(&text);
        }
        blocks.push(block);
    }
    blocks.join("\n\n")
}

/// Names of the documents that the tier's tools search.
fn documents(cx: &Input<'_>) -> String {
    let names = cx.facts.library.iter().take(DOCUMENTS);
    let mut names: Vec<String> = names.map(|name| fence::name(name)).collect();
    let more = cx.facts.library.len() - names.len();
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}
