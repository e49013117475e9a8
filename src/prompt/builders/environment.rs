//! The session's directory, folders and platform. Stable for the session: no date, no branch.

use super::{Builder, Built, Input};
use crate::prompt::fence;
use crate::prompt::types::Trust;

pub(super) const BUILDER: Builder = Builder {
    id: "environment",
    title: "Environment",
    layer: "environment",
    params: &[],
    build,
};

/// Most folders that are listed; the rest is counted.
const FOLDERS: usize = 20;

fn build(cx: &Input<'_>) -> Vec<Built> {
    let facts = cx.facts;
    let mut folders: Vec<String> = facts
        .roots
        .iter()
        .take(FOLDERS)
        .map(|folder| {
            let (name, path) = (fence::name(&folder.name), fence::name(&folder.path));
            format!("- {name}: {path}")
        })
        .collect();
    if facts.roots.len() > FOLDERS {
        folders.push(format!("- … and {} more", facts.roots.len() - FOLDERS));
    }
    if folders.is_empty() {
        folders.push("- none".to_owned());
    }
    let extra: Vec<String> = facts
        .environment
        .iter()
        .map(|(label, text)| format!("\n{}: {}", fence::name(label), fence::name(text)))
        .collect();
    let values = [
        ("extra", extra.concat()),
        ("cwd", fence::name(&facts.cwd)),
        ("folders", folders.join("\n")),
        ("platform", fence::name(&facts.platform)),
        (
            "git",
            if facts.git.is_some() { "yes" } else { "no" }.to_owned(),
        ),
    ];
    let values: Vec<(&str, &str)> = values
        .iter()
        .map(|(key, value)| (*key, value.as_str()))
        .collect();
    let text = cx.texts.render("segments/environment.md", &values);
    vec![Built::new(text, "session", Trust::Own, "always included")]
}
