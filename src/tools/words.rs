//! Where typed reasons become words: for the model from `prompts/results/`, for a person here.
//! Names of texts stand as literals, so that a test can check every one of them.

use std::path::Path;

use super::{ToolContext, ToolError, near};
use crate::policy::{Fact, Reason, commands};
use crate::prompt::Texts;

/// An error that the model can act on.
pub(super) fn for_model(cx: &ToolContext, name: &str, values: &[(&str, &str)]) -> ToolError {
    ToolError::ForModel(cx.texts.render(name, values))
}

/// What the model hears when policy denied a call.
pub fn denied(texts: &Texts, reason: Reason) -> String {
    let name = match reason {
        Reason::Mode(mode) => {
            return texts.render("results/denied-mode.md", &[("mode", mode.as_str())]);
        }
        Reason::OwnFiles => "results/denied-own-files.md",
        Reason::Git => "results/denied-git.md",
        Reason::ThroughLink => "results/denied-through-link.md",
        Reason::HardLink => "results/denied-hard-link.md",
        Reason::Special => "results/denied-special.md",
        Reason::DangerousCharacters => "results/denied-dangerous-characters.md",
        Reason::Confined => "results/denied-confined.md",
        Reason::InsideRoots
        | Reason::SessionRule
        | Reason::AsksAlways
        | Reason::UntrustedFolder
        | Reason::OutsideRoots
        | Reason::ExecutesLater
        | Reason::Secret
        | Reason::OnDisk
        | Reason::Memory
        | Reason::Everywhere
        | Reason::Setting
        | Reason::NewFolder
        | Reason::Fetch
        | Reason::SecretInAddress
        | Reason::Mcp
        | Reason::McpAllowed
        | Reason::Command => "results/denied.md",
    };
    texts.render(name, &[])
}

/// What the model hears when the user, or the deadline, said no.
pub fn rejected(texts: &Texts, by: &str, feedback: Option<&str>) -> String {
    match feedback.map(str::trim).filter(|words| !words.is_empty()) {
        Some(feedback) => texts.render(
            "results/rejected-with-feedback.md",
            &[("by", by), ("feedback", feedback)],
        ),
        None => texts.render("results/rejected.md", &[("by", by)]),
    }
}

/// What the model hears when it called a tool that does not exist (P31).
/// `known` are the names under which the model sees the tools that it has.
pub fn unknown_tool(texts: &Texts, known: &[String], name: &str) -> String {
    let near = near::names(name, known.iter().map(String::as_str));
    let shown = if near.is_empty() {
        known.join(", ")
    } else {
        near.join(", ")
    };
    texts.render(
        "results/unknown-tool.md",
        &[("name", name), ("known", &shown)],
    )
}

/// What was kept of a long text, with words where its middle is missing.
pub(super) fn head_and_tail(
    cx: &ToolContext,
    kept: &str,
    cut: usize,
    omitted: u64,
    spilled: Option<&Path>,
) -> String {
    let whole = kept.trim_end_matches('\n');
    if omitted == 0 {
        return whole.to_owned();
    }
    let bytes = omitted.to_string();
    let gap = match spilled {
        Some(path) => cx.texts.render(
            "results/exec-omitted.md",
            &[("bytes", &bytes), ("path", &path.display().to_string())],
        ),
        None => cx
            .texts
            .render("results/exec-omitted-lost.md", &[("bytes", &bytes)]),
    };
    let (head, tail) = kept.split_at(cut);
    format!("{head}\n{gap}\n{}", tail.trim_end_matches('\n'))
}

/// Why a person is asked, or why something was denied: one sentence.
pub fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::InsideRoots => "It stays inside the workspace's folders.",
        Reason::SessionRule => "You allowed exactly this for this session.",
        Reason::Mode(_) => "The session's mode does not change anything.",
        Reason::AsksAlways => "The setting `approvals` is `ask`.",
        Reason::UntrustedFolder => "This folder is not trusted yet.",
        Reason::OutsideRoots => "It lies outside the workspace's folders.",
        Reason::ExecutesLater => {
            "This file is run or obeyed later by an editor, a build, a hook or an agent."
        }
        Reason::Secret => "This file probably holds secrets; what is read goes to the model.",
        Reason::OwnFiles => "Interline's own settings and state are changed by you only.",
        Reason::Git => "Files below `.git` are never written by the model.",
        Reason::ThroughLink => "A symbolic link leads out of the workspace's folders.",
        Reason::HardLink => "The file has more than one hard link: it also exists elsewhere.",
        Reason::Special => "It is a device, a pipe or another special file.",
        Reason::Command => "Commands run with your rights.",
        Reason::Memory => "It is kept in Interline's own folders, as text that you can edit.",
        Reason::Everywhere => "Later sessions in all folders read it as a note about you.",
        Reason::Setting => "It changes how Interline works for you, not only this answer.",
        Reason::NewFolder => "It makes a folder in your workspace.",
        Reason::Fetch => "The site's server sees the address and everything in it.",
        Reason::SecretInAddress => {
            "Something in the address looks like a key or a password, and its server would see it."
        }
        Reason::Mcp => "An MCP server does this with the rights that it has; nobody checks what.",
        Reason::McpAllowed => "Your settings let this tool of this MCP server run unasked.",
        Reason::Confined => "The session's agent is confined to one folder.",
        Reason::OnDisk => "Your editor does not create files on request: this one is made on disk.",
        Reason::DangerousCharacters => {
            "The command has characters or blanks that can hide a part of it, or is too long."
        }
    }
}

/// [`why`], and what the user must know of a command besides: it says neither which stored
/// variables it sees nor whose code it runs.
pub fn asked(reason: Reason, facts: &[Fact]) -> String {
    let mut words = why(reason).to_owned();
    for fact in facts {
        let Fact::Command {
            command, variables, ..
        } = fact
        else {
            continue;
        };
        if commands::runs_the_project(command) {
            words.push_str(" This one runs what is in the project, the agent's own changes too.");
        }
        if !variables.is_empty() {
            let names = variables.join(", ");
            words.push_str(&format!(
                " It sees the variables that the agent stored: {names}."
            ));
        }
    }
    words
}

/// The rule that *allow for this session* would save, in words.
pub const REMEMBER: &str = "this exact command in this folder, for this session";
