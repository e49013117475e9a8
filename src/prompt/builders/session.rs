//! The session's surroundings: directory, folders and platform, git, sandbox, date, mode and the
//! language to answer in.

use super::{Built, Input};
use crate::prompt::facts::Facts;
use crate::prompt::fence;
use crate::prompt::types::Trust;

/// Most folders that are listed; the rest is counted.
const FOLDERS: usize = 20;

const ALWAYS: &str = "always included";

/// Directory, folders and platform. Stable for the session: no date, no branch.
pub(super) fn environment(cx: &Input<'_>) -> Vec<Built> {
    let facts = cx.facts;
    let listed = facts.roots.iter().take(FOLDERS);
    let mut folders: Vec<String> = listed
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
    let values = [
        ("extra", user_lines(facts, "")),
        ("cwd", fence::name(&facts.cwd)),
        ("folders", folders.join("\n")),
        ("platform", fence::name(&facts.platform)),
        ("git", in_git(facts)),
    ];
    let text = cx.rendered("segments/environment.md", &values);
    vec![Built::new(text, "session", Trust::Own, ALWAYS)]
}

/// The environment as tagged lines, one fact each.
pub(super) fn env(cx: &Input<'_>) -> Vec<Built> {
    let facts = cx.facts;
    let platform = match facts.platform.as_str() {
        "macos" => "darwin".to_owned(),
        "windows" => "win32".to_owned(),
        other => fence::name(other),
    };
    let values = [
        ("cwd", fence::name(&facts.cwd)),
        ("git", in_git(facts)),
        ("platform", platform),
        ("date", fence::name(&facts.date)),
        ("extra", user_lines(facts, "  ")),
    ];
    let text = cx.rendered("segments/env.md", &values);
    vec![Built::new(text, "session", Trust::Own, ALWAYS)]
}

fn in_git(facts: &Facts) -> String {
    let word = if facts.git.is_some() { "yes" } else { "no" };
    word.to_owned()
}

/// The user's own lines of the environment.
fn user_lines(facts: &Facts, indent: &str) -> String {
    let lines = facts.environment.iter();
    lines
        .map(|(label, text)| format!("\n{indent}{}: {}", fence::name(label), fence::name(text)))
        .collect()
}

/// Branch and head commit. The name of a branch is untrusted text.
pub(super) fn git(cx: &Input<'_>) -> Vec<Built> {
    let Some(git) = &cx.facts.git else {
        let reason = "the directory is not in a git repository";
        return vec![Built::absent(".git", Trust::Untrusted, reason)];
    };
    let branch = match &git.branch {
        Some(branch) => format!("Branch: {}", fence::name(branch)),
        None => "Branch: none (detached head)".to_owned(),
    };
    let head = match &git.head {
        Some(head) => format!("Head: {}", fence::name(head)),
        None => "Head: no commit yet".to_owned(),
    };
    let text = cx.fenced(&format!("{branch}\n{head}"));
    let reason = "the directory is in a git repository";
    vec![Built::new(text, ".git", Trust::Untrusted, reason)]
}

/// The sandbox that commands run in.
pub(super) fn sandbox(cx: &Input<'_>) -> Vec<Built> {
    let source = "setting: sandbox";
    let Some(sandbox) = cx.facts.sandbox() else {
        let reason = "commands run without a sandbox, with the user's own rights";
        return vec![Built::absent(source, Trust::Own, reason)];
    };
    let name = cx.string("text").unwrap_or("segments/sandbox.md");
    let text = cx.rendered(name, &[("body", fence::line(sandbox))]);
    vec![Built::new(
        text,
        source,
        Trust::Own,
        "a sandbox is in force",
    )]
}

/// Date and time zone: volatile, so never in the system text. A tool gives the exact time.
pub(super) fn date(cx: &Input<'_>) -> Vec<Built> {
    let facts = cx.facts;
    if facts.date.is_empty() {
        return vec![Built::absent("clock", Trust::Own, "the date is not known")];
    }
    let zone = match facts.timezone.as_str() {
        "" => "unknown zone",
        zone => zone,
    };
    let values = [
        ("date", fence::name(&facts.date)),
        ("timezone", fence::name(zone)),
    ];
    let text = cx.rendered("segments/date.md", &values);
    vec![Built::new(text, "clock", Trust::Own, ALWAYS)]
}

/// The text about the mode at the start of the epoch; a later switch is a journal entry.
pub(super) fn mode(cx: &Input<'_>) -> Vec<Built> {
    let mode = cx.facts.mode.as_str();
    let name = format!("modes/{mode}.md");
    let text = cx.texts.render(&name, &[]);
    let (source, trust) = cx.texts.origin(&name);
    let reason = format!("the mode is {mode}");
    vec![Built::new(text, source, trust, &reason)]
}

/// The language to answer in, when the user set one.
pub(super) fn language(cx: &Input<'_>) -> Vec<Built> {
    let source = "setting: prompt.language";
    let Some(language) = &cx.facts.language else {
        let reason = "prompt.language is not set";
        return vec![Built::absent(source, Trust::User, reason)];
    };
    let values = [("language", fence::name(language))];
    let text = cx.rendered("segments/language.md", &values);
    vec![Built::new(
        text,
        source,
        Trust::User,
        "prompt.language is set",
    )]
}
