//! The environment as tagged lines, one fact each, followed by the user's own lines.

use super::{Builder, Built, Input};
use crate::prompt::fence;
use crate::prompt::types::Trust;

pub(super) const BUILDER: Builder = Builder {
    id: "env",
    title: "Environment",
    layer: "environment",
    params: &[],
    build,
};

fn build(cx: &Input<'_>) -> Vec<Built> {
    let facts = cx.facts;
    let platform = match facts.platform.as_str() {
        "macos" => "darwin".to_owned(),
        "windows" => "win32".to_owned(),
        other => fence::name(other),
    };
    let git = if facts.git.is_some() { "yes" } else { "no" };
    let extra: Vec<String> = facts
        .environment
        .iter()
        .map(|(label, text)| format!("\n  {}: {}", fence::name(label), fence::name(text)))
        .collect();
    let (cwd, date) = (fence::name(&facts.cwd), fence::name(&facts.date));
    let extra = extra.concat();
    let values = [
        ("cwd", cwd.as_str()),
        ("git", git),
        ("platform", platform.as_str()),
        ("date", date.as_str()),
        ("extra", extra.as_str()),
    ];
    let text = cx.texts.render("segments/env.md", &values);
    vec![Built::new(text, "session", Trust::Own, "always included")]
}
